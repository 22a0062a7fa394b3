/**
 * store.ts -- the embedded store: all agents of a home in one file.
 *
 * One process writes (the host lock ensures it), any number read. A write is on the disk when its promise resolves;
 * when it rejects, the write is rolled back and the store stays usable, also when the disk is full. Here each write is
 * a synchronous transaction of its own; writer.ts is the same store for many agents at once.
 */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryRow, RemoteRow, Trust } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { wrapStoreErrors } from "./failure.ts";
import { openNamespaces, openNewestFact } from "./memory-rows.ts";
import { SqliteReader } from "./reader.ts";
import { isoTime, toMemoryRow } from "./rows.ts";
import { prepare } from "./sql.ts";
import { emptyWal } from "./sqlite/connection.ts";
import type { StoreWriter } from "./writes.ts";

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
export class SqliteStore extends SqliteReader implements Store {
  readonly #queries: ReturnType<typeof storeQueries>;
  readonly #writer: StoreWriter;
  readonly #namespaceNo: (namespace: string) => number;
  readonly #newestFact: ReturnType<typeof openNewestFact>;
  readonly create: Store["create"] = (...given) => this.#writer.write("create", ...given);
  readonly fork: Store["fork"] = (...given) => this.#writer.write("fork", ...given);
  readonly claim: Store["claim"] = (...given) => this.#writer.write("claim", ...given);
  readonly commit: Store["commit"] = (...given) => this.#writer.write("commit", ...given);
  readonly deliver: Store["deliver"] = (...given) => this.#writer.write("deliver", ...given);
  readonly saveVectors: Store["saveVectors"] = (...given) => this.#writer.write("saveVectors", ...given);
  readonly curate: Store["curate"] = (...given) => this.#writer.write("curate", ...given);
  readonly saveRemoteRows: Store["saveRemoteRows"] = (...given) => this.#writer.write("saveRemoteRows", ...given);
  readonly remove: Store["remove"] = (...given) => this.#writer.write("remove", ...given);

  constructor(database: DatabaseSync, path: string, writer: StoreWriter) {
    super(database, path);
    this.#queries = storeQueries(database);
    this.#writer = writer;
    this.#namespaceNo = openNamespaces(database);
    this.#newestFact = openNewestFact(database);
  }

  async due(now: string): Promise<readonly string[]> {
    const time = isoTime(now);
    if (this.#hasDueTimer(time)) await this.#writer.write("fireTimers", time);
    return wrapStoreErrors(this.path, () => this.#queries.due.all(time).map(({ id }) => id));
  }

  #hasDueTimer(now: string): boolean {
    const first = wrapStoreErrors(this.path, () => this.#queries.firstTimer.get()?.at ?? null);
    return first !== null && first <= now;
  }

  async newestFact(namespace: string, factKey: string, trust: Trust): Promise<MemoryRow | undefined> {
    return wrapStoreErrors(this.path, () => {
      const record = this.#newestFact(this.#namespaceNo(namespace), factKey, trust);
      return record && toMemoryRow(record);
    });
  }

  async remoteNamespaces(index: string): Promise<readonly string[]> {
    return wrapStoreErrors(this.path, () =>
      this.#queries.remoteNamespaces.all(index).map(({ namespace }) => namespace),
    );
  }

  async remoteRows(index: string, namespace: string, after: string, limit: number): Promise<readonly RemoteRow[]> {
    return wrapStoreErrors(this.path, () => {
      const rows = this.#queries.remoteRows.all(index, namespace, after, limit);
      return rows.map(({ id, version, isSent }) => ({ id, version, isSent: isSent === 1 }));
    });
  }

  async remoteForgotten(index: string): Promise<readonly string[]> {
    return wrapStoreErrors(this.path, () => this.#queries.remoteForgotten.all(index).map(({ id }) => id));
  }

  override async close(): Promise<void> {
    await this.#writer.close();
    // SQLite does this only for the last connection, and another process may be reading.
    if (this.database.isOpen) emptyWal(this.database);
    await super.close();
  }
}
