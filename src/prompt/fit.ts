/**
 * fit.ts -- selects and clips messages and recalls until they fit the room of a prompt.
 *
 * The steps, in this order, each only as far as needed:
 *   1. Messages longer than the cap are clipped in the middle, oldest first. The cap is half of an equal
 *      share of the room, so the newest messages stay whole longest.
 *   2. Recalls are dropped, worst first.
 *   3. Messages are dropped, oldest first, except the newest.
 *   4. The newest message is clipped to the remaining room; it is never dropped.
 * The system message and the request for the next command never change: the room is what they leave.
 */
import type { Message } from "#core/frame.ts";
import { type RenderedMessage, renderClipped, renderMessage } from "./messages.ts";
import type { MessageStyle } from "./show-reply.ts";
import type { Words } from "./template.ts";

interface FitInput {
  /** Oldest first. */
  readonly window: readonly Message[];
  readonly words: Words;
  readonly style: MessageStyle;
  /** Tokens for messages and recalls together. */
  readonly roomTokens: number;
  readonly recallCount: number;
  /** Tokens that the best `count` recalls add to the final message. */
  recallTokens(count: number): number;
}

export interface FittedPrompt {
  readonly messages: readonly RenderedMessage[];
  readonly recallCount: number;
}

/** Messages are not clipped below this size to make room for recalls or older messages. */
const MIN_CAP_TOKENS = 200;

/** Returns undefined when even the newest message, clipped to its frame, does not fit. */
export function fitPrompt(input: FitInput): FittedPrompt | undefined {
  const { window, words, style, roomTokens, recallTokens } = input;
  let messages = window.map((message) => renderMessage(message, words, style));
  let recallCount = input.recallCount;
  let room = roomTokens - recallTokens(recallCount);
  if (sumTokens(messages) <= room) return { messages, recallCount };

  messages = clipOldestFirst(messages, input, room);
  while (recallCount > 0 && sumTokens(messages) > room) {
    recallCount--;
    room = roomTokens - recallTokens(recallCount);
  }
  while (messages.length > 1 && sumTokens(messages) > room) messages = messages.slice(1);

  const [newest] = messages;
  if (messages.length === 1 && newest && newest.tokens > room)
    messages = [renderClipped(renderMessage(newest.message, words, style), words, room, style)];
  return sumTokens(messages) <= room ? { messages, recallCount } : undefined;
}

function clipOldestFirst(
  messages: readonly RenderedMessage[],
  { words, style }: FitInput,
  room: number,
): RenderedMessage[] {
  const cap = Math.max(MIN_CAP_TOKENS, Math.floor(room / (2 * messages.length)));
  let excess = sumTokens(messages) - room;
  return messages.map((message) => {
    if (excess <= 0 || message.tokens <= cap) return message;
    const clipped = renderClipped(message, words, Math.max(cap, message.tokens - excess), style);
    excess -= message.tokens - clipped.tokens;
    return clipped;
  });
}

const sumTokens = (messages: readonly RenderedMessage[]): number =>
  messages.reduce((sum, { tokens }) => sum + tokens, 0);
