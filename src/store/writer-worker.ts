/**
 * writer-worker.ts -- the program of the writer thread: the one connection that writes, and one wait for the disk for many.
 *
 * Runs in a worker of node:worker_threads, started by writer-thread.ts. Whatever has arrived while the disk was busy
 * with the last group is the next group; no clock is needed. Answers go back when the group is on the disk.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { openForWriting } from "./connection.ts";
import { type Outcome, openGroups } from "./group-commit.ts";
import { shrink } from "./shrink.ts";
import { callWrite, openWrites, type WriteArgs, type WriteName } from "./writes.ts";

export interface WorkerOptions {
  readonly path: string;
  readonly busyTimeoutMs: number | undefined;
}
export interface Call {
  readonly id: number;
  readonly name: WriteName;
  readonly args: WriteArgs<WriteName>;
}
/** `stop`: everything sent before it is made durable and answered first. */
export type ToWorker = Call | "stop";
/** What crosses of an error; its class does not. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}
export type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: Failure });
/** `ready`: the connection is open. */
export type FromWorker = readonly Answer[] | "ready";

/** The first of a group does not wait for the thousandth. */
const MAX_GROUP = 256;

serve(parentPort as MessagePort, workerData as WorkerOptions);

function serve(port: MessagePort, { path, busyTimeoutMs }: WorkerOptions): void {
  const database = openForWriting(path, busyTimeoutMs);
  const writes = openWrites(database);
  const runGroup = openGroups(database, path);

  port.on("message", (first: ToWorker) => {
    const { calls, isLast } = arrived(port, first);
    if (calls.length > 0) {
      const outcomes = runGroup(
        calls.map(
          ({ name, args }) =>
            () =>
              callWrite(writes, name, args),
        ),
      );
      tell(calls.map(({ id }, place) => toAnswer(id, outcomes[place] as Outcome)));
      if (calls.some(({ name }) => name === "remove")) void shrink(database);
    }
    if (!isLast) return;
    database.close();
    port.close();
  });
  port.on("messageerror", (error) => {
    throw error;
  });
  tell("ready");

  function tell(message: FromWorker): void {
    port.postMessage(message);
  }
}

function arrived(port: MessagePort, first: ToWorker): { readonly calls: readonly Call[]; readonly isLast: boolean } {
  const calls: Call[] = [];
  let next: { message: ToWorker } | undefined = { message: first };
  while (next) {
    if (next.message === "stop") return { calls, isLast: true };
    calls.push(next.message);
    next = calls.length < MAX_GROUP ? receiveMessageOnPort(port) : undefined;
  }
  return { calls, isLast: false };
}

function toAnswer(id: number, outcome: Outcome): Answer {
  if (!("error" in outcome)) return { id, value: outcome.value };
  const { code, message, hint } = outcome.error;
  return { id, failure: { code, message, hint } };
}
