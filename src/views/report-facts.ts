/**
 * report-facts.ts -- what a report says, gathered from one pass over an agent's events and the history of its files.
 *
 * Pure, and bounded whatever the length of the log: counts for all, names for the newest. The same log gives the same
 * facts: no clock is read, so a report that is written twice is the same file.
 */
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { type AgentState, activeFrame, initialState } from "#core/state.ts";
import { standingOf } from "./agent-view.ts";
import { type LimitLeft, limitsLeft } from "./limits-left.ts";
import { namedIn } from "./named-files.ts";
import { type NextStep, nextStepOf } from "./next-step.ts";
import { byPath, isByPerson } from "./restore-version.ts";
import { createSourceList, type Source } from "./sources.ts";
import { createTroubleList, type Trouble } from "./troubles.ts";

export interface ReportFile {
  readonly path: string;
  readonly bytes: number;
  /** Of the last change. */
  readonly step: number;
  readonly at: string;
  readonly by: "agent" | "person";
  /** The command that changed it last; null for a person's edit. */
  readonly command: string | null;
}

export interface ReportFacts {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  /** Absolute path of its folder. */
  readonly workspace: string;
  readonly standing: string;
  /** In goald's words, with what to do next. */
  readonly next: NextStep;
  /** Why it paused, in the words of whoever paused it; null when it is not paused. */
  readonly pauseReason: string | null;
  readonly goals: readonly { readonly goal: string; readonly named: readonly string[] }[];
  /** What it said when it finished; null while it has not. */
  readonly closing: { readonly text: string; readonly named: readonly string[] } | null;
  readonly lastThought: string;
  /** Turns that are over, the newest last. */
  readonly turns: readonly { readonly turn: number; readonly at: string; readonly reason: string }[];
  /** The ones that are there, by path. */
  readonly files: readonly ReportFile[];
  /** Paths that were written and are not there any more. */
  readonly deleted: number;
  readonly sources: readonly (Source & { readonly times: number })[];
  readonly sourceCount: number;
  readonly troubles: Readonly<Partial<Record<Trouble["kind"], number>>>;
  readonly lastTroubles: readonly Trouble[];
  readonly commands: Readonly<Record<string, number>>;
  readonly cost: {
    readonly steps: number;
    readonly modelCalls: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedTokens: number;
    readonly estimated: boolean;
    readonly usd: number;
    /** Replies of models without a known price. */
    readonly unpricedCalls: number;
    readonly lost: AgentState["lost"];
    readonly modelMs: number;
    readonly commandMs: number;
  };
  readonly limits: readonly LimitLeft[];
  readonly createdAt: string;
  readonly lastEventAt: string;
  readonly events: number;
}

export interface ReportFactsOf {
  readonly row: Pick<AgentRow, "id" | "name" | "createdAt" | "updatedAt">;
  readonly workspace: string;
  readonly versions: readonly FileVersion[];
  /** A host runs it, or will wake it. */
  readonly hosted: boolean;
}

const MAX_SOURCES = 200;
const MAX_TURNS = 10;

/** `add` takes every event of the log, in order; then `facts` says what came of them. */
export function createReportFacts(of: ReportFactsOf): { add(event: RecordedEvent): void; facts(): ReportFacts } {
  const paths = byPath(of.versions);
  const work = createWork(paths);
  const sources = createSourceList(MAX_SOURCES);
  const troubles = createTroubleList();
  const spent = { unpricedCalls: 0, modelMs: 0, commandMs: 0 };
  const seen = { events: 0, lastEventAt: of.row.updatedAt };
  let state = initialState;

  function add(event: RecordedEvent): void {
    state = evolve(state, event);
    seen.events += 1;
    seen.lastEventAt = event.at;
    sources.add(event);
    troubles.add(event);
    work.add(event, state.turn);
    if (event.type === "command-finished") spent.commandMs += event.durationMs;
    if ((event.type === "command-finished" || event.type === "command-waiting") && event.spent?.costUsd === null)
      spent.unpricedCalls += event.spent.modelCalls;
    if (event.type !== "model-replied") return;
    spent.modelMs += event.durationMs;
    if (typeof event.costUsd !== "number") spent.unpricedCalls += 1;
  }

  function facts(): ReportFacts {
    const files = filesOf(paths, work.writers);
    const listed = { sources: sources.list(), sourceCount: sources.count() };
    const wrong = { troubles: troubles.counts, lastTroubles: troubles.newest };
    const { lastThought, turns } = work;
    const commands = Object.fromEntries(work.commands);
    const deleted = paths.size - files.length;
    const { lastEventAt } = seen;
    const cost = costOf(state, spent);
    const limits = limitsLeft(state, new Date(lastEventAt));
    return {
      ...standing(of, state, files),
      lastThought,
      turns,
      files,
      deleted,
      commands,
      ...listed,
      ...wrong,
      cost,
      limits,
      ...seen,
    };
  }

  return { add, facts };
}

type Standing = Pick<
  ReportFacts,
  "id" | "name" | "role" | "workspace" | "standing" | "next" | "pauseReason" | "goals" | "closing" | "createdAt"
>;

function standing(
  { row, workspace, hosted }: ReportFactsOf,
  state: AgentState,
  files: readonly ReportFile[],
): Standing {
  const names = files.map(({ path }) => path);
  const { phase } = activeFrame(state);
  const words = standingOf(state, hosted);
  return {
    id: row.id,
    name: state.name || row.name,
    role: state.role,
    workspace,
    standing: words,
    next: nextStepOf(row.id, state, words),
    pauseReason: state.paused?.reason ?? null,
    goals: state.goals.map((goal) => ({ goal, named: namedIn(goal, names) })),
    closing: phase.kind === "resting" ? { text: phase.reason, named: namedIn(phase.reason, names) } : null,
    createdAt: row.createdAt,
  };
}

function costOf(
  state: AgentState,
  spent: Pick<ReportFacts["cost"], "unpricedCalls" | "modelMs" | "commandMs">,
): ReportFacts["cost"] {
  const { step: steps, costUsd: usd, lost } = state;
  return { steps, ...state.usage, usd, lost, ...spent };
}

/** What was asked for, by which call each file was written last, and how the turns ended. */
function createWork(paths: ReadonlyMap<string, readonly FileVersion[]>) {
  const wanted = new Set([...paths.values()].map((changes) => changes.at(-1)?.callId));
  const writers = new Map<string, string>();
  const commands = new Map<string, number>();
  const turns: ReportFacts["turns"][number][] = [];
  const work = { writers, commands, turns, lastThought: "", add };

  function add(event: RecordedEvent, turn: number): void {
    if (event.type === "command-requested") {
      const { name } = event.call;
      work.lastThought = event.thought;
      commands.set(name, (commands.get(name) ?? 0) + 1);
      if (wanted.has(event.callId)) writers.set(event.callId, name);
    }
    if (event.type !== "turn-finished") return;
    turns.push({ turn, at: event.at, reason: event.reason });
    if (turns.length > MAX_TURNS) turns.shift();
  }

  return work;
}

function filesOf(
  paths: ReadonlyMap<string, readonly FileVersion[]>,
  writers: ReadonlyMap<string, string>,
): readonly ReportFile[] {
  const files: ReportFile[] = [];
  for (const [path, changes] of paths) {
    const last = changes.at(-1);
    if (!last || last.operation === "delete") continue;
    const { bytes, step, at } = last;
    const byPerson = isByPerson(last);
    const command = byPerson ? null : (writers.get(last.callId) ?? null);
    files.push({ path, bytes, step, at, by: byPerson ? "person" : "agent", command });
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}
