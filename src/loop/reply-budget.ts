/** reply-budget.ts -- how much one command call may spend on models, and the sum of its spending. Pure. */
import { GoaldError } from "#core/errors.ts";
import type { EventOf, ModelSpending, NewEvent, OfCall, Usage } from "#core/event.ts";
import { bothUsed, costOf, type Price, spentOf } from "#core/limits.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";
import type { Spending } from "#core/subagent.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { isOnlyReasoning } from "#reply/json-objects.ts";
import { describeCutReasoning } from "#reply/problems.ts";

/** The most that a call may cost; `usd` is null when no price is known. */
export type Reservation = NonNullable<EventOf<"command-started">["reserved"]>;

/** What the agent's limits leave beside `reserved`; infinite without a limit. */
export type Left = Omit<Spending, "steps">;

export const NOTHING: Reservation = { tokens: 0, usd: null };

export function leftOf(state: AgentState, beside: Reservation): Left {
  const { tokenLimit, budgetUsd } = state.settings;
  const spent = spentOf(state);
  return {
    tokens: tokenLimit === null ? Number.POSITIVE_INFINITY : Math.max(0, tokenLimit - spent.tokens - beside.tokens),
    usd: budgetUsd === null ? Number.POSITIVE_INFINITY : Math.max(0, budgetUsd - spent.usd - (beside.usd ?? 0)),
  };
}

export const within = ({ tokens, usd }: Reservation, left: Left): Reservation => ({
  tokens: Math.min(tokens, left.tokens),
  usd: usd === null ? null : Math.min(usd, left.usd),
});

export const bothReserved = (one: Reservation, other: Reservation): Reservation => ({
  tokens: one.tokens + other.tokens,
  usd: sumOfKnown(one.usd, other.usd),
});

export function bothSpent(one: ModelSpending | undefined, other: ModelSpending | undefined): ModelSpending | undefined {
  if (!one || !other) return one ?? other;
  return {
    usage: bothUsed(one.usage, other.usage),
    costUsd: sumOfKnown(one.costUsd, other.costUsd),
    modelCalls: one.modelCalls + other.modelCalls,
  };
}

/** Adds known costs and ignores unknown ones. */
const sumOfKnown = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : one + other;

/** The reason why `next` exceeds the limits; undefined when it fits. */
export function lackOf(next: Reservation, left: Left): string | undefined {
  if (next.tokens > left.tokens)
    return `It may take ${next.tokens} tokens, and ${Math.max(0, left.tokens)} are left for it.`;
  if (next.usd !== null && next.usd > left.usd)
    return `It may cost ${next.usd.toFixed(4)} USD, and ${Math.max(0, left.usd).toFixed(4)} are left for it.`;
  return undefined;
}

/** `what`: the sentence about what did not happen, such as `The question was not asked`. */
export const tooDear = (what: string, why: string, hint: string): GoaldError =>
  new GoaldError("GOALD_LIMIT", `${what}: ${why}`, { hint });

/** Each reply that was cut off gives later ones this many times the room, up to MAX_GROWTHS times. */
const GROWTH = 4;
const MAX_GROWTHS = 3;

interface ReplyNeed {
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

/** Returns how many tokens a reply may have: what it needs, what fits, and what the limits leave. Pure. */
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

type Reply = Extract<ModelAnswer, { kind: "replied" }>;

export interface Pricing {
  /** Price of a model. When it is unknown, an agent with a budget sends no request. */
  readonly priceOf?: (model: string) => Price | undefined;
  /** Model of the server's embeddings, for their price. */
  readonly embeddingModel?: string;
}

/** Counts embeddings after they were made: the agent pauses at its limits afterwards. Without a known price only tokens count. */
export function countEmbeddings({ embeddingModel, priceOf }: Pricing) {
  const price = embeddingModel ? priceOf?.(embeddingModel) : undefined;
  let inputTokens = 0;
  return {
    countTokens: (tokens: number): void => {
      inputTokens += tokens;
    },
    /** Undefined when nothing was bought. */
    spent: (): ModelSpending | undefined => {
      if (inputTokens === 0) return undefined;
      const usage = { inputTokens, outputTokens: 0, cachedTokens: 0, estimated: false };
      // An embedding is not a call of the model: `modelCalls` counts replies.
      return { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 0 };
    },
  };
}

/** Spending on a reply that was cut off because it exceeded its maximum. */
export function spentOnCut(
  { usage: reported }: Extract<ModelAnswer, { kind: "failed" }>,
  inputTokens: number,
  price: Price | undefined,
): { readonly spent?: ModelSpending } {
  if (!reported) return {};
  const usage = { ...reported, inputTokens: Math.max(reported.inputTokens, reported.estimated ? inputTokens : 0) };
  return { spent: { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 1 } };
}

/** Maximum usage: no cached tokens, and a reply of that length. */
export function reserve(promptTokens: number, replyTokens: number, price: Price | undefined) {
  const most = { inputTokens: promptTokens, cachedTokens: 0, outputTokens: replyTokens };
  return { tokens: promptTokens + replyTokens, usd: price ? costOf(most, price) : null };
}

interface AskedCall extends OfCall {
  readonly price: Price | undefined;
  readonly promptTokens: number;
  /** Maximum of the reply. */
  readonly maxTokens: number;
}

/** Returns what follows a reply at once: it was cut off before an answer began, or the server ignored its maximum. */
export function replied(
  answer: Reply,
  { step, callId, price, promptTokens, maxTokens }: AskedCall,
  durationMs: number,
): readonly NewEvent[] {
  const { text, finishReason, capIgnored: reason } = answer;
  const usage = answer.usage ?? estimateUsage(promptTokens, answer, maxTokens);
  const costUsd = price ? costOf(usage, price) : null;
  return [
    { type: "model-replied", step, callId, text, finishReason, usage, costUsd, durationMs },
    ...rejectCutReasoning(answer, usage, step),
    ...(reason ? [{ type: "agent-paused", code: "cap-ignored", reason } as const] : []),
  ];
}

/** Estimates the usage for a server that reports none. A reply that was cut off without text used up its maximum. */
export function estimateUsage(
  promptTokens: number,
  { text, finishReason }: Pick<Reply, "text" | "finishReason">,
  maxTokens: number,
): Usage {
  const outputTokens = finishReason === "length" && text.trim() === "" ? maxTokens : estimateTokens(text);
  return { inputTokens: promptTokens, outputTokens, cachedTokens: 0, estimated: true };
}

function rejectCutReasoning(answer: Reply, { outputTokens }: Usage, step: number): readonly NewEvent[] {
  const { text, finishReason, reasoningTokens } = answer;
  if (finishReason !== "length" || !isOnlyReasoning(text)) return [];
  const problems = [describeCutReasoning(outputTokens, reasoningTokens)];
  return [{ type: "reply-rejected", step, problems, reasoningTokens: reasoningTokens ?? outputTokens }];
}
