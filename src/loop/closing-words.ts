/** closing-words.ts -- the closing words of an agent that ends its work without a reason: its last thought. */
import type { CommandCall } from "#core/call.ts";
import { TASK_COMPLETE } from "#core/command-names.ts";
import type { Frame } from "#core/frame.ts";
import { headOf } from "#core/text.ts";
import { readWrittenAction, thoughtIn } from "#reply/plan-action.ts";
import { thoughtsInReply } from "#reply/reply-thoughts.ts";

/** `thought`: that of the reply with the call. Without one, the newest thought among the messages counts. */
export function withClosingWords(call: CommandCall, thought: string, { window }: Frame): CommandCall {
  const { reason } = call.args;
  if (call.name !== TASK_COMPLETE || typeof reason !== "string" || reason.trim() !== "") return call;
  return { ...call, args: { ...call.args, reason: thought || lastThought(window) } };
}

function lastThought(window: Frame["window"]): string {
  const thoughts = window.map(({ kind, form, text }) => {
    if (kind !== "reply") return "";
    const action = form === "plan" ? readWrittenAction(headOf(text)) : undefined;
    const beside = thoughtsInReply(headOf(text), form);
    return (action && thoughtIn(action)) || beside?.speak || beside?.text || "";
  });
  return thoughts.findLast((thought) => thought.trim() !== "") ?? "";
}
