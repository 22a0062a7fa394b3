/** reply-cap.ts -- how many tokens a reply may have: what it needs, what fits, and what the limits leave. Pure. */
import type { Price } from "#core/limits.ts";
import type { Left } from "./allowance.ts";

/** Each reply that was cut off gives later ones this many times the room, up to MAX_GROWTHS times. */
const GROWTH = 4;
const MAX_GROWTHS = 3;

interface ReplyNeed {
  /** Tokens of the request. */
  readonly inputTokens: number;
  /** The setting `models.replyTokens`, or less for a small context window. */
  readonly replyTokens: number;
  /** Replies that the server cut off. */
  readonly cutReplies: number;
  /** Context window: request and reply together. */
  readonly windowTokens: number;
  /** The largest reply that the server accepts; null when unknown. */
  readonly mostTokens: number | null;
  readonly price: Price | undefined;
}

export function capReply(need: ReplyNeed, left: Left): number {
  const { inputTokens, replyTokens, cutReplies, windowTokens, mostTokens, price } = need;
  const grown = replyTokens * GROWTH ** Math.min(cutReplies, MAX_GROWTHS);
  const room = Math.max(replyTokens, Math.min(grown, windowTokens - inputTokens));
  const leftUsd = left.usd - ((price?.input ?? 0) * inputTokens) / 1_000_000;
  const paid = price && price.output > 0 ? (leftUsd * 1_000_000) / price.output : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.floor(Math.min(room, mostTokens ?? room, left.tokens - inputTokens, paid)));
}

/** Sizes of a request in tokens. */
export interface Room {
  /** Prompt and reply together. */
  readonly contextTokens: number;
  /** Part of `contextTokens` that is kept free for the reply. */
  readonly replyTokens: number;
  /** The model's context window. Default: `contextTokens`. */
  readonly windowTokens?: number;
}

/** Limits the sizes to the server's known context window. */
export function fitRoom(
  { contextTokens, replyTokens, windowTokens = contextTokens }: Room,
  knownTokens: number | null,
): Required<Room> {
  if (knownTokens === null || knownTokens >= contextTokens)
    return { contextTokens, replyTokens, windowTokens: Math.min(windowTokens, knownTokens ?? windowTokens) };
  const less = Math.min(replyTokens, Math.floor(knownTokens / 4));
  return { contextTokens: knownTokens, replyTokens: less, windowTokens: knownTokens };
}
