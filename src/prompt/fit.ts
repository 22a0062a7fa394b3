/**
 * fit.ts -- what of the window and the recalls goes into a prompt of limited size.
 *
 * The rule, always in this order, each step only as far as needed:
 *   1. Messages longer than the cap are clipped in the middle, oldest first. The cap is half of an equal
 *      share of the room, so that the newest stay whole the longest; the last one to be clipped is
 *      clipped no further than it must.
 *   2. Recalls are dropped, worst first.
 *   3. Messages are dropped, oldest first, all but the newest.
 *   4. The newest message is clipped to what is left; it is never dropped.
 * The system message and the request for the next command are not touched here: they are what the
 * room is measured after. Each step takes something away from a finite list, so there is no loop to
 * be caught in, and the end either fits or is undefined.
 */
import type { Message } from "#core/state.ts";
import { type RenderedMessage, renderClipped, renderMessage } from "./messages.ts";
import type { Words } from "./template.ts";

interface FitInput {
  /** Oldest first. */
  readonly window: readonly Message[];
  readonly words: Words;
  /** Tokens for the messages and the recalls together. */
  readonly roomTokens: number;
  readonly recallCount: number;
  /** What the best `count` recalls add to the final message. */
  recallTokens(count: number): number;
}

export interface Fitted {
  readonly messages: readonly RenderedMessage[];
  readonly recallCount: number;
}

/** No message is clipped below this for the sake of recalls or of older messages. */
const MIN_CAP_TOKENS = 200;

/** undefined: not even the newest message, clipped to its bare frame, finds room. */
export function fitPrompt(input: FitInput): Fitted | undefined {
  const { window, words, roomTokens, recallTokens } = input;
  let messages = window.map((message) => renderMessage(message, words));
  let recallCount = input.recallCount;
  let room = roomTokens - recallTokens(recallCount);
  if (sumOf(messages) <= room) return { messages, recallCount };

  messages = clipOldestFirst(messages, words, room);
  while (recallCount > 0 && sumOf(messages) > room) {
    recallCount--;
    room = roomTokens - recallTokens(recallCount);
  }
  while (messages.length > 1 && sumOf(messages) > room) messages = messages.slice(1);

  const [newest] = messages;
  if (messages.length === 1 && newest && newest.tokens > room)
    messages = [renderClipped(renderMessage(newest.message, words), words, room)];
  return sumOf(messages) <= room ? { messages, recallCount } : undefined;
}

function clipOldestFirst(messages: readonly RenderedMessage[], words: Words, room: number): RenderedMessage[] {
  const cap = Math.max(MIN_CAP_TOKENS, Math.floor(room / (2 * messages.length)));
  let excess = sumOf(messages) - room;
  return messages.map((message) => {
    if (excess <= 0 || message.tokens <= cap) return message;
    const clipped = renderClipped(message, words, Math.max(cap, message.tokens - excess));
    excess -= message.tokens - clipped.tokens;
    return clipped;
  });
}

const sumOf = (messages: readonly RenderedMessage[]): number => messages.reduce((sum, { tokens }) => sum + tokens, 0);
