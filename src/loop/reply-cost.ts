/** reply-cost.ts -- what a model call and its embeddings may cost, what they have cost, and the events of its reply. Pure. */
import type { ModelSpending, NewEvent, Usage } from "#core/event.ts";
import { costOf, type Price } from "#core/limits.ts";
import type { CountTokens } from "#core/ports/memory.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import { isOnlyReasoning } from "#reply/json-objects.ts";
import { describeCutReasoning } from "#reply/problems.ts";

type Reply = Extract<ModelAnswer, { kind: "replied" }>;

export interface Pricing {
  /** Price of a model. When it is unknown, an agent with a budget sends no request. */
  readonly priceOf?: (model: string) => Price | undefined;
  /** Model of the server's embeddings, for their price. */
  readonly embeddingModel?: string;
}

/** Counts embeddings after they were made: the agent pauses at its limits afterwards. Without a known price only tokens count. */
export function countEmbeddings({ embeddingModel, priceOf }: Pricing): {
  readonly countTokens: CountTokens;
  /** Undefined when nothing was bought. */
  spent(): ModelSpending | undefined;
} {
  const price = embeddingModel ? priceOf?.(embeddingModel) : undefined;
  let inputTokens = 0;
  return {
    countTokens(tokens) {
      inputTokens += tokens;
    },
    spent() {
      if (inputTokens === 0) return undefined;
      const usage = { inputTokens, outputTokens: 0, cachedTokens: 0, estimated: false };
      // An embedding is not a call of the model: `modelCalls` counts replies.
      return { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 0 };
    },
  };
}

/** Spending on a reply that was cut off because it exceeded its maximum. */
export function spentOnCut(
  { usage: told }: Extract<ModelAnswer, { kind: "failed" }>,
  inputTokens: number,
  price: Price | undefined,
): { readonly spent?: ModelSpending } {
  if (!told) return {};
  const usage = { ...told, inputTokens: Math.max(told.inputTokens, told.estimated ? inputTokens : 0) };
  return { spent: { usage, costUsd: price ? costOf(usage, price) : null, modelCalls: 1 } };
}

/** Maximum usage: no cached tokens, and a reply of that length. */
export function reserve(promptTokens: number, replyTokens: number, price: Price | undefined) {
  const most = { inputTokens: promptTokens, cachedTokens: 0, outputTokens: replyTokens };
  return { tokens: promptTokens + replyTokens, usd: price ? costOf(most, price) : null };
}

interface AskedCall {
  readonly step: number;
  readonly callId: string;
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
