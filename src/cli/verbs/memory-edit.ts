/**
 * memory-edit.ts -- the verbs by which a person changes memory: add, correct, pin, unpin, forget.
 *
 * What a person puts there is trusted as a person's words, and is as important as anything can be. A correction takes the
 * place of the wrong row, which is never recalled again, and stays pinned when that one was.
 */
import { EXIT, GoaldError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryKind } from "#core/ports/memory-row.ts";
import { clean } from "#util/clean.ts";
import type { MemoryView } from "#views/memory-view.ts";
import { changeMemory, openChanger } from "../shared/change-memory.ts";
import { type CliContext, openContext } from "../shared/context.ts";
import { findSpace, type MemoryOptions, requireLive, requireOwn, type Space } from "../shared/memory-space.ts";
import { readInput } from "../shared/read-input.ts";
import { withReading } from "../shared/reading.ts";

/** One memory; more is a file, and is read in pieces. */
const MAX_CHARS = 10_000;
const BY_PERSON = { importance: 1, trust: "person" } as const;

export interface AddOptions extends MemoryOptions {
  readonly fact?: boolean;
  readonly pin?: boolean;
}

export async function addMemory(name: string, words: readonly string[], options: AddOptions): Promise<number> {
  return withSpace(name, options, async (space, context) => {
    const text = await textOf(words, `goald memory ${name} add "Ada leads the project"`, context);
    const kind: MemoryKind = options.fact ? "fact" : "note";
    await using changer = await openChanger(context);
    const [added] = await changer.change(space.namespace, [{ op: "add", kind, text, ...BY_PERSON }]);
    if (options.pin && added) await changer.change(space.namespace, [{ op: "pin", id: added.id }]);
    return tell(added ? [added] : [], "Added", context);
  });
}

export async function correctMemory(
  name: string,
  id: string,
  words: readonly string[],
  options: MemoryOptions,
): Promise<number> {
  return withSpace(name, options, async (space, context) => {
    const row = await withReading(context, (reading) => requireOwn(reading, id, space));
    requireLive(row);
    const text = await textOf(words, `goald memory ${name} correct ${id} "It opens at nine"`, context);
    // What a step did stays what it did: the right word on it is a fact.
    const kind: MemoryKind = row.kind === "note" ? "note" : "fact";
    const source = row.source === null ? {} : { source: row.source };
    await using changer = await openChanger(context);
    const namespace = namespaceOf(row.id);
    const [added] = await changer.change(namespace, [
      { op: "add", kind, text, ...BY_PERSON, supersedes: row.id, ...source },
    ]);
    if (row.pinned && added) await changer.change(namespace, [{ op: "pin", id: added.id }]);
    return tell(added ? [added] : [], `In place of ${row.id}:`, context);
  });
}

export async function pinMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "Pinned", (row) => {
    requireLive(row);
    return { op: "pin", id: row.id };
  });
}

export async function unpinMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "No longer pinned:", (row) => ({ op: "unpin", id: row.id }));
}

/** Its text and its vector are gone for good; what a step did stands in the agent's log still. */
export async function forgetMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "Forgotten:", (row) => ({ op: "forget", id: row.id, by: "person" }));
}

async function changeRows(
  name: string,
  ids: readonly string[],
  options: MemoryOptions,
  done: string,
  changeOf: (row: MemoryView) => MemoryChange,
): Promise<number> {
  return withSpace(name, options, async (space, context) => {
    const changes = await withReading(context, async (reading) => {
      const rows: MemoryView[] = [];
      for (const id of ids) rows.push(await requireOwn(reading, id, space));
      return rows.map(changeOf);
    });
    // All of one namespace in one unit: an id of the shared memory may stand among them.
    const changed: MemoryChanged[] = [];
    const groups = Map.groupBy(changes, (change) => namespaceOf("id" in change ? change.id : ""));
    for (const [namespace, group] of groups) changed.push(...(await changeMemory(context, namespace, group)));
    return tell(changed, done, context);
  });
}

async function withSpace(
  name: string,
  options: MemoryOptions,
  act: (space: Space, context: CliContext) => Promise<number>,
): Promise<number> {
  const context = await openContext(options);
  try {
    return await act(await withReading(context, (reading) => findSpace(reading, name, options)), context);
  } finally {
    context.output.close();
  }
}

function tell(changed: readonly MemoryChanged[], done: string, { output }: CliContext): number {
  if (output.json) output.data(JSON.stringify({ changed }));
  else for (const { id, isNew } of changed) output.say(clean(isNew ? `${done} ${id}` : `${id} was so already.`));
  return EXIT.ok;
}

/** From the command line, or from standard input. Throws GOALD_USAGE. */
async function textOf(words: readonly string[], example: string, context: CliContext): Promise<string> {
  const given = words.length > 0 ? words.join(" ") : await readPiped(example);
  const text = context.scrub(clean(given).trim());
  if (text === "") throw usage("There are no words to remember.", example);
  if (text.length > MAX_CHARS)
    throw new GoaldError("GOALD_USAGE", `Expected up to ${MAX_CHARS} characters, got ${text.length}.`, {
      hint: "Put it into a file, and have that read in pieces: goald ingest <agent> FILE",
    });
  return text;
}

async function readPiped(example: string): Promise<string> {
  if (process.stdin.isTTY) throw usage("What is to be remembered?", example);
  return readInput(MAX_CHARS);
}

const usage = (message: string, example: string): GoaldError =>
  new GoaldError("GOALD_USAGE", message, { hint: `Such as: ${example}` });
