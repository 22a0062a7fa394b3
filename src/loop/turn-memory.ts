/**
 * turn-memory.ts -- makes the memory of a turn that ends, from the turn's events. The memory follows from the log
 * alone, so a replay and a run after a crash make the same one. It is in the commit that ends the turn. The newest
 * 5,000 events count: a longer turn is remembered by its end.
 */
import { hash } from "node:crypto";
import type { CommandCall } from "#core/call.ts";
import { MEMORY_COMMANDS, PASSIVE_COMMANDS } from "#core/command.ts";
import { isGoaldError } from "#core/errors.ts";
import type { EventOf, OfCall, RecordedEvent, RememberedCall, TurnMemory } from "#core/event.ts";
import { isOpenedByWords } from "#core/evolve-turn.ts";
import type { CommittedFile, FileChange } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { outsideOf } from "#core/provenance.ts";
import type { AgentState } from "#core/state.ts";
import { clip, headOf, isBlobRef, type Text } from "#core/text.ts";
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
    // The history has each file that was written, also of the call that is too much.
    const of = { step: call.step, callId: call.callId, ...outsideOf(state.received) };
    files.push(...kept.map((file) => ({ ...file, ...of })));
    chars += call.name.length + input.length;
    if (chars > MAX_MEMORY_CHARS) break;
    calls.unshift({ name: call.name, input });
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
const nameFile = (name: string): string => (/^\w{1,40}$/.test(name) ? name : hash("sha256", name).slice(0, 12));

/** Undefined when the text cannot be kept; the memory then has only its beginning. */
async function keep(path: string, { text }: LongArgument, journal: Journal, keepText: Parts["keepText"]) {
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

/** Characters of all calls together. The oldest ones are left out. */
const MAX_MEMORY_CHARS = 40_000;
const MAX_REMEMBERED_CALLS = 100;
const MAX_ASKED_CHARS = 1_000;
const MAX_OUTPUT_CHARS = 4_000;
const MAX_ARTIFACTS = 50;
const MAX_PATH_CHARS = 200;

interface SucceededCall extends OfCall, CommandCall {
  readonly artifacts: readonly string[];
}

/**
 * Lists the calls that succeeded, by the status of their results, never by their words. They are the agent's own: what
 * code or a sub-task called belongs to the command that ran it. `events`: those of the turn, or its newest ones. Pure.
 */
export function listSucceeded(events: readonly RecordedEvent[]): readonly SucceededCall[] {
  const calls = new Map<string, Pick<SucceededCall, "name" | "args">>();
  return events.flatMap((event): readonly SucceededCall[] => {
    if (event.frame !== 0) return [];
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    if (event.type !== "command-finished") return [];
    const { step, callId, observation, closesTurn } = event;
    const call = calls.get(callId);
    if (!call || isLeftOut(call.name) || closesTurn === true || observation.status !== "ok") return [];
    return [{ step, callId, name: call.name, args: call.args, artifacts: observation.artifacts }];
  });
}

/** A memory command leaves a row of its own, which shows when its fact is no longer so. */
const isLeftOut = (name: string): boolean => PASSIVE_COMMANDS.has(name) || MEMORY_COMMANDS.includes(name);

/**
 * Returns the memory of a turn: what was asked, the calls that succeeded, and what came of it. Thoughts and failures
 * are left out, so that the next turn copies what worked. `calls`: the newest of those that succeeded. `output`: the
 * agent's closing words. Pure.
 */
export function turnMemoryOf(
  state: AgentState,
  succeeded: readonly SucceededCall[],
  calls: readonly RememberedCall[],
  output: string,
): TurnMemory {
  const { turn, step, goals, asked, received } = state;
  const words = asked.map(({ text }) => headOf(text));
  const artifacts = new Set(succeeded.toReversed().flatMap((call) => call.artifacts.toReversed()));
  const isOwn = (path: string): boolean => !path.startsWith("_goald/") && path.length <= MAX_PATH_CHARS;
  return {
    turn,
    step,
    asked: [...(isOpenedByWords(state) ? [] : goals), ...words].map((text) => clip(text, MAX_ASKED_CHARS)),
    calls,
    callsLeftOut: succeeded.length - calls.length,
    artifacts: [...artifacts].filter(isOwn).slice(0, MAX_ARTIFACTS).toReversed(),
    output: clip(output, MAX_OUTPUT_CHARS),
    ...outsideOf(received),
  };
}

type Arguments = Readonly<Record<string, unknown>>;

/** Characters of the arguments of one call. */
const MAX_INPUT_CHARS = 8_000;
/** A text up to this length stays whole also when all arguments together are too long. */
const SHORT_CHARS = 1_000;

interface LongArgument {
  readonly name: string;
  readonly text: Text;
}

/** The long texts of arguments that are too long together. */
export function listLongArguments(args: Arguments): readonly LongArgument[] {
  if (writeArguments(args).length <= MAX_INPUT_CHARS && !Object.values(args).some(isBlobRef)) return [];
  return Object.entries(args).flatMap(([name, value]) =>
    isText(value) && lengthOf(value) > SHORT_CHARS ? [{ name, text: value }] : [],
  );
}

/**
 * Writes the arguments of a call so that a model can read and copy them. Short arguments come first. A text of several
 * lines follows its name as it is, without quotes and escapes. `places`: the file that holds each long argument. Pure.
 */
export function describeArguments(args: Arguments, places: ReadonlyMap<string, string> = new Map()): string {
  const long = listLongArguments(args).map(({ name, text }) => [name, shorten(text, places.get(name))] as const);
  return clip(writeArguments({ ...args, ...Object.fromEntries(long) }), MAX_INPUT_CHARS);
}

function shorten(text: Text, place: string | undefined): string {
  const head = headOf(text).slice(0, SHORT_CHARS).toWellFormed();
  return `${head}\n[… the beginning of ${sizeOf(text)}${place === undefined ? "" : `; the whole is in ${place}`} …]`;
}

function writeArguments(args: Arguments): string {
  const written = Object.entries(args).map(([name, value]) => ({ name, text: writeValue(value) }));
  const isLine = ({ text }: { readonly text: string }): boolean => !text.includes("\n");
  return [
    ...written.filter(isLine).map(({ name, text }) => `${name}: ${text}`),
    ...written.filter((each) => !isLine(each)).map(({ name, text }) => `${name}:\n${text}`),
  ].join("\n");
}

function writeValue(value: unknown): string {
  return isText(value)
    ? headOf(value)
    : (JSON.stringify(value, (_name, inner: unknown) => (isBlobRef(inner) ? inner.head : inner)) ?? "");
}

const isText = (value: unknown): value is Text => typeof value === "string" || isBlobRef(value);
const lengthOf = (text: Text): number => (typeof text === "string" ? text.length : text.bytes);
const sizeOf = (text: Text): string => (typeof text === "string" ? `${text.length} characters` : `${text.bytes} bytes`);
