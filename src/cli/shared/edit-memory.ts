/**
 * edit-memory.ts -- implements a person's changes of memories: add, correct, pin, unpin, forget.
 *
 * A person's text has the highest trust and importance. A correction replaces the wrong row, which is never recalled
 * again, and keeps its pin.
 */
import { EXIT, GoaldError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryKind } from "#core/ports/memory-row.ts";
import { clean } from "#util/clean.ts";
import type { MemoryView } from "#views/memory-view.ts";
import { changeMemory, openChanger } from "./change-memory.ts";
import { type CliContext, openContext } from "./context.ts";
import { findSpace, type MemoryOptions, requireLive, requireOwn, type Space } from "./memory-space.ts";
import { readInput } from "./read-input.ts";
import { withReading } from "./reading.ts";

/** Limit per memory. Longer texts are ingested as files, in pieces. */
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
    // The record of a step is immutable, so its correction becomes a fact.
    const kind: MemoryKind = row.kind === "note" ? "note" : "fact";
    const source = row.source === null ? {} : { source: row.source };
    await using changer = await openChanger(context);
    const namespace = namespaceOf(row.id);
    const [added] = await changer.change(namespace, [
      { op: "add", kind, text, ...BY_PERSON, supersedes: row.id, ...source },
    ]);
    if (row.pinned && added) await changer.change(namespace, [{ op: "pin", id: added.id }]);
    return tell(added ? [added] : [], `Replaced ${row.id} by`, context);
  });
}

export async function pinMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "Pinned", (row) => {
    requireLive(row);
    return { op: "pin", id: row.id };
  });
}

export async function unpinMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "Unpinned", (row) => ({ op: "unpin", id: row.id }));
}

/** Erases text and vector permanently. The agent's log still contains the step. */
export async function forgetMemories(name: string, ids: readonly string[], options: MemoryOptions): Promise<number> {
  return changeRows(name, ids, options, "Forgot", (row) => ({ op: "forget", id: row.id, by: "person" }));
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
    // Ids may belong to the agent or to shared memory; each namespace is one unit.
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
  else for (const { id, isNew } of changed) output.say(clean(isNew ? `${done} ${id}` : `${id}: nothing to change.`));
  return EXIT.ok;
}

/** Reads the text from the command line or standard input. Throws GOALD_USAGE. */
async function textOf(words: readonly string[], example: string, context: CliContext): Promise<string> {
  const given = words.length > 0 ? words.join(" ") : await readPiped(example);
  const text = context.scrub(clean(given).trim());
  if (text === "") throw usage("The text is empty.", example);
  if (text.length > MAX_CHARS)
    throw new GoaldError("GOALD_USAGE", `Expected up to ${MAX_CHARS} characters, got ${text.length}.`, {
      hint: "Put it into a file and read that in pieces: goald ingest <agent> FILE",
    });
  return text;
}

async function readPiped(example: string): Promise<string> {
  if (process.stdin.isTTY) throw usage("Expected a text.", example);
  return readInput(MAX_CHARS);
}

const usage = (message: string, example: string): GoaldError =>
  new GoaldError("GOALD_USAGE", message, { hint: `Such as: ${example}` });
