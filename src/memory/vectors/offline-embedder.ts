/**
 * offline-embedder.ts -- the offline embedder: the mean of the vectors of a text's words, beside a hash of their
 * spelling.
 *
 * A word weighs a / (a + p), with a = 0.001 (smooth inverse frequency; Arora, Liang and Ma 2017). Its frequency p
 * follows from its rank by Zipf's law, and a repeated word counts 1 + ln(repeats). The meaning has 0.85 of the vector's
 * squared length and the hash the rest, so that names and identifiers count. A text with less than half of its words in
 * the table has no meaning and a whole hash.
 *
 * The table is read with the first text. It is deterministic and free, and no text leaves the machine.
 */
import type { Embedder } from "#core/ports/memory.ts";
import { cacheByKey, once } from "#util/caches.ts";
import { hashOf, stemOf, wordsOf } from "#util/words.ts";
import { shippedWordTable, type WordTable } from "../words/word-table.ts";
import { dot } from "./unit-vector.ts";

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
/** Words whose vectors are cached. */
const MAX_CACHED_WORDS = 8_192;

interface KnownWord {
  readonly vector: Float32Array;
  /** The word's weight, over the length of its vector. */
  readonly factor: number;
}

/** Numbers have no meaning here, and do not count as unknown words. */
const NUMBER: KnownWord = { vector: new Float32Array(0), factor: 0 };

export function openWordEmbedder(readTable: () => WordTable = shippedWordTable): Embedder {
  const embedText = once(() => createTextEmbedder(readTable()));
  return {
    id: `${VERSION}@${DIMENSIONS}`,
    dimensions: DIMENSIONS,
    local: true,
    semantic: true,
    isInstant: true,
    embed: async (texts) => texts.map(embedText()),
  };
}

