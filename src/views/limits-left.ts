/** limits-left.ts -- what an agent may still spend, by limit. Pure. */
import { spentOf } from "#core/limits.ts";
import type { AgentState } from "#core/state.ts";
import { amount, anyOf, described, oneOf, open, type Static, time } from "#util/schema.ts";

export const LimitLeft = open({
  limit: oneOf("steps", "tokens", "usd", "time"),
  allowed: anyOf(amount, time),
  used: amount,
  left: described(amount, "For `time` in milliseconds. Never below zero."),
});
export type LimitLeft = Static<typeof LimitLeft>;

/** The limits that are set. `used` counts the same as `limitReached` in core. */
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

export function describeLimit({ limit, allowed, used, left }: LimitLeft): string {
  switch (limit) {
    case "steps":
    case "tokens":
      return `${left} of ${allowed} ${limit} left (${used} used)`;
    case "usd":
      return `${dollars(left)} of ${dollars(Number(allowed))} left (${dollars(used)} used)`;
    case "time":
      return `until ${allowed}${left === 0 ? ", now over" : ""}`;
  }
}

/** Two decimals from one cent up; below a cent two significant digits. */
export const dollars = (usd: number): string => `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
