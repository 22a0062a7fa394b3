/**
 * report-facts.ts -- gathers the facts of a report from the store, and writes the report into the folder of its agent.
 */
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { CHECK_COMMANDS } from "#core/goal-check.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { AgentState } from "#core/state.ts";
import {
  amount,
  count,
  described,
  flag,
  listOf,
  open,
  ordinal,
  recordOf,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import { describeState, stateMembers } from "./agent-details.ts";
import { type AgentView, factsOf, viewAgent } from "./agent-view.ts";
import { foldLog } from "./read-agent.ts";
import { renderReport } from "./report.ts";
import { type Source, sourceIn, sourceMembers, Trouble, troubleIn } from "./sources.ts";

export const REPORT_FILE = "_goald/report.md";

export interface WriteReportParts {
  readonly store: Pick<StoreReader, "load" | "read" | "files">;
  /** Absolute path of the home's `workspace/`. */
  readonly workspaceFolder: string;
  /** The agent's folder, writable including `_goald/`. */
  readonly workspace: Workspace;
  redact?(text: string): string;
}

/**
 * Renders `_goald/report.md` in an agent's folder from the store. The report is written after each turn, pause, limit,
 * stop or kill, and at the first start after a crash. An unchanged report is not written again. The file has no
 * history, because goald owns it. Resolves to true when the file was changed. Rejects with a GoaldError when it cannot
 * be written.
 */
export async function writeReport(row: AgentRow, parts: WriteReportParts): Promise<boolean> {
  const { store, workspaceFolder, workspace, redact = (text: string) => text } = parts;
  const facts = { ...factsOf(row), workspaceFolder };
  const report = redact(renderReport(await gatherReport(row, store, (state) => viewAgent(row, state, facts))));
  const found = await workspace.read(REPORT_FILE).catch(() => undefined);
  if (found && Buffer.from(found).equals(Buffer.from(report))) return false;
  await workspace.write(REPORT_FILE, report);
  return true;
}

const TAIL_EVENTS = 500;
/** The most entries of each list: about as many as the rendered report has room for. */
const MOST = { sources: 100, troubles: 12, turns: 10 } as const;

export const ReportFacts = open({
  ...stateMembers,
  since: described(count, `Files and all that follows are of the events after this one: the newest ${TAIL_EVENTS}.`),
  lastThought: text,
  turns: described(listOf(open({ turn: ordinal, at: time, reason: text })), "Finished turns, the newest last."),
  sources: described(listOf(open({ ...sourceMembers, times: ordinal })), "The newest last."),
  troubles: described(recordOf(count), "Number of failures by kind."),
  lastTroubles: listOf(Trouble),
  hasUnpriced: described(flag, "Some replies are of models without a known price."),
  helpers: described(
    open({ agents: count, steps: count, tokens: count, usd: amount }),
    "Spent by sub-agents as of their last reports, in addition.",
  ),
  lastEventAt: time,
  events: count,
});
export type ReportFacts = Static<typeof ReportFacts>;

/**
 * Gathers the agent's details, and what its newest events say of files, sources and failures. Looks at the same number
 * of events at any age of the agent, and reads no clock, so one log always gives one report. `at`: the last event.
 */
export async function gatherReport(
  row: AgentRow,
  store: Pick<StoreReader, "load" | "read" | "files">,
  viewOf: (state: AgentState) => AgentView,
  at?: number,
): Promise<ReportFacts> {
  const { head, state } = await foldLog(store, row, at);
  const since = Math.max(0, head - TAIL_EVENTS);
  const events = await store.read(row.id, since, head - since);
  return reportFacts(viewOf(state), state, { since, events, versions: await store.files(row.id, since) });
}

/** The newest events, and the versions of files that came with them, oldest first. */
interface LogTail {
  /** Number of the event before them. */
  readonly since: number;
  readonly events: readonly RecordedEvent[];
  readonly versions: readonly FileVersion[];
}

export function reportFacts(view: AgentView, state: AgentState, { since, events, versions }: LogTail): ReportFacts {
  const lastEventAt = events.at(-1)?.at ?? view.createdAt;
  const files = versions.filter(({ operation }) => operation !== "trust");
  return {
    ...describeState(view, state, files, new Date(lastEventAt)),
    since,
    turns: readTurns(events, state.turn),
    ...readTail(events, state.step),
    hasUnpriced: events.some(isUnpriced),
    helpers: helpersOf(state),
    lastEventAt,
    events: since + events.length,
  };
}

type Tail = Pick<ReportFacts, "lastThought" | "sources" | "troubles" | "lastTroubles">;

/** Calls of checks are no work of the agent. `step`: that of events of which none has one. */
function readTail(events: readonly RecordedEvent[], lastStep: number): Tail {
  const calls = new Map<string, CommandCall>();
  const sources = new Map<string, Source & { readonly times: number }>();
  const all: Trouble[] = [];
  const first = events.find((event) => "step" in event);
  let step = first ? first.step - 1 : lastStep;
  let lastThought = "";
  for (const event of events) {
    if ("step" in event) step = event.step;
    if (event.type === "command-requested") {
      calls.set(event.callId, event.call);
      lastThought = event.thought || lastThought;
    }
    const call = "callId" in event ? calls.get(event.callId) : undefined;
    if (call && CHECK_COMMANDS.has(call.name)) continue;
    const trouble = troubleIn(event, call);
    if (trouble) all.push(trouble);
    const source = sourceIn(event, call, step);
    if (!source) continue;
    const key = JSON.stringify([source.command, source.what]);
    const times = (sources.get(key)?.times ?? 0) + 1;
    sources.delete(key);
    sources.set(key, { ...source, times });
  }
  const troubles: Record<string, number> = {};
  for (const { kind } of all) troubles[kind] = (troubles[kind] ?? 0) + 1;
  const newest = [...sources.values()].slice(-MOST.sources);
  return { lastThought, sources: newest, troubles, lastTroubles: all.slice(-MOST.troubles) };
}

/** `turn`: the number of the turn at the end. */
function readTurns(events: readonly RecordedEvent[], turn: number): ReportFacts["turns"] {
  const turns: ReportFacts["turns"][number][] = [];
  let number = turn;
  for (const event of events.toReversed()) {
    if (event.type === "turn-started") number = event.turn - 1;
    if (event.type === "turn-finished") turns.unshift({ turn: number, at: event.at, reason: event.reason });
  }
  return turns.slice(-MOST.turns);
}

function isUnpriced(event: RecordedEvent): boolean {
  if (event.type === "model-replied") return typeof event.costUsd !== "number";
  return (event.type === "command-waiting" || event.type === "command-finished") && event.spent?.costUsd === null;
}

/** Counts what sub-agents have reported, not what is reserved for them. */
function helpersOf({ children, endedSpent }: AgentState): ReportFacts["helpers"] {
  const spent = [endedSpent, ...Object.values(children).map((child) => child.spent)];
  const sum = (name: keyof typeof endedSpent) => spent.reduce((total, each) => total + each[name], 0);
  return { agents: spent.length - 1, steps: sum("steps"), tokens: sum("tokens"), usd: sum("usd") };
}
