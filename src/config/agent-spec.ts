/** agent-spec.ts -- validates the name, role, goals and checks of an agent, from flags, a file or answers. */
import { depthOf, isEndless } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { type GoalCheck, type GoalTest, MAX_CHECKS } from "#core/goal-check.ts";
import type { AgentSpec } from "#core/ports/store.ts";
import { countNoun, findUnseenMark, withCommas } from "#core/text.ts";
import { createAjv } from "#util/schema.ts";

export type AgentDraft = Pick<AgentSpec, "name" | "role" | "goals" | "checks">;

export const MAX_GOALS = 5;

/** The answers that Enter gives. This agent needs only a workspace. */
export const DEFAULT_AGENT: AgentDraft = {
  name: "Goald",
  role: "an assistant that thinks things through and leaves its results in files",
  goals: [
    "Write into ideas.md five small jobs that an assistant with a folder of files can do for a person",
    "Choose the most useful of them and give the reasons in choice.md",
    "Work it out in plan.md, step by step",
  ],
};

const MAX_NAME_CHARS = 80;

/** Returns the draft trimmed. Throws GOALD_USAGE that lists all problems, one per line. */
export function validateAgent({ name, role, goals, checks = [] }: AgentDraft): AgentDraft {
  const problems = [checkName(name), checkRole(role), ...goals.map((goal, at) => checkGoal(goal, at + 1))];
  if (goals.length === 0) problems.push("An agent has at least one goal, got none.");
  if (goals.length > MAX_GOALS)
    problems.push(
      `An agent has up to ${MAX_GOALS} goals, got ${goals.length}. Join some of them, or give the rest to another agent.`,
    );
  problems.push(...findCheckProblems(checks, goals.length));
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new GoaldError("GOALD_USAGE", found.join("\n"));
  const valid = { name: name.trim(), role: role.trim(), goals: goals.map((goal) => goal.trim()) };
  return checks.length === 0 ? valid : { ...valid, checks: withGoals(checks, goals.length) };
}

/** Returns a sentence, or undefined when the name is valid. */
export function checkName(name: string): string | undefined {
  const length = countCharacters(name);
  if (length < 1 || length > MAX_NAME_CHARS)
    return `The name must have 1 to ${MAX_NAME_CHARS} characters, got ${length}.`;
  // Tables show a name on one line, so it has no line breaks or tabs.
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name.trim()) || DIRECTION_MARKS.test(name))
    return "The name must be one line without control characters.";
  const mark = findUnseenMark(name);
  return mark && `The name holds a mark that nobody sees (${mark}). Write it without the mark.`;
}

export const checkRole = (role: string): string | undefined => checkText("The role", role);

export function checkGoal(goal: string, number: number): string | undefined {
  return goal.trim() === "" ? `Goal ${number} must not be empty.` : checkText(`Goal ${number}`, goal);
}

/** The log keeps longer texts beside the event, and the fold of an event reads no other text. */
export const MAX_CHECK_BYTES = 32 * 1024;
const MAX_SCHEMA_DEPTH = 16;
const MAX_URL_CHARS = 2_000;
const MAX_PATH_BYTES = 900;
const MAX_JUDGED_FILES = 10;
const MAX_FILE_CHARS = 10_000_000;

/** Returns a sentence per problem. */
function findCheckProblems(checks: readonly GoalCheck[], goalCount: number): readonly string[] {
  const problems = checks.flatMap((check, index) => {
    const problem = findCheckProblem(check, goalCount);
    return problem === undefined ? [] : [`Check ${index + 1}: ${problem}`];
  });
  return checks.length > MAX_CHECKS
    ? [`An agent has up to ${MAX_CHECKS} checks, got ${checks.length}.`, ...problems]
    : problems;
}

/** Returns a sentence; undefined for a valid check. */
export function findCheckProblem({ goal, test }: GoalCheck, goalCount: number): string | undefined {
  if (goal !== null && !isWhole(goal, 0, goalCount - 1))
    return `It is for goal ${goal + 1}, and the goals are ${goalCount === 1 ? "only goal 1" : `1 to ${goalCount}`}.`;
  return findTestProblem(test);
}

/** Checks without a goal belong to the only goal, or to all goals together. */
const withGoals = (checks: readonly GoalCheck[], goalCount: number): readonly GoalCheck[] =>
  goalCount === 1 ? checks.map((check) => ({ ...check, goal: 0 })) : checks;

