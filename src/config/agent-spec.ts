/** agent-spec.ts -- validates the name, role and goals of an agent, from flags, a file or answers. */
import { GoaldError } from "#core/errors.ts";
import { findUnseenMark } from "#core/unseen-marks.ts";

export interface AgentDraft {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
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
const MAX_TEXT_CHARS = 2_000;

/** Returns the draft trimmed. Throws GOALD_USAGE that lists all problems, one per line. */
export function validateAgent({ name, role, goals }: AgentDraft): AgentDraft {
  const problems = [checkName(name), checkRole(role), ...goals.map((goal, at) => checkGoal(goal, at + 1))];
  if (goals.length === 0) problems.push("An agent has at least one goal, got none.");
  if (goals.length > MAX_GOALS)
    problems.push(
      `An agent has up to ${MAX_GOALS} goals, got ${goals.length}. Join some of them, or give the rest to another agent.`,
    );
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new GoaldError("GOALD_USAGE", found.join("\n"));
  return { name: name.trim(), role: role.trim(), goals: goals.map((goal) => goal.trim()) };
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

function checkText(what: string, text: string): string | undefined {
  const length = countCharacters(text);
  if (length > MAX_TEXT_CHARS)
    return `${what} must have up to ${MAX_TEXT_CHARS.toLocaleString("en-US")} characters, got ${length.toLocaleString("en-US")}.`;
  if (/[\p{Cs}\p{Cc}]/u.test(text.replace(/\r?\n|\t/g, " ")) || DIRECTION_MARKS.test(text))
    return `${what} must be text without control characters.`;
  return undefined;
}

/** Marks that change the direction of text, so that it reads differently from its bytes. */
const DIRECTION_MARKS = /[\u202a-\u202e\u2066-\u2069]/;

/** Counts a character outside the basic plane as one, as a person does. */
const countCharacters = (text: string): number => [...text.trim()].length;
