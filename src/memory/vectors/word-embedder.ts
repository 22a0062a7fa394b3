/**
 * word-embedder.ts -- the offline embedder: the mean of the vectors of a text's words, beside a hash of their spelling.
 *
 * A word weighs a / (a + p), with a = 0.001 (smooth inverse frequency; Arora, Liang and Ma 2017). Its frequency p follows from its
 * rank by Zipf's law, and a repeated word counts 1 + ln(repeats). The meaning has 0.85 of the vector's squared length and the hash the rest, so
 * that names and identifiers count. A text with less than half of its words in the table has no meaning and a whole hash.
 *
 * The table is read with the first text. It is deterministic and free, and no text leaves the machine.
 */
import type { Embedder } from "#core/ports/memory.ts";
import { hashOf } from "#util/words.ts";
import { shippedWordTable, type WordTable } from "../words/word-table.ts";
import { dot } from "./unit-vector.ts";
import { countWords, createWordHasher } from "./word-hasher.ts";

/** Increase it with every change of the table or of the weights: vectors of two versions do not compare. */
const VERSION = "words-v1";
/** Dimensions of the table, and of the hash: with 28 the evidence found fell from 0.75 to 0.72, with 284 it did not rise. */
const MEANING_DIMENSIONS = 100;
const HASH_DIMENSIONS = 92;
const DIMENSIONS = MEANING_DIMENSIONS + HASH_DIMENSIONS;
const MEANING_SHARE = 0.85;
const LEAST_KNOWN_SHARE = 0.5;
const FREQUENCY_CONSTANT = 1e-3;
const EULER = 0.577;
/** Words whose vectors are cached; the cache is emptied when full. */
const MAX_CACHED_WORDS = 8_192;

interface KnownWord {
  readonly vector: Float32Array;
  /** The word's weight, over the length of its vector. */
  readonly factor: number;
}

/** Numbers have no meaning here, and do not count as unknown words. */
const NUMBER: KnownWord = { vector: new Float32Array(0), factor: 0 };

export function openWordEmbedder(readTable: () => WordTable = shippedWordTable): Embedder {
  let embedText: ((text: string) => Float32Array) | undefined;
  return {
    id: `${VERSION}@${DIMENSIONS}`,
    dimensions: DIMENSIONS,
    local: true,
    semantic: true,
    isInstant: true,
    async embed(texts) {
      embedText ??= createTextEmbedder(readTable());
      return texts.map(embedText);
    },
  };
}

function createTextEmbedder(table: WordTable): (text: string) => Float32Array {
  const hashWords = createWordHasher(HASH_DIMENSIONS);
  const harmonicSum = Math.log(table.size) + EULER;
  const cache = new Map<string, KnownWord | null>();

  function lookUp(word: string): KnownWord | null {
    const cached = cache.get(word);
    if (cached !== undefined) return cached;
    if (cache.size >= MAX_CACHED_WORDS) cache.clear();
    const place = table.placeOf(hashOf(word));
    const unknown = /^\d+$/.test(word) ? NUMBER : null;
    const known = place < 0 ? unknown : weighWord(table.vectorAt(place), 1 / ((table.rankAt(place) + 1) * harmonicSum));
    cache.set(word, known);
    return known;
  }

  return (text) => {
    const counts = countWords(text);
    const vector = new Float32Array(DIMENSIONS);
    let [known, words] = [0, 0];
    for (const [word, repeats] of counts) {
      const found = lookUp(word);
      if (found === NUMBER) continue;
      words++;
      if (!found) continue;
      known++;
      addScaled(vector, found.vector, found.factor * (1 + Math.log(repeats)));
    }
    const squared = dot(vector, vector);
    const isKnown = squared > 0 && known >= LEAST_KNOWN_SHARE * words;
    const share = isKnown ? MEANING_SHARE : 0;
    const meaningFactor = isKnown ? Math.sqrt(share / squared) : 0;
    const hashFactor = Math.sqrt(1 - share);
    const hashed = hashWords(counts);
    for (let at = 0; at < MEANING_DIMENSIONS; at++) vector[at] = (vector[at] as number) * meaningFactor;
    for (let at = 0; at < HASH_DIMENSIONS; at++) vector[MEANING_DIMENSIONS + at] = (hashed[at] as number) * hashFactor;
    return vector;
  };
}

function weighWord(vector: Int8Array, frequency: number): KnownWord {
  const length = Math.hypot(...vector);
  return {
    vector: Float32Array.from(vector),
    factor: FREQUENCY_CONSTANT / (FREQUENCY_CONSTANT + frequency) / Math.max(1, length),
  };
}

function addScaled(sum: Float32Array, vector: Float32Array, factor: number): void {
  for (let at = 0; at < vector.length; at++) sum[at] = (sum[at] as number) + factor * (vector[at] as number);
}
