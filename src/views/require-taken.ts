/** require-taken.ts -- checks a step number that a person named. */
import { GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";

/** Throws GOALD_NOT_FOUND for a step after the last one; 0 means before the first. */
export function requireTaken(step: number, taken: number, agent: string): void {
  if (step <= taken) return;
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a step of ${agent}, got ${step}: it has taken ${countNoun(taken, "step")}.`,
    {
      hint: `The last one: ${taken}. Before the first: 0.`,
    },
  );
}
