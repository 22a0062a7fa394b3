/** usage.ts -- reads the usage that a chat completion reports. */
import type { Usage } from "#core/event.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";

/** Returns the usage that the server reports. Null if it reports none or not in numbers. */
export function readUsage(usage: unknown): Usage | null {
  if (!isRecord(usage)) return null;
  const { prompt_tokens: inputTokens, completion_tokens: completion } = usage;
  if (!isCount(inputTokens) || !isCount(completion)) return null;
  const outputTokens = Math.max(completion, withReasoning(usage, inputTokens, completion));
  return { inputTokens, outputTokens, cachedTokens: Math.min(inputTokens, readCachedTokens(usage)), estimated: false };
}

/** Some servers count reasoning only in the total, or only in the details. */
function withReasoning(usage: JsonRecord, inputTokens: number, completion: number): number {
  const { reasoningTokens = 0 } = readReasoning(usage);
  if (isCount(usage.total_tokens) && usage.total_tokens > inputTokens) return usage.total_tokens - inputTokens;
  return reasoningTokens > completion ? completion + reasoningTokens : completion;
}

/** Empty when the server does not report how many tokens went into reasoning. */
export function readReasoning(usage: unknown): { readonly reasoningTokens?: number } {
  const details = isRecord(usage) ? usage.completion_tokens_details : undefined;
  return isRecord(details) && isCount(details.reasoning_tokens) ? { reasoningTokens: details.reasoning_tokens } : {};
}

/** Reads the field of OpenAI, else of DeepSeek, Moonshot, or a gateway to Anthropic. */
function readCachedTokens(usage: JsonRecord): number {
  const details = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const { prompt_cache_hit_tokens: hit, cached_tokens: cached, cache_read_input_tokens: read } = usage;
  return [details.cached_tokens, hit, cached, read].find(isCount) ?? 0;
}

export const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
