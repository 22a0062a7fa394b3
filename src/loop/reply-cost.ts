/** reply-cost.ts -- what a model call may cost, and what it has cost. Pure. */
import type { ModelSpending, NewEvent, Usage } from "#core/event.ts";
import { costOf, type Price } from "#core/limits.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import { estimateTokens } from "#prompt/tokens.ts";

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
}

export function replied(
  { text, finishReason, usage: counted }: Extract<ModelAnswer, { kind: "replied" }>,
  { step, callId, price, promptTokens }: AskedCall,
  durationMs: number,
): NewEvent {
  const usage = counted ?? estimatedUsage(promptTokens, text);
  const costUsd = price ? costOf(usage, price) : null;
  return { type: "model-replied", step, callId, text, finishReason, usage, costUsd, durationMs };
}

/** Estimated usage, for a server that reports none. */
export const estimatedUsage = (promptTokens: number, reply: string): Usage => ({
  inputTokens: promptTokens,
  outputTokens: estimateTokens(reply),
  cachedTokens: 0,
  estimated: true,
});
