/** sized-message.ts -- a message of a prompt with its estimated tokens. */
import type { PromptMessage } from "#core/ports/model.ts";
import { estimateMessage } from "./tokens.ts";

export interface SizedMessage {
  readonly prompt: PromptMessage;
  readonly tokens: number;
}

export const userMessage = (content: string): SizedMessage => ({
  prompt: { role: "user", content },
  tokens: estimateMessage(content),
});
