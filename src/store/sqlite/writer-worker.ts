/**
 * writer-worker.ts -- the program of the writer thread, which commits groups of writes.
 *
 * writer.ts starts it in a worker of node:worker_threads. All writes that arrived during the last group are the
 * next group. Answers are sent when the group is on the disk.
 */
import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { GoaldError } from "#core/errors.ts";
import { storeError } from "../failure.ts";
import { prepare } from "../sql.ts";
import { callWrite, isErasing, openWrites, type WriteArgs, type WriteName } from "../writes.ts";
import { Anchor } from "./anchor.ts";
import { emptyWal, openForWriting, shrinkFile } from "./connection.ts";

export interface WriterOptions {
  readonly path: string;
  readonly busyTimeoutMs: number | undefined;
}
export interface WriteCall {
  readonly id: number;
  readonly name: WriteName;
  readonly args: WriteArgs<WriteName>;
}
/** `stop`: commit and answer all earlier writes, then end. */
export type ToWriterThread = WriteCall | "stop";
/** An error as it is sent between threads. */
export interface WriteFailure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}
export type WriteAnswer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: WriteFailure });
/** `ready`: the thread has opened its connection. */
export type FromWriterThread = readonly WriteAnswer[] | "ready";

/** Bounds how long the first write of a group waits for the others. */
const MAX_GROUP = 256;

serveWrites(parentPort as MessagePort, workerData as WriterOptions);

function serveWrites(port: MessagePort, { path, busyTimeoutMs }: WriterOptions): void {
  const database = openForWriting(path, busyTimeoutMs);
  const anchor = new Anchor(database, path);
  const writes = openWrites(database, anchor.note);
  const runGroup = openGroups(database, path, anchor);

  port.on("message", (first: ToWriterThread) => {
    const { calls, isLast } = takeArrived(port, first);
    if (calls.length > 0) {
      const outcomes = runGroup(
        calls.map(
          ({ name, args }) =>
            () =>
              callWrite(writes, name, args),
        ),
      );
      // The WAL still has the pages with the forgotten text.
      if (calls.some(({ name, args }) => isErasing(name, args))) emptyWal(database);
      post(calls.map(({ id }, place) => toAnswer(id, outcomes[place] as WriteOutcome)));
      if (calls.some(({ name }) => name === "remove")) void shrinkFile(database);
    }
    if (!isLast) return;
    database.close();
    anchor.close();
    port.close();
  });
  port.on("messageerror", (error) => {
    throw error;
  });
  post("ready");

  function post(message: FromWriterThread): void {
    port.postMessage(message);
  }
}

function takeArrived(
  port: MessagePort,
  first: ToWriterThread,
): { readonly calls: readonly WriteCall[]; readonly isLast: boolean } {
  const calls: WriteCall[] = [];
  let next: { message: ToWriterThread } | undefined = { message: first };
  while (next) {
    if (next.message === "stop") return { calls, isLast: true };
    calls.push(next.message);
    next = calls.length < MAX_GROUP ? receiveMessageOnPort(port) : undefined;
  }
  return { calls, isLast: false };
}

function toAnswer(id: number, outcome: WriteOutcome): WriteAnswer {
  if (!("error" in outcome)) return { id, value: outcome.value };
  const { code, message, hint } = outcome.error;
  return { id, failure: { code, message, hint } };
}

// Runs many writes in one transaction, with one wait for the disk. Each write is atomic.
//
// Each write has a savepoint, so one that throws is rolled back alone. On a full disk SQLite may roll back the whole
// transaction: then the write that failed is left out and the others run again. When BEGIN or COMMIT fails, every write
// of the group fails.

type WriteOutcome = { readonly value: unknown } | { readonly error: GoaldError };

/** Records the transaction when it is on the disk. */
export type GroupAnchor = Pick<Anchor, "mark" | "count" | "publish">;

/** Returns when all successful writes are on the disk. Outcomes are in the order of the writes. */
export type RunGroup = (writes: readonly (() => unknown)[]) => readonly WriteOutcome[];

export function openGroups(database: DatabaseSync, path: string, anchor: GroupAnchor): RunGroup {
  const statement = (sql: string) => prepare(database, sql);
  const begin = statement("BEGIN IMMEDIATE");
  const commit = statement("COMMIT");
  const save = statement("SAVEPOINT one");
  const release = statement("RELEASE one");
  const undo = statement("ROLLBACK TO one");

  return (writes) => {
    const outcomes = new Map<number, WriteOutcome>();
    const fail = (place: number, thrown: unknown) => outcomes.set(place, { error: storeError(thrown, path) });
    let left = [...writes.keys()];
    while (left.length > 0) {
      const culprit = attempt(left);
      left = culprit === undefined ? [] : left.filter((place) => place !== culprit);
    }
    return writes.map((_, place) => outcomes.get(place) as WriteOutcome);

    /** Returns the write at which SQLite rolled back the transaction: all others must run again. */
    function attempt(places: readonly number[]): number | undefined {
      const forgetAll = anchor.mark();
      let written = 0;
      try {
        begin.run();
        for (const place of places) {
          const forget = anchor.mark();
          try {
            save.run();
            outcomes.set(place, { value: writes[place]?.() });
            release.run();
            written++;
          } catch (thrown) {
            forget();
            fail(place, thrown);
            if (!database.isTransaction) {
              forgetAll();
              return place;
            }
            undo.run();
            release.run();
          }
        }
        if (written > 0) anchor.count();
        commit.run();
        if (written > 0) anchor.publish();
      } catch (thrown) {
        forgetAll();
        if (database.isTransaction) database.exec("ROLLBACK");
        for (const place of places) fail(place, thrown);
      }
      return undefined;
    }
  };
}
