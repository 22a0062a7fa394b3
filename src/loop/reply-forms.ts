/**
 * reply-forms.ts -- the forms in which a model can answer: what its prompt says, and what the request carries.
 *
 * The output mode tells which form a request had, so the log needs no other field. Replies of every form are kept as
 * JSON with thoughts and a command, which one reader reads and any server can be shown.
 */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { OutputMode } from "#core/event.ts";
import type { ModelRequest, ModelTerms } from "#core/ports/model.ts";
import { type FormWords, JSON_WORDS, TOOL_WORDS } from "#prompt/system.ts";
import { rephraseForTools } from "#reply/problems.ts";
import type { ParsedReply } from "#reply/read.ts";
import type { CommandSet } from "./command-set.ts";

interface FormStrategy {
  readonly words: FormWords;
  /** What the request carries beside the messages; it costs tokens too. */
  attach(set: CommandSet, mode: OutputMode): Pick<ModelRequest, "replySchema" | "tools">;
  read(set: CommandSet, text: string, finishReason: string): ParsedReply;
}

const json: FormStrategy = {
  words: JSON_WORDS,
  attach: ({ replySchema }, mode) => (mode === "json_schema" ? { replySchema } : {}),
  read: (set, text, finishReason) => set.readReply(text, finishReason),
};

const tools: FormStrategy = {
  words: TOOL_WORDS,
  attach: (set) => ({ tools: set.tools }),
  read: (set, text, finishReason) => {
    const parsed = set.readToolCalls(text, finishReason);
    return parsed.kind === "problem" ? { ...parsed, problems: parsed.problems.map(rephraseForTools) } : parsed;
  },
};

/** Falls back to JSON for a server that is known to reject tools. */
export const chooseMode = (
  form: ReplyForm,
  { mode = "plain", takesTools = false }: Partial<ModelTerms> = {},
): OutputMode => (form === "tools" && takesTools ? "tools" : mode);

export const formOf = (mode: OutputMode): FormStrategy => (mode === "tools" ? tools : json);
