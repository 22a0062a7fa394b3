/**
 * in-turns.ts -- messages for a server that wants user and assistant to take turns, beginning with the user. Pure.
 *
 * Neighbours of one role become one message. The rules stay in front; an assistant that would speak first follows a
 * line that says where the conversation stands.
 */
import type { PromptMessage } from "#core/ports/model.ts";

const EARLIER = "(Earlier messages are left out.)";

export function inTurns(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const joined: PromptMessage[] = [];
  for (const { role, content } of messages) {
    const last = joined.at(-1);
    if (last?.role === role) joined.splice(-1, 1, { role, content: `${last.content}\n\n${content}` });
    else {
      if (role === "assistant" && (last === undefined || last.role === "system"))
        joined.push({ role: "user", content: EARLIER });
      joined.push({ role, content });
    }
  }
  return joined;
}
