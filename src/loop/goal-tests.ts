/**
 * goal-tests.ts -- runs the tests that prove goals: the service `tests` of one call.
 *
 * A test looks at the agent's files and at addresses that a person named, and changes nothing. What it cannot find out, such as a
 * file that is refused or a program that cannot run here, is a failed test that says why.
 */
import type { CommandContext } from "#core/command.ts";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { AddressStatus, GoalTest, GoalTests } from "#core/goal-check.ts";
import { headOf } from "#core/text.ts";
import { type ProgramParts, runProgram } from "./goal-test-code.ts";
import { checkLength, findFile, findText, matchSchema } from "./goal-test-files.ts";
import { fails, passes, type Verdict } from "./goal-verdict.ts";

export interface GoalTestParts extends ProgramParts {
  /** Absent: no address is asked. */
  readonly statuses?: AddressStatus;
}

export const openGoalTests = (parts: GoalTestParts): GoalTests => ({
  run: async (test, context) => {
    try {
      return await runTest(test, context, parts);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
      return fails(`${error.message} ${error.hint}`);
    }
  },
});

function runTest(test: GoalTest, context: CommandContext, parts: GoalTestParts): Promise<Verdict> {
  const { workspace } = context;
  switch (test.kind) {
    case "file":
      return findFile(test, workspace);
    case "contains":
      return findText(test, workspace);
    case "length":
      return checkLength(test, workspace);
    case "schema":
      return matchSchema(test, workspace);
    case "code":
      return runProgram(test.code, context, parts);
    case "url":
      return askAddress(test, context, parts);
    case "judge":
      return judge(test, context);
  }
}

type TestOf<K extends GoalTest["kind"]> = Extract<GoalTest, { readonly kind: K }>;

/** A status from 300 to 399 is wanted from the address itself. */
async function askAddress(
  { url, status }: TestOf<"url">,
  { signal }: CommandContext,
  { statuses }: GoalTestParts,
): Promise<Verdict> {
  if (!statuses) throw new GoaldError("GOALD_NOT_CONFIGURED", "Addresses cannot be asked here.");
  const follows = status === undefined || status < 300 || status > 399;
  const found = await statuses.get(url, { follows }, signal);
  const isWanted = status === undefined ? found >= 200 && found <= 299 : found === status;
  if (isWanted) return passes(`It answered with status ${found}.`);
  const wanted = status === undefined ? "from 200 to 299" : status;
  return fails(`It answered with status ${found}; expected ${wanted}. Find out why, and mend what answers there.`);
}

/** A call of its own has its own limit of money, and an answer is not bought twice. */
async function judge({ question, paths }: TestOf<"judge">, { call }: CommandContext): Promise<Verdict> {
  const { status, code, text } = await call("judge_goal", { question, files: paths });
  if (status === "ok") return passes(headOf(text));
  return fails(code === "model" ? `The model that judges gave no answer: ${headOf(text)}` : headOf(text));
}
