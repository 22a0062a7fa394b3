/** edit-memory.ts -- `goald memory <agent> add`, `correct` and `forget`: changes memories. */
import type { Reading } from "#api/control.ts";
import { EXIT } from "#core/errors.ts";
import { correctFact, namespaceOf } from "#core/memory.ts";
import type { MemoryChanged, MemoryKind } from "#core/ports/memory.ts";
import { countNoun, joinNames } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { readWords, withReading } from "../agents.ts";
import { type CliContext, openContext } from "../context.ts";
import { findSpace, type MemoryOptions, openChanger, requireLive, requireOwn, type Space } from "../memory-space.ts";
import { defineVerb, flag, HOST_CODES, MEMORY_AGENT, MEMORY_ID, MEMORY_IDS, ONLY, SHARED } from "../verb.ts";

/** Limit per memory. Longer texts are ingested as files, in pieces. */
const MAX_CHARS = 10_000;
const BY_PERSON = { importance: 1, trust: "person" } as const;
const EDIT_OPTIONS = { only: ONLY, shared: SHARED };

export const MEMORY_ADD = defineVerb({
  examples: ['goald memory chef add "Ada leads the project" --pin'],
  arguments: [MEMORY_AGENT, { name: "[words...]", about: "the text (default: standard input)" }],
  options: {
    fact: flag("--fact", "add a fact instead of a note"),
    pin: flag("--pin", "pin it: recall it in every step"),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent", ...HOST_CODES },
  run: ([agent = "", ...words], options) =>
    withSpace(agent, options, async (space, context) => {
      const text = await textOf(words, `goald memory ${agent} add "Ada leads the project"`, context);
      const kind: MemoryKind = options.fact ? "fact" : "note";
      const change = await openChanger(context);
      const added = await change(space.namespace, [
        { op: "add", kind, text, ...BY_PERSON, pinned: options.pin === true },
      ]);
      tellChanged(added, { done: "Added", also: "added" }, context);
      return EXIT.ok;
    }),
});

// A person's text has the highest trust and importance. It keeps the pin of any of the rows that it replaces.
export const MEMORY_CORRECT = defineVerb({
  description: "replace a wrong memory and every row that says the same; they are never recalled again",
  examples: ['goald memory chef correct 12 "It opens at nine"'],
  arguments: [MEMORY_AGENT, MEMORY_ID, { name: "[words...]", about: "the right text (default: standard input)" }],
  options: EDIT_OPTIONS,
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([name = "", id = "", ...words], options) =>
    withSpace(name, options, async (space, context) => {
      const row = await withReading(context, (reading) => requireOwn(reading, id, space));
      requireLive(row);
      const given = await textOf(words, `goald memory ${name} correct ${id} "It opens at nine"`, context);
      const text = (row.factKey === undefined ? undefined : correctFact(row.text, given)) ?? given;
      // The record of a step is immutable, so its correction becomes a fact.
      const kind: MemoryKind = row.kind === "note" ? "note" : "fact";
      const source = row.source === null ? {} : { source: row.source };
      const change = await openChanger(context);
      const added = await change(namespaceOf(row.id), [
        { op: "add", kind, text, ...BY_PERSON, supersedes: row.id, copies: options.only !== true, ...source },
      ]);
      tellChanged(added, { done: `Replaced ${row.id} by`, also: "replaced" }, context);
      return EXIT.ok;
    }),
});

export const MEMORY_FORGET = defineVerb({
  description: "erase memories and every row that says the same; they are never recalled again",
  examples: ["goald memory chef forget 12 13"],
  arguments: [MEMORY_AGENT, MEMORY_IDS],
  options: EDIT_OPTIONS,
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([name = "", ...ids], options) =>
    withSpace(name, options, async (space, context) => {
      // Erases texts and vectors for good. The agent's log still has the steps, which the output names.
      const changed = await forgetAll(ids, options.only !== true, space, context);
      const steps = await withReading(context, (reading) => stepsOf(changed, space, reading));
      const given = new Set(changed.flatMap((each) => each.copies ?? []));
      tellChanged(
        // A row that was named too and went as a copy of another.
        changed.filter(({ id, isNew }) => isNew || !given.has(id)),
        { done: "Forgot", also: "forgot" },
        context,
        { steps },
      );
      if (!context.output.json && steps.length > 0) context.output.say(clean(describeLog(space.namespace, steps)));
      return EXIT.ok;
    }),
});

/** Maximum rows that are looked up for the steps that they come from. */
const MAX_LOOKED_UP = 200;

/** Returns the steps that left the forgotten rows, ascending. */
async function stepsOf(
  changed: readonly MemoryChanged[],
  { place }: Space,
  reading: Pick<Reading, "memory">,
): Promise<readonly number[]> {
  const ids = changed.flatMap(({ id, isNew, copies = [] }) => (isNew ? [id, ...copies] : []));
  const steps = new Set<number>();
  for (const id of ids.slice(0, MAX_LOOKED_UP)) {
    const { step } = await reading.memory(place, id);
    if (step !== null && step > 0) steps.add(step);
  }
  return [...steps].sort((a, b) => a - b);
}

function describeLog(agent: string, steps: readonly number[]): string {
  const what = joinNames(steps.map(String), 10);
  const first = steps[0] ?? 1;
  return (
    `The log of ${agent} and the files that it was read from still have it: ${steps.length === 1 ? "step" : "steps"} ${what}. ` +
    `A part of a log cannot be deleted. To delete all of it: goald rm ${agent}` +
    (first > 1 ? `; to keep what came before, first goald fork ${agent} --step ${first - 1}.` : ".")
  );
}

async function forgetAll(
  given: readonly string[],
  copies: boolean,
  space: Space,
  context: CliContext,
): Promise<readonly MemoryChanged[]> {
  const ids = await withReading(context, (reading) =>
    Array.fromAsync(given, async (id) => (await requireOwn(reading, id, space)).id),
  );
  // Ids may belong to the agent or to shared memory; each namespace is one unit.
  const changed: MemoryChanged[] = [];
  const change = await openChanger(context);
  for (const [namespace, group] of Map.groupBy(ids, namespaceOf)) {
    const changes = group.map((id) => ({ op: "forget", id, by: "person", copies }) as const);
    changed.push(...(await change(namespace, changes)));
  }
  return changed;
}

async function withSpace(
  name: string,
  options: MemoryOptions,
  act: (space: Space, context: CliContext) => Promise<number>,
): Promise<number> {
  using context = await openContext(options);
  return await act(await withReading(context, (reading) => findSpace(reading, name, options)), context);
}

/** `done`: begins the sentence about the named row. `more`: further members of the JSON. */
function tellChanged(
  changed: readonly MemoryChanged[],
  { done, also }: Readonly<Record<"done" | "also", string>>,
  { output }: CliContext,
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (output.printJson({ changed, ...more })) return;
  for (const { id, isNew, copies = [], alike = [] } of changed) {
    output.say(clean(isNew ? `${done} ${id}` : `${id}: nothing to change.`));
    if (copies.length > 0)
      output.say(clean(`It also ${also} ${countNoun(copies.length, "row")} that said the same: ${copies.join(", ")}`));
    if (alike.length > 0) output.say(clean(`Rows that may hold the same were left as they are: ${alike.join(", ")}`));
  }
}

/** Reads the text from the command line or standard input. Throws GOALD_USAGE. */
const textOf = async (words: readonly string[], example: string, { scrub }: CliContext): Promise<string> =>
  scrub(
    await readWords(words, {
      maxChars: MAX_CHARS,
      what: "text",
      examples: `Such as: ${example}`,
      tooLong: "Put it into a file and read that in pieces: goald ingest <agent> FILE",
    }),
  );
