/** show-checks.ts -- shows the result of each check of a goal, when the checks have run. */
import type { RecordedEvent } from "#core/event.ts";
import { describeResult, type GoalCheck } from "#core/goal-check.ts";

/**
 * Returns true for an event that needs nothing further. The texts of checks come with the goals; a result whose goals came
 * before the output began is shown with its number.
 */
export function createShowChecks(
  print: (style: "green" | "yellow", line: string) => void,
): (event: RecordedEvent) => boolean {
  let checks: readonly GoalCheck[] = [];
  return (event) => {
    if (event.type === "agent-created" || event.type === "goals-changed") checks = event.checks ?? [];
    if (event.type !== "goals-checked") return false;
    for (const result of event.results) {
      const check = checks[result.check];
      const word = result.isPassed ? "passed" : "failed";
      const text = check ? describeResult(check.test, result) : `${word}: check ${result.check + 1}. ${result.proof}`;
      print(result.isPassed ? "green" : "yellow", `Check ${text.replaceAll("\n", "\n  ")}`);
    }
    return true;
  };
}
