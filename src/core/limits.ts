/**
 * limits.ts -- the limits on an agent's steps, tokens, money and time. Each limit holds over the agent's whole life,
 * crashes included. Reservations of calls whose end was not seen count as spent. `limitReached` is checked before a
 * model call is prepared, `limitExceededBy` once the size of the request is known and before it is sent. Each reason
 * says what was allowed, what is spent, and how to continue.
 */
import { reservedBy } from "./call.ts";
import type { ModelSpending, PauseCode, Usage } from "./event.ts";
import { putCall } from "./frames.ts";
import { type AgentState, openCommand } from "./state.ts";
import type { ChildLimits, Spending } from "./subagent.ts";
import { countNoun } from "./text.ts";

/** A reply with less room is useless. Reasoning tokens count. */
export const LEAST_REPLY_TOKENS = 256;

export interface LimitReached {
  readonly code: Extract<PauseCode, "step-limit" | "token-limit" | "budget" | "time-limit">;
  readonly reason: string;
}

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  /** Price of input tokens that the server had cached. */
  readonly cachedInput: number;
  readonly output: number;
}

export const isFree = (price: Price | null): boolean => price?.input === 0 && price.output === 0;

/** Cost of this usage in US dollars. */
export function costOf(usage: Omit<Usage, "estimated">, price: Price): number {
  const cached = Math.min(usage.cachedTokens, usage.inputTokens);
  const fresh = usage.inputTokens - cached;
  return (fresh * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/**
 * The most that the agent can have spent: reported usage, lost reservations, reservations of open calls, and
 * what its sub-agents have spent or may still spend.
 */
export function spentOf(state: AgentState): Spending {
  const others = spentByOthers(state);
  const reserved = reservedBy(state.open);
  const { inputTokens, outputTokens } = state.usage;
  return {
    steps: state.step + others.steps,
    tokens: inputTokens + outputTokens + state.lost.tokens + others.tokens + reserved.tokens,
    usd: state.costUsd + state.lost.usd + others.usd + reserved.usd,
  };
}

/** The part of `spentOf` that is set aside for open calls and for what working sub-agents may still spend. */
export function reservedOf({ open, children }: AgentState): Omit<Spending, "steps"> {
  const reserved = reservedBy(open);
  const working = Object.values(children).filter(({ isWorking }) => isWorking);
  const left = (allowed: number | null, spent: number): number => Math.max(0, (allowed ?? 0) - spent);
  return {
    tokens: working.reduce((sum, { limits, spent }) => sum + left(limits.tokenLimit, spent.tokens), reserved.tokens),
    usd: working.reduce((sum, { limits, spent }) => sum + left(limits.budgetUsd, spent.usd), reserved.usd),
  };
}

/** Counts the whole allowance of each working sub-agent, and the actual spending of the others. */
export function spentByOthers({ children, endedSpent }: AgentState): Spending {
  let { steps, tokens, usd } = endedSpent;
  for (const { isWorking, limits, spent } of Object.values(children)) {
    const most = (allowed: number | null, reported: number): number =>
      isWorking ? Math.max(allowed ?? 0, reported) : reported;
    steps += most(limits.stepLimit, spent.steps);
    tokens += most(limits.tokenLimit, spent.tokens);
    usd += most(limits.budgetUsd, spent.usd);
  }
  return { steps, tokens, usd };
}

/**
 * Whether a server may charge for a call that failed with this code (src/model/failure.ts).
 * It does not charge for a request that never arrived or that it rejected before the model ran.
 * Everything else counts: timeouts, errors in mid-reply, truncated or unreadable replies, unknown codes.
 */
export const mayHaveBeenCharged = (code: string): boolean => !REJECTED_UNCHARGED.has(code);

/** Whether a request that failed with this code reached the server. */
export const wasSent = (code: string): boolean => !NEVER_SENT.has(code);

const NEVER_SENT: ReadonlySet<string> = new Set(["no-connection", "unknown-host", "http-refused"]);

const REJECTED_UNCHARGED: ReadonlySet<string> = new Set([
  "no-connection",
  "http-refused",
  "unauthorized",
  "forbidden",
  "quota-exhausted",
  "rate-limited",
  "conflict",
  "model-not-found",
  "unknown-host",
  "unsupported",
  "context-overflow",
  "bad-request",
  "not-implemented",
  "unavailable",
]);

/** An agent may still spend this much from now on. Infinity means that there is no limit. */
export interface Allowance {
  readonly steps?: number | undefined;
  readonly tokens?: number | undefined;
  readonly usd?: number | undefined;
  readonly timeMs?: number | undefined;
}

/** The limits that allow so much from now on, after what the agent and its sub-agents have spent. */
export function limitsFrom(state: AgentState, { steps, tokens, usd, timeMs }: Allowance, now: Date) {
  const spent = spentOf(state);
  const from = (start: number, more: number): number | null => (Number.isFinite(more) ? start + more : null);
  const end = timeMs === undefined ? null : from(now.getTime(), timeMs);
  return {
    ...(steps === undefined ? {} : { stepLimit: from(spent.steps, steps) }),
    ...(tokens === undefined ? {} : { tokenLimit: from(spent.tokens, tokens) }),
    ...(usd === undefined ? {} : { budgetUsd: from(spent.usd, usd) }),
    ...(timeMs === undefined ? {} : { deadline: end === null ? null : new Date(end).toISOString() }),
  };
}

/** Returns `given`, with each of its limits at least as wide as that of `own`, where `own` has one. */
export function widerLimits(given: ChildLimits, own: ChildLimits): ChildLimits {
  const wider = <T extends number | string>(one: T | null, other: T | null): T | null =>
    one === null || other === null || one > other ? one : other;
  return {
    stepLimit: wider(given.stepLimit, own.stepLimit),
    tokenLimit: wider(given.tokenLimit, own.tokenLimit),
    budgetUsd: wider(given.budgetUsd, own.budgetUsd),
    deadline: wider(given.deadline, own.deadline),
  };
}

/** The limit that forbids a model call for this step now. Repeated attempts belong to a step that already counts. */
export function limitReached(state: AgentState, step: number, now: Date): LimitReached | undefined {
  const { stepLimit, tokenLimit, budgetUsd } = state.settings;
  const spent = spentOf(state);
  const others = spentByOthers(state).steps;
  if (stepLimit !== null && step + others > stepLimit) return stepsSpent(stepLimit, others);
  if (tokenLimit !== null && spent.tokens >= tokenLimit) return tokensSpent(tokenLimit, spent.tokens, state);
  // A budget of zero allows models that cost nothing.
  if (budgetUsd !== null && spent.usd > 0 && spent.usd >= budgetUsd) return moneySpent(budgetUsd, spent.usd, state);
  return deadlinePassed(state, now);
}

/** The limit that a request with the smallest useful reply would exceed. `usd` is null for a model without a known price. */
export function limitExceededBy(
  request: { readonly model: string; readonly tokens: number; readonly usd: number | null },
  state: AgentState,
): LimitReached | undefined {
  const { tokenLimit, budgetUsd } = state.settings;
  const spent = spentOf(state);
  if (tokenLimit !== null && spent.tokens + request.tokens > tokenLimit)
    return tokensSpent(tokenLimit, spent.tokens, state, request.tokens);
  if (budgetUsd === null) return undefined;
  if (request.usd === null) return unknownPrice(budgetUsd, request.model);
  return spent.usd + request.usd > budgetUsd ? moneySpent(budgetUsd, spent.usd, state, request.usd) : undefined;
}

/** Also checked while the agent waits. An unreadable deadline counts as passed. */
export function deadlinePassed({ settings: { deadline } }: AgentState, now: Date): LimitReached | undefined {
  if (deadline === null || now.getTime() < Date.parse(deadline)) return undefined;
  const reason = `The time allowed was over at ${deadline}; it is ${now.toISOString()}. ${goOn("--max-time 8h")}`;
  return { code: "time-limit", reason };
}

/** The earlier of two times as an ISO time in UTC; null means never. */
export function earlier(one: string | null, other: string | null): string | null {
  const times = [one, other].filter((time) => time !== null).map((time) => Date.parse(time));
  return times.length === 0 ? null : new Date(Math.min(...times)).toISOString();
}

const stepsSpent = (limit: number, others: number): LimitReached => ({
  code: "step-limit",
  reason:
    `The limit of ${countNoun(limit, "step")} is reached` +
    `${others === 0 ? "" : `, ${others} of them taken by or set aside for the agents that it started`}. ${goOn("--max-steps 100")}`,
});

function tokensSpent(limit: number, spent: number, { excess }: AgentState, next?: number): LimitReached {
  const room = next === undefined ? "" : `, and the next request takes at least ${next}`;
  const reached = `The limit of ${limit} tokens is reached: ${spent} are spent${room}.`;
  return { code: "token-limit", reason: `${reached} ${describeExcess(excess)}${goOn("--max-tokens 1000000")}` };
}

function moneySpent(budget: number, spent: number, { excess }: AgentState, next?: number): LimitReached {
  const room = next === undefined ? "" : `, and the next request costs at least ${dollars(next)}`;
  const reached = `The budget of ${dollars(budget)} is reached: ${dollars(spent)} are spent${room}.`;
  return { code: "budget", reason: `${reached} ${describeExcess(excess)}${goOn("--budget 5")}` };
}

const unknownPrice = (budget: number, model: string): LimitReached => ({
  code: "budget",
  reason:
    `The budget is ${dollars(budget)}, and no price is known for the model ${model}, so that nobody could say when it is spent. ` +
    `Give its price in US dollars per million tokens in the home's config/prices.json, such as ` +
    `{"usdPerMillionTokens": {${JSON.stringify(model)}: {"input": 2, "cachedInput": 0.5, "output": 8}}}, ` +
    "and go on: goald resume <agent>. Without a budget (--budget none) no price is needed.",
});

/** goald believes the server. A person can tell from the figures whether the server lies or ignores the maximum. */
const describeExcess = ({ outputTokens, allowedTokens }: Partial<Usage> = {}): string =>
  allowedTokens === undefined
    ? ""
    : `The server reported ${outputTokens} output tokens for a reply; its request allowed ${allowedTokens}. `;

const goOn = (flag: string): string => `Allow more and go on: goald resume <agent> ${flag}`;

/** Shows six decimals, as `--budget` reads: a step of a small model costs a few hundredths of a cent. */
const dollars = (usd: number): string => `${Number(usd.toFixed(6))} US dollars`;

export function countSpending(state: AgentState, { usage, costUsd, modelCalls }: ModelSpending): AgentState {
  return {
    ...state,
    usage: {
      modelCalls: state.usage.modelCalls + modelCalls,
      ...bothUsed(state.usage, usage),
    },
    costUsd: state.costUsd + (costUsd ?? 0),
    ...(usage.allowedTokens === undefined ? {} : { excess: usage }),
  };
}

export const countIfSpent = (state: AgentState, spent: ModelSpending | undefined): AgentState =>
  spent ? countSpending(state, spent) : state;

export const bothUsed = (one: Usage, other: Usage): Usage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  estimated: one.estimated || other.estimated,
});

/** Counts the reservation of an interrupted attempt as lost: it may have been charged. */
export function countReservationLost(state: AgentState, callId: string): AgentState {
  const reserved = openCommand(state, callId)?.intent?.reserved;
  if (!reserved) return state;
  const { tokens, usd } = state.lost;
  return { ...state, lost: { tokens: tokens + reserved.tokens, usd: usd + (reserved.usd ?? 0) } };
}

/** Releases the reservation of a call that continues without spending. */
export function countAndRelease(state: AgentState, callId: string, spent: ModelSpending): AgentState {
  const open = openCommand(state, callId);
  if (!open?.intent) return countSpending(state, spent);
  const { reserved: _, ...intent } = open.intent;
  return countSpending(putCall(state, { ...open, intent }), spent);
}
