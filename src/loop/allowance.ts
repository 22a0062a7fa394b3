/** allowance.ts -- how much one command call may spend on models, and the sum of its spending. Pure. */
import { GoaldError } from "#core/errors.ts";
import type { ModelSpending } from "#core/event.ts";
import { bothUsed, spentOf } from "#core/limits.ts";
import type { AgentState } from "#core/state.ts";

/** Maximum cost; `usd` is null when no price is known. */
export interface Allowance {
  readonly tokens: number;
  readonly usd: number | null;
}

/** What the agent's limits leave beside `reserved`; infinite without a limit. */
export interface Left {
  readonly tokens: number;
  readonly usd: number;
}

export const NOTHING: Allowance = { tokens: 0, usd: null };

export function leftOf(state: AgentState, beside: Allowance): Left {
  const { tokenLimit, budgetUsd } = state.settings;
  const spent = spentOf(state);
  return {
    tokens: tokenLimit === null ? Number.POSITIVE_INFINITY : Math.max(0, tokenLimit - spent.tokens - beside.tokens),
    usd: budgetUsd === null ? Number.POSITIVE_INFINITY : Math.max(0, budgetUsd - spent.usd - (beside.usd ?? 0)),
  };
}

export const within = ({ tokens, usd }: Allowance, left: Left): Allowance => ({
  tokens: Math.min(tokens, left.tokens),
  usd: usd === null ? null : Math.min(usd, left.usd),
});

export const bothAllowed = (one: Allowance, other: Allowance): Allowance => ({
  tokens: one.tokens + other.tokens,
  usd: sumOfKnown(one.usd, other.usd),
});

export function bothSpent(one: ModelSpending | undefined, other: ModelSpending | undefined): ModelSpending | undefined {
  if (!one || !other) return one ?? other;
  return {
    usage: bothUsed(one.usage, other.usage),
    costUsd: sumOfKnown(one.costUsd, other.costUsd),
    modelCalls: one.modelCalls + other.modelCalls,
  };
}

/** Adds known costs and ignores unknown ones. */
const sumOfKnown = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : one + other;

/** The reason why `next` exceeds the limits; undefined when it fits. */
export function lackOf(next: Allowance, left: Left): string | undefined {
  if (next.tokens > left.tokens)
    return `It may take ${next.tokens} tokens, and ${Math.max(0, left.tokens)} are left for it.`;
  if (next.usd !== null && next.usd > left.usd)
    return `It may cost ${next.usd.toFixed(4)} USD, and ${Math.max(0, left.usd).toFixed(4)} are left for it.`;
  return undefined;
}

/** `what`: the sentence about what did not happen, such as `The question was not asked`. */
export const tooDear = (what: string, why: string, hint: string): GoaldError =>
  new GoaldError("GOALD_LIMIT", `${what}: ${why}`, { hint });
