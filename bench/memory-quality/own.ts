/** own.ts -- goald's memory as systems of the bench: the complete recall, words alone, vectors alone. */
import type { Embedder, MemoryRow } from "#core/ports/memory.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { LEXICAL_SETTINGS, LexicalIndex, type LexicalSettings } from "#memory/words/word-index.ts";
import { shippedWordTable } from "#memory/words/word-table.ts";
import { fitRecalls, shownRows } from "#prompt/recalls.ts";
import { wordsOf } from "#util/words.ts";
import { openHashEmbedder } from "../../test/helpers/memory-rows.ts";
import type { Doc } from "./data.ts";

/** A way to find texts. */
export interface System {
  readonly name: string;
  open(docs: readonly Doc[]): Promise<Search>;
}
/** Returns positions of at most `count` documents, best first. `shown` holds positions that the prompt contains already. */
export interface Search {
  find(texts: readonly string[], count: number, shown: ReadonlySet<number>): Promise<readonly number[]>;
  /** Returns positions of the documents that a prompt shows, those around the found ones included. Default: the ten found. */
  show?(texts: readonly string[], count: number): Promise<readonly number[]>;
  close?(): Promise<void>;
}

const CONTEXT_TOKENS = 32_000;
const live = new AbortController().signal;

/** An agent's recall: every document is a step's row, and the steps of the prompt are excluded. */
export const fullRecall = (name = "goald, the ten chosen", embedder: Embedder = openWordEmbedder()): System => ({
  name,
  async open(docs) {
    const rows = docs.map(toRow);
    const memory = openRows(rows, embedder);
    const places = new Map(rows.map(({ id }, place) => [id, place]));
    return {
      async find(texts, count, shown) {
        const excludeSteps = new Set([...shown].map((place) => place + 1));
        const recalls = await memory.recall({ agent: "bench", texts, count, excludeSteps }, live);
        return recalls.map(({ id }) => places.get(id) as number);
      },
      async show(texts, count) {
        const recalls = await memory.recall({ agent: "bench", texts, count, excludeSteps: new Set() }, live);
        return shownRows(fitRecalls(recalls, CONTEXT_TOKENS)).map(({ id }) => places.get(id) as number);
      },
      close: () => memory.close(),
    };
  },
});

/** The same system without `show`, which costs a second recall for each question. */
export const findOnly = ({ name, open }: System): System => ({
  name,
  open: async (docs) => {
    const { find, close = async () => undefined } = await open(docs);
    return { find, close };
  },
});

/** A memory of these rows. Throws when it is degraded. */
export const openRows = (rows: readonly MemoryRow[], embedder: Embedder = openWordEmbedder()): RecallingMemory =>
  openLongTermMemory({
    store: {
      memories: async (_agent, after, limit) => rows.slice(after, after + limit),
      memory: async (_agent, id) => rows[Number(id.slice(id.lastIndexOf("/") + 1)) - 1],
      saveVectors: async () => {},
    },
    embedder,
    report: (problem) => {
      throw new Error(problem);
    },
  });

export function toRow({ text, ns, ts }: Doc, place: number): MemoryRow {
  return {
    id: `bench/${place + 1}`,
    seq: place + 1,
    step: place + 1,
    change: place + 1,
    at: ts === undefined ? "2026-01-01T00:00:00.000Z" : String(ts),
    namespace: ns,
    kind: "step",
    text,
    importance: 0.4,
    trust: "agent",
    supersedes: null,
    supersededBy: null,
    key: null,
    source: null,
    pinned: false,
    forgotten: null,
    embedder: null,
    vector: null,
  };
}

export const wordsAlone = (name = "goald, words alone", settings: LexicalSettings = LEXICAL_SETTINGS): System => ({
  name,
  async open(docs) {
    const index = new LexicalIndex(settings, shippedWordTable());
    for (const [place, { text, ns }] of docs.entries())
      index.add(place, index.vocabulary.countTerms(wordsOf(text)), ns);
    return {
      find: async (texts, count) => {
        const hits = index.search([[...new Set(wordsOf(texts.join("\n")))]], count)(0);
        return hits.map(({ slot }) => slot);
      },
    };
  },
});

/** Offline vectors alone, compared with every row. */
export const vectorsAlone: System = {
  name: "goald, offline vectors alone",
  async open(docs) {
    const embedder = openHashEmbedder();
    const index = new ExactIndex(embedder.dimensions);
    const embed = async (text: string) => (await embedder.embed([text], live))[0] as Float32Array;
    for (const [place, { text }] of docs.entries()) await index.add(place, await embed(text));
    return {
      find: async (texts, count) => (await index.search(await embed(texts.join("\n")), count)).map(({ slot }) => slot),
    };
  },
};
