/**
 * named-match.ts -- whether a method may be what an invented name means.
 *
 * Some method always fits a name best. It is worth naming only if its own name has a word of the invented one that few methods
 * have, or if its description has most of several words. `undefined_name` means no method with an argument `name`.
 */
import type { MethodText } from "#core/ports/memory.ts";
import { stemOf } from "#util/words.ts";
import { isStopWord } from "../lexical/stop-words.ts";

/** Share of the methods that may have a word which tells methods apart, and the number that always may. */
const RARE_SHARE = 0.2;
const RARE_COUNT = 2;
const MIN_COVERED = 2 / 3;
const MIN_WORDS = 2;

export class NamedMatch {
  readonly #names: readonly ReadonlySet<string>[];
  readonly #texts: readonly ReadonlySet<string>[];
  readonly #counts = new Map<string, number>();

  constructor(methods: readonly MethodText[]) {
    this.#names = methods.map(({ name }) => stemsOf(name));
    this.#texts = methods.map(({ text }) => stemsOf(text));
    for (const stems of this.#names)
      for (const stem of stems) this.#counts.set(stem, (this.#counts.get(stem) ?? 0) + 1);
  }

  /** Returns whether the method in this place of the list may be meant. */
  matcherFor(invented: string): (slot: number) => boolean {
    const stems = [...stemsOf(invented)];
    const most = Math.max(RARE_COUNT, RARE_SHARE * this.#names.length);
    const rare = stems.filter((stem) => (this.#counts.get(stem) ?? 0) <= most);
    return (slot) => {
      const [name, text] = [this.#names[slot], this.#texts[slot]];
      if (!name || !text) return false;
      if (rare.some((stem) => name.has(stem))) return true;
      const covered = stems.filter((stem) => text.has(stem)).length;
      return covered >= MIN_WORDS && covered / stems.length >= MIN_COVERED;
    };
  }
}

/** Returns the stems of the words in a name: `sendDiscord` and `send_discord` have the same. */
function stemsOf(text: string): ReadonlySet<string> {
  const words = text.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).map((word) => word.toLowerCase());
  return new Set(words.filter((word) => word.length > 1 && !isStopWord(word)).map(stemOf));
}
