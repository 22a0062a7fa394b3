/**
 * media-usage.ts -- what a picture or a recording took, as its server says: tokens in and out, or null.
 *
 * Some models are billed by the picture or the minute, and say no tokens; none are made up for them.
 */
import type { Usage } from "#core/event.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import { isCount } from "./chat-reply.ts";

export function usageIn(answer: unknown): Usage | null {
  const { usage } = recordOf(answer);
  const { input_tokens: inputTokens, output_tokens: outputTokens, input_tokens_details: details } = recordOf(usage);
  if (!isCount(inputTokens) || !isCount(outputTokens)) return null;
  const { cached_tokens: cached } = recordOf(details);
  const cachedTokens = isCount(cached) ? Math.min(inputTokens, cached) : 0;
  return { inputTokens, outputTokens, cachedTokens, estimated: false };
}

const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
