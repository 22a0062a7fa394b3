/** search-provider.ts -- what one search provider is to the chain, and what its statuses mean. */
import type { SearchResult } from "#core/services.ts";
import { parseRetryAfter } from "#util/retry-after.ts";

export type ProviderAnswer =
  /** Empty: the provider said that it found nothing. */
  | { readonly results: readonly SearchResult[] }
  /** It did not answer the question, for this reason; `restMs`: nor will it before so long. */
  | { readonly failed: string; readonly restMs?: number };

export interface SearchProvider {
  readonly name: string;
  /** What the network does is thrown as it comes. */
  search(query: string, count: number, signal: AbortSignal): Promise<ProviderAnswer>;
}

/** Of an exchange with a provider. */
export const PROVIDER_LIMITS = {
  maxBytes: 2 * 1024 * 1024,
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  totalTimeoutMs: 15_000,
};

const LIMITED_MS = 60_000;
const MAX_REST_MS = 60 * 60_000;

/** undefined for 200. */
export function failureOfStatus({ status, headers }: Pick<Response, "status" | "headers">): ProviderAnswer | undefined {
  if (status === 200) return undefined;
  if (status === 401 || status === 403) return { failed: `it refuses the key (${status})` };
  if (status === 402) return { failed: "its credit is used up (402)" };
  // Tavily's own for its plans are 432 and 433.
  if (status === 429 || status === 432 || status === 433) {
    const restMs = Math.min(parseRetryAfter(headers) ?? LIMITED_MS, MAX_REST_MS);
    return { failed: `its limit is reached (${status})`, restMs };
  }
  if (status === 202) return { failed: "it takes goald for a robot (202)", restMs: LIMITED_MS };
  if (status >= 500) return { failed: `it has an error of its own (${status})` };
  return { failed: `it answered with ${status}` };
}

export const UNREADABLE = "its answer is not in the form that it should have";
