/**
 * contenders.ts -- goald's exact index and its peers behind one interface. Vectors are converted beforehand to the form
 * that each one takes. Each one has the settings that its documentation starts with.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ExactIndex } from "#memory/vectors/exact-index.ts";

export interface Row {
  readonly at: number;
  readonly vector: Float32Array;
  readonly numbers: number[];
}
export interface Contender {
  /** Adds many rows in the cheapest way that the contender has. */
  add(rows: readonly Row[]): Promise<void>;
  search(query: Row, count: number): Promise<readonly number[]>;
  close?(): Promise<void>;
}
type Open = (folder: string, dimensions: number) => Promise<Contender>;

export const GOALD = "goald exact";

export const CONTENDERS: Readonly<Record<string, Open>> = {
  [GOALD]: async (_folder, dimensions) => {
    const index = new ExactIndex(dimensions);
    return {
      add: async (rows) => {
        for (const { at, vector } of rows) await index.add(at, vector);
      },
      search: async ({ vector }, count) => (await index.search(vector, count)).map(({ slot }) => slot),
      close: () => index.close(),
    };
  },

  "hnswlib-node": async (_folder, dimensions) => {
    const { default: library } = await import("hnswlib-node");
    const index = new library.HierarchicalNSW("ip", dimensions);
    index.initIndex(20_000, 16, 200);
    index.setEf(64);
    return {
      add: async (rows) => {
        for (const { at, numbers } of rows) index.addPoint(numbers, at);
      },
      search: async ({ numbers }, count) => index.searchKnn(numbers, count).neighbors,
    };
  },

  "sqlite-vec": async (_folder, dimensions) => {
    const { load } = await import("sqlite-vec");
    const database = new DatabaseSync(":memory:", { allowExtension: true });
    load(database);
    database.exec(`CREATE VIRTUAL TABLE v USING vec0(embedding float[${dimensions}] distance_metric=cosine)`);
    const insert = database.prepare("INSERT INTO v (rowid, embedding) VALUES (?, ?)");
    const select = database.prepare("SELECT rowid FROM v WHERE embedding MATCH ? ORDER BY distance LIMIT ?");
    const bytes = ({ buffer, byteOffset, byteLength }: Float32Array) => new Uint8Array(buffer, byteOffset, byteLength);
    return {
      add: async (rows) => {
        database.exec("BEGIN");
        for (const { at, vector } of rows) insert.run(BigInt(at), bytes(vector));
        database.exec("COMMIT");
      },
      search: async ({ vector }, count) => select.all(bytes(vector), count).map(({ rowid }) => Number(rowid)),
      close: async () => database.close(),
    };
  },

  vectra: async (folder) => {
    const { LocalIndex } = await import("vectra");
    const index = new LocalIndex<{ at: number }>(join(folder, "vectra"));
    await index.createIndex();
    return {
      add: async (rows) => {
        await index.batchInsertItems(rows.map(({ at, numbers }) => ({ vector: numbers, metadata: { at } })));
      },
      search: async ({ numbers }, count) =>
        (await index.queryItems(numbers, "", count)).map(({ item }) => item.metadata.at),
    };
  },

  LangChain: async () => {
    const { MemoryVectorStore } = await import("@langchain/classic/vectorstores/memory");
    const refuse = () => Promise.reject(new Error("There is nothing to embed here."));
    const store = new MemoryVectorStore({ embedDocuments: refuse, embedQuery: refuse });
    return {
      add: (rows) =>
        store.addVectors(
          rows.map(({ numbers }) => numbers),
          rows.map(({ at }) => ({ pageContent: "", metadata: { at } })),
        ),
      search: async ({ numbers }, count) =>
        (await store.similaritySearchVectorWithScore(numbers, count)).map(([{ metadata }]) => Number(metadata.at)),
    };
  },
};
