/**
 * remote.ts -- the journal of rows that may be in remote indexes.
 *
 * It is not part of the hash chain. It outlives the removal of an agent, because rows that were sent must still be deleted.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RemoteRow } from "#core/ports/memory.ts";
import { prepare } from "./sql.ts";

export interface RemoteJournal {
  namespaces(place: string): readonly string[];
  rows(place: string, namespace: string, after: string, limit: number): readonly RemoteRow[];
  /** The ids of forgotten memories. */
  forgotten(place: string): readonly string[];
  save(place: string, namespace: string, rows: readonly RemoteRow[], gone: readonly string[]): void;
}

export function openRemoteJournal(database: DatabaseSync): RemoteJournal {
  const queries = remoteQueries(database);
  return {
    namespaces: (place) => queries.namespaces.all(place).map(({ namespace }) => namespace),
    rows: (place, namespace, after, limit) =>
      queries.rows
        .all(place, namespace, after, limit)
        .map(({ id, version, isSent }) => ({ id, version, isSent: isSent === 1 })),
    forgotten: (place) => queries.forgotten.all(place).map(({ id }) => id),
    save(place, namespace, rows, gone) {
      for (const { id, version, isSent } of rows) queries.put.run(place, namespace, id, version, isSent ? 1 : 0);
      for (const id of gone) queries.drop.run(place, namespace, id);
    },
  };
}

function remoteQueries(database: DatabaseSync) {
  return {
    namespaces: prepare<{ readonly namespace: string }>(
      database,
      "SELECT DISTINCT namespace FROM remote WHERE place = ? ORDER BY namespace",
    ),
    rows: prepare<{ readonly id: string; readonly version: string; readonly isSent: number }>(
      database,
      `SELECT id, version, is_sent AS isSent FROM remote
       WHERE place = ? AND namespace = ? AND id > ? ORDER BY id LIMIT 0 + ?`,
    ),
    forgotten: prepare<{ readonly id: string }>(
      database,
      `SELECT remote.id FROM memory CROSS JOIN remote ON remote.place = ?
         AND remote.namespace = memory.namespace AND remote.id = memory.namespace || '/' || memory.name
       WHERE memory.forgotten IS NOT NULL`,
    ),
    put: prepare(
      database,
      `INSERT INTO remote (place, namespace, id, version, is_sent) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT DO UPDATE SET version = ?4, is_sent = ?5`,
    ),
    drop: prepare(database, "DELETE FROM remote WHERE place = ? AND namespace = ? AND id = ?"),
  };
}
