/** lexical-settings.ts -- the figures that shared words are weighed by; chosen on the dev half of test/data/memory alone. */
export interface LexicalSettings {
  /** What the row before, the one after and so on lend to a row: their distance and their share. */
  readonly window: readonly (readonly [distance: number, share: number])[];
  /** In rows of up to so many words on average the window counts in full, in longer ones for less in proportion. */
  readonly windowWords: number;
  /** How much a word counts that is only spelled like a word of the query: questions are asked in other forms than answers. */
  readonly alikeShare: number;
  /**
   * How soon a repeated word stops to count more, and how much a long row is held back. Late and little: a word
   * that the neighbours have, too, is what all of them are about, and long rows are long by what they hold.
   */
  readonly saturation: number;
  readonly lengthShare: number;
  /** The rarest words of a text that are searched for. */
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
  alikeShare: 0.5,
  saturation: 2,
  lengthShare: 0.3,
  maxTerms: 24,
};
