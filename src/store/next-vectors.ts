/**
 * next-vectors.ts -- vectors of the embedder to come, beside those in use until there is one for every row.
 *
 * Its table is made with the first of them. What is forgotten or removed takes its vector along.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store } from "#core/ports/store.ts";
import { prepare } from "./connection.ts";
import { keyOf, keysOf } from "./keys.ts";
import { openMemoryNames } from "./memory-names.ts";
import { openNamespaces } from "./memory-rows.ts";
import { nameOf, vectorToBytes } from "./rows.ts";

export const NEXT_VECTOR_TABLE = `
CREATE TABLE IF NOT EXISTS next_vector (
  agent_no INTEGER NOT NULL,
  name     TEXT NOT NULL,
  embedder TEXT NOT NULL,
  vector   BLOB NOT NULL,                   -- float32, little endian
  PRIMARY KEY (agent_no, embedder, name)
) STRICT;
CREATE TRIGGER IF NOT EXISTS next_vector_forgotten AFTER UPDATE OF forgotten ON memory WHEN NEW.forgotten IS NOT NULL
BEGIN DELETE FROM next_vector WHERE agent_no = NEW.agent_no AND name = NEW.name; END;
CREATE TRIGGER IF NOT EXISTS next_vector_removed AFTER DELETE ON memory
BEGIN DELETE FROM next_vector WHERE agent_no = OLD.agent_no AND name = OLD.name; END;
`;

export interface NextVectors {
  /** How many vectors each embedder made of those in use. */
  counts(namespace: string): ReadonlyMap<string, number>;
  /** Ids of the rows for which there is one to come. */
  ids(namespace: string, embedder: string): readonly string[];
  save(namespace: string, embedder: string, vectors: Parameters<Store["saveVectors"]>[2]): void;
  /** Those to come are those in use from now on; what another embedder was to bring is dropped. */
  adopt(namespace: string, embedder: string): void;
}

export function openNextVectors(database: DatabaseSync): NextVectors {
  const isThere = prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'next_vector'");
  const namespaceNo = openNamespaces(database);
  const changeOf = openMemoryNames(database);
  return {
    counts(namespace) {
      const rows = prepare<{ readonly embedder: string; readonly count: number }>(
        database,
        `SELECT embedder, count(*) AS count FROM memory WHERE no ${keysOf("?1")} AND embedder IS NOT NULL GROUP BY embedder`,
      ).all(namespaceNo(namespace));
      return new Map(rows.map(({ embedder, count }) => [embedder, count]));
    },
    ids(namespace, embedder) {
      if (isThere.get() === undefined) return [];
      return prepare<{ readonly name: string }>(
        database,
        "SELECT name FROM next_vector WHERE agent_no = ? AND embedder = ?",
      )
        .all(namespaceNo(namespace), embedder)
        .map(({ name }) => `${namespace}/${name}`);
    },
    save(namespace, embedder, vectors) {
      database.exec(NEXT_VECTOR_TABLE);
      const insert = prepare(
        database,
        `INSERT OR REPLACE INTO next_vector (agent_no, name, embedder, vector)
         SELECT agent_no, name, ?3, ?4 FROM memory WHERE no = ${keyOf("?1", "?2")} AND forgotten IS NULL`,
      );
      const no = namespaceNo(namespace);
      for (const { id, vector } of vectors)
        insert.run(no, changeOf(no, nameOf(namespace, id) ?? "") ?? 0, embedder, vectorToBytes(vector));
    },
    adopt(namespace, embedder) {
      if (isThere.get() === undefined) return;
      const no = namespaceNo(namespace);
      prepare(
        database,
        `UPDATE memory SET embedder = next.embedder, vector = next.vector FROM next_vector AS next
         WHERE memory.no ${keysOf("?1")} AND next.agent_no = ?1 AND next.embedder = ?2 AND next.name = memory.name
           AND memory.forgotten IS NULL`,
      ).run(no, embedder);
      prepare(database, "DELETE FROM next_vector WHERE agent_no = ?").run(no);
    },
  };
}
