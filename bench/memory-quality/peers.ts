/**
 * peers.ts -- other ways to find texts, each with its best settings.
 *
 * MiniSearch joins words by OR, its default; prefixes and fuzziness make it worse. FTS5 has the porter stemmer, OR and no
 * stop words; without that it loses a fifth. Vectra and hnswlib compare the same offline vectors as goald's index.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isStopWord } from "#memory/lexical/stop-words.ts";
import { openHashEmbedder } from "#memory/vectors/hash-embedder.ts";
import type { System } from "./own.ts";

const live = new AbortController().signal;

export const miniSearch: System = {
  name: "MiniSearch",
  async open(docs) {
    const { default: MiniSearch } = await import("minisearch");
    const index = new MiniSearch<{ id: number; text: string }>({ fields: ["text"] });
    index.addAll(docs.map(({ text }, id) => ({ id, text })));
    return {
      find: async (texts, count) =>
        index
          .search(texts.join("\n"))
          .slice(0, count)
          .map(({ id }) => id as number),
    };
  },
};

export const fullTextSearch: System = {
  name: "SQLite FTS5, porter",
  async open(docs) {
    const database = new DatabaseSync(":memory:");
    database.exec("CREATE VIRTUAL TABLE doc USING fts5(text, tokenize = 'porter unicode61')");
    const insert = database.prepare("INSERT INTO doc (rowid, text) VALUES (?, ?)");
    for (const [place, { text }] of docs.entries()) insert.run(place + 1, text);
    const search = database.prepare("SELECT rowid FROM doc WHERE doc MATCH ? ORDER BY rank LIMIT ?");
    return {
      async find(texts, count) {
        const words = new Set(
          texts
            .join("\n")
            .toLowerCase()
            .match(/[\p{L}\p{N}]+/gu),
        );
        const asked = [...words].filter((word) => !isStopWord(word)).map((word) => `"${word}"`);
        if (asked.length === 0) return [];
        return search.all(asked.join(" OR "), count).map(({ rowid }) => Number(rowid) - 1);
      },
      close: async () => database.close(),
    };
  },
};

export const vectra: System = {
  name: "vectra, offline vectors",
  async open(docs) {
    const { LocalIndex } = await import("vectra");
    const folder = mkdtempSync(join(tmpdir(), "goald-vectra-"));
    const index = new LocalIndex<{ place: number }>(folder);
    const embedder = openHashEmbedder();
    const vectors = await embedder.embed(
      docs.map(({ text }) => text),
      live,
    );
    await index.createIndex({ version: 1 });
    await index.batchInsertItems(
      vectors.map((vector, place) => ({ id: String(place), vector: [...vector], metadata: { place } })),
    );
    return {
      async find(texts, count) {
        const [vector = new Float32Array()] = await embedder.embed([texts.join("\n")], live);
        const found = await index.queryItems([...vector], "", count);
        return found.map(({ item }) => item.metadata.place);
      },
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};

/** Returns undefined when the package is not installed. */
export async function hnsw(): Promise<System | undefined> {
  const library = await import("hnswlib-node").catch(() => undefined);
  if (!library) return undefined;
  return {
    name: "hnswlib-node, offline vectors",
    async open(docs) {
      const embedder = openHashEmbedder();
      const index = new library.default.HierarchicalNSW("ip", embedder.dimensions);
      index.initIndex({ maxElements: docs.length, m: 16, efConstruction: 200 });
      const vectors = await embedder.embed(
        docs.map(({ text }) => text),
        live,
      );
      for (const [place, vector] of vectors.entries()) index.addPoint([...vector], place);
      index.setEf(64);
      return {
        async find(texts, count) {
          const [vector = new Float32Array()] = await embedder.embed([texts.join("\n")], live);
          return index.searchKnn([...vector], Math.min(count, docs.length)).neighbors;
        },
      };
    },
  };
}
