/**
 * method-index.ts -- finds the methods that fit a description, by shared words and by vectors.
 *
 * Words count with those of related meaning, vectors by their cosine after the mean of all methods was subtracted:
 * signatures have much in common. The scores of both are added, each as a share of its best. Fusion by rank cannot tell
 * how much worse the next method fits.
 *
 * An instant embedder is asked for every list anew, and the offline one takes the place of a server that sends nothing.
 * Vectors are made at the first search and kept by text while the process lives, so that a changed home pays only for
 * what changed. Those that were made before the server failed are kept too.
 */
import type { Embedder, MethodIndex, MethodQuery, MethodText } from "#core/ports/memory.ts";
import { clip } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { KeyedQueue } from "#util/turns.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import { openWordEmbedder } from "./vectors/offline-embedder.ts";
import { GuardedEmbedder } from "./vectors/server-embedder.ts";
import { compareFromMean } from "./vectors/unit-vector.ts";
import { isStopWord } from "./words/vocabulary.ts";
import { LEXICAL_SETTINGS, LexicalIndex } from "./words/word-index.ts";
import { findWordTable, type WordTable } from "./words/word-table.ts";

export interface MethodIndexParts {
  readonly embedder: Embedder;
  /** Called once per outage of the embedder. */
  readonly report: (problem: string) => void;
}

const EMBED_TIMEOUT_MS = 20_000;
const MAX_DESCRIPTION_CHARS = 2_000;
/** Methods are not neighbours of each other, unlike the rows of a memory. */
const SETTINGS = { ...LEXICAL_SETTINGS, window: [] };
const BATCH = 96;
/** Share of the best score that a method needs, so that a list of results ends where the fit does. */
const MIN_SHARE = 0.45;
/** A description in other words may fit another method better than the one that is meant. */
const MIN_FOUND = 3;
/** Below 1, because the best of the words may be a chance, such as one word of related meaning. */
const WORDS_WEIGHT = 0.75;
/** A twentieth of the best possible score: fits that are closer than this are equal. */
const OWN_BONUS = 0.1;

type Compare = ReturnType<typeof compareFromMean>;

export const createMethodIndex = (parts: MethodIndexParts): MethodIndex => new VectoredMethods(parts);

class VectoredMethods implements MethodIndex {
  readonly #embedder: Embedder;
  readonly #guarded: GuardedEmbedder;
  readonly #offline: Embedder;
  readonly #words = new WeakMap<readonly MethodText[], LexicalIndex>();
  readonly #offlineVectors = new WeakMap<readonly MethodText[], Promise<Compare>>();
  /** Vectors that cost something, by text, all of the embedder `#keptOf`. */
  readonly #kept = new Map<string, Float32Array>();
  #keptOf = "";
  /** Agents that search at the same time do not buy the same vectors twice. */
  readonly #turns = new KeyedQueue();

  constructor({ embedder, report }: MethodIndexParts) {
    this.#embedder = embedder;
    this.#offline = embedder.isInstant ? embedder : openWordEmbedder();
    this.#guarded = new GuardedEmbedder(embedder, EMBED_TIMEOUT_MS, report);
  }

  get remote(): boolean {
    return !this.#embedder.local;
  }

