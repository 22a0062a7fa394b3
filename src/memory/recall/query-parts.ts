/**
 * query-parts.ts -- splits a recall query into parts that are searched for one by one. Each part is one of the agent's
 * newest messages, with a weight. Summed up to one query, a question would drown in the results around it: with 2,000
 * rows and nine messages, separate searches brought 0.90 to 0.92 of the relevant rows among the ten, one summed search
 * 0.36 to 0.84.
 */
import type { RecallQuery } from "#core/ports/memory.ts";
import { clip } from "#core/text.ts";
import { cacheByKey } from "#util/caches.ts";
import { wordsOf } from "#util/words.ts";
import { createWordSet, isStopStem } from "../words/vocabulary.ts";

export interface QueryPart {
  readonly text: string;
  /** 0 to 1. */
  readonly weight: number;
  /** Distinct words of `wordsOf`. */
  readonly words: readonly string[];
  /** Hashes of the stems of the words, without digits. */
  readonly stems: Uint32Array;
  /** The hashes among `stems` that belong to no stop word. */
  readonly topics: Uint32Array;
  /** Hashes of the words with digits. */
  readonly numbers: ReadonlySet<number>;
}

/** Default weight of a text relative to the next newer one. */
const AGE_FACTOR = 0.9;
const MAX_PARTS = 16;
const MAX_CHARS = 2_000;

/** Returns the newest non-empty texts, newest last, each once and cut to what an embedder accepts. */
export function queryParts({ texts, weights }: Pick<RecallQuery, "texts" | "weights">): readonly QueryPart[] {
  const parts = new Map<string, number>();
  for (let at = texts.length - 1; at >= 0 && parts.size < MAX_PARTS; at--) {
    const text = clip(texts[at] as string, MAX_CHARS);
    const weight = weights?.[at] ?? AGE_FACTOR ** (texts.length - 1 - at);
    if (text.trim() !== "" && weight > 0) parts.set(text, Math.max(weight, parts.get(text) ?? 0));
  }
  return [...parts].map(([text, weight]) => ({ text, weight, ...readWords(text) })).reverse();
}

type PartWords = Pick<QueryPart, "words" | "stems" | "topics" | "numbers">;

const MAX_CACHED_TEXTS = 64;

/** Most texts come again at the next step. */
const readWords = cacheByKey((text: string): PartWords => {
  const words = [...new Set(wordsOf(text))];
  const { hashes, numbers } = createWordSet(words);
  const topics = hashes.filter((hash) => !isStopStem(hash));
  return { words, stems: hashes, topics, numbers: new Set(numbers) };
}, MAX_CACHED_TEXTS);
