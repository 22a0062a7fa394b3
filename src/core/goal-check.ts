/**
 * goal-check.ts -- the checks that prove a goal: what they ask, and what came of them. Pure. A person gives them with
 * the goals. They run when the agent reports the goal as reached; the agent reads the reason of a check that failed and
 * works on.
 */
import type { CommandCall } from "./call.ts";
import type { CommandContext } from "./command.ts";
import { countNoun, oneLine } from "./text.ts";

export type GoalTest =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "contains"; readonly path: string; readonly text: string }
  /** Characters. */
  | { readonly kind: "length"; readonly path: string; readonly min: number }
  /** The file is JSON that matches the schema. */
  | { readonly kind: "schema"; readonly path: string; readonly schema: Readonly<Record<string, unknown>> }
  /**
   * Python that runs in the sandbox on the agent's files and must end without an error, or with exit code 0.
   * `file`: name of the file that it was read from. `needsApproval`: it came from an agent file, and no person has approved
   * it; goald asks once, where `run_code` asks.
   */
  | { readonly kind: "code"; readonly code: string; readonly file?: string; readonly needsApproval?: boolean }
  /** An address that must answer with this status; absent: any from 200 to 299. */
  | { readonly kind: "url"; readonly url: string; readonly status?: number }
  /** A question about files that the smart model must answer with yes and a passage that proves it. */
  | { readonly kind: "judge"; readonly question: string; readonly paths: readonly string[] };

export interface GoalCheck {
  /** Index of the goal; null for all goals together. */
  readonly goal: number | null;
  readonly test: GoalTest;
}

export interface CheckResult {
  /** Index among the agent's checks. */
  readonly check: number;
  readonly isPassed: boolean;
  /** The finding in a sentence: the proof, or the reason of the failure. */
  readonly proof: string;
}

export interface GoalTests {
  /** Never rejects for a test that cannot be made: that is a failed one. `context`: of the command that checks. */
  run(test: GoalTest, context: CommandContext): Promise<Omit<CheckResult, "check">>;
}

export interface AddressStatus {
  /**
   * The HTTP status that the address answers with, by the rules for the public web. Reads nothing of the answer. `follows`: of the
   * last address after redirects. Throws GOALD_WEB and GOALD_HTTP_REFUSED; the words of a server are in neither.
   */
  get(url: string, options: { readonly follows: boolean }, signal: AbortSignal): Promise<number>;
}

const CHECK_GOALS = "check_goals";
/** The internal commands that run checks. For people, their results are those of the checks. */
export const CHECK_COMMANDS: ReadonlySet<string> = new Set([CHECK_GOALS, "judge_goal"]);

export const runsChecks = (call: Pick<CommandCall, "name"> | undefined): boolean => call?.name === CHECK_GOALS;

export const MAX_CHECKS = 20;
export const MAX_PROOF_CHARS = 500;
/** Characters of the description of a check, and of a text, a schema or a question in it. */
const MAX_DESCRIPTION_CHARS = 600;
const MAX_SHOWN_CHARS = 300;

/** The checks, by index, that must pass before these goals count as reached. */
export const checksOf = (
  checks: readonly GoalCheck[],
  goals: readonly number[],
  goalCount: number,
): readonly number[] =>
  checks.flatMap(({ goal }, index) =>
    (goal === null ? goals.length === goalCount : goals.includes(goal)) ? [index] : [],
  );

/** Whether the call would run code of checks that no person has approved. */
export function runsUnapproved(call: CommandCall, { checks, goals }: CheckedGoals): boolean {
  if (!runsChecks(call)) return false;
  const indexes = checksOf(checks, call.args.goals as readonly number[], goals.length);
  return indexes.map((index) => checks[index]?.test).some((test) => test?.kind === "code" && test.needsApproval);
}
type CheckedGoals = Pick<CommandContext["agent"], "checks" | "goals">;

/** The same checks, whose code needs an approval or has one. */
export const withApproval = (checks: readonly GoalCheck[], needsApproval: boolean): readonly GoalCheck[] =>
  checks.map(({ goal, test }) => ({ goal, test: test.kind === "code" ? { ...test, needsApproval } : test }));

/** The check in a few words without a full stop, such as `report.md exists`. Code is not shown: it may show how to pass. */
export const describeCheck = (test: GoalTest): string => oneLine(describeTest(test), MAX_DESCRIPTION_CHARS);

function describeTest(test: GoalTest): string {
  switch (test.kind) {
    case "file":
      return `${test.path} exists`;
    case "contains":
      return `${test.path} contains ${quote(test.text)}`;
    case "length":
      return `${test.path} has at least ${countNoun(test.min, "character")}`;
    case "schema":
      return `${test.path} is JSON that matches the JSON Schema ${oneLine(JSON.stringify(test.schema), MAX_SHOWN_CHARS)}`;
    case "code":
      return `${test.file === undefined ? "a program" : `the program ${test.file}`} that a person wrote passes (Python)`;
    case "url":
      return `${test.url} answers with ${test.status === undefined ? "a status from 200 to 299" : `status ${test.status}`}`;
    case "judge":
      return `a model that reads ${test.paths.join(", ")} answers yes, and proves it with a passage: ${quote(test.question)}`;
  }
}

/** Such as `failed: report.md exists. There is no file report.md.` */
export const describeResult = (test: GoalTest, { isPassed, proof }: CheckResult): string =>
  `${isPassed ? "passed" : "failed"}: ${describeCheck(test)}. ${proof}`;

const quote = (text: string): string => JSON.stringify(oneLine(text, MAX_SHOWN_CHARS));
