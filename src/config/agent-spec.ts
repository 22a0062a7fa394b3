/** agent-spec.ts -- validates the name, role, goals and checks of an agent, from flags, a file or answers. */
import { GoaldError } from "#core/errors.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import { findUnseenMark } from "#core/text.ts";
import { checkText, countCharacters, DIRECTION_MARKS, findCheckProblems, withGoals } from "./goal-checks.ts";

export interface AgentDraft {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Prove the goals. Absent: none. */
  readonly checks?: readonly GoalCheck[];
}

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
