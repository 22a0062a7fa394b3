/**
 * next-vectors.ts -- vectors of a new embedder, kept beside the vectors in use until every row has one.
 *
 * The vectors of a row are deleted when it is forgotten (curate.ts) or removed (foreign key).
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store } from "#core/ports/store.ts";
import { prepare } from "./connection.ts";
import { openMemoryByName, openNamespaces } from "./memory-rows.ts";
import { nameOf, vectorToBytes } from "./rows.ts";

export interface NextVectors {
  /** Counts the vectors in use by embedder. */
  counts(namespace: string): ReadonlyMap<string, number>;
  /** Returns the ids of the rows that have a vector of the new embedder. */
  ids(namespace: string, embedder: string): readonly string[];
  save(namespace: string, embedder: string, vectors: Parameters<Store["saveVectors"]>[2]): void;
  /** Replaces the vectors in use by those of this embedder, and deletes those of other new embedders. */
  adopt(namespace: string, embedder: string): void;
}

export function openNextVectors(database: DatabaseSync): NextVectors {
  const queries = nextVectorQueries(database);
  const namespaceNo = openNamespaces(database);
  const byName = openMemoryByName<{ readonly no: number }>(database, "no");
  return {
    counts(namespace) {
      const rows = queries.counts.all(namespaceNo(namespace));
      return new Map(rows.map(({ embedder, count }) => [embedder, count]));
    },
    ids: (namespace, embedder) =>
      queries.names.all(namespaceNo(namespace), embedder).map(({ name }) => `${namespace}/${name}`),
    save(namespace, embedder, vectors) {
      const agentNo = namespaceNo(namespace);
      for (const { id, vector } of vectors) {
        const row = byName(agentNo, nameOf(namespace, id) ?? "");
        if (row) queries.insert.run(row.no, embedder, vectorToBytes(vector));
      }
    },
    adopt(namespace, embedder) {
      const agentNo = namespaceNo(namespace);
      queries.adopt.run(agentNo, embedder);
      queries.drop.run(agentNo);
    },
  };
}

function nextVectorQueries(database: DatabaseSync) {
  return {
    counts: prepare<{ readonly embedder: string; readonly count: number }>(
      database,
      `SELECT embedder, count(*) AS count FROM memory WHERE agent_no = ? AND embedder IS NOT NULL GROUP BY embedder`,
    ),
    names: prepare<{ readonly name: string }>(
      database,
      `SELECT memory.name FROM memory JOIN next_vector AS next ON next.memory_no = memory.no
       WHERE memory.agent_no = ? AND next.embedder = ?`,
    ),
    insert: prepare(
      database,
      `INSERT OR REPLACE INTO next_vector (memory_no, embedder, vector)
       SELECT no, ?2, ?3 FROM memory WHERE no = ?1 AND forgotten IS NULL`,
    ),
    adopt: prepare(
      database,
      `UPDATE memory SET embedder = next.embedder, vector = next.vector FROM next_vector AS next
       WHERE memory.agent_no = ?1 AND memory.forgotten IS NULL
         AND next.memory_no = memory.no AND next.embedder = ?2`,
    ),
    drop: prepare(database, "DELETE FROM next_vector WHERE memory_no IN (SELECT no FROM memory WHERE agent_no = ?)"),
  };
}
