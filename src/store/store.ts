/**
 * store.ts -- the embedded store: all agents of a home in one file.
 *
 * One process writes (the host lock ensures it), any number read. A write is on the disk when its promise resolves;
 * when it rejects, the write is rolled back and the store stays usable, also when the disk is full. Here each write is
 * a synchronous transaction of its own; writer.ts is the same store for many agents at once.
 */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryChange, MemoryChanged, MemoryRow, RemoteRow, Trust } from "#core/ports/memory.ts";
import type { AgentRow, AgentSpec, Commit, Fork, InboxMessage, Lease, Store } from "#core/ports/store.ts";
import { wrapStoreErrors } from "./failure.ts";
import { openNamespaces, openNewestFact } from "./memory-rows.ts";
import { SqliteReader } from "./reader.ts";
import { openRemoteJournal, type RemoteJournal } from "./remote.ts";
import { isoTime, toMemoryRow } from "./rows.ts";
import { prepare } from "./sql.ts";
import { emptyWal } from "./sqlite/connection.ts";
import type { StoreWriter, Vectors } from "./writes.ts";

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
  };
}

/** Reads on its own connection in the calling thread, and writes through its writer. */
export class SqliteStore extends SqliteReader implements Store {
  readonly #queries: ReturnType<typeof storeQueries>;
  readonly #writer: StoreWriter;
  readonly #remote: RemoteJournal;
  readonly #namespaceNo: (namespace: string) => number;
  readonly #newestFact: ReturnType<typeof openNewestFact>;

  constructor(database: DatabaseSync, path: string, writer: StoreWriter) {
    super(database, path);
    this.#queries = storeQueries(database);
    this.#writer = writer;
    this.#remote = openRemoteJournal(database);
    this.#namespaceNo = openNamespaces(database);
    this.#newestFact = openNewestFact(database);
  }

  create(spec: AgentSpec, key: string, at: string): Promise<AgentRow> {
    return this.#writer.write("create", spec, key, at);
  }

  fork(agent: string, fork: Fork, key: string): Promise<AgentRow> {
    return this.#writer.write("fork", agent, fork, key);
  }

  claim(agent: string): Promise<Lease> {
    return this.#writer.write("claim", agent);
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

  commit(lease: Lease, expectedHead: number, commit: Commit): Promise<void> {
    return this.#writer.write("commit", lease, expectedHead, commit);
  }

  deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean> {
    return this.#writer.write("deliver", agent, key, message, at);
  }

  async newestFact(namespace: string, factKey: string, trust: Trust): Promise<MemoryRow | undefined> {
    return wrapStoreErrors(this.path, () => {
      const record = this.#newestFact(this.#namespaceNo(namespace), factKey, trust);
      return record && toMemoryRow(record);
    });
  }

  saveVectors(namespace: string, embedder: string, vectors: Vectors): Promise<void> {
    return this.#writer.write("saveVectors", namespace, embedder, vectors);
  }

  curate(
    namespace: string,
    changes: readonly MemoryChange[],
    key: string,
    at: string,
  ): Promise<readonly MemoryChanged[]> {
    return this.#writer.write("curate", namespace, changes, key, at);
  }

  async remoteNamespaces(index: string): Promise<readonly string[]> {
    return wrapStoreErrors(this.path, () => this.#remote.namespaces(index));
  }

  async remoteRows(index: string, namespace: string, after: string, limit: number): Promise<readonly RemoteRow[]> {
    return wrapStoreErrors(this.path, () => this.#remote.rows(index, namespace, after, limit));
  }

  async remoteForgotten(index: string): Promise<readonly string[]> {
    return wrapStoreErrors(this.path, () => this.#remote.forgotten(index));
  }

  saveRemoteRows(index: string, namespace: string, rows: readonly RemoteRow[], gone: readonly string[]): Promise<void> {
    return this.#writer.write("saveRemoteRows", index, namespace, rows, gone);
  }

  remove(agent: string): Promise<void> {
    return this.#writer.write("remove", agent);
  }

  override async close(): Promise<void> {
    await this.#writer.close();
    // SQLite does this only for the last connection, and another process may be reading.
    if (this.database.isOpen) emptyWal(this.database);
    await super.close();
  }
}
