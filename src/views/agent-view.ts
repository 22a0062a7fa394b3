/**
 * agent-view.ts -- one agent as `ps`, the local API and the status count see it. Pure.
 *
 * What a log says is so for everyone; who runs the agent, and since when nothing has happened, only
 * its host knows: that comes in as facts.
 */
import { join } from "node:path";
import type { AgentView } from "#api/control.ts";
import type { PauseCode } from "#core/event.ts";
import { isIdle } from "#core/loops.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { type AgentState, activeFrame, initialState, questionOf } from "#core/state.ts";
import { oneLine } from "#core/text.ts";

export interface ViewFacts {
  /** Absolute path of the home's `workspace/`. */
  readonly workspaceFolder: string;
  /** A host runs it now: a running agent of nobody is interrupted. */
  readonly hosted: boolean;
  /** Name of the command that it asked for last; null when it is not known. */
  readonly lastCommand: string | null;
  /** Milliseconds without an event after which a step counts as stalled (see `stallLimitMs`). */
  readonly stallAfterMs: number;
  readonly now: Date;
  /** What its host failed of last with it, until it goes on; only the host knows. */
  readonly problem?: string | null;
}

export function viewAgent(row: AgentRow, state: AgentState, facts: ViewFacts): AgentView {
  const problem = facts.problem ?? null;
  const standing = problem === null ? standingOf(state, facts.hosted) : FAILING;
  const { inputTokens, outputTokens } = state.usage;
  return {
    id: row.id,
    name: state.name || row.name,
    parent: row.parent,
    state: standing,
    reason: problem === null ? reasonOf(state) : `It failed, and is tried again by itself. ${problem}`,
    step: state.step,
    turn: state.turn,
    tokens: inputTokens + outputTokens,
    costUsd: Math.round(state.costUsd * 1e6) / 1e6,
    background: state.settings.background,
    stalledMs: standing === "running" ? stalledMs(row, state, facts) : null,
    lastCommand: facts.lastCommand ?? state.repetition?.call.name ?? null,
    createdAt: row.createdAt,
    changedAt: row.updatedAt,
    workspace: join(facts.workspaceFolder, row.folder),
  };
}

/** Its host could not go on with it, and tries again: a disk is full, a folder is not to be had. */
export const FAILING = "waiting: retry";

/** A few words for where an agent stands, as `ps` shows it: `running`, `waiting: approval`, `paused: budget` … */
export function standingOf(state: AgentState, hosted: boolean): string {
  const { phase } = activeFrame(state);
  if (phase.kind === "resting") return phase.outcome;
  if (state.paused) return PAUSE_WORDS[state.paused.code] ?? `paused: ${state.paused.code}`;
  if (state.outage) return "waiting: model";
  if (phase.kind === "awaiting-approval") return "waiting: approval";
  if (phase.kind === "waiting") return `waiting: ${phase.waitFor}`;
  if (phase.kind === "thinking" && isIdle(state)) return "waiting: agent";
  return hosted ? "running" : "interrupted";
}

/** What a person did to it is a standing of its own; all else is a pause with a reason. */
const PAUSE_WORDS: Partial<Record<PauseCode, string>> = { stopped: "stopped", killed: "killed", ended: "ended" };

/** It has nothing left to do by itself: it finished, or a person ended it. */
export const isOver = (standing: string): boolean => OVER.has(standing);
const OVER: ReadonlySet<string> = new Set(["completed", "stopped", "killed", "ended"]);

/** How long a step may be without an event: the longest of its two waits, and some time for the machine itself. */
export const stallLimitMs = (modelTimeoutMs: number): number => Math.max(modelTimeoutMs, COMMAND_MS) + MACHINE_MS;
const COMMAND_MS = 120_000;
const MACHINE_MS = 30_000;

const MAX_QUESTION_CHARS = 500;

function reasonOf(state: AgentState): string | null {
  if (state.paused) return state.paused.reason;
  const { phase } = activeFrame(state);
  if (state.outage && phase.kind === "retrying")
    return `The model has not answered since ${state.outage.since}; it is tried each minute, next at ${phase.at}.`;
  if (phase.kind === "retrying") return `The model did not answer; it is asked again at ${phase.at}.`;
  const question = questionOf(state);
  if (question !== undefined) return `It asks: ${oneLine(question, MAX_QUESTION_CHARS)}`;
  if (phase.kind === "waiting" && phase.until !== null) return `Until ${phase.until}.`;
  return null;
}

/** A wait for the next attempt is no stall before its time. */
function stalledMs(row: AgentRow, state: AgentState, { stallAfterMs, now }: ViewFacts): number | null {
  const { phase } = activeFrame(state);
  const since = Date.parse(phase.kind === "retrying" && phase.at > row.updatedAt ? phase.at : row.updatedAt);
  const quietMs = now.getTime() - since;
  return quietMs > stallAfterMs ? quietMs : null;
}

/** An agent whose log cannot be read: what its row says, and why there is no more. */
export function viewDamaged(row: AgentRow, reason: string, facts: ViewFacts): AgentView {
  return { ...viewAgent(row, { ...initialState, name: row.name }, facts), state: "damaged", reason, stalledMs: null };
}
