/** embedding-purse.ts -- lets an agent's recalls buy embeddings within its limits, and counts what they cost. */
import { GoaldError } from "#core/errors.ts";
import type { ModelSpending, Usage } from "#core/event.ts";
import { costOf, type Price } from "#core/limits.ts";
import type { EmbeddingPurse } from "#core/ports/vectors.ts";
import { type Left, lackOf } from "./allowance.ts";

export interface OpenPurse extends EmbeddingPurse {
  /** Undefined when nothing was bought. */
  spent(): ModelSpending | undefined;
}

/** An embedder without a known price counts tokens only, as pictures and speech do. */
export function openPurse(agent: string, left: Left, price: Price | undefined): OpenPurse {
  let tokens = 0;
  let bought = 0;
  let isShort = false;
  const usageOf = (inputTokens: number): Usage => ({ inputTokens, outputTokens: 0, cachedTokens: 0, estimated: false });
  const usdOf = (count: number): number | null => (price ? costOf(usageOf(count), price) : null);
  return {
    get isShort() {
      return isShort;
    },
    take(more) {
      const lack = lackOf({ tokens: tokens + more, usd: usdOf(tokens + more) }, left);
      isShort = lack !== undefined;
      if (lack) throw new GoaldError("GOALD_LIMIT", `The limits of ${agent} leave too little for embeddings. ${lack}`);
      tokens += more;
      bought += 1;
    },
    settle(estimated, actual) {
      tokens += actual - estimated;
      if (actual === 0) bought -= 1;
    },
    // An embedding is not a call of the model: `modelCalls` counts replies.
    spent: () => (bought === 0 ? undefined : { usage: usageOf(tokens), costUsd: usdOf(tokens), modelCalls: 0 }),
  };
}
