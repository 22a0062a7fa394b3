/**
 * report-facts.ts -- the facts of a report, from one pass over an agent's events and its file history. Pure.
 *
 * Bounded for any length of log: counts of all, details of the newest. Reads no clock, so one log always gives one report.
 */
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { type AgentState, activeFrame, initialState } from "#core/state.ts";
import {
  amount,
  count,
  described,
  listOf,
  nullable,
  oneOf,
  open,
  ordinal,
  recordOf,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import { standingOf } from "./agent-view.ts";
import { LimitLeft, limitsLeft } from "./limits-left.ts";
import { findNamedFiles } from "./named-files.ts";
import { NextStep, nextStepOf } from "./next-step.ts";
import { Lost, usageMembers } from "./parts.ts";
import { byPath, isByPerson } from "./restore-version.ts";
import { createSourceList, sourceMembers } from "./sources.ts";
import { createTroubleList, Trouble } from "./troubles.ts";

export const ReportFile = open({
  path: text,
  bytes: count,
  step: described(count, "Step of the last change."),
  at: time,
  by: oneOf("agent", "person"),
  command: described(nullable(text), "The command of the last change; null for a person's edit."),
});
export type ReportFile = Static<typeof ReportFile>;

const ReportCost = open({
  steps: count,
  modelCalls: count,
  ...usageMembers,
  usd: amount,
  unpricedCalls: described(count, "Replies of models without a known price."),
  lost: Lost,
  modelMs: count,
  commandMs: count,
});

export const ReportFacts = open({
  id: text,
  name: text,
  role: text,
  workspace: described(text, "Absolute path of the agent's folder."),
  standing: text,
  next: described(NextStep, "In goald's own words."),
  pauseReason: described(nullable(text), "In the words of whoever paused the agent."),
  goals: listOf(open({ goal: text, named: described(listOf(text), "Existing files that the goal names.") })),
  closing: described(
    nullable(open({ text, named: listOf(text) })),
    "What the agent reported when it finished; null until then.",
  ),
  lastThought: text,
  turns: described(listOf(open({ turn: ordinal, at: time, reason: text })), "Finished turns, the newest last."),
  files: described(listOf(ReportFile), "Existing files, by path."),
  deleted: described(count, "Number of files that were written and no longer exist."),
  sources: listOf(open({ ...sourceMembers, times: ordinal })),
  sourceCount: count,
  troubles: described(recordOf(count), "Number of failures by kind."),
  lastTroubles: listOf(Trouble),
  commands: described(recordOf(count), "Number of calls by command."),
  cost: ReportCost,
  limits: listOf(LimitLeft),
  createdAt: time,
  lastEventAt: time,
  events: count,
});
export type ReportFacts = Static<typeof ReportFacts>;

export interface ReportFactsOf {
  readonly row: Pick<AgentRow, "id" | "name" | "createdAt" | "updatedAt">;
  readonly workspace: string;
  readonly versions: readonly FileVersion[];
  /** A host runs the agent, or will wake it. */
  readonly hosted: boolean;
}

const MAX_SOURCES = 200;
const MAX_TURNS = 10;

/** `add` takes every event of the log in order; `facts` returns the result. */
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
      ...standingFacts(of, state, files),
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

type StandingFacts = Pick<
  ReportFacts,
  "id" | "name" | "role" | "workspace" | "standing" | "next" | "pauseReason" | "goals" | "closing" | "createdAt"
>;

function standingFacts(
  { row, workspace, hosted }: ReportFactsOf,
  state: AgentState,
  files: readonly ReportFile[],
): StandingFacts {
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
    goals: state.goals.map((goal) => ({ goal, named: findNamedFiles(goal, names) })),
    closing: phase.kind === "resting" ? { text: phase.reason, named: findNamedFiles(phase.reason, names) } : null,
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

/** Counts commands, and collects the last writer of each file and the ends of turns. */
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