function findTestProblem(test: GoalTest): string | undefined {
  switch (test.kind) {
    case "file":
      return findPathProblem(test.path);
    case "contains":
      return (
        findPathProblem(test.path) ??
        (test.text.trim() === "" ? "The text to find must not be empty." : checkText("The text to find", test.text))
      );
    case "length":
      return (
        findPathProblem(test.path) ??
        (isWhole(test.min, 1, MAX_FILE_CHARS)
          ? undefined
          : `The least length must be a whole number of characters from 1 to ${MAX_FILE_CHARS}, got ${test.min}.`)
      );
    case "schema":
      return findPathProblem(test.path) ?? findSchemaProblem(test.schema);
    case "code":
      return findCodeProblem(test.code);
    case "url":
      return findUrlProblem(test.url) ?? findStatusProblem(test.status);
    case "judge":
      return findQuestionProblem(test.question, test.paths);
  }
}

/** The agent's folder has stricter rules, which the check itself applies when it runs. */
export function findPathProblem(path: string): string | undefined {
  const isInside = !/^[/~]|[\\:]/.test(path) && !path.split("/").includes("..");
  if (path.trim() !== "" && Buffer.byteLength(path) <= MAX_PATH_BYTES && isInside && !/[\p{Cc}\p{Cs}]/u.test(path))
    return undefined;
  return `Expected the path of a file in the agent's folder, such as notes/plan.md, got ${JSON.stringify(path.slice(0, 120))}.`;
}

function findSchemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_CHECK_BYTES) return `The schema must have up to ${MAX_CHECK_BYTES} bytes of JSON, got ${bytes}.`;
  if (depthOf(schema) > MAX_SCHEMA_DEPTH) return `The schema must nest at most ${MAX_SCHEMA_DEPTH} levels.`;
  if (isEndless(schema)) return "The schema must not refer to itself without an end.";
  try {
    createAjv({ strict: false, logger: false }).compile(schema);
    return undefined;
  } catch (thrown) {
    return `This is not a JSON Schema 2020-12: ${(thrown as Error).message.slice(0, 300)}.`;
  }
}

function findCodeProblem(code: string): string | undefined {
  const bytes = Buffer.byteLength(code);
  if (code.trim() === "") return "The code must not be empty.";
  if (!code.isWellFormed() || code.includes("\0")) return "The code must be text.";
  return bytes > MAX_CHECK_BYTES ? `The code must have up to ${MAX_CHECK_BYTES} bytes, got ${bytes}.` : undefined;
}

function findUrlProblem(url: string): string | undefined {
  const parsed = url.length <= MAX_URL_CHARS ? URL.parse(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || /[\s\p{Cc}]/u.test(url))
    return `Expected an address that begins with https:// or http://, got ${JSON.stringify(url.slice(0, 120))}.`;
  // The log keeps the address.
  return parsed.username + parsed.password === "" ? undefined : "The address must hold no password.";
}

const findStatusProblem = (status: number | undefined): string | undefined =>
  status === undefined || isWhole(status, 100, 599)
    ? undefined
    : `The status must be a whole number from 100 to 599, got ${status}.`;

function findQuestionProblem(question: string, paths: readonly string[]): string | undefined {
  if (question.trim() === "") return "The question must not be empty.";
  if (paths.length === 0 || paths.length > MAX_JUDGED_FILES)
    return `A question is about 1 to ${MAX_JUDGED_FILES} files, got ${countNoun(paths.length, "file")}.`;
  return checkText("The question", question) ?? paths.map(findPathProblem).find((problem) => problem !== undefined);
}

const isWhole = (value: number, least: number, most: number): boolean =>
  Number.isInteger(value) && value >= least && value <= most;

const MAX_TEXT_CHARS = 2_000;

/** Returns a sentence; undefined for a valid text. `what`: its name at the beginning of the sentence. */
function checkText(what: string, text: string): string | undefined {
  const length = countCharacters(text);
  if (length > MAX_TEXT_CHARS)
    return `${what} must have up to ${withCommas(MAX_TEXT_CHARS)} characters, got ${withCommas(length)}.`;
  if (/[\p{Cs}\p{Cc}]/u.test(text.replace(/\r?\n|\t/g, " ")) || DIRECTION_MARKS.test(text))
    return `${what} must be text without control characters.`;
  return undefined;
}

/** Marks that change the direction of text, so that it reads differently from its bytes. */
const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/;

/** Counts a character outside the basic plane as one, as a person does. */
const countCharacters = (text: string): number => [...text.trim()].length;