  async search(methods: readonly MethodText[], query: MethodQuery, signal: AbortSignal): Promise<readonly string[]> {
    const description = clip(query.description, MAX_DESCRIPTION_CHARS);
    const { count, isAllowed = () => true, isName, countTokens } = query;
    const mayMean = isName ? matcherOf(methods)(description) : () => true;
    const slots = [...methods.keys()].filter((slot) => isAllowed((methods[slot] as MethodText).name) && mayMean(slot));
    if (slots.length === 0 || wordsOf(description).length === 0) return [];
    const byWords = sharesOfBest(this.#scoreWords(methods, description), slots);
    const embed = (texts: readonly string[]) => this.#guarded.embed(texts, signal, countTokens);
    const isFree = this.#embedder.isInstant || (!this.#embedder.local && countTokens === undefined);
    const buy = () => this.#compareBought(methods, description, embed);
    const bought = isFree ? undefined : await this.#turns.run("", buy);
    const byMeaning = sharesOfBest(bought ?? (await this.#compareOffline(methods, description, signal)), slots);
    const scored = slots.map((slot, at) => {
      const { name, isOwn = false } = methods[slot] as MethodText;
      const score = WORDS_WEIGHT * (byWords[at] as number) + (byMeaning[at] as number) + (isOwn ? OWN_BONUS : 0);
      return { name, score };
    });
    const ranked = scored.sort((a, b) => b.score - a.score);
    const least = MIN_SHARE * (ranked[0]?.score ?? 0);
    return ranked
      .filter(({ score }, place) => score >= least || (place < MIN_FOUND && !isName))
      .slice(0, count)
      .map(({ name }) => name);
  }

  #scoreWords(methods: readonly MethodText[], description: string): Float64Array {
    const known = this.#words.get(methods) ?? indexWords(methods, this.#offline.semantic ? findWordTable() : undefined);
    this.#words.set(methods, known);
    const scores = new Float64Array(methods.length);
    const words = [...new Set(wordsOf(description))];
    for (const { slot, score } of known.search([words], methods.length)(0)) scores[slot] = score;
    return scores;
  }

  /** Costs nothing. Returns zeros while the table of words is missing. */
  async #compareOffline(methods: readonly MethodText[], description: string, signal: AbortSignal) {
    const made = this.#offlineVectors.get(methods) ?? embedNamed(methods, this.#offline, signal);
    this.#offlineVectors.set(methods, made);
    try {
      const compare = await made;
      const [target] = await this.#offline.embed([description], signal);
      return compare(target as Float32Array);
    } catch {
      return new Float64Array(methods.length);
    }
  }

  /** Undefined when a vector is missing: scores of some methods alone would favour these. */
  async #compareBought(
    methods: readonly MethodText[],
    description: string,
    embed: (texts: readonly string[]) => ReturnType<GuardedEmbedder["embed"]>,
  ): Promise<Float64Array | undefined> {
    const [target] = (await embed([description])) ?? [];
    if (!target || this.#embedder.isInstant) return undefined;
    const { id } = this.#embedder;
    if (id !== this.#keptOf) this.#kept.clear();
    this.#keptOf = id;
    const missing = [...new Set(textsOf(methods))].filter((text) => !this.#kept.has(text));
    for (let from = 0; from < missing.length; from += BATCH) {
      const batch = missing.slice(from, from + BATCH);
      const made = await embed(batch);
      if (!made || this.#embedder.id !== id) break;
      for (const [at, text] of batch.entries()) if (made[at]) this.#kept.set(text, made[at]);
    }
    if (this.#embedder.id !== id) return undefined;
    const vectors = methods.flatMap(({ text }) => this.#kept.get(text) ?? []);
    return vectors.length === methods.length ? compareFromMean(vectors)(target) : undefined;
  }
}

const textsOf = (methods: readonly MethodText[]): readonly string[] => methods.map(({ text }) => text);

/** The name counts as much as the text: it says what the method is for, and long texts say much else. */
async function embedNamed(methods: readonly MethodText[], embedder: Embedder, signal: AbortSignal): Promise<Compare> {
  const names = methods.map(({ name }) => name);
  const ofNames = await embedder.embed(names, signal);
  const ofTexts = await embedder.embed(textsOf(methods), signal);
  return compareFromMean(ofTexts.map((vector, slot) => meanOfTwo(vector, ofNames[slot] as Float32Array)));
}

/** As `meanOf`, for thousands of pairs: a loop takes a third of the time of `map`. */
function meanOfTwo(one: Float32Array, other: Float32Array): Float32Array {
  const mean = one.slice();
  for (let at = 0; at < mean.length; at++) mean[at] = ((mean[at] as number) + (other[at] as number)) / 2;
  return mean;
}

/** The words of a name count once more: a name says what the method is for, while "file" is in many descriptions. */
function indexWords(methods: readonly MethodText[], meanings: WordTable | undefined): LexicalIndex {
  const index = new LexicalIndex(SETTINGS, meanings);
  for (const [slot, { name, text }] of methods.entries())
    index.add(slot, index.vocabulary.countTerms([...wordsOf(text), ...wordsOf(name)]), "");
  return index;
}

/** Returns the scores in these places as shares of the best of them. A score below 0 is none. */
function sharesOfBest(scores: Float64Array, slots: readonly number[]): readonly number[] {
  const chosen = slots.map((slot) => Math.max(0, scores[slot] as number));
  const best = Math.max(...chosen);
  return chosen.map((score) => (best > 0 ? score / best : 0));
}

/** Share of the methods that may have a word which tells methods apart, and the number that always may. */
const RARE_SHARE = 0.2;
const RARE_COUNT = 2;
const MIN_COVERED = 2 / 3;
const MIN_WORDS = 2;

/**
 * Returns for an invented name whether the method in a place of the list may be meant. Some method always fits a name
 * best. It is worth naming only if its own name has a word of the invented one that few methods have, or if its
 * description has most of several words. `undefined_name` means no method with an argument `name`. Kept by the identity
 * of the list.
 */
const matcherOf = rememberBy((methods: readonly MethodText[]): ((invented: string) => (slot: number) => boolean) => {
  const stemmed = methods.map(({ name, text }) => ({ name: stemsOf(name), text: stemsOf(text) }));
  const counts = new Map<string, number>();
  for (const { name } of stemmed) for (const stem of name) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return (invented) => {
    const stems = [...stemsOf(invented)];
    const most = Math.max(RARE_COUNT, RARE_SHARE * methods.length);
    const rare = stems.filter((stem) => (counts.get(stem) ?? 0) <= most);
    return (slot) => {
      const { name, text } = stemmed[slot] as (typeof stemmed)[number];
      if (rare.some((stem) => name.has(stem))) return true;
      const covered = stems.filter((stem) => text.has(stem)).length;
      return covered >= MIN_WORDS && covered / stems.length >= MIN_COVERED;
    };
  };
});

/** Returns the stems of the words in a name: `sendDiscord` and `send_discord` have the same. */
function stemsOf(text: string): ReadonlySet<string> {
  const words = text.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).map((word) => word.toLowerCase());
  return new Set(words.filter((word) => word.length > 1 && !isStopWord(word)).map(stemOf));
}
