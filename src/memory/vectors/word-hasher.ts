/**
 * word-hasher.ts -- makes vectors of the spelling of words: feature hashing without a model (Weinberger et al. 2009).
 *
 * A stemmed word and its character n-grams of length 3 to 5 are hashed to signed dimensions and summed. Texts with shared
 * words or similar spellings get similar vectors; synonyms do not. A changed feature needs a new version of the offline embedder.
 *
 * A word weighs 1 + ln(frequency), so that a repeated word does not dominate. The n-grams of a word together weigh
 * `GRAMS_WEIGHT` times the word. A longer word weighs more, because it is rarer.
 */
import { hashOf, stemOf, wordsOf } from "#util/words.ts";

const GRAMS_WEIGHT = 0.8;
const STOP_WEIGHT = 0.05;
/** Words whose features are cached; the cache is emptied when full. */
const MAX_CACHED_WORDS = 8_192;

/** Returns a function that makes the unit vector of counted words. */
export function createWordHasher(dimensions: number): (counts: ReadonlyMap<string, number>) => Float32Array {
  const cache = new Map<string, WordFeatures>();

  function featuresOf(word: string): WordFeatures {
    const cached = cache.get(word);
    if (cached) return cached;
    if (cache.size >= MAX_CACHED_WORDS) cache.clear();
    const made = computeFeatures(word, dimensions);
    cache.set(word, made);
    return made;
  }

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
