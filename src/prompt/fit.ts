/**
 * fit.ts -- selects and clips messages, memories of turns and recalls until they fit the room of a prompt.
 *
 * Messages of a larger task take at most half of the room. The steps, in this order, each only as far as needed:
 *   0. Messages of the larger task are dropped, oldest first.
 *   1. Memories of older turns are dropped, oldest first. That of the newest turn stays.
 *   2. Messages longer than the cap are clipped in the middle, oldest first. The cap is half of an equal
 *      share of the room, so the newest messages stay whole longest.
 *   3. Recalls are dropped, worst first.
 *   4. Messages are dropped, oldest first, except the newest and those that opened the turn.
 *   5. What is left of the messages is clipped to equal shares of the remaining room, the longest most; it is never dropped.
 *   6. The memory of the newest turn is dropped.
 * The system message and the request for the next command never change: the room is what they leave.
 */
import type { Message } from "#core/state.ts";
import { type RenderedMessage, renderClipped, renderMessage } from "./messages.ts";
import type { MessageStyle } from "./show-reply.ts";
import type { Words } from "./template.ts";

interface Sized {
  readonly tokens: number;
}

interface FitInput {
  /** In a sub-task: messages of the larger task, oldest first. */
  readonly outer?: readonly Sized[];
  /** Memories of earlier turns, oldest first. */
  readonly turns?: readonly Sized[];
  /** Messages that opened the turn, oldest first. */
  readonly asked?: readonly Message[];
  /** Oldest first. */
  readonly window: readonly Message[];
  readonly words: Words;
  readonly style: MessageStyle;
  /** Tokens for messages, memories and recalls together. */
  readonly roomTokens: number;
  readonly recallCount: number;
  /** Tokens that the best `count` recalls add to the final message. */
  recallTokens(count: number): number;
}

export interface FittedPrompt {
  /** Messages that opened the turn, then those of the window. */
  readonly messages: readonly RenderedMessage[];
  readonly recallCount: number;
  /** Messages of the larger task that stay, the newest. */
  readonly outerCount: number;
  /** Memories of turns that stay, the newest. */
  readonly turnCount: number;
}

/** Messages are not clipped below this size to make room for recalls or older messages. */
const MIN_CAP_TOKENS = 200;

/** Returns undefined when even the messages that are never dropped, clipped to their frames, do not fit. */
export function fitPrompt(input: FitInput): FittedPrompt | undefined {
  const { outer = [], turns = [], asked = [], window, words, style, recallTokens } = input;
  const messages = [...asked, ...window].map((message) => renderMessage(message, words, style));
  const otherTokens = sumTokens(messages) + recallTokens(input.recallCount);
  const { outerCount, roomTokens } = fitOuter(outer, input.roomTokens, otherTokens + sumTokens(turns));
  let turnCount = turns.length;
  while (turnCount > 1 && sumTokens(turns.slice(-turnCount)) + otherTokens > roomTokens) turnCount--;
  const fitWith = (count: number): FittedPrompt | undefined => {
    const left = roomTokens - (count === 0 ? 0 : sumTokens(turns.slice(-count)));
    const fitted = fitMessages(messages, left, input);
    return fitted && { ...fitted, outerCount, turnCount: count };
  };
  return fitWith(turnCount) ?? (turnCount > 0 ? fitWith(0) : undefined);
}

function fitMessages(
  whole: readonly RenderedMessage[],
  roomTokens: number,
  input: FitInput,
): Pick<FittedPrompt, "messages" | "recallCount"> | undefined {
  const { asked = [], recallTokens } = input;
  let messages = whole;
  let { recallCount } = input;
  let room = roomTokens - recallTokens(recallCount);
  if (sumTokens(messages) <= room) return { messages, recallCount };

  messages = clipOldestFirst(messages, input, room);
  while (recallCount > 0 && sumTokens(messages) > room) {
    recallCount--;
    room = roomTokens - recallTokens(recallCount);
  }
  while (messages.length > asked.length + 1 && sumTokens(messages) > room)
    messages = messages.toSpliced(asked.length, 1);
  if (messages.length <= asked.length + 1) messages = clipToShares(messages, input, room);
  return sumTokens(messages) <= room ? { messages, recallCount } : undefined;
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

/** A message that is shorter than its share leaves the rest to the others. */
function clipToShares(
  messages: readonly RenderedMessage[],
  { words, style }: FitInput,
  room: number,
): readonly RenderedMessage[] {
  if (sumTokens(messages) <= room) return messages;
  let left = room;
  const shares = new Map<RenderedMessage, RenderedMessage>();
  for (const [index, message] of messages.toSorted((a, b) => a.tokens - b.tokens).entries()) {
    const share = Math.floor(left / (messages.length - index));
    const clipped =
      message.tokens <= share
        ? message
        : renderClipped(renderMessage(message.message, words, style), words, share, style);
    left -= clipped.tokens;
    shares.set(message, clipped);
  }
  return messages.map((message) => shares.get(message) ?? message);
}

const sumTokens = (messages: readonly Sized[]): number => messages.reduce((sum, { tokens }) => sum + tokens, 0);
