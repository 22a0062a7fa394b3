/**
 * system.ts -- renders the system message: role, goals, constraints, commands, resources, response format. Its text
 * depends only on name, role, goals with their checks, command list and words, so it is identical at every step and a
 * server can cache it. A name, role or goal stays inside its own line or item and cannot imitate a section.
 */
import { hasChecks } from "#core/evolve-turn.ts";
import { describeCheck, type GoalCheck } from "#core/goal-check.ts";
import type { AgentState } from "#core/state.ts";
import { rememberBy } from "#util/caches.ts";
import { clean, foldLine } from "#util/outside-text.ts";
import { delimitText, describeMessageSource } from "./delimit.ts";
import { goalsOf } from "./subtask.ts";
import { estimateMessage, type SizedMessage } from "./tokens.ts";
import { type FormTemplates, fillTemplate, type Words } from "./words.ts";

/** The commands that an agent may use, as its prompt shows them. */
export interface CommandOffer {
  /** Rendered numbered list, without a heading. */
  readonly commandList: string;
  /** True if a command of the list asks a person. */
  readonly asksPerson: boolean;
  /** The same commands as functions of Python, one a line. Absent: there are none. */
  listFunctions?(): string;
  /** The methods that searches found, newest first, one a line. */
  readonly found?: readonly string[];
  /** Found commands that the list lacks, newest first; absent: none. */
  readonly foundCommands?: string;
  /** Found Python helpers, as functions; absent: none. */
  readonly foundHelpers?: string;
}

export interface SystemInput extends CommandOffer {
  readonly state: AgentState;
  readonly form: FormTemplates;
  readonly words: Words;
}

export function renderSystemMessage(input: SystemInput): SizedMessage {
  const { state, words, form } = input;
  return sizeOnce(goalsOf(state, words, form), fillTemplate(words[form.system], renderSections(input)));
}

/** The goals live as long as their agent. The estimate costs more than all else. */
const sizeOnce = rememberBy(
  (_goals: readonly string[], content: string): SizedMessage => ({
    prompt: { role: "system", content },
    tokens: estimateMessage(content),
  }),
);

/** Keyed by the placeholders of the form's system message. */
export function renderSections(input: SystemInput): Readonly<Record<string, string>> {
  const { state, commandList, asksPerson, words, form } = input;
  const assistance = fillTemplate(words[asksPerson ? "system/assistance" : "system/no-assistance"]);
  const material = fillTemplate(words["system/material"]);
  const recalled = fillTemplate(words["system/recalled"]);
  const shared = {
    role: fillTemplate(words["system/role"], roleOf(state, words)),
    goals: listGoals(state, words, form),
    evaluation: fillTemplate(words["system/evaluation"]),
  };
  const rules = { ...shared, assistance, material, recalled };
  if (form.form === "react") return rules;
  if (form.form === "plan") return { ...rules, commands: commandList };
  if (form.form === "code") return { ...rules, functions: input.listFunctions?.() ?? "" };
  return {
    ...shared,
    constraints: fillTemplate(words["system/constraints"], { assistance, material }),
    commands: "commands" in form ? fillTemplate(words[form.commands]) : commandList,
    resources: fillTemplate(words["system/resources"], { recalled }),
    "response-format": fillTemplate(words[form.format]),
  };
}

/** Words from outside are in a message of their own. */
function roleOf(state: AgentState, words: Words): Readonly<Record<"name" | "role", string>> {
  if (hasOutsideRole(state)) return { name: "Helper", role: fillTemplate(words["system/outside-role"]) };
  return { name: foldLine(state.name), role: foldLine(state.role) };
}

function listGoals(state: AgentState, words: Words, form: FormTemplates): string {
  const goals = goalsOf(state, words, form);
  const shown = goals === state.goals && hasOutsideGoals(state) ? [fillTemplate(words["system/outside-goal"])] : goals;
  // Those of the goals count in this turn, and not in a sub-task.
  const checks = shown === state.goals && hasChecks(state) ? state.checks : [];
  const listed = shown.map((goal, index) => {
    const own = checks.filter((check) => check.goal === index || (check.goal === null && goals.length === 1));
    return `${index + 1}. ${indentLines([goal, ...listChecks(words["system/goal-checks"], own)].join("\n"))}`;
  });
  const ofAll = goals.length === 1 ? [] : checks.filter(({ goal }) => goal === null);
  return [...listed, ...listChecks(words["system/all-goals-checks"], ofAll)].join("\n");
}

function listChecks(template: Words["system/goal-checks"], checks: readonly GoalCheck[]): readonly string[] {
  if (checks.length === 0) return [];
  const lines = checks.map(({ test }) => `- ${clean(describeCheck(test)).toWellFormed()}`);
  return [fillTemplate(template, { checks: lines.join("\n") })];
}

const indentLines = (text: string): string =>
  clean(text)
    .toWellFormed()
    .trim()
    .split(/[\n\u2028\u2029]+/)
    .join("\n   ");

/** True when the role may hold words from outside. */
const hasOutsideRole = ({ startedBy, trustedSeq }: AgentState): boolean =>
  trustedSeq === 0 && startedBy !== null && startedBy.outside.length > 0;

/** True when the goals may hold words from outside. */
const hasOutsideGoals = (state: AgentState): boolean => hasOutsideRole(state) && state.goalsOutside.length > 0;

/**
 * Returns the role and goals that another agent wrote after it had read text from outside, as data in a user message.
 * The system message then has neutral words in their place. A person who sets the goals, or trusts all words, ends
 * this. The same text at every step; undefined when a person wrote role and goals, or an agent that had read nothing
 * from outside.
 */
export function renderJob(state: AgentState, words: Words): string | undefined {
  const { name, role, goals, startedBy } = state;
  if (!startedBy || !hasOutsideRole(state)) return undefined;
  const job = hasOutsideGoals(state) ? goals.map((goal, index) => `Goal ${index + 1}: ${goal}`) : [];
  const text = clean([`Name: ${name}`, `Role: ${role}`, ...job].join("\n")).toWellFormed();
  const outside = describeMessageSource({ source: "agent", outside: startedBy.outside });
  return fillTemplate(words["messages/outside-job"], { data: delimitText("data", text), outside });
}
