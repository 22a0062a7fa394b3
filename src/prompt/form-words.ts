/** form-words.ts -- which files of prompts/ a form of reply uses. */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { OutputMode } from "#core/event.ts";
import type { ActionForm } from "#core/state.ts";

interface SharedWords {
  readonly first: "first-command" | "plan/next-action" | "react/first-action" | "code/next-code";
  readonly next: "next-command" | "plan/next-action" | "react/next-action" | "code/next-code";
  readonly subtask: "subtask" | "react/subtask" | "code/subtask";
  readonly subtaskNext: "subtask-command" | "react/subtask-action" | "code/subtask-code";
  readonly lastSteps: "last-steps" | "react/last-steps" | "code/last-steps";
  readonly plan: "plan" | "plan/plan" | "react/plan" | "code/plan";
}

/** Replies are JSON with a command. */
interface CommandWords extends SharedWords {
  readonly form: Exclude<ReplyForm, ActionForm | "plan">;
  readonly system: "system";
  readonly format: "response-format" | "tool-format";
  readonly answer: "json-answer" | "tool-answer";
  /** In place of the list of commands, when the request has them elsewhere. */
  readonly commands?: "tool-commands";
  /** The found methods, as the last message shows them. */
  readonly found: readonly ("foundCommands" | "foundHelpers")[];
}

/** Replies are actions as JSON, and so is what was observed. */
interface PlanWords extends SharedWords {
  readonly form: "plan";
  readonly system: "plan/system";
  readonly answer: "plan/answer";
  readonly found: CommandWords["found"];
  readonly observation: "plan/observation";
  readonly error: "plan/error";
}

/** Replies are prose with a piece of code. */
interface ActionWords<F extends ActionForm> extends SharedWords {
  readonly form: F;
  readonly system: `${F}/system`;
  readonly result: "react/observation" | "code/result";
}

export type FormWords = CommandWords | PlanWords | ActionWords<"react"> | ActionWords<"code">;

const COMMAND_WORDS = {
  system: "system",
  first: "first-command",
  next: "next-command",
  subtask: "subtask",
  subtaskNext: "subtask-command",
  lastSteps: "last-steps",
  plan: "plan",
} as const;

export const JSON_WORDS: FormWords = {
  ...COMMAND_WORDS,
  form: "json",
  format: "response-format",
  answer: "json-answer",
  found: ["foundCommands", "foundHelpers"],
};
const TOOL_WORDS: FormWords = {
  ...COMMAND_WORDS,
  form: "tools",
  format: "tool-format",
  answer: "tool-answer",
  commands: "tool-commands",
  // Found commands are tools.
  found: ["foundHelpers"],
};
const PLAN_WORDS: FormWords = {
  ...COMMAND_WORDS,
  form: "plan",
  system: "plan/system",
  first: "plan/next-action",
  next: "plan/next-action",
  plan: "plan/plan",
  answer: "plan/answer",
  found: ["foundCommands", "foundHelpers"],
  observation: "plan/observation",
  error: "plan/error",
};
const REACT_WORDS: FormWords = {
  form: "react",
  system: "react/system",
  first: "react/first-action",
  next: "react/next-action",
  subtask: "react/subtask",
  subtaskNext: "react/subtask-action",
  lastSteps: "react/last-steps",
  plan: "react/plan",
  result: "react/observation",
};
const CODE_WORDS: FormWords = {
  form: "code",
  system: "code/system",
  first: "code/next-code",
  next: "code/next-code",
  subtask: "code/subtask",
  subtaskNext: "code/subtask-code",
  lastSteps: "code/last-steps",
  plan: "code/plan",
  result: "code/result",
};

/** The words of a request with this output mode. */
export function wordsOfMode(mode: OutputMode): FormWords {
  switch (mode) {
    case "tools":
      return TOOL_WORDS;
    case "plan":
      return PLAN_WORDS;
    case "react":
      return REACT_WORDS;
    case "code":
      return CODE_WORDS;
    default:
      return JSON_WORDS;
  }
}
