/** limits-left.ts -- what an agent may still spend, by each of its limits. Pure. */
import { spentOf } from "#core/limits.ts";
import type { AgentState } from "#core/state.ts";

export interface LimitLeft {
  readonly limit: "steps" | "tokens" | "usd" | "time";
  readonly allowed: number | string;
  readonly used: number;
  /** For `time`: milliseconds. Never below zero. */
  readonly left: number;
}

/** Only the limits that are set; what counts as used is what `limitReached` counts. */
export function limitsLeft(state: AgentState, now: Date): readonly LimitLeft[] {
  const { stepLimit, tokenLimit, budgetUsd, deadline } = state.settings;
  const spent = spentOf(state);
  const counted = (limit: LimitLeft["limit"], allowed: number | null, used: number): readonly LimitLeft[] =>
    allowed === null ? [] : [{ limit, allowed, used, left: Math.max(0, allowed - used) }];
  return [
    ...counted("steps", stepLimit, spent.steps),
    ...counted("tokens", tokenLimit, spent.tokens),
    ...counted("usd", budgetUsd, spent.usd),
    ...(deadline === null
      ? []
      : [
          {
            limit: "time",
            allowed: deadline,
            used: 0,
            left: Math.max(0, Date.parse(deadline) - now.getTime()),
          } as const,
        ]),
  ];
}

export function sayLimit({ limit, allowed, used, left }: LimitLeft): string {
  switch (limit) {
    case "steps":
    case "tokens":
      return `${left} of ${allowed} ${limit} left (${used} used)`;
    case "usd":
      return `${dollars(left)} of ${dollars(Number(allowed))} left (${dollars(used)} used)`;
    case "time":
      return `until ${allowed}${left === 0 ? ", which is over" : ""}`;
  }
}

/** Cents where there are some, more digits below a cent. */
export const dollars = (usd: number): string => `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
