/**
 * writer.ts -- the embedded store for a process that runs many agents at once.
 *
 * It has the same file and the same contract as openSqliteStore. While one agent writes, writes run in the calling
 * thread, which costs least. When a second agent writes, writes go to a writer thread, where all waiting writes share
 * one wait for the disk. The writer thread stops when only one agent writes.
 *
 * A change of threads loses and reorders nothing: a write in the calling thread ends before the next one starts, and
 * the writer thread stops only when it is idle. Writes that come while it starts wait for it, about 0.1 s: writes in
 * the calling thread would delay the start.
 *
 * Some time after the last write, the WAL is emptied into the database file, so that a copy of that file alone is
 * complete.
 */
import { getCompileCacheDir } from "node:module";
import { dirname, extname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { GoaldError } from "#core/errors.ts";
import type { Store } from "#core/ports/store.ts";
import { closedError, storeError } from "../failure.ts";
import {
  isLongWrite,
  openDirectWriter,
  type StoreWriter,
  type WriteArgs,
  type WriteName,
  type WriteResult,
} from "../writes.ts";
import type { Anchor } from "./anchor.ts";
import { emptyWal } from "./connection.ts";
import { openStoreWith, type SqliteStoreOptions } from "./open-store.ts";
import type { FromWriterThread, ToWriterThread, WriteFailure, WriterOptions } from "./writer-worker.ts";

export interface GroupStoreOptions extends SqliteStoreOptions {
  /** When writes go to the writer thread. Default: `with-second-agent`. */
  readonly thread?: "with-second-agent" | "always";
  /** An agent counts as writing for this long after its last commit. Default: one minute. */
  readonly quietMs?: number;
  /** The WAL is emptied this long after the last write. Default: ten seconds. */
  readonly restMs?: number;
}

const QUIET_MS = 60_000;
const REST_MS = 10_000;

/** Creates the file, readable by its owner only, and its folder. */
export async function openGroupStore(path: string, options: GroupStoreOptions = {}): Promise<Store> {
  return openStoreWith(path, options, (database, anchor) => createGroupWriter(database, path, anchor, options));
}

function createGroupWriter(
  database: DatabaseSync,
  path: string,
  anchor: Anchor,
  { busyTimeoutMs, thread: begin, quietMs = QUIET_MS, restMs = REST_MS }: GroupStoreOptions,
): StoreWriter {
  const direct = openDirectWriter(database, path, anchor);
  const writers = watchWriters(quietMs);
  let thread: WriterThread | undefined;
  /** Resolves when the last writer thread has stopped. */
  let ending: Promise<void> = Promise.resolve();
  /** The earliest time for a new thread after one died, because the cause may persist. */
  let notBefore = 0;
  let closing: Promise<void> | undefined;
  const timer = setInterval(stopIfQuiet, quietMs).unref();
  const restTimer = setTimeout(rest, restMs).unref();

  function start(): void {
    try {
      const started = new WriterThread({ path, busyTimeoutMs }, (neverBegun) => {
        if (thread === started) thread = undefined;
        notBefore = performance.now() + quietMs;
        for (const { name, args, resolve, reject } of neverBegun) direct.write(name, ...args).then(resolve, reject);
      });
      thread = started;
    } catch {
      // Without a thread, writes run in the calling thread, only slower.
      notBefore = performance.now() + quietMs;
    }
  }
  function stopIfQuiet(): void {
    const idle = thread?.isIdle ? thread : undefined;
    if (!idle || writers.areMany(performance.now())) return;
    thread = undefined;
    ending = idle.stop();
  }
  /** Waits while writes are pending. */
  function rest(): void {
    if (thread && !thread.isIdle) restTimer.refresh();
    else emptyWal(database);
  }
  return {
    async write(name, ...args) {
      if (closing) throw closedError(path);
      const now = performance.now();
      restTimer.refresh();
      writers.note(name, args, now);
      const needsThread = begin === "always" || isLongWrite(name, args) || writers.areMany(now);
      if (!thread && needsThread && now >= notBefore) start();
      return thread ? thread.write(name, args) : direct.write(name, ...args);
    },
    close() {
      clearInterval(timer);
      clearTimeout(restTimer);
      closing ??= (thread?.stop() ?? ending).then(() => direct.close());
      return closing;
    },
  };
}

function watchWriters(quietMs: number) {
  /** The agent that wrote last, when it did, and when another agent last did. */
  let agent: string | undefined;
  let agentAt = Number.NEGATIVE_INFINITY;
  let otherAt = Number.NEGATIVE_INFINITY;
  return {
    note(name: WriteName, args: WriteArgs<WriteName>, now: number): void {
      const [owner] = args;
      const writer = name === "commit" ? (owner as WriteArgs<"commit">[0]).agent : name === "claim" ? owner : undefined;
      if (typeof writer !== "string") return;
      if (writer !== agent) otherAt = agentAt;
      agent = writer;
      agentAt = now;
    },
    areMany: (now: number): boolean => now - agentAt <= quietMs && now - otherAt <= quietMs,
  };
}

/** Has the extension of this file: .ts in a checkout, .js in the published package. */
const PROGRAM = new URL(`./writer-worker${extname(import.meta.url)}`, import.meta.url);

interface PendingWrite {
  readonly name: WriteName;
  readonly args: WriteArgs<WriteName>;
  resolve(value: unknown): void;
  reject(error: GoaldError): void;
}

/**
 * Sends writes to a writer thread and settles their promises. The thread keeps the process alive only while a write is
 * pending. When the thread dies, pending writes are rejected, because nobody knows whether they were committed. Writes
 * of a thread that died before it was ready are handed back.
 */
class WriterThread {
  readonly #path: string;
  /** False until the thread has opened its connection; it has started no write before. */
  #isReady = false;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #pending = new Map<number, PendingWrite>();
  #lastId = 0;
  /** Why the thread died, as far as we know. */
  #trouble: string | undefined;
  #isStopping = false;

  /** `onDeath` is called when the thread ends without `stop`, with the writes that it never started, oldest first. */
  constructor(options: WriterOptions, onDeath: (neverBegun: readonly PendingWrite[]) => void) {
    this.#path = options.path;
    this.#worker = new Worker(PROGRAM, { name: "goald-writer", workerData: options, env: withCompileCache() });
    this.#worker.unref();
    this.#worker.on("message", (message: FromWriterThread) => {
      if (message === "ready") this.#isReady = true;
      else for (const answer of message) this.#settle(answer.id, answer);
    });
    this.#worker.on("error", (thrown) => {
      // `Error.isError` is false for an error from a dying thread, which still has a message.
      this.#trouble = String((thrown as { message?: unknown } | null)?.message ?? thrown);
    });
    // An answer that cannot be decoded is not sent again: end the thread, so that no write waits for it.
    this.#worker.on("messageerror", (error) => {
      this.#trouble = error.message;
      void this.#worker.terminate();
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (exitCode) => {
        this.#trouble ??= `exit code ${exitCode}`;
        this.#end(onDeath);
        resolve();
      });
    });
  }

  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  write<Name extends WriteName>(name: Name, args: WriteArgs<Name>): Promise<WriteResult<Name>> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      try {
        this.#post({ id, name, args });
      } catch (thrown) {
        // The arguments cannot be cloned.
        reject(storeError(thrown, this.#path));
        return;
      }
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(id, { name, args, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Resolves when all writes are on the disk and the thread has ended. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#worker.ref();
      this.#post("stop");
    }
    await this.#ended;
  }

  #post(message: ToWriterThread): void {
    this.#worker.postMessage(message);
  }

  #end(onDeath: (neverBegun: readonly PendingWrite[]) => void): void {
    const left = [...this.#pending.values()];
    this.#pending.clear();
    if (this.#isStopping && left.length === 0) return;
    if (this.#isReady) for (const { reject } of left) reject(diedError(this.#trouble));
    onDeath(this.#isReady ? [] : left);
  }

  #settle(id: number, answer: { readonly value: unknown } | { readonly failure: WriteFailure }): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0 && !this.#isStopping) this.#worker.unref();
    if ("value" in answer) pending?.resolve(answer.value);
    else pending?.reject(toGoaldError(answer.failure));
  }
}

/** A worker compiles its modules itself: the compile cache halves its start and saves memory for type stripping. */
function withCompileCache(): NodeJS.ProcessEnv {
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}

const toGoaldError = ({ code, message, hint }: WriteFailure): GoaldError => new GoaldError(code, message, { hint });

const diedError = (trouble: string | undefined): GoaldError =>
  new GoaldError(
    "GOALD_INTERNAL",
    `The thread that writes to the store died before it confirmed this write: ${trouble}.`,
    { hint: "Load the agent again: its log shows whether the write was committed." },
  );
