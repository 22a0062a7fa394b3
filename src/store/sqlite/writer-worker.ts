/**
 * writer-worker.ts -- the program of the writer thread, which commits groups of writes.
 *
 * writer.ts starts it in a worker of node:worker_threads. All writes that arrived during the last group are the
 * next group. Answers are sent when the group is on the disk.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { GoaldError } from "#core/errors.ts";
import { callWrite, isErasing, openWrites, type WriteArgs, type WriteName } from "../writes.ts";
import { Anchor } from "./anchor.ts";
import { emptyWal, openForWriting, shrinkFile } from "./connection.ts";
import { openGroups, type WriteOutcome } from "./group-commit.ts";

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
export type WriteFailure = Pick<GoaldError, "code" | "message" | "hint">;
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

function takeArrived(port: MessagePort, first: ToWriterThread) {
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
