/** usage.ts -- what a request used and cost, estimated where the server does not say so. */
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

/** Estimated usage, for a server that reports none. */
export const estimatedUsage = (promptTokens: number, reply: string): Usage => ({
  inputTokens: promptTokens,
  outputTokens: estimateTokens(reply),
  cachedTokens: 0,
  estimated: true,
});

interface AskedCall {
  readonly step: number;
  readonly callId: string;
  readonly price: Price | undefined;
  readonly promptTokens: number;
}

/** The event of a reply, with its usage and cost. */
export function replied(
  { text, finishReason, usage: counted }: Extract<ModelAnswer, { kind: "replied" }>,
  { step, callId, price, promptTokens }: AskedCall,
  durationMs: number,
): NewEvent {
  const usage = counted ?? estimatedUsage(promptTokens, text);
  const costUsd = price ? costOf(usage, price) : null;
  return { type: "model-replied", step, callId, text, finishReason, usage, costUsd, durationMs };
}
