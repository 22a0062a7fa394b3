/**
 * method-index.ts -- finds the methods that fit a description, by shared words and by vectors.
 *
 * The scores of words and of vectors are each scaled to their range and added. Fusion by rank, which recalls use, cannot
 * tell how much worse the next method fits, and a prompt should hold only what fits. A description that no method shares a
 * word with is answered by vectors alone, if one is near enough.
 *
 * Vectors are made at the first search and kept by text, so that a changed home pays only for what changed. Those that were
 * bought before the agent's limits or the server ended the purchase are kept too.
 */
import type { MethodIndex, MethodQuery, MethodText } from "#core/ports/methods.ts";
import type { Embedder, EmbeddingPurse } from "#core/ports/vectors.ts";
import { clip } from "#core/text.ts";
import { KeyedQueue } from "#util/keyed-queue.ts";
import { wordsOf } from "#util/words.ts";
import { LexicalIndex } from "../lexical/lexical-index.ts";
import { LEXICAL_SETTINGS } from "../lexical/lexical-settings.ts";
import { GuardedEmbedder } from "../vectors/guarded-embedder.ts";
import { openHashEmbedder } from "../vectors/hash-embedder.ts";
import { dot } from "../vectors/unit-vector.ts";
import { KeptVectors, type VectorCache } from "./kept-vectors.ts";
import { NamedMatch } from "./named-match.ts";

export interface MethodIndexParts {
  readonly embedder: Embedder;
  /** Called once per outage of the embedder. */
  readonly report: (problem: string) => void;
  /** Time limit of a request to a remote or semantic embedder. Default: 20 seconds. */
  readonly embedTimeoutMs?: number;
  /** Keeps vectors that cost something. Absent: each index makes its own. */
  readonly cache?: VectorCache;
}

const MAX_DESCRIPTION_CHARS = 2_000;
/** Methods are not neighbours of each other, unlike the rows of a memory. */
const SETTINGS = { ...LEXICAL_SETTINGS, window: [] };
const BATCH = 96;
/** Share of the best score that a method needs, so that a list of results ends where the fit does. */
const MIN_SHARE = 0.45;
/** Least cosine of a method that shares no word. Cosines of unrelated texts are 0.1 to 0.2 with every embedder. */
const MIN_COSINE = 0.25;

type Vectors = readonly Float32Array[];

export const createMethodIndex = (parts: MethodIndexParts): MethodIndex => new VectoredMethods(parts);

class VectoredMethods implements MethodIndex {
  readonly #embedder: Embedder;
  readonly #guarded: GuardedEmbedder;
  readonly #offline: Embedder = openHashEmbedder();
  readonly #words = new WeakMap<readonly MethodText[], LexicalIndex>();
  readonly #names = new WeakMap<readonly MethodText[], NamedMatch>();
  readonly #spellings = new WeakMap<readonly MethodText[], Promise<Vectors>>();
  readonly #kept: KeptVectors;
  /** Agents that search at the same time do not buy the same vectors twice. */
  readonly #turns = new KeyedQueue();

  constructor({ embedder, report, embedTimeoutMs = 20_000, cache }: MethodIndexParts) {
    this.#embedder = embedder;
    this.#kept = new KeptVectors(cache);
    this.#guarded = new GuardedEmbedder(embedder, embedTimeoutMs, report);
  }

  get remote(): boolean {
    return !this.#embedder.local;
  }

