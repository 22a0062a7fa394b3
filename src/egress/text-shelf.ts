/** text-shelf.ts -- keeps the newest texts of one kind, each with the event that first showed it. */
import type { CarriedText } from "#core/leaving.ts";
import { indexNeedles } from "./find-shared.ts";
import { foldText } from "./fold-text.ts";

/** Shorter quotes are phrases that occur by chance. */
const MIN_QUOTE_LETTERS = 16;

export interface ShelfText {
  readonly text: string;
  /** Folded, for searching. */
  readonly letters: string;
  /** Number of the event that first showed it. */
  readonly seq: number;
  readonly from?: CarriedText["from"];
  readonly where?: string;
  /** Letters that do not count as this text's own, such as the arguments that it answers. */
  readonly except?: string;
}

export class TextShelf {
  readonly #maxChars: number;
  /** By letters; the newest last. */
  readonly #texts = new Map<string, ShelfText>();
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  add(given: Omit<ShelfText, "letters">): void {
    const letters = foldText(given.text);
    if (letters === "") return;
    const known = this.#texts.get(letters);
    if (known) this.#texts.delete(letters);
    else this.#chars += given.text.length;
    this.#texts.set(letters, known ?? { ...given, letters });
    for (const [key, { text }] of this.#texts) {
      if (this.#chars <= this.#maxChars) break;
      this.#texts.delete(key);
      this.#chars -= text.length;
    }
  }

  /** Oldest first. */
  all(): Iterable<ShelfText> {
    return this.#texts.values();
  }

  /** True when one of the texts has all these letters in a row. */
  holds(letters: string, isCounted: (text: ShelfText) => boolean = () => true): boolean {
    for (const text of this.#texts.values())
      if (text.letters.includes(letters) && !(text.except?.includes(letters) ?? false) && isCounted(text)) return true;
    return false;
  }

  /** Marks each of these letters that is in a quote of one of the texts. */
  markQuotes(letters: string, marks: Uint8Array, isCounted: (text: ShelfText) => boolean = () => true): void {
    // Most stretches are whole in one text, and the search for one string is many times faster.
    if (letters.length >= MIN_QUOTE_LETTERS && this.holds(letters, isCounted)) {
      marks.fill(1);
      return;
    }
    const texts = [...this.#texts.values()].filter(isCounted);
    markQuotes(letters, marks, texts);
  }
}

/** `except`: letters of a text that are no quote of it. */
export function markQuotes(
  letters: string,
  marks: Uint8Array,
  texts: readonly Pick<ShelfText, "letters" | "except">[],
): void {
  const needle = indexNeedles([letters]);
  for (const text of texts)
    for (const { start, end, at } of needle.findIn(text.letters)) {
      const quote = letters.slice(at, at + end - start);
      if (quote.length >= MIN_QUOTE_LETTERS && !text.except?.includes(quote)) marks.fill(1, at, at + quote.length);
    }
}
