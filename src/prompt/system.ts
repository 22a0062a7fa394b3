/**
 * system.ts -- renders the system message: role, goals, constraints, commands, resources, response format.
 *
 * Its text depends only on name, role, goals, command list and words, so it is identical at every step and a server
 * can cache it. It is rendered once per agent. A name, role or goal stays inside its own line or item and cannot
 * imitate a section.
 */
import type { PromptMessage } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { hasOutsideGoals, hasOutsideRole } from "./job.ts";
import { goalsOf } from "./subtask.ts";
import { fillTemplate, type Words } from "./template.ts";
import { estimateMessage } from "./tokens.ts";

/** The words of a form of reply. */
export interface FormWords {
  readonly format: "response-format" | "tool-format";
  readonly answer: "json-answer" | "tool-answer";
  /** In place of the list of commands, when the request has them elsewhere. */
  readonly commands?: "tool-commands";
  /** What the last message shows of the methods that searches found. */
  readonly found: readonly ("foundCommands" | "foundHelpers" | "foundFunctions")[];
}
export const JSON_WORDS: FormWords = {
  format: "response-format",
  answer: "json-answer",
  found: ["foundCommands", "foundHelpers"],
};
/** Found commands are tools. */
export const TOOL_WORDS: FormWords = {
  format: "tool-format",
  answer: "tool-answer",
  commands: "tool-commands",
  found: ["foundHelpers"],
};

/** The commands that an agent may use, as its prompt shows them. */
export interface CommandOffer {
  /** Rendered numbered list, without a heading. */
  readonly commandList: string;
  /** True if a command of the list asks a person. */
  readonly asksPerson: boolean;
  /** Commands that searches found and the list lacks, newest first; absent: none. */
  readonly foundCommands?: string;
  /** Python helpers that searches found, as functions. */
  readonly foundHelpers?: string;
  /** All methods that searches found, as functions of Python. */
  readonly foundFunctions?: string;
}

interface SystemInput extends CommandOffer {
  readonly state: AgentState;
  /** Default: JSON. */
  readonly form?: FormWords;
  readonly words: Words;
}

interface SystemMessage {
  readonly prompt: PromptMessage;
  readonly tokens: number;
}

export function renderSystemMessage(input: SystemInput): SystemMessage {
  const { state, commandList, asksPerson, words, form = JSON_WORDS } = input;
  const goals = goalsOf(state, words);
  const known = rendered.get(goals);
  const isOutside = hasOutsideRole(state);
  if (known && known.name === state.name && known.role === state.role && known.isOutside === isOutside) {
    const isSame = known.commandList === commandList && known.asksPerson === asksPerson && known.words === words;
    if (isSame && known.form === form) return known.message;
  }
  const content = fillTemplate(words.system, renderSections(input));
  const message: SystemMessage = { prompt: { role: "system", content }, tokens: estimateMessage(content) };
  const { name, role } = state;
  rendered.set(goals, { name, role, isOutside, commandList, asksPerson, words, form, message });
  return message;
}

/** Keyed by the placeholders of system.md. */
export function renderSections({
  state,
  commandList,
  asksPerson,
  words,
  form = JSON_WORDS,
}: SystemInput): Readonly<Record<string, string>> {
  const assistance = fillTemplate(words[asksPerson ? "assistance" : "no-assistance"], {});
  return {
    role: fillTemplate(words.role, roleOf(state, words)),
    goals: shownGoals(state, words)
      .map((goal, index) => `${index + 1}. ${indentLines(goal)}`)
      .join("\n"),
    constraints: fillTemplate(words.constraints, { assistance }),
    commands: form.commands ? fillTemplate(words[form.commands], {}) : commandList,
    resources: fillTemplate(words.resources, {}),
    evaluation: fillTemplate(words.evaluation, {}),
    "response-format": fillTemplate(words[form.format], {}),
  };
}

/** Cache keyed by the goals array, which lives as long as its agent. */
const rendered = new WeakMap<
  readonly string[],
  {
    readonly name: string;
    readonly role: string;
    readonly isOutside: boolean;
    readonly commandList: string;
    readonly asksPerson: boolean;
    readonly words: Words;
    readonly form: FormWords;
    readonly message: SystemMessage;
  }
>();

/** Words from outside are in a message of their own (job.ts). */
function roleOf(state: AgentState, words: Words): Readonly<Record<"name" | "role", string>> {
  if (hasOutsideRole(state)) return { name: "Helper", role: fillTemplate(words["outside-role"], {}) };
  return { name: foldLines(state.name), role: foldLines(state.role) };
}

function shownGoals(state: AgentState, words: Words): readonly string[] {
  const goals = goalsOf(state, words);
  return goals === state.goals && hasOutsideGoals(state) ? [fillTemplate(words["outside-goal"], {})] : goals;
}

const foldLines = (text: string): string => clean(text).toWellFormed().replace(/\s+/g, " ").trim();

const indentLines = (text: string): string =>
  clean(text)
    .toWellFormed()
    .trim()
    .split(/[\n\u2028\u2029]+/)
    .join("\n   ");
