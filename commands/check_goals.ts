/**
 * check_goals -- runs the checks that a person gave with goals, all of them, and records what came of each. A step of the commands
 * that report goals as reached: nobody else can call it.
 */
import { defineCommand, fail, succeed } from "#core/command.ts";
import { type CheckResult, checksOf, describeResult } from "#core/goal-check.ts";

export default defineCommand({
  name: "check_goals",
  label: "Check goals",
  group: "loop",
  summary: "runs the checks of goals.",
  isInternal: true,
  args: {
    type: "object",
    properties: { goals: { type: "array", items: { type: "integer", minimum: 0 } } },
    required: ["goals"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  // Each test limits its own time. This limit is also for the wait for a free process of the sandbox.
  timeoutMs: 7_200_000,
  needs: ["tests"],

  async run({ goals }, context) {
    const { checks, goals: all } = context.agent;
    const tests = context.use("tests");
    const results: CheckResult[] = [];
    const lines: string[] = [];
    for (const index of checksOf(checks, goals, all.length)) {
      const test = checks[index]?.test;
      if (!test) continue;
      const result = { check: index, ...(await tests.run(test, context)) };
      results.push(result);
      lines.push(`- ${describeResult(test, result)}`);
    }
    if (results.length === 0) return succeed("These goals have no checks.");
    context.stage({ kind: "goals-checked", results });
    // The proofs quote files, programs and models.
    const source = "workspace";
    const failed = lines.filter((_line, index) => results[index]?.isPassed === false);
    if (failed.length === 0) return succeed(lines.join("\n"), { source });
    const count = `${failed.length} of ${results.length} checks failed, so this is not finished yet:`;
    return fail("check-failed", `${count}\n${failed.join("\n")}\nDo what is missing, then report it again.`, {
      source,
    });
  },
});
