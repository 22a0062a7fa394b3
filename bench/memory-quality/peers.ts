/**
 * peers.ts -- other ways to find texts, each with its best settings.
 *
 * MiniSearch joins words by OR, its default; prefixes and fuzziness make it worse. FTS5 has the porter stemmer, OR and no
 * stop words; without that it loses a fifth.
 */
import { DatabaseSync } from "node:sqlite";
import { isStopWord } from "#memory/words/vocabulary.ts";
import type { System } from "./own.ts";

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
