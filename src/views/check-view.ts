/** check-view.ts -- the checks of an agent's goals with their newest results. Pure. */
import { describeCheck } from "#core/goal-check.ts";
import type { AgentState } from "#core/state.ts";
import { count, described, flag, nullable, open, type Static, text } from "#util/schema.ts";

export const CheckView = open({
  goal: described(nullable(count), "Index of the goal; null for all goals together."),
  check: described(text, "The check in words."),
  isPassed: described(nullable(flag), "The newest result; null when the check has not run."),
  proof: described(text, "Evidence of the newest result: the proof, or the reason of the failure. Empty without one."),
});
export type CheckView = Static<typeof CheckView>;

export const viewChecks = ({ checks, proofs }: Pick<AgentState, "checks" | "proofs">): readonly CheckView[] =>
  checks.map((check, index) => {
    const result = proofs.find((proof) => proof.check === index);
    const { isPassed = null, proof = "" } = result ?? {};
    return { goal: check.goal, check: describeCheck(check.test), isPassed, proof };
  });

/** Numbers of checks by their newest results. */
export function countChecks(checks: readonly Pick<CheckView, "isPassed">[]) {
  const count = (wanted: boolean | null): number => checks.filter(({ isPassed }) => isPassed === wanted).length;
  return { passed: count(true), failed: count(false), notRun: count(null) };
}

/** Such as `2 passed, 1 failed, 1 not run`. */
export function describeCounts({ passed, failed, notRun }: ReturnType<typeof countChecks>): string {
  const parts = [
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(notRun > 0 ? [`${notRun} not run`] : []),
  ];
  return parts.join(", ");
}

/** Such as `passed: plan.md exists. It has 2.1 KB.` */
export function describeCheckView({ check, isPassed, proof }: CheckView): string {
  const word = isPassed === null ? "has not run" : isPassed ? "passed" : "failed";
  return `${word}: ${check}.${proof === "" ? "" : ` ${proof}`}`;
}
