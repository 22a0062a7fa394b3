/**
 * hash-embedder.ts -- vectors without a model: every word and piece of a word votes for a few dimensions.
 *
 * Feature hashing (Weinberger et al. 2009): a stemmed word and its character n-grams of 3 to 5
 * are hashed to signed dimensions and summed. Texts that share words, or words that
 * share their spelling, come near each other; synonyms do not. Deterministic, free, and
 * nothing leaves the machine: what memory stands on when there is no embedding server.
 *
 * A word counts 1 + ln(times), so that a repeated word cannot drown the others. A word's n-grams
 * together weigh `PIECES_WEIGHT`, however long it is; a longer word weighs more, as it is rarer.
 */
import type { Embedder } from "#core/ports/vectors.ts";
import { hashOf, stemOf, wordsOf } from "#util/words.ts";

/** Changes with every change of the features: vectors of another version are not comparable. */
const VERSION = "hash-v2";
const HASH_DIMENSIONS = 384;

const PIECES_WEIGHT = 0.8;
const STOP_WEIGHT = 0.05;
/** Words whose features are kept ready; the store is emptied when it is full. */
const MAX_KNOWN_WORDS = 8_192;

export function openHashEmbedder(dimensions: number = HASH_DIMENSIONS): Embedder {
  const known = new Map<string, Features>();

  function featuresFor(word: string): Features {
    const found = known.get(word);
    if (found) return found;
    if (known.size >= MAX_KNOWN_WORDS) known.clear();
    const made = makeFeatures(word, dimensions);
    known.set(word, made);
    return made;
  }

  function embedOne(text: string): Float32Array {
    const vector = new Float32Array(dimensions);
    countWords(text).forEach((times, word) => {
      addFeatures(vector, featuresFor(word), times === 1 ? 1 : 1 + Math.log(times));
    });
    return toUnit(vector);
  }

  return {
    id: `${VERSION}@${dimensions}`,
    dimensions,
    local: true,
    semantic: false,
    embed: async (texts) => texts.map(embedOne),
  };
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Dimensions that a word votes for: its own first, then those of its pieces; a negative vote is stored as ~dimension. */
interface Features {
  readonly votes: Int32Array;
  readonly wordWeight: number;
  readonly pieceWeight: number;
}

function makeFeatures(given: string, dimensions: number): Features {
  const word = given.replace(SPELLED_UMLAUT, "$1");
  const vote = (text: string, seed: number): number => {
    const hash = hashOf(text, seed);
    const dimension = hash % dimensions;
    return hash >>> 31 === 1 ? ~dimension : dimension;
  };
  const own = vote(stemOf(word), WORD_SEED);
  if (STOP_WORDS.has(given)) return { votes: Int32Array.of(own), wordWeight: STOP_WEIGHT, pieceWeight: 0 };
  const pieces = /^\d+$/.test(word) ? [] : piecesOf(word);
  const rarity = Math.min(1.3, 0.6 + 0.1 * word.length);
  return {
    votes: Int32Array.of(own, ...pieces.map((piece) => vote(piece, PIECE_SEED))),
    wordWeight: rarity,
    pieceWeight: pieces.length === 0 ? 0 : (rarity * PIECES_WEIGHT) / Math.sqrt(pieces.length),
  };
}

/** `ue` for `ü`, whose dots are folded away: "Schluessel" should meet "Schlüssel". Harmless elsewhere, as it is done everywhere. */
const SPELLED_UMLAUT = /(?<![aeiouq])([aou])e/g;

const WORD_SEED = 0;
const PIECE_SEED = 0x5bd1e995;

/** Character n-grams of 3 to 5, with the word's ends marked; none for words too short to have any of their own. */
function piecesOf(word: string): string[] {
  if (word.length < 3) return [];
  const marked = `^${word}$`;
  const pieces: string[] = [];
  for (let length = 3; length <= 5; length++)
    for (let at = 0; at + length <= marked.length; at++) pieces.push(marked.slice(at, at + length));
  return pieces;
}

/** Signs are random, so the loop does without a branch that a processor would guess wrong every second time. */
function addFeatures(vector: Float32Array, { votes, wordWeight, pieceWeight }: Features, times: number): void {
  let weight = wordWeight * times;
  for (let at = 0; at < votes.length; at++) {
    const vote = votes[at] as number;
    const negative = vote >> 31;
    const dimension = vote ^ negative;
    vector[dimension] = (vector[dimension] as number) + (negative | 1) * weight;
    weight = pieceWeight * times;
  }
}

/** A text without any word still gets a unit vector: the first axis. */
function toUnit(vector: Float32Array): Float32Array {
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

/** Words that say nothing about what a text is about, in the two languages that this was tried with. */
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
