/**
 * group-store.ts -- the embedded store for a process that runs many agents at once.
 *
 * It has the same file and the same contract as openSqliteStore. While one agent writes, writes run in the calling
 * thread, which costs least. When a second agent writes, writes go to a writer thread, where all waiting writes share one
 * wait for the disk. The writer thread stops when only one agent writes.
 *
 * A change of threads loses and reorders nothing: a write in the calling thread ends before the next one starts, and the
 * writer thread stops only when it is idle. Writes that come while it starts wait for it, about 0.1 s: writes in the
 * calling thread would delay the start.
 *
 * Some time after the last write, the WAL is emptied into the database file, so that a copy of that file alone is complete.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store } from "#core/ports/store.ts";
import type { Anchor } from "./anchor.ts";
import { emptyWal } from "./connection.ts";
import { closedError } from "./failure.ts";
import { openStoreWith, type SqliteStoreOptions } from "./sqlite-store.ts";
import { WriterThread } from "./writer-thread.ts";
import {
  isLongWrite,
  openDirectWriter,
  type StoreWriter,
  type WriteArgs,
  type WriteName,
  type WriteResult,
} from "./writes.ts";

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
  return openStoreWith(path, options, (database, anchor) => new GroupWriter(database, path, anchor, options));
}

class GroupWriter implements StoreWriter {
  readonly #path: string;
  readonly #busyTimeoutMs: number | undefined;
  readonly #always: boolean;
  readonly #quietMs: number;
  readonly #direct: StoreWriter;
  #thread: WriterThread | undefined;
  /** Resolves when the last writer thread has stopped. */
  #ending: Promise<void> = Promise.resolve();
  /** The earliest time for a new thread after one died, because the cause may persist. */
  #notBefore = 0;
  /** The agent that wrote last, when it did, and when another agent last did. */
  #agent: string | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #otherAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #restTimer: NodeJS.Timeout;

  constructor(database: DatabaseSync, path: string, anchor: Anchor, options: GroupStoreOptions) {
    this.#path = path;
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#always = options.thread === "always";
    this.#quietMs = options.quietMs ?? QUIET_MS;
    this.#direct = openDirectWriter(database, path, anchor);
    this.#timer = setInterval(() => this.#stopIfQuiet(), this.#quietMs).unref();
    this.#restTimer = setTimeout(() => this.#rest(database), options.restMs ?? REST_MS).unref();
  }

  async write<Name extends WriteName>(name: Name, ...args: WriteArgs<Name>): Promise<WriteResult<Name>> {
    if (this.#closing) throw closedError(this.#path);
    const now = performance.now();
    this.#restTimer.refresh();
    this.#noteWriter(name, args, now);
    const needsThread = this.#always || isLongWrite(name, args) || this.#areManyWriting(now);
    if (!this.#thread && needsThread && now >= this.#notBefore) this.#start();
    return this.#thread ? this.#thread.write(name, args) : this.#direct.write(name, ...args);
  }

  #noteWriter(name: WriteName, args: WriteArgs<WriteName>, now: number): void {
    const [owner] = args;
    const agent = name === "commit" ? (owner as WriteArgs<"commit">[0]).agent : name === "claim" ? owner : undefined;
    if (typeof agent !== "string") return;
    if (agent !== this.#agent) this.#otherAt = this.#at;
    this.#agent = agent;
    this.#at = now;
  }

  #areManyWriting(now: number): boolean {
    return now - this.#at <= this.#quietMs && now - this.#otherAt <= this.#quietMs;
  }

  #start(): void {
    const options = { path: this.#path, busyTimeoutMs: this.#busyTimeoutMs };
    try {
      const thread = new WriterThread(options, (neverBegun) => {
        if (this.#thread === thread) this.#thread = undefined;
        this.#notBefore = performance.now() + this.#quietMs;
        for (const { name, args, resolve, reject } of neverBegun)
          this.#direct.write(name, ...args).then(resolve, reject);
      });
      this.#thread = thread;
    } catch {
      // Without a thread, writes run in the calling thread, only slower.
      this.#notBefore = performance.now() + this.#quietMs;
    }
  }

  #stopIfQuiet(): void {
    const thread = this.#thread;
    if (!thread?.isIdle || this.#areManyWriting(performance.now())) return;
    this.#thread = undefined;
    this.#ending = thread.stop();
  }

  /** Waits while writes are pending. */
  #rest(database: DatabaseSync): void {
    if (this.#thread && !this.#thread.isIdle) this.#restTimer.refresh();
    else emptyWal(database);
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#restTimer);
    this.#closing ??= (this.#thread?.stop() ?? this.#ending).then(() => this.#direct.close());
    return this.#closing;
  }
}
