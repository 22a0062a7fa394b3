/**
 * carried-purse.ts -- pays for embeddings that are made between the steps of an agent.
 *
 * The rest of the last recall's purse limits them, and the purse of the next recall is charged.
 */
import type { EmbeddingPurse } from "#core/ports/vectors.ts";

export class CarriedPurse implements EmbeddingPurse {
  #last: EmbeddingPurse | undefined;
  #owed = 0;

  get isShort(): boolean {
    return this.#last?.isShort ?? false;
  }

  /** Charges what is owed to the purse of a new recall. What it cannot pay stays owed. */
  renew(purse: EmbeddingPurse | undefined): void {
    this.#last = purse;
    if (!purse || this.#owed === 0) return;
    try {
      purse.take(this.#owed);
      this.#owed = 0;
    } catch {
      // The agent pauses at this limit.
    }
  }

  take(tokens: number): void {
    this.#last?.take(tokens);
    this.#owed += tokens;
  }

  settle(estimated: number, tokens: number): void {
    this.#last?.settle(estimated, tokens);
    this.#owed += tokens - estimated;
  }
}
