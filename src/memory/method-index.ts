/**
 * method-index.ts -- finds the methods that fit a description, by shared words and by vectors.
 *
 * Words count with those of related meaning, vectors by their cosine after the mean of all methods was subtracted:
 * signatures have much in common. The scores of both are added, each as a share of its best. Fusion by rank cannot tell
 * how much worse the next method fits.
 *
 * An instant embedder is asked for every list anew, and the offline one takes the place of a server that sends nothing.
 * Vectors are made at the first search and kept by text, so that a changed home pays only for what changed. Those that
 * were made before the server failed are kept too.
 */
import { hash } from "node:crypto";
import type { CountTokens, Embedder, MethodIndex, MethodQuery, MethodText } from "#core/ports/memory.ts";
import { clip } from "#core/text.ts";
import { KeyedQueue } from "#util/turns.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import { openWordEmbedder } from "./vectors/offline-embedder.ts";
import { GuardedEmbedder } from "./vectors/server-embedder.ts";
import { compareFromMean, fromBytes, toBytes } from "./vectors/unit-vector.ts";
import { isStopWord } from "./words/vocabulary.ts";
import { LEXICAL_SETTINGS, LexicalIndex } from "./words/word-index.ts";
import { findWordTable, type WordTable } from "./words/word-table.ts";

export interface MethodIndexParts {
  readonly embedder: Embedder;
  /** Called once per outage of the embedder. */
  readonly report: (problem: string) => void;
  /** Keeps vectors that cost something. Absent: each index makes its own. */
  readonly cache?: VectorCache;
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
  readonly #names = new WeakMap<readonly MethodText[], NamedMatch>();
  readonly #offlineVectors = new WeakMap<readonly MethodText[], Promise<Compare>>();
  readonly #kept: KeptVectors;
  /** Agents that search at the same time do not buy the same vectors twice. */
  readonly #turns = new KeyedQueue();

  constructor({ embedder, report, cache }: MethodIndexParts) {
    this.#embedder = embedder;
    this.#offline = embedder.isInstant ? embedder : openWordEmbedder();
    this.#kept = new KeptVectors(cache);
    this.#guarded = new GuardedEmbedder(embedder, EMBED_TIMEOUT_MS, report);
  }

  get remote(): boolean {
    return !this.#embedder.local;
  }

  async search(methods: readonly MethodText[], query: MethodQuery, signal: AbortSignal): Promise<readonly string[]> {
    const description = clip(query.description, MAX_DESCRIPTION_CHARS);
    const { count, isAllowed = () => true, isName, countTokens } = query;
    const mayMean = isName ? this.#namesOf(methods).matcherFor(description) : () => true;
    const slots = [...methods.keys()].filter((slot) => isAllowed((methods[slot] as MethodText).name) && mayMean(slot));
    if (slots.length === 0 || wordsOf(description).length === 0) return [];
    const byWords = sharesOfBest(this.#scoreWords(methods, description), slots);
    const byMeaning = sharesOfBest(await this.#scoreVectors(methods, description, signal, countTokens), slots);
    const scored = slots.map((slot, at) => {
      const { name, isOwn = false } = methods[slot] as MethodText;
      return {
        name,
        score: WORDS_WEIGHT * (byWords[at] as number) + (byMeaning[at] as number) + (isOwn ? OWN_BONUS : 0),
      };
    });
    const ranked = scored.sort((a, b) => b.score - a.score);
    const least = MIN_SHARE * (ranked[0]?.score ?? 0);
    return ranked
      .filter(({ score }, place) => score >= least || (place < MIN_FOUND && !isName))
      .slice(0, count)
      .map(({ name }) => name);
  }

  #namesOf(methods: readonly MethodText[]): NamedMatch {
    const known = this.#names.get(methods) ?? new NamedMatch(methods);
    this.#names.set(methods, known);
    return known;
  }

  #scoreWords(methods: readonly MethodText[], description: string): Float64Array {
    const known = this.#words.get(methods) ?? indexWords(methods, this.#offline.semantic ? findWordTable() : undefined);
    this.#words.set(methods, known);
    const scores = new Float64Array(methods.length);
    const words = [...new Set(wordsOf(description))];
    for (const { slot, score } of known.search([words], methods.length)(0)) scores[slot] = score;
    return scores;
  }

