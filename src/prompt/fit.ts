/**
 * fit.ts -- selects and clips messages and recalls until they fit the room of a prompt.
 *
 * Messages of a larger task take at most half of the room. The steps, in this order, each only as far as needed:
 *   0. Messages of the larger task are dropped, oldest first.
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
  /** In a sub-task: messages of the larger task, oldest first. */
  readonly outer?: readonly { readonly tokens: number }[];
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
  /** Messages of the larger task that stay, the newest. */
  readonly outerCount: number;
}

/** Messages are not clipped below this size to make room for recalls or older messages. */
const MIN_CAP_TOKENS = 200;

/** Returns undefined when even the newest message, clipped to its frame, does not fit. */
export function fitPrompt(input: FitInput): FittedPrompt | undefined {
  const { outer = [], window, words, style, recallTokens } = input;
  let messages = window.map((message) => renderMessage(message, words, style));
  let recallCount = input.recallCount;
  const { outerCount, roomTokens } = fitOuter(outer, input.roomTokens, sumTokens(messages) + recallTokens(recallCount));
  let room = roomTokens - recallTokens(recallCount);
  if (sumTokens(messages) <= room) return { messages, recallCount, outerCount };

  messages = clipOldestFirst(messages, input, room);
  while (recallCount > 0 && sumTokens(messages) > room) {
    recallCount--;
    room = roomTokens - recallTokens(recallCount);
  }
  while (messages.length > 1 && sumTokens(messages) > room) messages = messages.slice(1);

  const [newest] = messages;
  if (messages.length === 1 && newest && newest.tokens > room)
    messages = [renderClipped(renderMessage(newest.message, words, style), words, room, style)];
  return sumTokens(messages) <= room ? { messages, recallCount, outerCount } : undefined;
}

/** Returns how many of the newest messages of the larger task stay, and the room that they leave. */
function fitOuter(outer: NonNullable<FitInput["outer"]>, room: number, otherTokens: number) {
  const most = Math.min(room / 2, room - otherTokens);
  let outerCount = 0;
  let tokens = 0;
  for (const message of outer.toReversed()) {
    if (tokens + message.tokens > most) break;
    tokens += message.tokens;
    outerCount++;
  }
  return { outerCount, roomTokens: room - tokens };
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

const sumTokens = (messages: readonly { readonly tokens: number }[]): number =>
  messages.reduce((sum, { tokens }) => sum + tokens, 0);
