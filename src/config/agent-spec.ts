/**
 * agent-spec.ts -- what a name, a role and goals may be, wherever they come from: flags, file or answers.
 */
import { GoaldError } from "#core/errors.ts";

export interface AgentDraft {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
}

export const MAX_GOALS = 5;

/** What Enter stands for: an agent that needs nothing but a workspace. */
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

/** The same without blanks around; throws GOALD_USAGE with everything that is wrong with it. */
export function validateAgent({ name, role, goals }: AgentDraft): AgentDraft {
  const problems = [
    problemWithName(name),
    problemWithRole(role),
    ...goals.map((goal, at) => problemWithGoal(goal, at + 1)),
  ];
  if (goals.length === 0) problems.push("An agent has at least one goal, got none.");
  if (goals.length > MAX_GOALS)
    problems.push(
      `An agent has up to ${MAX_GOALS} goals, got ${goals.length}. Join some of them, or give the rest to another agent.`,
    );
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new GoaldError("GOALD_USAGE", found.join("\n"));
  return { name: name.trim(), role: role.trim(), goals: goals.map((goal) => goal.trim()) };
}

/** A sentence, or undefined when nothing is wrong. */
export function problemWithName(name: string): string | undefined {
  const length = charactersOf(name);
  if (length < 1 || length > MAX_NAME_CHARS)
    return `The name must have 1 to ${MAX_NAME_CHARS} characters, got ${length}.`;
  // White space in it is the plain blank: a name stands in one line of every table.
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name.trim()) || TURNS_WRITING.test(name))
    return "The name must be one line without control characters.";
  return undefined;
}

export const problemWithRole = (role: string): string | undefined => problemWithText("The role", role);

export function problemWithGoal(goal: string, number: number): string | undefined {
  return goal.trim() === "" ? `Goal ${number} must not be empty.` : problemWithText(`Goal ${number}`, goal);
}

function problemWithText(what: string, text: string): string | undefined {
  const length = charactersOf(text);
  if (length > MAX_TEXT_CHARS)
    return `${what} must have up to ${MAX_TEXT_CHARS.toLocaleString("en-US")} characters, got ${length.toLocaleString("en-US")}.`;
  if (/[\p{Cs}\p{Cc}]/u.test(text.replace(/\r?\n|\t/g, " ")) || TURNS_WRITING.test(text))
    return `${what} must be text without control characters.`;
  return undefined;
}

/** Marks that show a text in another order than it has. */
const TURNS_WRITING = /[\u202a-\u202e\u2066-\u2069]/;

/** As a person counts: a character outside the basic plane is one. */
const charactersOf = (text: string): number => [...text.trim()].length;