  async #scoreVectors(
    methods: readonly MethodText[],
    description: string,
    signal: AbortSignal,
    countTokens: CountTokens | undefined,
  ): Promise<Float64Array> {
    const isOffline = this.#embedder.isInstant || (!this.#embedder.local && countTokens === undefined);
    const buys = () => this.#compareBought(methods, description, signal, countTokens);
    const bought = isOffline ? undefined : await this.#turns.run("", buys);
    return bought ?? this.#compareOffline(methods, description, signal).catch(() => new Float64Array(methods.length));
  }

  /** Costs nothing. Rejects while the table of words is missing. */
  async #compareOffline(methods: readonly MethodText[], description: string, signal: AbortSignal) {
    const made = this.#offlineVectors.get(methods) ?? embedNamed(methods, this.#offline, signal);
    this.#offlineVectors.set(methods, made);
    const compare = await made;
    const [target] = await this.#offline.embed([description], signal);
    return compare(target as Float32Array);
  }

  /** Undefined when a vector is missing: scores of some methods alone would favour these. */
  async #compareBought(
    methods: readonly MethodText[],
    description: string,
    signal: AbortSignal,
    countTokens: CountTokens | undefined,
  ): Promise<Float64Array | undefined> {
    const [target] = (await this.#guarded.embed([description], signal, countTokens)) ?? [];
    if (!target || this.#embedder.isInstant) return undefined;
    const { id } = this.#embedder;
    await this.#kept.open(id);
    const texts = new Set(textsOf(methods));
    const missing = [...texts].filter((text) => !this.#kept.has(text));
    for (let from = 0; from < missing.length; from += BATCH) {
      const batch = missing.slice(from, from + BATCH);
      const made = await this.#guarded.embed(batch, signal, countTokens);
      if (!made || this.#embedder.id !== id) break;
      for (const [at, text] of batch.entries()) if (made[at]) this.#kept.set(text, made[at]);
    }
    if (this.#embedder.id !== id) return undefined;
    await this.#kept.save(texts);
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

// Whether a method may be what an invented name means.
//
// Some method always fits a name best. It is worth naming only if its own name has a word of the invented one that few
// methods have, or if its description has most of several words. `undefined_name` means no method with an argument
// `name`.

/** Share of the methods that may have a word which tells methods apart, and the number that always may. */
const RARE_SHARE = 0.2;
const RARE_COUNT = 2;
const MIN_COVERED = 2 / 3;
const MIN_WORDS = 2;

class NamedMatch {
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

// Keeps the vectors of methods that cost something, between searches and between processes.
//
// With 1,000 methods a server's vectors take about eleven requests and 45,000 tokens, which the agent that searches
// first pays. A component is one byte, so that they fit into a file of 2 MB; a search before the restart and one after
// it compare the same numbers.

/** A file that may be lost at any time. */
interface VectorCache {
  read(): Promise<unknown>;
  write(content: object): Promise<void>;
}

class KeptVectors {
  readonly #cache: VectorCache | undefined;
  /** By hash of the text, all of the embedder `#embedder`. */
  #vectors = new Map<string, Int8Array>();
  #embedder: string | undefined;
  #isChanged = false;

  constructor(cache: VectorCache | undefined) {
    this.#cache = cache;
  }

  /** Drops the vectors of other embedders. Call it before `get`. */
  async open(embedder: string): Promise<void> {
    if (embedder === this.#embedder) return;
    this.#embedder = embedder;
    this.#vectors = readVectors(await this.#cache?.read(), embedder);
    this.#isChanged = false;
  }

  get(text: string): Float32Array | undefined {
    const bytes = this.#vectors.get(hashOfText(text));
    return bytes && fromBytes(bytes);
  }

  has(text: string): boolean {
    return this.#vectors.has(hashOfText(text));
  }

  set(text: string, vector: Float32Array): void {
    this.#vectors.set(hashOfText(text), toBytes(vector));
    this.#isChanged = true;
  }

  /** Writes the vectors of these texts, if there are new ones. */
  async save(texts: Iterable<string>): Promise<void> {
    if (!this.#isChanged || !this.#cache) return;
    this.#isChanged = false;
    const kept = new Map(
      Iterator.from(texts).flatMap((text) => {
        const key = hashOfText(text);
        const bytes = this.#vectors.get(key);
        return bytes ? [[key, Buffer.from(bytes.buffer).toString("base64")] as const] : [];
      }),
    );
    await this.#cache.write({ embedder: this.#embedder, vectors: Object.fromEntries(kept) });
  }
}

const hashOfText = (text: string): string => hash("sha256", text, "base64url");

/** Returns nothing for a file of another embedder, or of another form. */
function readVectors(content: unknown, embedder: string): Map<string, Int8Array> {
  const { embedder: madeBy, vectors } = (content ?? {}) as { readonly embedder?: unknown; readonly vectors?: unknown };
  const found = new Map<string, Int8Array>();
  if (madeBy !== embedder || typeof vectors !== "object" || vectors === null) return found;
  let dimensions: number | undefined;
  for (const [key, text] of Object.entries(vectors)) {
    const bytes = typeof text === "string" ? Int8Array.from(Buffer.from(text, "base64")) : new Int8Array(0);
    dimensions ??= bytes.length;
    if (bytes.length === dimensions && bytes.some((component) => component !== 0)) found.set(key, bytes);
  }
  return found;
}
