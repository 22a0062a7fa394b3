/**
 * report-facts.ts -- the facts of a report, from an agent's state and the fold of its log. Pure.
 *
 * Bounded for any length of log (report-fold.ts). Reads no clock, so one log always gives one report.
 */
import type { AgentRow } from "#core/ports/agent.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import {
  amount,
  count,
  described,
  flag,
  listOf,
  nullable,
  open,
  ordinal,
  recordOf,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import { standingOf } from "./agent-view.ts";
import { CheckView, viewChecks } from "./check-view.ts";
import { LimitLeft, limitsLeft } from "./limits-left.ts";
import { findNamedFiles } from "./named-files.ts";
import { NextStep, nextStepOf } from "./next-step.ts";
import { Lost, ReceivedView, usageMembers } from "./parts.ts";
import { REPORT_LIMITS, ReportFile, type ReportFold } from "./report-fold.ts";
import { sourceMembers } from "./sources.ts";
import { Trouble } from "./troubles.ts";

const ReportCost = open({
  steps: count,
  modelCalls: count,
  ...usageMembers,
  usd: amount,
  unpricedCalls: described(count, "Replies of models without a known price."),
  lost: Lost,
  helpers: described(
    open({ agents: count, steps: count, tokens: count, usd: amount }),
    "Spent by sub-agents as of their last reports, in addition.",
  ),
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
  received: described(listOf(ReceivedView), "Outside words that it has read since its last clean state, oldest first."),
  goals: listOf(open({ goal: text, named: described(listOf(text), "Existing files that the goal names.") })),
  checks: described(listOf(CheckView), "Checks of the goals, with their newest results."),
  closing: described(
    nullable(open({ text, named: listOf(text) })),
    "What the agent reported when it finished; null until then.",
  ),
  lastThought: text,
  turns: described(
    listOf(open({ turn: ordinal, at: time, reason: text })),
    "The newest finished turns, the newest last.",
  ),
  files: described(listOf(ReportFile), `The last changed existing files, at most ${REPORT_LIMITS.files}, by path.`),
  moreFiles: described(flag, "True when older files are left out of `files`."),
  deleted: described(count, `Number of deleted files, counted up to ${REPORT_LIMITS.deleted}.`),
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
  readonly row: Pick<AgentRow, "id" | "name" | "createdAt">;
  readonly workspace: string;
  /** A host runs the agent, or will wake it. */
  readonly hosted: boolean;
  /** The agent's state after the last event of the fold. */
  readonly state: AgentState;
  readonly fold: ReportFold;
}

export function reportFacts(of: ReportFactsOf): ReportFacts {
  const { state, fold } = of;
  const files = fold.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const { lastThought, turns, moreFiles, sources, sourceCount, troubles, lastTroubles } = fold;
  return {
    ...standingFacts(of, files),
    lastThought,
    turns,
    files,
    moreFiles,
    deleted: fold.deleted.length,
    commands: Object.fromEntries(fold.commands.map(({ name, times }) => [name, times])),
    ...{ sources, sourceCount, troubles, lastTroubles },
    cost: costOf(state, fold),
    limits: limitsLeft(state, new Date(fold.at)),
    events: fold.seq,
    lastEventAt: fold.at,
  };
}

type StandingFacts = Pick<
  ReportFacts,
  | "id"
  | "name"
  | "role"
  | "workspace"
  | "standing"
  | "next"
  | "pauseReason"
  | "received"
  | "goals"
  | "checks"
  | "closing"
  | "createdAt"
>;

function standingFacts({ row, workspace, hosted, state }: ReportFactsOf, files: readonly ReportFile[]): StandingFacts {
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
    received: state.received,
    goals: state.goals.map((goal) => ({ goal, named: findNamedFiles(goal, names) })),
    checks: viewChecks(state),
    closing: phase.kind === "resting" ? { text: phase.reason, named: findNamedFiles(phase.reason, names) } : null,
    createdAt: row.createdAt,
  };
}

function costOf(state: AgentState, { unpricedCalls, modelMs, commandMs }: ReportFold): ReportFacts["cost"] {
  const { step: steps, costUsd: usd, lost } = state;
  return { steps, ...state.usage, usd, lost, helpers: helpersSpent(state), unpricedCalls, modelMs, commandMs };
}

/** Counts what sub-agents have reported, not what is reserved for them. */
function helpersSpent({ children, endedSpent }: AgentState): ReportFacts["cost"]["helpers"] {
  const spent = [endedSpent, ...Object.values(children).map((child) => child.spent)];
  const sum = (name: keyof typeof endedSpent) => spent.reduce((total, each) => total + each[name], 0);
  return { agents: spent.length - 1, steps: sum("steps"), tokens: sum("tokens"), usd: sum("usd") };
}
