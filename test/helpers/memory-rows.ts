/**
 * memory-rows.ts -- the part of a store that recall reads: memory rows in main memory.
 *
 * Counts calls, and fails on demand.
 */
import type { Embedder, MemoryRow, NewMemory, Recall, RecallQuery } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { type LongTermMemoryParts, openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { countWords, createWordHasher, openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { hashOf } from "#util/words.ts";

export type MemoryRows = ReturnType<typeof memoryRows>;

export function memoryRows() {
  const rows = new Map<string, MemoryRow[]>();
  /** Number of rows returned so far, and number of calls that saved vectors. */
  const counts = { read: 0, saved: 0 };
  /** Errors that every call throws while they are set. */
  const trouble: { reading?: Error; readingTexts?: Error; saving?: Error } = {};
  const of = (agent: string): MemoryRow[] => {
    const found = rows.get(agent) ?? [];
    rows.set(agent, found);
    return found;
  };

  /** Changes fields of a row; it comes again. */
  function change(agent: string, id: string, changed: Partial<MemoryRow>): void {
    const all = of(agent);
    const at = all.findIndex((row) => row.id === id);
    const next = (all.at(-1)?.change ?? 0) + 1;
    const [row] = at < 0 ? [] : all.splice(at, 1);
    if (row) all.push({ ...row, ...changed, change: next });
  }

  return {
    rows: rows as ReadonlyMap<string, readonly MemoryRow[]>,
    counts,
    trouble,
    /** Adds one row; seq and step go up by one unless given. */
    add(agent: string, text: string, given: Partial<NewMemory> = {}): MemoryRow {
      const all = of(agent);
      const seq = 1 + Math.max(0, ...all.map((row) => row.seq));
      const row: MemoryRow = {
        seq,
        step: 1 + Math.max(0, ...all.map((row) => row.step ?? 0)),
        namespace: agent,
        kind: "step",
        text,
        importance: 0.4,
        trust: "agent",
        ...given,
        id: `${agent}/${given.seq ?? seq}`,
        at: "2026-11-20T10:00:00.000Z",
        embedder: null,
        vector: null,
        change: (all.at(-1)?.change ?? 0) + 1,
        supersedes: given.supersedes ?? null,
        supersededBy: null,
        key: given.key ?? null,
        source: given.source ?? null,
        pinned: false,
        forgotten: null,
      };
      all.push(row);
      return row;
    },
    /** Forgets a row as a person does: it comes again without its text and its vector. */
    forget: (agent: string, id: string) =>
      change(agent, id, { text: "", forgotten: "person", embedder: null, vector: null }),
    change,
    /** Marks a row as replaced; it comes again. */
    supersede: (agent: string, id: string) => change(agent, id, { supersededBy: `${agent}/0` }),
    async memories(...[agent, after, limit]: Parameters<Store["memories"]>) {
      if (trouble.reading) throw trouble.reading;
      const all = of(agent);
      let from = all.length;
      while (from > 0 && (all[from - 1]?.change ?? 0) > after) from--;
      const page = all.slice(from, from + limit);
      counts.read += page.length;
      return page;
    },
    async memory(...[agent, id]: Parameters<Store["memory"]>) {
      if (trouble.readingTexts) throw trouble.readingTexts;
      return of(agent).find((row) => row.id === id);
    },
    async saveVectors(...[agent, embedder, vectors]: Parameters<Store["saveVectors"]>) {
      if (trouble.saving) throw trouble.saving;
      counts.saved++;
      for (const { id, vector } of vectors) {
        const at = of(agent).findIndex((row) => row.id === id);
        const row = of(agent)[at];
        if (row) of(agent)[at] = { ...row, embedder, vector };
      }
    },
  };
}

export const LIVE = new AbortController().signal;

/** Asks for ten rows of foo. */
export const recallQuery = (texts: readonly string[], change: Partial<RecallQuery> = {}): RecallQuery => ({
  agent: "foo",
  texts,
  count: 10,
  excludeSteps: new Set(),
  ...change,
});

interface RecallParts extends Partial<Omit<LongTermMemoryParts, "store">> {
  readonly store?: MemoryRows;
}

/** Opens the memory of these rows. What it reports is in `reports`. */
export function openRecall({ store = memoryRows(), embedder = openHashEmbedder(), ...parts }: RecallParts = {}) {
  const reports: string[] = [];
  const memory = openLongTermMemory({ report: (problem) => reports.push(problem), ...parts, store, embedder });
  const recall = (texts: readonly string[], change: Partial<RecallQuery> = {}): Promise<readonly Recall[]> =>
    memory.recall(recallQuery(texts, change), LIVE);
  return { store, memory, reports, recall };
}

/** The ids of all rows that a prompt shows of these recalls. */
export const shownIds = (recalls: readonly Recall[]): readonly string[] =>
  recalls.flatMap(({ id, around, series }) => {
    const others = [...(around ?? []), ...(series?.rows ?? [])];
    return [id, ...others.map((row) => row.id)];
  });

// An embedder with predictable vectors that fails on demand.
//
// A text is a bag of words. Each word has its own axis, in the order of first appearance, so the similarity of two
// texts is the share of words that they have in common.

type Answer = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;

export interface FixedEmbedder extends Embedder {
  /** The texts of each request, in order. */
  readonly requests: readonly (readonly string[])[];
  /** Replaces the answers to the next requests. */
  instead: Answer | undefined;
  vectorOf(text: string): Float32Array;
}

export function fixedEmbedder(
  change: Partial<Pick<Embedder, "id" | "dimensions" | "local" | "semantic">> = {},
): FixedEmbedder {
  const { id = "fixed@64", dimensions = 64, local = false, semantic = true } = change;
  const axes = new Map<string, number>();
  const requests: (readonly string[])[] = [];

  function vectorOf(text: string): Float32Array {
    const vector = new Float32Array(dimensions);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["nothing"]) {
      const axis = axes.get(word) ?? axes.size;
      axes.set(word, axis);
      vector[axis % dimensions] = 1;
    }
    const norm = Math.hypot(...vector);
    return vector.map((component) => component / norm);
  }

  const embedder: FixedEmbedder = {
    id,
    dimensions,
    local,
    semantic,
    isInstant: local,
    requests,
    instead: undefined,
    vectorOf,
    async embed(texts, signal) {
      requests.push(texts);
      return embedder.instead ? embedder.instead(texts, signal) : texts.map(vectorOf);
    },
  };
  return embedder;
}

// Embeds the spelling of words alone: an embedder that knows no meanings.

export function openHashEmbedder(dimensions = 384): Embedder {
  const hashWords = createWordHasher(dimensions);
  return {
    id: `hash-v2@${dimensions}`,
    dimensions,
    local: true,
    semantic: false,
    isInstant: true,
    embed: async (texts) => texts.map((text) => hashWords(countWords(text))),
  };
}

// Embedders that know nothing or little, to check that they do no harm.

/** Returns the offline embedder with random noise of `noise` times its length. Infinity: noise alone. */
export function noisyEmbedder(noise: number, seed = 1): Embedder {
  const words = openWordEmbedder();
  return {
    ...words,
    id: `noise-${noise}-${seed}@${words.dimensions}`,
    async embed(texts, signal) {
      const vectors = await words.embed(texts, signal);
      return texts.map((text, at) => {
        const random = randomVector(words.dimensions, hashOf(text, seed));
        const vector = vectors[at] as Float32Array;
        return noise === Number.POSITIVE_INFINITY ? random : unit(vector.map((x, of) => x + noise * (random[of] ?? 0)));
      });
    },
  };
}

/** Returns an embedder that has one vector for all texts. */
export function constantEmbedder(): Embedder {
  const vector = randomVector(64, 3);
  return {
    ...openHashEmbedder(64),
    id: "constant@64",
    semantic: true,
    embed: async (texts) => texts.map(() => Float32Array.from(vector)),
  };
}

function randomVector(dimensions: number, seed: number): Float32Array {
  const next = randomNumbers(seed);
  return unit(Float32Array.from({ length: dimensions }, () => next() - 0.5));
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

// Vectors from a seed, which are the same in every run.

/** Mulberry32: returns numbers from 0 to 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns `count` vectors around `clusters` centres, as texts lie around topics. Not of unit length. */
export function clusteredVectors(count: number, dimensions: number, clusters: number, seed = 1): Float32Array[] {
  const next = randomNumbers(seed);
  const around = (centre: Float32Array | undefined, spread: number) =>
    new Float32Array(dimensions).map((_, at) => (centre?.[at] ?? 0) + spread * (next() + next() + next() - 1.5));
  const centres = Array.from({ length: clusters }, () => around(undefined, 1));
  return Array.from({ length: count }, () => around(centres[Math.floor(next() * clusters)], 0.4));
}

/** Returns unit vectors that are mostly the same, as those of an agent's texts are. */
export function alikeVectors(count: number, dimensions: number): readonly Float32Array[] {
  return clusteredVectors(count, dimensions, 10).map((vector) => {
    return unit(unit(vector).map((component) => component + 3 / Math.sqrt(dimensions)));
  });
}
