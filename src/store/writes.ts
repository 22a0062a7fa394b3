/**
 * writes.ts -- all writes of the store. Each runs inside a transaction of the caller.
 *
 * The caller rolls back when a write throws. In the calling thread each write has its own transaction; in the writer thread
 * many share one.
 */
import type { DatabaseSync } from "node:sqlite";
import { isForgetting } from "#core/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { once } from "#util/caches.ts";
import { requireSealed, sealOf } from "./chain.ts";
import { openCommits } from "./commit.ts";
import { openCurations } from "./curate.ts";
import { throwNoAgent, wrapStoreErrors } from "./failure.ts";
import { openForks } from "./fork.ts";
import { openBlobs, openLog, openReferences } from "./log.ts";
import { openMailbox } from "./mailbox.ts";
import { openMemoryByName, openNamespaces, throwNoMemory } from "./memory-rows.ts";
import { openRemove } from "./remove.ts";
import { AGENT_COLUMNS, type AgentRecord, nameOf, toAgentRow, vectorToBytes } from "./rows.ts";
import { type NoteHead, openTransactions, prepare } from "./sql.ts";
import type { Anchor } from "./sqlite/anchor.ts";
import { emptyWal, shrinkFile } from "./sqlite/connection.ts";

type InTransaction<Write> = Write extends (...args: infer Args) => Promise<infer Result>
  ? (...args: Args) => Result
  : never;
type StoreWrite =
  | "create"
  | "fork"
  | "claim"
  | "commit"
  | "deliver"
  | "saveVectors"
  | "curate"
  | "saveRemoteRows"
  | "remove";
/** The writes of `Store`, inside a transaction that is not committed yet. */
export type Writes = { readonly [Name in StoreWrite]: InTransaction<Store[Name]> } & {
  /** Delivers the message of every timer that is due. `now` has the form of `isoTime`. */
  fireTimers(now: string): void;
};
export type WriteName = keyof Writes;
export type WriteArgs<Name extends WriteName> = Parameters<Writes[Name]>;
export type WriteResult<Name extends WriteName> = ReturnType<Writes[Name]>;

/** Makes writes durable. */
export interface StoreWriter {
  /** Resolves when the write is on the disk. Rejects with a GoaldError when it was rolled back. */
  write<Name extends WriteName>(name: Name, ...args: WriteArgs<Name>): Promise<WriteResult<Name>>;
  /** Resolves when no write is pending. */
  close(): Promise<void>;
}

/** Returns a writer that runs each write in the calling thread, in a transaction of its own. */
export function openDirectWriter(database: DatabaseSync, path: string, anchor: Omit<Anchor, "renew">): StoreWriter {
  const writes = openWrites(database, anchor.note);
  const transact = openTransactions(database);
  return {
    async write(name, ...args) {
      const undo = anchor.mark();
      try {
        const result = wrapStoreErrors(path, () =>
          transact(() => {
            const value = callWrite(writes, name, args);
            anchor.count();
            return value;
          }),
        );
        anchor.publish();
        if (name === "remove") await shrinkFile(database);
        // The WAL still has the pages with the text.
        if (isErasing(name, args)) emptyWal(database);
        return result;
      } catch (error) {
        undo();
        throw error;
      }
    },
    close: async () => anchor.close(),
  };
}

/** True for a write after which a forgotten text must not be in any file. */
export const isErasing = (name: WriteName, args: WriteArgs<WriteName>): boolean =>
  name === "curate" && (args as WriteArgs<"curate">)[1].some(isForgetting);

/** True for a write that reads much, so that it must not run in the calling thread of a host. */
export const isLongWrite = (name: WriteName, args: WriteArgs<WriteName>): boolean =>
  name === "remove" ||
  (name === "curate" &&
    (args as WriteArgs<"curate">)[1].some((change) => "copies" in change && change.copies === true));

export function callWrite<Name extends WriteName>(
  writes: Writes,
  name: Name,
  args: WriteArgs<Name>,
): WriteResult<Name> {
  const write = writes[name] as (...args: WriteArgs<Name>) => WriteResult<Name>;
  return write(...args);
}

/** `note` receives the ends of logs that a write has changed. */
export function openWrites(database: DatabaseSync, note: NoteHead): Writes {
  const noteReference = openReferences(database);
  const log = openLog(database, noteReference, note);
  const mailbox = openMailbox(database, noteReference);
  // Prepared when they are first needed: an idle daemon never commits, and few processes fork, curate or remove.
  const commits = once(() => openCommits(database, { log, mailbox, blobs: openBlobs(database, noteReference), note }));
  const forks = once(() => openForks(database, log, note));
  const curations = once(() => openCurations(database));
  const removal = once(() => openRemove(database, note));
  const find = prepare<AgentRecord>(database, `SELECT ${AGENT_COLUMNS} WHERE agent.id = ?`);
  const setEpoch = prepare(database, "UPDATE agent SET epoch = ?, seal = ? WHERE no = ?");
  // A vector says what its text was about: a row that was forgotten meanwhile gets none.
  const saveVector = prepare(
    database,
    "UPDATE memory SET embedder = ?2, vector = ?3 WHERE no = ?1 AND forgotten IS NULL",
  );
  const putRemote = prepare(
    database,
    `INSERT INTO remote (place, namespace, id, version, is_sent) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO UPDATE SET version = ?4, is_sent = ?5`,
  );
  const dropRemote = prepare(database, "DELETE FROM remote WHERE place = ? AND namespace = ? AND id = ?");
  const byName = openMemoryByName<{ readonly no: number }>(database, "no");
  const namespaceNo = openNamespaces(database);
  const requireAgent = (id: string): AgentRecord => find.get(id) ?? throwNoAgent(id);

  return {
    create: (spec, key, at) => toAgentRow(requireAgent(log.create(spec, key, at))),

    fork: (agent, fork, key) => toAgentRow(requireAgent(forks()(agent, fork, key))),

    claim(agent) {
      const record = requireAgent(agent);
      requireSealed(record);
      const epoch = record.epoch + 1;
      setEpoch.run(epoch, sealOf({ ...record, epoch }), record.no);
      return { agent, epoch };
    },

    fireTimers: mailbox.fireTimers,
    commit: (...given) => commits()(...given),
    deliver: (agent, key, message, at) => mailbox.deliver(requireAgent(agent).no, key, message, at),

    saveVectors(namespace, embedder, vectors) {
      const agentNo = namespaceNo(namespace);
      for (const { id, vector } of vectors) {
        const { no } = byName(agentNo, nameOf(namespace, id) ?? throwNoMemory(id)) ?? throwNoMemory(id);
        saveVector.run(no, embedder, vectorToBytes(vector));
      }
    },

    curate: (...given) => curations()(...given),
    saveRemoteRows(place, namespace, rows, gone) {
      for (const { id, version, isSent } of rows) putRemote.run(place, namespace, id, version, isSent ? 1 : 0);
      for (const id of gone) dropRemote.run(place, namespace, id);
    },

    remove: (id) => removal()(id),
  };
}
