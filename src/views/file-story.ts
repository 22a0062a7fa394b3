/**
 * file-story.ts -- explains why a file exists: for each version the goals, the step, the thoughts and the sources
 * before it.
 *
 * One pass over the log. The sources of a version are those read since the previous version, and words from outside
 * read since the agent's last clean state. Which of them the model used is unknown.
 */
import type { CommandCall } from "#core/call.ts";
import { isCellCommand, SAVES_FILES } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import type { OutputMode, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { namespaceOf, shownIds } from "#core/memory.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
import { describeReceived, listSources, type Received } from "#core/provenance.ts";
import { initialState } from "#core/state.ts";
import { countNoun, isBlobRef, oneLine, type Text } from "#core/text.ts";
import { count, described, listOf, nullable, oneOf, open, ordinal, type Static, text, time } from "#util/schema.ts";
import { withoutCopies } from "./file-diff.ts";
import { isByPerson, isPutBack, loadTrustInAll, TrustGiven } from "./file-versions.ts";
import { Call, IsRestored, Operation, OutsideSources, ReceivedView, ThoughtsView } from "./parts.ts";
import { allEvents, openTexts, stateOf } from "./read-agent.ts";
import { createSourceReader, Source } from "./sources.ts";
import type { StepParts } from "./whole-step.ts";

type Version = FileStory["versions"][number];

export function describeFileStory(story: FileStory, describeCall: (call: CommandCall) => string): string {
  const { agent, name, path, workspace, trusted, versions } = story;
  const last = versions.at(-1);
  if (!last) return "";
  const is = last.operation === "delete" ? "deleted" : `${last.bytes} bytes`;
  const lines = [
    `${path} (${is}), of ${name} (${agent}), in ${workspace}`,
    ...trusted.map(({ at }) => `Trusted by a person at ${at}: all words from outside that ${name} had read by then`),
    "",
    "Goals",
    ...last.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    "",
    headOf(last, versions.length),
    ...bodyOf(last, describeCall),
  ];
  const earlier = versions.slice(0, -1).toReversed();
  if (earlier.length > 0) lines.push("", "Before that");
  for (const older of earlier) {
    const read =
      older.sources.length > 0 ? ` after ${countNoun(older.sources.length + older.sourcesLeftOut, "source")}` : "";
    lines.push(`  ${headOf(older, versions.length)}${read}`);
    if (older.thought !== "") lines.push(`    ${oneLine(older.thought, 200)}`);
  }
  return lines.join("\n");
}

function headOf({ version, step, at, operation, by, command, cell }: Version, count: number): string {
  const did = cell?.command ?? command?.name ?? "a command";
  const what = by === "agent" ? `${operation} by ${did}` : PERSON_DID[operation];
  return `Version ${version} of ${count}: step ${step}, ${at}, ${what}`;
}

const PERSON_DID: Readonly<Record<Version["operation"], string>> = {
  found: "edited by a person before this step",
  write: "restored by a person",
  append: "restored by a person",
  delete: "removed by a person, who restored an earlier step",
  place: "put back by a person, who restored another step",
  trust: "trusted by a person",
};

function bodyOf(story: Version, describeCall: (call: CommandCall) => string): readonly string[] {
  const { command, cell, thought, thoughts, recalledSteps, outside, received, sources, sourcesLeftOut, version } =
    story;
  const said = Object.entries(thoughts ?? { thought }).filter(([, text]) => text !== "");
  const since = version > 1 ? `since version ${version - 1}` : "before it";
  const earlier = version > 1 && received.length > 0 ? `, and from outside since step ${received[0]?.step}` : "";
  return [
    ...(command && command.name !== SAVES_FILES
      ? [`  Command: ${describeCall(command).replaceAll("\n", "\n    ")}`]
      : []),
    ...(cell ? [`  Cell: ${nameCell(cell)}`] : []),
    ...said.map(([name, text]) => `  ${name}: ${text.replaceAll("\n", "\n    ")}`),
    ...(recalledSteps.length > 0 ? [`  Recalled: what happened in step ${recalledSteps.join(", ")}`] : []),
    ...(outside.length > 0 ? [`  Holds words from outside: ${listSources(outside, 5)}`] : []),
    ...(received.length > 0 ? [`  Outside words that it had read: ${describeReceived(received, 5)}`] : []),
    sources.length === 0 ? `  Sources: nothing was read ${since}` : `  Sources, read ${since}${earlier}`,
    ...(sourcesLeftOut > 0 ? [`    ${sourcesLeftOut} older ones`] : []),
    ...sources.flatMap(sourceLines).map((line) => `    ${line}`),
  ];
}

function nameCell({ callId, command, file, line, source }: NonNullable<Version["cell"]>): string {
  const name = file === null ? `${command} ${callId}` : `${command} ${callId} of ${file}`;
  return line === null ? name : `${name}, line ${line}: ${source}`;
}

function sourceLines({ step, at, command, what, kind, outside, kept, answer }: Source): readonly string[] {
  if (kind === "person" && command === null) return [`step ${step}, ${at}, a person said: ${what}`];
  const whose = outside.length > 0 ? `: ${listSources(outside)}` : "";
  const where = kept.length > 0 ? `, kept in ${kept.slice(0, MAX_PATHS).join(", ")}` : "";
  const read = command === null ? what : `${command} ${what}`;
  return [`step ${step}, ${at}, ${read} (${kind}${whose})${where}`, ...(answer === "" ? [] : [`  | ${answer}`])];
}

const MAX_PATHS = 3;

const CellView = open({
  callId: text,
  command: text,
  file: described(nullable(text), "The file that was run; null for code in the call itself."),
  line: described(nullable(ordinal), "Number of the first line that names the written file; null when none does."),
  source: described(text, "That line; empty when there is none."),
});
type CellView = Static<typeof CellView>;

/**
 * Finds the cell of code that wrote a version of a file, and its line that names the file. Pure. `versions`: the ones
 * that `cellOf` will be called for.
 */
function createCellFinder(versions: readonly FileVersion[]) {
  const above = new Set(versions.flatMap(({ callId }) => idsAbove(callId)));
  const cells = new Map<string, CommandCall>();
  return {
    add: (event: RecordedEvent): void => {
      if (event.type === "command-requested" && above.has(event.callId) && isCellCommand(event.call.name))
        cells.set(event.callId, event.call);
    },
    cellOf: ({ callId, path }: FileVersion): CellView | null => {
      const id = idsAbove(callId).find((each) => cells.has(each));
      const cell = id === undefined ? undefined : cells.get(id);
      return id === undefined || !cell ? null : describeCell(id, cell, path);
    },
  };
}

/** The calls that a nested call is inside of, the innermost first. */
function idsAbove(callId: string): readonly string[] {
  const ids: string[] = [];
  for (let end = callId.lastIndexOf("."); end > 0; end = callId.lastIndexOf(".", end - 1))
    ids.push(callId.slice(0, end));
  return ids;
}

const MAX_LINE_CHARS = 200;

function describeCell(callId: string, { name: command, args }: CommandCall, path: string): CellView {
  const code = isBlobRef(args.code) ? args.code.head : args.code;
  const lines = typeof code === "string" ? code.split("\n") : [];
  const names = [path, path.slice(path.lastIndexOf("/") + 1)];
  const found = names.map((name) => lines.findIndex((line) => line.includes(name))).find((index) => index >= 0);
  const source = found === undefined ? "" : oneLine(lines[found] ?? "", MAX_LINE_CHARS);
  const file = typeof args.file === "string" ? args.file : null;
  return { callId, command, file, line: found === undefined ? null : found + 1, source };
}

/** What `goald why` shows of one version. */
const ToldVersion = open({
  version: described(ordinal, "From 1, oldest first."),
  step: count,
  callId: text,
  at: time,
  operation: Operation,
  by: oneOf("agent", "person"),
  isRestored: IsRestored,
  bytes: count,
  sha256: nullable(text),
  goals: described(listOf(text), "The goals at that time."),
  command: described(nullable(Call), "Long arguments are cut. Null for a person's change."),
  cell: described(nullable(CellView), "The cell of code that wrote it; null for none."),
  thought: described(text, "One line; empty for a person's change."),
  thoughts: described(nullable(ThoughtsView), "Null when the reply has none."),
  recalledSteps: described(listOf(count), "Earlier steps that were recalled into the prompt."),
  received: described(
    listOf(ReceivedView),
    "Outside words that the agent had read by then, since its last clean state, oldest first.",
  ),
  outside: described(OutsideSources, "Whose words from outside this version may hold."),
  sources: described(
    listOf(Source),
    "Read since the previous version, and before that the words from outside since the last clean state; newest last.",
  ),
  sourcesLeftOut: described(count, "Number of older sources that are not listed."),
});

export const FileStory = open({
  agent: text,
  name: text,
  path: text,
  workspace: described(text, "Absolute path of the agent's folder."),
  trusted: described(
    listOf(TrustGiven),
    "The newest trust of a person in all words that the agent had read until then.",
  ),
  versions: described(listOf(ToldVersion), "Oldest first."),
});
export type FileStory = Static<typeof FileStory>;

/** A version with the whole reply that its command came from, or the reference to that reply. */
interface VersionStory extends Omit<Static<typeof ToldVersion>, "thoughts"> {
  readonly reply: Text | null;
  readonly finishReason: string;
  readonly mode: OutputMode;
}

const MAX_SOURCES = 30;
const ARGUMENT_CHARS = 200;

type StoryMember = "goals" | "thought" | "reply" | "finishReason" | "mode" | "recalledSteps";
type StepStory = { -readonly [Member in StoryMember]: VersionStory[Member] };

/** `versions`: those of one path, oldest first. `events`: the log from its beginning. */
export async function traceVersions(
  agent: string,
  versions: readonly FileVersion[],
  events: AsyncIterable<RecordedEvent>,
): Promise<readonly VersionStory[]> {
  const steps = new Map<number, StepStory>(versions.map(({ step }) => [step, emptyStory()]));
  const calls = new Map<string, CommandCall | null>(versions.map(({ callId }) => [callId, null]));
  const lastStep = versions.reduce((last, { step }) => Math.max(last, step), 0);
  const readSource = createSourceReader();
  const cells = createCellFinder(versions);
  const sources: Source[] = [];
  const stepOfSeq: number[] = [];
  const received = new Map<string, readonly Received[]>();
  let state = initialState;
  let goals: readonly string[] = [];
  let step = 0;
  for await (const event of events) {
    if ("step" in event) step = event.step;
    if (step > lastStep && event.frame === 0) break;
    stepOfSeq[event.seq] = step;
    state = evolve(state, event);
    if ("callId" in event && calls.has(event.callId)) received.set(event.callId, state.received);
    cells.add(event);
    const source = readSource(event);
    if (source) sources.push(source);
    if (event.type === "agent-created" || event.type === "goals-changed") goals = event.goals;
    const story = steps.get(step);
    if (event.type === "command-requested" && calls.has(event.callId))
      calls.set(event.callId, shortenArguments(event.call));
    if (story) addToStory(story, event, goals, (recall) => stepOfRecall(recall, agent, stepOfSeq));
  }
  return versions.map((version, index) => {
    const { path, outside = [], ...change } = version;
    const { step, callId } = change;
    const before = versions[index - 1]?.step ?? 0;
    const known = received.get(callId) ?? [];
    const unclean = known[0]?.step ?? Number.POSITIVE_INFINITY;
    const isRead = (source: Source): boolean =>
      source.step <= step && (source.step > before || (source.outside.length > 0 && source.step >= unclean));
    const read = sources.filter(isRead);
    const told = steps.get(step) ?? emptyStory();
    const isAgents = !isByPerson(version);
    const { goals, ...story } = isAgents ? told : { ...emptyStory(), goals: told.goals };
    return {
      version: index + 1,
      ...change,
      outside,
      by: isAgents ? "agent" : "person",
      isRestored: isPutBack(version),
      goals,
      cell: isAgents ? cells.cellOf(version) : null,
      command: isAgents ? (calls.get(callId) ?? null) : null,
      ...story,
      received: known,
      sources: read.slice(-MAX_SOURCES),
      sourcesLeftOut: Math.max(0, read.length - MAX_SOURCES),
    };
  });
}

const emptyStory = (): StepStory => ({
  goals: [],
  thought: "",
  reply: null,
  finishReason: "",
  mode: "plain",
  recalledSteps: [],
});

/** 0 for a memory that no step of this agent left. */
function stepOfRecall(id: string, agent: string, stepOfSeq: readonly number[]): number {
  const [, seq] = /\/(\d+)(?:\.\d+)?$/.exec(id) ?? [];
  return seq === undefined || namespaceOf(id) !== agent ? 0 : (stepOfSeq[Number(seq)] ?? 0);
}

function addToStory(
  story: StepStory,
  event: RecordedEvent,
  goals: readonly string[],
  stepOf: (recallId: string) => number,
): void {
  switch (event.type) {
    case "model-asked": {
      const recalled = shownIds(event).map(stepOf);
      story.recalledSteps = [...new Set(recalled.filter((step) => step > 0))].sort((a, b) => a - b);
      story.goals = goals;
      story.mode = event.mode;
      break;
    }
    case "model-replied":
      story.reply = event.text;
      story.finishReason = event.finishReason;
      break;
    case "command-requested":
      if (event.thought !== "") story.thought = event.thought;
      break;
    default:
  }
}

/** Cuts long arguments: the file itself holds what was written. */
function shortenArguments({ name, args }: CommandCall): CommandCall {
  const short = (value: unknown): unknown => {
    if (isBlobRef(value)) return `${value.head.slice(0, ARGUMENT_CHARS).toWellFormed()}…`;
    if (typeof value !== "string" || value.length <= ARGUMENT_CHARS) return value;
    return `${value.slice(0, ARGUMENT_CHARS).toWellFormed()}…`;
  };
  return { name, args: Object.fromEntries(Object.entries(args).map(([key, value]) => [key, short(value)])) };
}

/** `workspace`: absolute path of the agent's folder. Throws GOALD_NOT_FOUND for a file that the agent never wrote. */
export async function loadFileStory(
  row: AgentRow,
  file: { readonly path: string; readonly workspace: string },
  reader: Pick<StoreReader, "load" | "read" | "files" | "blob">,
  { readThoughts }: Pick<StepParts, "readThoughts">,
): Promise<FileStory> {
  const { path, workspace } = file;
  const all = await reader.files(row.id);
  const own = all.filter((version) => version.path === path);
  const versions = await withoutCopies(own, reader);
  if (versions.length === 0) throw neverWritten(row.id, path, all);
  const told = await traceVersions(row.id, versions, allEvents(reader, row.id));
  const withThoughts: FileStory["versions"][number][] = [];
  for (const { reply, finishReason, mode, ...version } of told) {
    const text = await openTexts(reply, reader);
    const thoughts = typeof text === "string" ? await readThoughts(text, finishReason, mode) : null;
    withThoughts.push({ ...version, thoughts });
  }
  const { trustedSeq } = await stateOf(reader, row);
  const trusted = await loadTrustInAll(row.id, trustedSeq, reader);
  return { agent: row.id, name: row.name, path, workspace, trusted, versions: withThoughts };
}

function neverWritten(agent: string, path: string, versions: readonly FileVersion[]): GoaldError {
  const placed = versions.findLast((version) => version.operation === "place" && path.startsWith(`${version.path}/`));
  const hint = placed
    ? `It may have come with the folder ${JSON.stringify(placed.path)}: goald why ${agent} ${placed.path}`
    : `If the file exists, somebody else wrote it. See the agent's files: goald show ${agent} --files`;
  return new GoaldError("GOALD_NOT_FOUND", `Expected a file that ${agent} wrote, got ${JSON.stringify(path)}.`, {
    hint,
  });
}