function createTextEmbedder(table: WordTable): (text: string) => Float32Array {
  const hashWords = createWordHasher(HASH_DIMENSIONS);
  const harmonicSum = Math.log(table.size) + EULER;
  const lookUp = cacheByKey((word: string): KnownWord | null => {
    const place = table.placeOf(hashOf(word));
    if (place < 0) return /^\d+$/.test(word) ? NUMBER : null;
    return weighWord(table.vectorAt(place), 1 / ((table.rankAt(place) + 1) * harmonicSum));
  }, MAX_CACHED_WORDS);
  return (text) => {
    const counts = countWords(text);
    const vector = new Float32Array(DIMENSIONS);
    let known = 0;
    let words = 0;
    for (const [word, repeats] of counts) {
      const found = lookUp(word);
      if (found === NUMBER) continue;
      words++;
      if (!found) continue;
      known++;
      addScaled(vector, found.vector, found.factor * (1 + Math.log(repeats)));
    }
    const squared = dot(vector, vector);
    const share = squared > 0 && known >= LEAST_KNOWN_SHARE * words ? MEANING_SHARE : 0;
    const meaningFactor = share > 0 ? Math.sqrt(share / squared) : 0;
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

const GRAMS_WEIGHT = 0.8;
const STOP_WEIGHT = 0.05;

/**
 * Returns a function that makes the unit vector of the spelling of counted words: feature hashing without a model
 * (Weinberger et al. 2009). A stemmed word and its character n-grams of length 3 to 5 are hashed to signed dimensions
 * and summed. Texts with shared words or similar spellings get similar vectors; synonyms do not. A changed feature
 * needs a new version of the offline embedder.
 *
 * A word weighs 1 + ln(frequency), so that a repeated word does not dominate. The n-grams of a word together weigh
 * `GRAMS_WEIGHT` times the word. A longer word weighs more, because it is rarer.
 */
export function createWordHasher(dimensions: number): (counts: ReadonlyMap<string, number>) => Float32Array {
  const featuresOf = cacheByKey((word: string) => computeFeatures(word, dimensions), MAX_CACHED_WORDS);
  return (counts) => {
    const vector = new Float32Array(dimensions);
    counts.forEach((frequency, word) => {
      addFeatures(vector, featuresOf(word), frequency === 1 ? 1 : 1 + Math.log(frequency));
    });
    return normalise(vector);
  };
}

/** Returns how often each word of `wordsOf` occurs. */
export function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Signed dimensions of a word: its own first, then those of its n-grams; ~dimension stands for a negative sign. */
interface WordFeatures {
  readonly signedDimensions: Int32Array;
  readonly wordWeight: number;
  readonly gramWeight: number;
}

function computeFeatures(given: string, dimensions: number): WordFeatures {
  const word = given.replace(SPELLED_UMLAUT, "$1");
  const signedDimension = (text: string, seed: number): number => {
    const hash = hashOf(text, seed);
    const dimension = hash % dimensions;
    return hash >>> 31 === 1 ? ~dimension : dimension;
  };
  const own = signedDimension(stemOf(word), WORD_SEED);
  if (STOP_WORDS.has(given)) return { signedDimensions: Int32Array.of(own), wordWeight: STOP_WEIGHT, gramWeight: 0 };
  const grams = /^\d+$/.test(word) ? [] : gramsOf(word);
  const rarity = Math.min(1.3, 0.6 + 0.1 * word.length);
  return {
    signedDimensions: Int32Array.of(own, ...grams.map((gram) => signedDimension(gram, GRAM_SEED))),
    wordWeight: rarity,
    gramWeight: grams.length === 0 ? 0 : (rarity * GRAMS_WEIGHT) / Math.sqrt(grams.length),
  };
}

/** Unites `ue` with the folded `ü`, so that "Schluessel" matches "Schlüssel". Applied to all words alike. */
const SPELLED_UMLAUT = /(?<![aeiouq])([aou])e/g;

const WORD_SEED = 0;
const GRAM_SEED = 0x5bd1e995;

/** Returns the n-grams of length 3 to 5, word ends marked; none for words shorter than 3. */
function gramsOf(word: string): string[] {
  if (word.length < 3) return [];
  const marked = `^${word}$`;
  const grams: string[] = [];
  for (let length = 3; length <= 5; length++)
    for (let at = 0; at + length <= marked.length; at++) grams.push(marked.slice(at, at + length));
  return grams;
}

/** Avoids a branch on the sign, which is random and would be mispredicted every second time. */
function addFeatures(
  vector: Float32Array,
  { signedDimensions, wordWeight, gramWeight }: WordFeatures,
  frequency: number,
): void {
  let weight = wordWeight * frequency;
  for (let at = 0; at < signedDimensions.length; at++) {
    const signed = signedDimensions[at] as number;
    const negative = signed >> 31;
    const dimension = signed ^ negative;
    vector[dimension] = (vector[dimension] as number) + (negative | 1) * weight;
    weight = gramWeight * frequency;
  }
}

/** Returns the first axis for a text without words. */
function normalise(vector: Float32Array): Float32Array {
  let squares = 0;
  for (let at = 0; at < vector.length; at++) squares += (vector[at] as number) ** 2;
  if (squares === 0) {
    vector[0] = 1;
    return vector;
  }
  const factor = 1 / Math.sqrt(squares);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] as number) * factor;
  return vector;
}

/** English and German words that carry no topic. A change changes vectors: increase the version of the offline embedder. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it " +
    "its just me more my no not now of on only or our she should so some than that the their them then there these they this " +
    "to up us was we were what when where which who why will with would you your " +
    "aber alle als am an auch auf aus bei bin bis da das dass dem den denn der des die doch du durch ein eine einem einen einer " +
    "er es fur gegen habe haben hat ich ihr im in ist ja kein keine man mehr mein mir mit nach nicht noch nun nur oder ohne " +
    "schon sehr sein seine sich sie sind so uber um und uns vom von vor war waren was wenn wer wie wir wird wo zu zum zur"
  ).split(" "),
);
