/**
 * sqlite-store.ts -- the embedded store: the truth about all agents of a home, in one file.
 *
 * One process writes (the host lock sees to it), any number read. Every method is one
 * transaction that is on the disk when its promise resolves, and works synchronously inside, so
 * that no two of them interleave. A failed one, a full disk too, leaves the store as it was and usable.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow, AgentSpec, Commit, InboxMessage, Lease, Store, StoreReader } from "#core/ports.ts";
import { openCommits, type WriteCommit } from "./commit.ts";
import { openEmpty, openForReading, openForWriting, prepare, type Transact, transactions } from "./connection.ts";
import { guarded } from "./failure.ts";
import { type Log, openLog } from "./log.ts";
import { type Mailbox, openMailbox } from "./mailbox.ts";
import { SqliteReader } from "./reader.ts";
import { isoTime, readMemoryId, toAgentRow, vectorToBytes } from "./rows.ts";
import { createTables, isReadable, prepareSchema } from "./schema.ts";
import { requireSealed, sealOf } from "./seal.ts";

export interface SqliteStoreOptions {
  /** How long to wait for another writer before giving up. */
  readonly busyTimeoutMs?: number;
}

/** Creates the file, readable by its owner only, and the folder it lies in. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  return guarded(path, () => {
    const database = openForWriting(path, options.busyTimeoutMs);
    try {
      prepareSchema(database);
      return new SqliteStore(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** A home without a store, or with one that has no tables yet, reads as one without agents. */
export async function openSqliteReader(path: string): Promise<StoreReader> {
  return guarded(path, () => {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return emptyReader(path);
    const database = openForReading(path);
    try {
      if (isReadable(database)) return new SqliteReader(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
    database.close();
    return emptyReader(path);
  });
}

function emptyReader(path: string): StoreReader {
  const database = openEmpty();
  createTables(database);
  return new SqliteReader(database, path);
}

function storeQueries(database: DatabaseSync) {
  return {
    setEpoch: prepare(database, "UPDATE agent SET epoch = ?, seal = ? WHERE no = ?"),
    due: prepare<{ readonly id: string }>(
      database,
      `SELECT agent.id FROM agent JOIN (
         SELECT no AS agent_no, wake_at AS at FROM agent WHERE wake_at <= ?
         UNION ALL SELECT agent_no, at FROM inbox WHERE consumed_by IS NULL
       ) AS reason ON reason.agent_no = agent.no
       GROUP BY agent.no ORDER BY min(reason.at), agent.no`,
    ),
    saveVector: prepare(
      database,
      "UPDATE memory SET embedder = ?, vector = ? WHERE agent_no = ? AND seq = ? AND ordinal = ?",
    ),
  };
}

class SqliteStore extends SqliteReader implements Store {
  readonly #queries: ReturnType<typeof storeQueries>;
  readonly #transact: Transact;
  readonly #log: Log;
  readonly #mailbox: Mailbox;
  readonly #write: WriteCommit;

  constructor(database: DatabaseSync, path: string) {
    super(database, path);
    this.#queries = storeQueries(database);
    this.#transact = transactions(database);
    this.#log = openLog(database);
    this.#mailbox = openMailbox(database);
    this.#write = openCommits(database, this.#log, this.#mailbox);
  }

  async create(spec: AgentSpec, key: string, at: string): Promise<AgentRow> {
    return guarded(this.path, () =>
      this.#transact(() => toAgentRow(this.requireAgent(this.#log.create(spec, key, at)))),
    );
  }

  async claim(agent: string): Promise<Lease> {
    return guarded(this.path, () =>
      this.#transact(() => {
        const record = this.requireAgent(agent);
        requireSealed(record);
        const epoch = record.epoch + 1;
        this.#queries.setEpoch.run(epoch, sealOf({ ...record, epoch }), record.no);
        return { agent, epoch };
      }),
    );
  }

  async due(now: string): Promise<readonly string[]> {
    return guarded(this.path, () => {
      const time = isoTime(now);
      if (this.#mailbox.hasDueTimer(time)) this.#transact(() => this.#mailbox.fireTimers(time));
      return this.#queries.due.all(time).map(({ id }) => id);
    });
  }

  async commit(lease: Lease, expectedHead: number, commit: Commit): Promise<void> {
    guarded(this.path, () => this.#transact(() => this.#write(lease, expectedHead, commit)));
  }

  async deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean> {
    return guarded(this.path, () => this.#mailbox.deliver(this.requireAgentNo(agent), key, message, at));
  }

  async saveVectors(agent: string, embedder: string, vectors: Parameters<Store["saveVectors"]>[2]): Promise<void> {
    guarded(this.path, () =>
      this.#transact(() => {
        const no = this.requireAgentNo(agent);
        for (const { id, vector } of vectors) {
          const { seq, ordinal } = readMemoryId(agent, id) ?? noMemory(id);
          if (this.#queries.saveVector.run(embedder, vectorToBytes(vector), no, seq, ordinal) === 0) noMemory(id);
        }
      }),
    );
  }
}

function noMemory(id: string): never {
  throw new GoaldError("GOALD_NOT_FOUND", `Expected a memory ${JSON.stringify(id)}, found none.`);
}
