/**
 * system.ts -- the system message: who the agent is, what it wants, what it can do, how it answers.
 *
 * Its text is a function of name, role, goals, command list and words alone, so it is the
 * same, byte for byte, at every step, and a server can keep what it made of it. It is rendered
 * once per agent. Whatever a person (or an agent that starts another) wrote as a name, role or goal
 * stays inside its own line or item and cannot pass for a section.
 */
import type { PromptMessage } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { fill, type Words } from "./template.ts";
import { estimateMessage } from "./tokens.ts";

interface SystemInput {
  readonly state: Pick<AgentState, "name" | "role" | "goals">;
  readonly commandList: string;
  readonly words: Words;
}

interface SystemMessage {
  readonly prompt: PromptMessage;
  readonly tokens: number;
}

export function systemMessage(input: SystemInput): SystemMessage {
  const { state, commandList, words } = input;
  const known = rendered.get(state.goals);
  if (known && known.name === state.name && known.role === state.role) {
    if (known.commandList === commandList && known.words === words) return known.message;
  }
  const content = fill(words.system, systemSections(input));
  const message: SystemMessage = { prompt: { role: "system", content }, tokens: estimateMessage(content) };
  rendered.set(state.goals, { name: state.name, role: state.role, commandList, words, message });
  return message;
}

/** By the names that system.md calls them. */
export function systemSections({ state, commandList, words }: SystemInput): Readonly<Record<string, string>> {
  return {
    role: fill(words.role, { name: foldLines(state.name), role: foldLines(state.role) }),
    goals: state.goals.map((goal, index) => `${index + 1}. ${indentLines(goal)}`).join("\n"),
    constraints: fill(words.constraints, {}),
    commands: commandList,
    resources: fill(words.resources, {}),
    evaluation: fill(words.evaluation, {}),
    "response-format": fill(words["response-format"], {}),
  };
}

/** Keyed by the goals, an object that lives as long as its agent. */
const rendered = new WeakMap<
  readonly string[],
  {
    readonly name: string;
    readonly role: string;
    readonly commandList: string;
    readonly words: Words;
    readonly message: SystemMessage;
  }
>();

const foldLines = (text: string): string => clean(text).toWellFormed().replace(/\s+/g, " ").trim();

const indentLines = (text: string): string =>
  clean(text)
    .toWellFormed()
    .trim()
    .split(/[\n\u2028\u2029]+/)
    .join("\n   ");
