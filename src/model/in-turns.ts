/**
 * in-turns.ts -- merges messages for a server that requires user and assistant to alternate, beginning with the user.
 * Pure.
 *
 * Neighbours of one role become one message. The system message stays first. If an assistant message would follow it, a
 * user message that says so goes between.
 */
import type { PromptMessage } from "#core/ports/model.ts";

const EARLIER = "(Earlier messages are left out.)";

export function mergeIntoTurns(messages: readonly PromptMessage[]): readonly PromptMessage[] {
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
