/** buy-search.ts -- lets a method search buy embeddings within the agent's limits, and counts what they cost. */

import { costOf } from "#core/limits.ts";
import type { AgentState } from "#core/state.ts";
import { leftOf, NOTHING, within } from "./allowance.ts";
import type { AskParts } from "./ask-model.ts";
import { openPurse } from "./embedding-purse.ts";
import { type MethodParts, openMethodSearch } from "./method-search.ts";
import type { Purchases } from "./purchases.ts";

export type EmbeddingParts = MethodParts & Pick<AskParts, "agentId" | "embeddingModel" | "priceOf">;

/** Undefined when a search sends nothing. Reserves the tokens of all methods, although their vectors are kept. */
export function openPaidSearch(state: AgentState, parts: EmbeddingParts): Purchases | undefined {
  const { methods, commandsFor, agentId, embeddingModel, priceOf } = parts;
  if (methods?.remote !== true) return undefined;
  const price = embeddingModel ? priceOf?.(embeddingModel) : undefined;
  const bytes = commandsFor(state).callable.texts.reduce(
    (sum, { text }) => sum + Buffer.byteLength(text),
    MAX_QUERY_BYTES,
  );
  const tokens = Math.ceil(bytes / BYTES_PER_TOKEN);
  const usage = { inputTokens: tokens, outputTokens: 0, cachedTokens: 0 };
  const left = leftOf(state, NOTHING);
  const purse = openPurse(agentId, left, price);
  return {
    reserved: within({ tokens, usd: price ? costOf(usage, price) : null }, left),
    services: { methods: openMethodSearch(state, parts, purse) },
    spent: () => purse.spent(),
  };
}

/** As embedders estimate. */
const BYTES_PER_TOKEN = 3;
/** Longest description, of four bytes a character. */
const MAX_QUERY_BYTES = 8_000;
