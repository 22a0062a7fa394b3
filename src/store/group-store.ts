/**
 * group-store.ts -- the embedded store for a process that runs many agents at once.
 *
 * The same file and the same promises as openSqliteStore. While one agent writes, writes are made in the calling
 * thread, which costs least. As soon as a second one does, they go to a thread of their own, where all that wait
 * share one wait for the disk, and the calling thread never waits for it. A thread that is no longer needed ends.
 *
 * Going over loses and reorders nothing: a write in the calling thread is over before the next is begun, and the
 * thread is left only when nothing is under way in it. What comes while it starts waits for it, some 0.1 s once:
 * busy with writes, the calling thread would hold up the start.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Store } from "#core/ports/store.ts";
import { closedError } from "./failure.ts";
import { openStoreWith, type SqliteStoreOptions } from "./sqlite-store.ts";
import { WriterThread } from "./writer-thread.ts";
import { openDirectWriter, type WriteArgs, type WriteName, type WriteResult, type Writer } from "./writes.ts";

export interface GroupStoreOptions extends SqliteStoreOptions {
  /** When writes go to the thread; `with-second-agent` unless given. */
  readonly thread?: "with-second-agent" | "always";
  /** An agent counts as writing for this long after its last commit; a minute unless given. */
  readonly quietMs?: number;
}

const QUIET_MS = 60_000;

/** Creates the file, readable by its owner only, and the folder it lies in. */
export async function openGroupStore(path: string, options: GroupStoreOptions = {}): Promise<Store> {
  return openStoreWith(path, options, (database) => new GroupWriter(database, path, options));
}

class GroupWriter implements Writer {
  readonly #path: string;
  readonly #busyTimeoutMs: number | undefined;
  readonly #always: boolean;
  readonly #quietMs: number;
  readonly #direct: Writer;
  #thread: WriterThread | undefined;
  /** The end of the thread that was needed last. */
  #ending: Promise<void> = Promise.resolve();
  /** After a death it is not started again at once: what killed it may be lasting. */
  #notBefore = 0;
  /** Who wrote last; and when somebody else last did. */
  #agent: string | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #otherAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(database: DatabaseSync, path: string, options: GroupStoreOptions) {
    this.#path = path;
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#always = options.thread === "always";
    this.#quietMs = options.quietMs ?? QUIET_MS;
    this.#direct = openDirectWriter(database, path);
    this.#timer = setInterval(() => this.#stopIfQuiet(), this.#quietMs).unref();
  }

  async write<Name extends WriteName>(name: Name, ...args: WriteArgs<Name>): Promise<WriteResult<Name>> {
    if (this.#closing) throw closedError(this.#path);
    const now = performance.now();
    this.#note(name, args, now);
    // A removal takes as long as the agent is old: it is never made in the calling thread.
    const isWanted = this.#always || name === "remove" || this.#areMany(now);
    if (!this.#thread && isWanted && now >= this.#notBefore) this.#start();
    return this.#thread ? this.#thread.write(name, args) : this.#direct.write(name, ...args);
  }

  #note(name: WriteName, args: WriteArgs<WriteName>, now: number): void {
    const [owner] = args;
    const agent = name === "commit" ? (owner as WriteArgs<"commit">[0]).agent : name === "claim" ? owner : undefined;
    if (typeof agent !== "string") return;
    if (agent !== this.#agent) this.#otherAt = this.#at;
    this.#agent = agent;
    this.#at = now;
  }

  #areMany(now: number): boolean {
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
      // No thread to be had: slower, and nothing worse.
      this.#notBefore = performance.now() + this.#quietMs;
    }
  }

  #stopIfQuiet(): void {
    const thread = this.#thread;
    if (!thread?.isIdle || this.#areMany(performance.now())) return;
    this.#thread = undefined;
    this.#ending = thread.stop();
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing ??= this.#thread?.stop() ?? this.#ending;
    return this.#closing;
  }
}
