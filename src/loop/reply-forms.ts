/**
 * reply-forms.ts -- the forms in which a model can answer: what the request carries, and how a reply is read. The
 * output mode tells which form a request had, so the log needs no other field. Replies of the forms `json` and `tools`
 * are kept as JSON with thoughts and a command, which one reader reads and any server can be shown. Replies of `plan`,
 * `react` and `code` are kept as the model wrote them; an action is a call of its command, and code becomes a call of
 * `run_code`.
 */
import type { ReplyForm } from "#core/agent-settings.ts";
import { RUN_CODE, TASK_COMPLETE } from "#core/command.ts";
import type { OutputMode } from "#core/event.ts";
import type { ModelCapabilities, ModelRequest } from "#core/ports/model.ts";
import { type ActionForm, type AgentState, activeFrame } from "#core/state.ts";
import { rephraseProblems } from "#reply/problems.ts";
import { type ParsedReply, refuseReply } from "#reply/read.ts";
import { readAction } from "#reply/read-forms.ts";
import type { CommandSet } from "./command-set.ts";

interface FormStrategy {
  /** What the request carries beside the messages; it costs tokens too. */
  attach(set: CommandSet, mode: OutputMode): Pick<ModelRequest, "replySchema" | "tools" | "stop">;
  read(set: CommandSet, text: string, finishReason: string, state: AgentState): ParsedReply;
}

/** The model must not invent what came of its action. Code that prints the word in a line is not cut. */
const OBSERVATION = "\nOBSERVATION";

const json: FormStrategy = {
  attach: ({ replySchema }, mode) => (mode === "json_schema" ? { replySchema } : {}),
  read: (set, text, finishReason) => set.readReply(text, finishReason),
};

const FORMS: Readonly<Record<OutputMode, FormStrategy>> = {
  json_schema: json,
  json_object: json,
  plain: json,
  tools: {
    attach: (set) => ({ tools: set.tools }),
    read: (set, text, finishReason) => {
      const parsed = set.readToolCalls(text, finishReason);
      return parsed.kind === "problem" ? { ...parsed, problems: rephraseProblems(parsed.problems, "tools") } : parsed;
    },
  },
  plan: {
    attach: () => ({}),
    read: (set, text, finishReason) => set.readAction(text, finishReason),
  },
  react: {
    attach: () => ({ stop: [OBSERVATION] }),
    read: readerOfProse("react"),
  },
  code: {
    attach: () => ({}),
    read: readerOfProse("code"),
  },
};

export const replyFormOf = (mode: OutputMode): FormStrategy => FORMS[mode];

function readerOfProse(form: ActionForm): FormStrategy["read"] {
  return (set, text, finishReason, state) => {
    const { kind, origin, badReplies } = activeFrame(state);
    const returns = kind === "run" && origin ? { returns: origin.returns } : {};
    const isSecondTry = badReplies > 0;
    const parsed = readAction(text, finishReason, form, { command: TASK_COMPLETE, isSecondTry, ...returns });
    if (parsed.kind === "problem" || parsed.call.name !== RUN_CODE) return parsed;
    const problems = set.checkArguments(RUN_CODE, parsed.call.args);
    return problems.length === 0 ? parsed : refuseReply(parsed.thoughts, ...problems);
  };
}

/** Falls back to JSON for a server that is known to reject tools, and when no code can run. */
export function chooseMode(
  form: ReplyForm,
  { mode = "plain", takesTools = false }: Partial<ModelCapabilities> = {},
  set: Pick<CommandSet, "get">,
): OutputMode {
  switch (form) {
    case "tools":
      return takesTools ? "tools" : mode;
    case "react":
    case "code":
      return set.get(RUN_CODE) ? form : mode;
    case "plan":
      return "plan";
    case "json":
      return mode;
  }
}
