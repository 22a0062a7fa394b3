/**
 * agent-view.ts -- one agent as `ps`, the local API and the status count show it. Pure.
 *
 * The state comes from the log. Only the host knows who runs the agent and whether it is stalled: the facts carry that.
 */
import { join } from "node:path";
import type { CommandCall } from "#core/call.ts";
import type { PauseCode } from "#core/event.ts";
import { waitsForHelpers } from "#core/guards.ts";
import { reservedOf, spentOf } from "#core/limits.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { type AgentState, activeFrame, approvalOf, initialState, openCommand, questionOf } from "#core/state.ts";
import { isBlobRef, oneLine, withCommas } from "#core/text.ts";
import {
  amount,
  anyOf,
  count,
  described,
  flag,
  listOf,
  nullable,
  oneOf,
  open,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import { ReceivedView } from "./parts.ts";

export const agentMembers = {
  id: text,
  name: text,
  parent: described(nullable(text), "Id of the agent that started it; null for an agent that a person started."),
  state: described(text, "`running`, `interrupted`, `waiting: approval`, `paused: budget`, `completed` …"),
  reason: nullable(text),
  until: described(nullable(time), "When a wait for a time, a rate limit or an approval ends; else null."),
  standing: described(
    open({ kind: oneOf("running", "interrupted", "waiting", "paused", "over", "damaged"), cause: text }),
    "The state in two parts: `waiting` and `approval`; the cause is empty where the kind says all.",
  ),
  now: described(
    open({ kind: oneOf("thinking", "running", "waiting", "resting"), command: text, subject: text, thought: text }),
    "What it does since its last event; the command under way, its first text argument and the thought with it, else empty.",
  ),
  closing: described(text, "Its closing words; empty until it has completed."),
  budget: described(
    nullable(open({ allowedUsd: amount, spentUsd: amount, reservedUsd: amount })),
    "US dollars; null without a budget. `reservedUsd` is set aside for calls under way and for its own agents.",
  ),
  head: described(count, "Number of its last event."),
  step: count,
  turn: count,
  tokens: count,
  costUsd: amount,
  background: flag,
  stalledMs: described(nullable(count), "Milliseconds since the last event when a step takes too long; else null."),
  lastCommand: nullable(text),
  received: described(listOf(ReceivedView), "Outside words that it has read since its last clean state, oldest first."),
  createdAt: time,
  changedAt: time,
  workspace: described(text, "Absolute path."),
};
/** One line of `ps`. */
export const AgentView = open(agentMembers);
export type AgentView = Static<typeof AgentView>;

export interface ViewFacts {
  /** Absolute path of the home's `workspace/`. */
  readonly workspaceFolder: string;
  /** A host runs it now. A running agent without a host is shown as interrupted. */
  readonly hosted: boolean;
  /** Milliseconds without an event after which a step counts as stalled (see `stallLimit`). */
  stallAfterMs(state: AgentState): number;
  readonly now: Date;
  /** The host's last failure with this agent, until the agent continues. */
  readonly problem?: string | null;
  /** Why the agent waits for its turn to run a command alone after a death; null when it does not. */
  readonly waitsAlone?: string | null;
  /** Until when its request waits because the model server wants fewer; null when none does. */
  readonly heldUntil?: Date | null;
}

export function viewAgent(row: AgentRow, state: AgentState, facts: ViewFacts): AgentView {
  const own = [shownStateOf(state, facts.hosted), reasonOf(state), untilOf(state)] as const;
  const [shown, reason, until = null] = waitInHost(facts) ?? own;
  const { inputTokens, outputTokens } = state.usage;
  const { phase, repetition } = activeFrame(state);
  return {
    id: row.id,
    name: state.name || row.name,
    parent: row.parent,
    state: shown,
    reason,
    until,
    standing: splitState(shown),
    now: nowOf(state),
    closing: phase.kind === "resting" ? phase.reason : "",
    budget: budgetOf(state),
    head: row.head,
    step: state.step,
    turn: state.turn,
    tokens: inputTokens + outputTokens,
    costUsd: roundUsd(state.costUsd),
    background: state.settings.background,
    stalledMs: shown === "running" || shown === RETRYING ? stalledMs(row, state, facts) : null,
    lastCommand: repetition?.calls.at(-1)?.name ?? null,
    received: state.received,
    createdAt: row.createdAt,
    changedAt: row.updatedAt,
    workspace: join(facts.workspaceFolder, row.folder),
  };
}

/** Returns what keeps the agent waiting without an event of its log; undefined when nothing does. */
function waitInHost({ problem, waitsAlone, heldUntil }: ViewFacts): readonly [string, string, string?] | undefined {
  if (problem) return [FAILING, `It failed and is retried automatically. ${problem}`];
  if (waitsAlone) return [RECOVERING, waitsAlone];
  if (!heldUntil) return undefined;
  const until = heldUntil.toISOString();
  return [RATE_LIMITED, `The model server wants fewer requests. The next attempt is at ${until}.`, until];
}

function splitState(shown: string): AgentView["standing"] {
  const [word = "", cause = ""] = shown.split(": ");
  if (isOver(shown)) return { kind: "over", cause: shown };
  return { kind: word as AgentView["standing"]["kind"], cause };
}

const MAX_SUBJECT_CHARS = 200;

function nowOf(state: AgentState): AgentView["now"] {
  const { phase } = activeFrame(state);
  const { call, thought = "" } = ("callId" in phase && openCommand(state, phase.callId)) || {};
  const isWaiting = phase.kind === "awaiting-approval" || phase.kind === "waiting";
  const idle = phase.kind === "resting" ? "resting" : "thinking";
  return {
    kind: call === undefined ? idle : isWaiting ? "waiting" : "running",
    command: call?.name ?? "",
    subject: call ? subjectOf(call) : "",
    thought,
  };
}

/** The first text among the arguments, in one line. */
export function subjectOf({ args }: CommandCall): string {
  const first = Object.values(args).find((value) => typeof value === "string" || isBlobRef(value));
  return oneLine(isBlobRef(first) ? first.head : String(first ?? ""), MAX_SUBJECT_CHARS);
}

/** Sums of prices have noise behind the sixth decimal. */
const roundUsd = (usd: number): number => Math.round(usd * 1e6) / 1e6;

function budgetOf(state: AgentState): AgentView["budget"] {
  const { budgetUsd: allowedUsd } = state.settings;
  const reservedUsd = roundUsd(reservedOf(state).usd);
  return allowedUsd === null ? null : { allowedUsd, spentUsd: roundUsd(spentOf(state).usd - reservedUsd), reservedUsd };
}

/** The host failed to continue the agent and retries: the disk is full, or the folder cannot be made. */
export const FAILING = "waiting: retry";
/** A request to the model failed, and is repeated. */
const RETRYING = "waiting: model";
/** The model server wants fewer requests, and the next one waits for that. */
export const RATE_LIMITED = "waiting: rate limit";
/** The host tries the commands that a death interrupted one at a time, and it is not this agent's turn. */
const RECOVERING = "waiting: recovery";

/** The state as `ps` shows it: `running`, `waiting: approval`, `paused: budget` … */
export function shownStateOf(state: AgentState, hosted: boolean): string {
  const { phase, failedTries } = activeFrame(state);
  if (phase.kind === "resting") return phase.outcome;
  if (state.paused) return PAUSE_WORDS[state.paused.code] ?? `paused: ${state.paused.code}`;
  if (state.outage) return RETRYING;
  if (phase.kind === "awaiting-approval") return "waiting: approval";
  if (phase.kind === "retrying") return failedTries.at(-1)?.code === "rate-limited" ? RATE_LIMITED : RETRYING;
  if (phase.kind === "waiting") return `waiting: ${phase.waitFor}`;
  if (phase.kind === "thinking" && waitsForHelpers(state)) return "waiting: agent";
  return hosted ? "running" : "interrupted";
}

function untilOf(state: AgentState): string | null {
  const { phase } = activeFrame(state);
  if (state.paused) return null;
  if (phase.kind === "retrying") return phase.at;
  return phase.kind === "waiting" || phase.kind === "awaiting-approval" ? phase.until : null;
}

/** Pauses that a person caused have names of their own. */
const PAUSE_WORDS: Partial<Record<PauseCode, string>> = { stopped: "stopped", killed: "killed", ended: "ended" };

/** Whether the agent finished, or a person ended it. */
export const isOver = (shown: string): boolean => OVER.has(shown);
const OVER: ReadonlySet<string> = new Set(["completed", "stopped", "killed", "ended"]);

/**
 * Returns how long an agent may be without an event: the timeout of the command or model call under way, plus a margin.
 * `commands`: absent where the caller has no catalogue.
 */
export function stallLimit(
  modelTimeoutMs: number,
  commands?: { get(name: string): { readonly timeoutMs: number } | undefined },
): ViewFacts["stallAfterMs"] {
  return (state) => {
    const { phase } = activeFrame(state);
    const isCommand = phase.kind === "executing" || phase.kind === "approved";
    const name = isCommand ? openCommand(state, phase.callId)?.call.name : undefined;
    return (name === undefined ? modelTimeoutMs : (commands?.get(name)?.timeoutMs ?? UNKNOWN_COMMAND_MS)) + MACHINE_MS;
  };
}
/** The longest timeout of the shipped commands. */
const UNKNOWN_COMMAND_MS = 600_000;
const MACHINE_MS = 30_000;

const MAX_QUESTION_CHARS = 500;
const MAX_REASON_CHARS = 500;

/** Returns what the agent waits for, or why it paused; null for one that works or has finished. */
export function reasonOf(state: AgentState): string | null {
  if (state.paused) return state.paused.reason;
  const { phase } = activeFrame(state);
  if (phase.kind === "retrying") return `${oneLine(phase.why, MAX_REASON_CHARS)} The next attempt is at ${phase.at}.`;
  if (state.outage) return `The model has not answered since ${state.outage.since}.`;
  const question = questionOf(state);
  const approval = approvalOf(state);
  if (approval)
    return `It asks for the approval of ${approval.call.name} (${approval.callId}): ${oneLine(approval.reason, MAX_REASON_CHARS)}`;
  if (question !== undefined) return `It asks: ${oneLine(question, MAX_QUESTION_CHARS)}`;
  if (phase.kind === "waiting" && phase.until !== null) return `Until ${phase.until}.`;
  return null;
}

/** The wait before a retry does not count as a stall. */
function stalledMs(row: AgentRow, state: AgentState, { stallAfterMs, now }: ViewFacts): number | null {
  const { phase } = activeFrame(state);
  const since = Date.parse(phase.kind === "retrying" && phase.at > row.updatedAt ? phase.at : row.updatedAt);
  const quietMs = now.getTime() - since;
  return quietMs > stallAfterMs(state) ? quietMs : null;
}

/** The facts of an agent that nothing but its store is asked about, at the time of its last event. */
export function factsOf(row: AgentRow) {
  return { hosted: false, stallAfterMs: () => 0, now: new Date(row.updatedAt) };
}

/** An agent whose log cannot be read: its row, and the reason. */
export function viewDamaged(row: AgentRow, reason: string, facts: Pick<ViewFacts, "workspaceFolder">): AgentView {
  return {
    ...viewAgent(row, { ...initialState, name: row.name }, { ...factsOf(row), ...facts }),
    state: "damaged",
    standing: { kind: "damaged", cause: "" },
    reason,
    stalledMs: null,
  };
}

/**
 * Counts agents as `goald status` shows them. `waiting`: for a time, an approval, a person or another agent; `paused`: also
 * those that a person or their agent ended; `interrupted`: not finished, and nobody runs them; `stalled`: running without
 * an event for longer than a model call may take.
 */
export function countStandings(views: readonly AgentView[]) {
  const countIf = (fits: (view: AgentView) => boolean): number => views.filter(fits).length;
  return {
    running: countIf(({ state }) => state === "running"),
    waiting: countIf(({ state }) => state.startsWith("waiting")),
    paused: countIf(({ state }) => state.startsWith("paused") || (isOver(state) && state !== "completed")),
    finished: countIf(({ state }) => state === "completed"),
    interrupted: countIf(({ state }) => state === "interrupted"),
    damaged: countIf(({ state }) => state === "damaged"),
    stalled: countIf(({ stalledMs }) => stalledMs !== null),
  };
}

export const LimitLeft = open({
  limit: oneOf("steps", "tokens", "usd", "time"),
  allowed: anyOf(amount, time),
  used: described(amount, "Spent, and set aside for what is under way."),
  spent: amount,
  left: described(amount, "For `time` in milliseconds. Never below zero."),
});
export type LimitLeft = Static<typeof LimitLeft>;

/** The limits that are set. `used` counts the same as `limitReached` in core. */
export function limitsLeft(state: AgentState, now: Date): readonly LimitLeft[] {
  const { stepLimit, tokenLimit, budgetUsd, deadline } = state.settings;
  const spent = spentOf(state);
  const reserved = reservedOf(state);
  const leftMs = Math.max(0, Date.parse(deadline ?? "") - now.getTime());
  const counted = (limit: LimitLeft["limit"], allowed: number | null, used: number, kept = 0): readonly LimitLeft[] =>
    allowed === null
      ? []
      : [{ limit, allowed, used, spent: roundUsd(used - kept), left: roundUsd(Math.max(0, allowed - used)) }];
  return [
    ...counted("steps", stepLimit, spent.steps),
    ...counted("tokens", tokenLimit, spent.tokens, reserved.tokens),
    ...counted("usd", budgetUsd, roundUsd(spent.usd), reserved.usd),
    ...(deadline === null ? [] : [{ limit: "time", allowed: deadline, used: 0, spent: 0, left: leftMs } as const]),
  ];
}

export function describeLimit({ limit, allowed, used, spent, left }: LimitLeft): string {
  if (limit === "time") return `until ${allowed}${left === 0 ? ", now over" : ""}`;
  const [write, unit] = limit === "usd" ? [dollars, ""] : [withCommas, ` ${limit}`];
  const aside = used > spent ? `, ${write(used - spent)} set aside` : "";
  return `${write(left)}${unit} left (${write(spent)} of ${write(Number(allowed))} used in all turns${aside})`;
}

/** Two decimals from one cent up; below a cent two significant digits. */
export const dollars = (usd: number): string => `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
