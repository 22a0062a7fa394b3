/**
 * media-usage.ts -- reads the tokens that an image or a transcription used from the server's answer.
 *
 * Some models are billed per image or per minute and report no tokens. The usage is then null, never an estimate.
 */
import type { Usage } from "#core/event.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import { isCount } from "./usage.ts";

export function readMediaUsage(answer: unknown): Usage | null {
  const { usage } = asJsonRecord(answer);
  const { input_tokens: inputTokens, output_tokens: outputTokens, input_tokens_details: details } = asJsonRecord(usage);
  if (!isCount(inputTokens) || !isCount(outputTokens)) return null;
  const { cached_tokens: cached } = asJsonRecord(details);
  const cachedTokens = isCount(cached) ? Math.min(inputTokens, cached) : 0;
  return { inputTokens, outputTokens, cachedTokens, estimated: false };
}

const asJsonRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
