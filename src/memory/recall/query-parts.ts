/**
 * query-parts.ts -- what an agent is busy with, as something to search by.
 *
 * The texts are its newest messages, or parts of them with a weight each. Each is
 * searched for by itself: added up to one query, a question would drown in the results around it
 * (in a trial with 2,000 rows and nine messages, 0.90 to 0.92 of the wanted rows came among
 * the ten when each was asked alone, 0.36 to 0.84 with the sum).
 */
import type { RecallQuery } from "#core/ports/recall.ts";
import { clip } from "#core/text.ts";
import { keepNewest } from "#util/newest.ts";
import { wordsOf } from "#util/words.ts";
import { numbersOf } from "../lexical/word-set.ts";

/** One text that is searched for by itself. */
export interface QueryPart {
  readonly text: string;
  /** What it says about what the agent is busy with, 0 to 1. */
  readonly weight: number;
  /** As `wordsOf` gives them, each once. */
  readonly words: readonly string[];
  /** Hashes of those with digits. */
  readonly numbers: ReadonlySet<number>;
}

/** Without weights, what each text counts compared with the next newer one. */
const OLDER_COUNTS = 0.9;
const MAX_PARTS = 16;
const MAX_CHARS = 2_000;

/** The newest parts that say anything, newest last, each text once and cut to what an embedder takes. */
export function queryParts({ texts, weights }: Pick<RecallQuery, "texts" | "weights">): readonly QueryPart[] {
  const parts = new Map<string, number>();
  for (let at = texts.length - 1; at >= 0 && parts.size < MAX_PARTS; at--) {
    const text = clip(texts[at] as string, MAX_CHARS);
    const weight = weights?.[at] ?? OLDER_COUNTS ** (texts.length - 1 - at);
    if (text.trim() !== "" && weight > 0) parts.set(text, Math.max(weight, parts.get(text) ?? 0));
  }
  return [...parts].map(([text, weight]) => ({ text, weight, ...knownWordsOf(text) })).reverse();
}

type Words = Pick<QueryPart, "words" | "numbers">;

/** Most texts come again at the next step. */
function knownWordsOf(text: string): Words {
  const known = wordsOfText.get(text);
  if (known) return known;
  const words = [...new Set(wordsOf(text))];
  const made = { words, numbers: new Set(numbersOf(words)) };
  keepNewest(wordsOfText, text, made, MAX_KNOWN_TEXTS);
  return made;
}

const wordsOfText = new Map<string, Words>();
const MAX_KNOWN_TEXTS = 64;
