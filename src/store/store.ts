/**
 * store.ts -- the embedded store: all agents of a home in one file.
 *
 * One process writes (the host lock ensures it), any number read. A write is on the disk when its promise resolves;
 * when it rejects, the write is rolled back and the store stays usable, also when the disk is full. Here each write is
 * a synchronous transaction of its own; writer.ts is the same store for many agents at once.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store, StoreReader } from "#core/ports/store.ts";
import { withStoreErrors } from "./failure.ts";
import { openNamespaces } from "./memory-rows.ts";
import { openReader } from "./reader.ts";
import { isoTime, MEMORY_COLUMNS, type MemoryRecord, toMemoryRow } from "./rows.ts";
import { prepare } from "./sql.ts";
import { emptyWal } from "./sqlite/connection.ts";
import type { StoreWriter, WriteName } from "./writes.ts";

function storeQueries(database: DatabaseSync) {
  return {
    firstTimer: prepare<{ readonly at: string | null }>(database, "SELECT min(at) AS at FROM timer"),
    due: prepare<{ readonly id: string }>(
      database,
      `SELECT agent.id FROM agent JOIN (
         SELECT no AS agent_no, wake_at AS at FROM agent WHERE wake_at <= ?
         UNION ALL SELECT agent_no, at FROM inbox WHERE consumed_by IS NULL
       ) AS reason ON reason.agent_no = agent.no
       GROUP BY agent.no ORDER BY min(reason.at), agent.no`,
    ),
    created: prepare<object>(database, "SELECT 1 FROM agent WHERE create_key = ?"),
    message: prepare<object>(
      database,
      "SELECT 1 FROM inbox WHERE agent_no = (SELECT no FROM agent WHERE id = ?) AND key = ?",
    ),
    newestFact: prepare<MemoryRecord>(
      database,
      `SELECT ${MEMORY_COLUMNS} FROM memory WHERE agent_no = ? AND fact_key = ? AND trust = ? AND closed_by IS NULL`,
    ),
    remoteNamespaces: prepare<{ readonly namespace: string }>(
      database,
      "SELECT DISTINCT namespace FROM remote WHERE place = ? ORDER BY namespace",
    ),
    remoteRows: prepare<{ readonly id: string; readonly version: string; readonly isSent: number }>(
      database,
      `SELECT id, version, is_sent AS isSent FROM remote
       WHERE place = ? AND namespace = ? AND id > ? ORDER BY id LIMIT 0 + ?`,
    ),
    remoteForgotten: prepare<{ readonly id: string }>(
      database,
      `SELECT remote.id FROM memory CROSS JOIN remote ON remote.place = ?
         AND remote.namespace = memory.namespace AND remote.id = memory.namespace || '/' || memory.name
       WHERE memory.forgotten IS NOT NULL`,
    ),
  };
}

/** Reads on its own connection in the calling thread, and writes through its writer. */
export function openStore(database: DatabaseSync, path: string, writer: StoreWriter): Store {
  const reader = openReader(database, path);
  const namespaceNo = openNamespaces(database);
  const queries = storeQueries(database);
  return {
    ...reader,
    ...withStoreErrors<Omit<Store, keyof StoreReader | WriteName>>(path, {
      async due(now) {
        const time = isoTime(now);
        const first = queries.firstTimer.get()?.at ?? null;
        if (first !== null && first <= time) await writer.write("fireTimers", time);
        return queries.due.all(time).map(({ id }) => id);
      },
      hasCreated: async (key) => queries.created.get(key) !== undefined,
      hasMessage: async (agent, key) => queries.message.get(agent, key) !== undefined,
      async newestFact(namespace, factKey, trust) {
        const record = queries.newestFact.get(namespaceNo(namespace), factKey, trust);
        return record && toMemoryRow(record);
      },
      remoteNamespaces: async (index) => queries.remoteNamespaces.all(index).map(({ namespace }) => namespace),
      async remoteRows(index, namespace, after, limit) {
        const rows = queries.remoteRows.all(index, namespace, after, limit);
        return rows.map(({ id, version, isSent }) => ({ id, version, isSent: isSent === 1 }));
      },
      remoteForgotten: async (index) => queries.remoteForgotten.all(index).map(({ id }) => id),
    }),
    create: (...given) => writer.write("create", ...given),
    fork: (...given) => writer.write("fork", ...given),
    claim: (...given) => writer.write("claim", ...given),
    commit: (...given) => writer.write("commit", ...given),
    deliver: (...given) => writer.write("deliver", ...given),
    saveVectors: (...given) => writer.write("saveVectors", ...given),
    curate: (...given) => writer.write("curate", ...given),
    saveRemoteRows: (...given) => writer.write("saveRemoteRows", ...given),
    remove: (...given) => writer.write("remove", ...given),
    async close() {
      await writer.close();
      // SQLite does this only for the last connection, and another process may be reading.
      if (database.isOpen) emptyWal(database);
      await reader.close();
    },
  };
}
