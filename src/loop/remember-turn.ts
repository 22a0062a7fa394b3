/**
 * remember-turn.ts -- makes the memory of a turn that ends, from the turn's events.
 *
 * The memory follows from the log alone, so a replay and a run after a crash make the same one. It is in the commit that ends the
 * turn. The newest 5,000 events count: a longer turn is remembered by its end.
 */

import { createHash } from "node:crypto";
import { isGoaldError } from "#core/errors.ts";
import type { EventOf, RecordedEvent, RememberedCall } from "#core/event.ts";
import type { CommittedFile, FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { outsideOf } from "#core/provenance.ts";
import { describeArguments, type LongArgument, listLongArguments } from "#core/remembered-input.ts";
import {
  listSucceeded,
  MAX_MEMORY_CHARS,
  MAX_REMEMBERED_CALLS,
  type SucceededCall,
  turnMemoryOf,
} from "#core/remembered-turn.ts";
import { bySeq, readPages } from "#util/read-pages.ts";
import type { Journal, Outcome } from "./journal.ts";
import type { RunParts } from "./run-parts.ts";

const MAX_EVENTS = 5_000;
const PAGE_EVENTS = 500;

type Parts = Pick<RunParts, "keepText" | "rules">;

export async function rememberTurn(end: EventOf<"turn-finished">, journal: Journal, parts: Parts): Promise<Outcome> {
  const { state } = journal;
  const succeeded = listSucceeded(await readTurn(journal));
  const files: CommittedFile[] = [];
  const calls: RememberedCall[] = [];
  let chars = 0;
  for (const call of succeeded.toReversed().slice(0, MAX_REMEMBERED_CALLS)) {
    const { input, kept } = await describeInput(call, journal, parts);
    chars += call.name.length + input.length;
    if (chars > MAX_MEMORY_CHARS) break;
    calls.unshift({ name: call.name, input });
    const of = { step: call.step, callId: call.callId, ...outsideOf(state.received) };
    files.push(...kept.map((file) => ({ ...file, ...of })));
  }
  const memory = turnMemoryOf(state, succeeded, calls, end.reason);
  return { events: [{ type: "turn-remembered", ...memory }, end], files };
}

async function readTurn(journal: Journal): Promise<readonly RecordedEvent[]> {
  const after = Math.max(journal.state.turnBegan.seq, journal.head - MAX_EVENTS);
  const pages = readPages(journal.eventsAfter, bySeq, { limit: PAGE_EVENTS, after });
  return (await Array.fromAsync(pages)).flat();
}

/** The arguments of a call, and the files that were written for those that are too long. */
async function describeInput({ name, args, callId }: SucceededCall, journal: Journal, { rules, keepText }: Parts) {
  const kept: FileChange[] = [];
  const places = new Map<string, string>();
  for (const argument of listLongArguments(args)) {
    const written = fileOf(argument, args, rules.facts(name)?.writes);
    const path = written ?? `_goald/inputs/${callId}-${nameFile(argument.name)}.txt`;
    if (written === undefined) {
      const changes = await keep(path, argument, journal, keepText);
      if (!changes) continue;
      kept.push(...changes);
    }
    places.set(argument.name, path);
  }
  return { input: describeArguments(args, places), kept };
}

/** The file whose whole content the argument was. */
function fileOf(
  argument: LongArgument,
  args: SucceededCall["args"],
  writes: Readonly<Record<string, string | null>> = {},
): string | undefined {
  const [pathArgument] = Object.entries(writes).find(([, content]) => content === argument.name) ?? [];
  const path = pathArgument === undefined ? undefined : args[pathArgument];
  return typeof path === "string" ? path : undefined;
}

/** The name of an argument comes from a command and may be anything. */
const nameFile = (name: string): string =>
  /^\w{1,40}$/.test(name) ? name : createHash("sha256").update(name).digest("hex").slice(0, 12);

/** Undefined when the text cannot be kept; the memory then has only its beginning. */
async function keep(
  path: string,
  { text }: LongArgument,
  journal: Journal,
  keepText: Parts["keepText"],
): Promise<readonly FileChange[] | undefined> {
  if (!keepText) return undefined;
  try {
    return await keepText(path, await journal.read(text));
  } catch (error) {
    if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL" || error.code === "GOALD_STORE_DAMAGED") throw error;
    return undefined;
  }
}

/** Writes the text into a workspace that may hold goald's own files. */
export async function keepText(
  path: string,
  text: string,
  open: (onChange: (change: FileChange) => void) => Pick<Workspace, "write">,
): Promise<readonly FileChange[]> {
  const changes: FileChange[] = [];
  await open((change) => changes.push(change)).write(path, text);
  return changes;
}