  async search(methods: readonly MethodText[], query: MethodQuery, signal: AbortSignal): Promise<readonly string[]> {
    const description = clip(query.description, MAX_DESCRIPTION_CHARS);
    const { count, isAllowed = () => true, isName, purse } = query;
    const mayMean = isName ? this.#namesOf(methods).matcherFor(description) : () => true;
    const allowed = methods.map(({ name }, slot) => isAllowed(name) && mayMean(slot));
    const byWords = this.#scoreWords(methods, description);
    const byVectors = await this.#scoreVectors(methods, description, signal, purse);
    const scores = addScores(byWords, byVectors, allowed);
    const best = Math.max(...scores, 0);
    return [...scores.keys()]
      .filter((slot) => (scores[slot] as number) > 0 && (scores[slot] as number) >= MIN_SHARE * best)
      .sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b)
      .slice(0, count)
      .map((slot) => (methods[slot] as MethodText).name);
  }

  #namesOf(methods: readonly MethodText[]): NamedMatch {
    const known = this.#names.get(methods) ?? new NamedMatch(methods);
    this.#names.set(methods, known);
    return known;
  }

  #scoreWords(methods: readonly MethodText[], description: string): Float64Array {
    const known = this.#words.get(methods) ?? indexWords(methods);
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
    purse: EmbeddingPurse | undefined,
  ): Promise<Float64Array> {
    const isOffline = !this.#embedder.local && purse === undefined;
    const bought = isOffline
      ? undefined
      : await this.#turns.run("", () => this.#buyVectors(methods, description, signal, purse));
    const { target, vectors } = bought ?? (await this.#spell(methods, description, signal));
    return Float64Array.from(vectors, (vector) => dot(vector, target));
  }

  /** Vectors of spellings cost nothing. */
  async #spell(methods: readonly MethodText[], description: string, signal: AbortSignal) {
    const made = this.#spellings.get(methods) ?? this.#offline.embed(textsOf(methods), signal);
    this.#spellings.set(methods, made);
    const [target = new Float32Array(this.#offline.dimensions)] = await this.#offline.embed([description], signal);
    return { target, vectors: await made };
  }

  /** Undefined when a vector is missing: scores of some methods alone would favour these. */
  async #buyVectors(
    methods: readonly MethodText[],
    description: string,
    signal: AbortSignal,
    purse: EmbeddingPurse | undefined,
  ): Promise<{ readonly target: Float32Array; readonly vectors: Vectors } | undefined> {
    const [target] = (await this.#guarded.embed([description], signal, purse)) ?? [];
    if (!target) return undefined;
    const { id } = this.#embedder;
    await this.#kept.open(id);
    const texts = new Set(textsOf(methods));
    const missing = [...texts].filter((text) => !this.#kept.has(text));
    for (let from = 0; from < missing.length; from += BATCH) {
      const batch = missing.slice(from, from + BATCH);
      const made = await this.#guarded.embed(batch, signal, purse);
      if (!made || this.#embedder.id !== id) break;
      for (const [at, text] of batch.entries()) if (made[at]) this.#kept.set(text, made[at]);
    }
    if (this.#embedder.id !== id) return undefined;
    if (this.#embedder.semantic) await this.#kept.save(texts);
    const vectors = methods.flatMap(({ text }) => this.#kept.get(text) ?? []);
    return vectors.length === methods.length ? { target, vectors } : undefined;
  }
}

const textsOf = (methods: readonly MethodText[]): readonly string[] => methods.map(({ text }) => text);

/** The words of a name count once more: a name says what the method is for, while "file" is in many descriptions. */
function indexWords(methods: readonly MethodText[]): LexicalIndex {
  const index = new LexicalIndex(SETTINGS);
  for (const [slot, { name, text }] of methods.entries())
    index.add(slot, index.vocabulary.countTerms([...wordsOf(text), ...wordsOf(name)]), "");
  return index;
}

/** Adds both scores, each scaled to its range. A method needs a shared word or a near vector. */
function addScores(words: Float64Array, cosines: Float64Array, allowed: readonly boolean[]): readonly number[] {
  const mostWords = highest(words, allowed);
  const [nearest, farthest] = [highest(cosines, allowed), lowest(cosines, allowed)];
  return allowed.map((isAllowed, slot) => {
    const [word, cosine] = [words[slot] as number, cosines[slot] as number];
    if (!isAllowed || (word === 0 && cosine < MIN_COSINE)) return 0;
    const near = nearest > farthest ? (cosine - farthest) / (nearest - farthest) : 0;
    return (mostWords > 0 ? word / mostWords : 0) + near;
  });
}

const highest = (scores: Float64Array, allowed: readonly boolean[]): number =>
  scores.reduce((best, score, slot) => (allowed[slot] && score > best ? score : best), Number.NEGATIVE_INFINITY);
const lowest = (scores: Float64Array, allowed: readonly boolean[]): number =>
  scores.reduce((worst, score, slot) => (allowed[slot] && score < worst ? score : worst), Number.POSITIVE_INFINITY);
