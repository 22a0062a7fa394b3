/** lexical-settings.ts -- the parameters of lexical ranking, tuned on the dev half of test/data/memory alone. */
export interface LexicalSettings {
  /** Neighbours whose words count for a row: their distance in slots and the weight of their words. */
  readonly window: readonly (readonly [distance: number, weight: number])[];
  /** Mean row length, in words, up to which the window counts in full. It counts proportionally less in longer rows. */
  readonly windowWords: number;
  /** Weight of a term that only means something like a word of the query. */
  readonly relatedTermWeight: number;
  /**
   * BM25's k1 (term frequency saturation) and b (length normalisation). k1 is high, because a word that neighbours
   * share is their topic; b is low, because long rows are long by what they hold.
   */
  readonly saturation: number;
  readonly lengthNormalisation: number;
  /** Terms of a text that are searched: its own words before related ones, the rarest first. */
  readonly maxTerms: number;
}

export const LEXICAL_SETTINGS: LexicalSettings = {
  window: [
    [-1, 0.5],
    [1, 0.3],
    [-2, 0.35],
    [2, 0.15],
    [-3, 0.2],
  ],
  windowWords: 14,
  relatedTermWeight: 0.55,
  saturation: 2,
  lengthNormalisation: 0.3,
  maxTerms: 40,
};
