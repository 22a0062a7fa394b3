/** search-provider.ts -- the contract of a search provider, and the failures that HTTP statuses mean. */
import type { SearchResult } from "#core/services.ts";
import { parseRetryAfter } from "#util/retry-after.ts";

export type ProviderAnswer =
  /** Empty if the provider says that it found nothing. */
  | { readonly results: readonly SearchResult[] }
  /** The reason for a failure. `restMs`: time during which another request is useless. */
  | { readonly failed: string; readonly restMs?: number };

export interface SearchProvider {
  readonly name: string;
  /** Rejects with network errors as they are. */
  search(query: string, count: number, signal: AbortSignal): Promise<ProviderAnswer>;
}

/** Limits of one request to a provider. */
export const PROVIDER_LIMITS = {
  maxBytes: 2 * 1024 * 1024,
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  totalTimeoutMs: 15_000,
};

const LIMITED_MS = 60_000;
const MAX_PROVIDER_REST_MS = 60 * 60_000;

/** Returns undefined for status 200. */
export function explainProviderStatus({
  status,
  headers,
}: Pick<Response, "status" | "headers">): ProviderAnswer | undefined {
  if (status === 200) return undefined;
  if (status === 401 || status === 403) return { failed: `it refuses the key (${status})` };
  if (status === 402) return { failed: "its credit is used up (402)" };
  // Tavily answers 432 and 433 at the limits of its plans.
  if (status === 429 || status === 432 || status === 433) {
    const restMs = Math.min(parseRetryAfter(headers) ?? LIMITED_MS, MAX_PROVIDER_REST_MS);
    return { failed: `its limit is reached (${status})`, restMs };
  }
  if (status === 202) return { failed: "it takes goald for a robot (202)", restMs: LIMITED_MS };
  if (status >= 500) return { failed: `it has an error of its own (${status})` };
  return { failed: `it answered with ${status}` };
}

export const UNREADABLE_ANSWER = "its answer is not in the form that it should have";
