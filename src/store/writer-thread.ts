/**
 * writer-thread.ts -- the calling thread's end of one writer thread: sends writes, keeps their promises.
 *
 * The thread keeps the process alive while a write is under way, and not otherwise. When it dies, what was under way
 * is rejected, never left hanging: nobody can tell then whether it was kept. What it had not even begun, because it
 * died before it was ready, is handed back.
 */
import { getCompileCacheDir } from "node:module";
import { dirname, extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type ErrorCode, GoaldError } from "#core/errors.ts";
import { storeError } from "./failure.ts";
import type { Failure, FromWorker, ToWorker, WorkerOptions } from "./writer-worker.ts";
import type { Vectors, WriteArgs, WriteName, WriteResult } from "./writes.ts";

/** The extension of a checkout or that of the published package: this file's own. */
const PROGRAM = new URL(`./writer-worker${extname(import.meta.url)}`, import.meta.url);

interface Pending {
  readonly name: WriteName;
  readonly args: WriteArgs<WriteName>;
  resolve(value: unknown): void;
  reject(error: GoaldError): void;
}

export class WriterThread {
  readonly #path: string;
  /** Until then it has begun nothing. */
  #isReady = false;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  /** What it died of, as far as it could say. */
  #trouble: string | undefined;
  #isStopping = false;

  /** `onDeath`: it ended unasked. With the writes that it never began, oldest first. */
  constructor(options: WorkerOptions, onDeath: (neverBegun: readonly Pending[]) => void) {
    this.#path = options.path;
    this.#worker = new Worker(PROGRAM, { name: "goald-writer", workerData: options, env: withCompileCache() });
    this.#worker.unref();
    this.#worker.on("message", (message: FromWorker) => {
      if (message === "ready") this.#isReady = true;
      else for (const answer of message) this.#settle(answer.id, answer);
    });
    this.#worker.on("error", (thrown) => {
      this.#trouble = messageOf(thrown);
    });
    // An answer that cannot be read will not come again: nothing may wait for it.
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
        const { packed, buffers } = pack(name, args);
        this.#post({ id, name, args: packed }, buffers);
      } catch (thrown) {
        // Such as a value that is no plain data.
        reject(storeError(thrown, this.#path));
        return;
      }
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(id, { name, args, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Resolves when everything sent is on the disk and the thread is gone. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#worker.ref();
      this.#post("stop", []);
    }
    await this.#ended;
  }

  #post(message: ToWorker, buffers: readonly ArrayBuffer[]): void {
    this.#worker.postMessage(message, buffers);
  }

  #end(onDeath: (neverBegun: readonly Pending[]) => void): void {
    const left = [...this.#pending.values()];
    this.#pending.clear();
    if (this.#isStopping && left.length === 0) return;
    if (this.#isReady) for (const { reject } of left) reject(diedError(this.#trouble));
    onDeath(this.#isReady ? [] : left);
  }

  #settle(id: number, answer: { readonly value: unknown } | { readonly failure: Failure }): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0 && !this.#isStopping) this.#worker.unref();
    if ("value" in answer) pending?.resolve(answer.value);
    else pending?.reject(toGoaldError(answer.failure));
  }
}

/** A worker compiles for itself: the cache halves its start, and spares it the memory of stripping types. */
function withCompileCache(): NodeJS.ProcessEnv {
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}

/**
 * Bytes are copied once, and the copies move over: the caller keeps his own, to try again with. A view would bring
 * all of the memory that it looks into.
 */
function pack<Name extends WriteName>(
  name: Name,
  args: WriteArgs<Name>,
): { readonly packed: WriteArgs<Name>; readonly buffers: readonly ArrayBuffer[] } {
  const buffers: ArrayBuffer[] = [];
  const moved = <T extends Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer>>(copy: T): T => {
    buffers.push(copy.buffer);
    return copy;
  };
  if (name === "commit") {
    const [lease, head, commit] = args as WriteArgs<"commit">;
    const blobs = commit.blobs.map((bytes) => moved(new Uint8Array(bytes)));
    const files = commit.files.map((file) => ({
      ...file,
      content: file.content && moved(new Uint8Array(file.content)),
    }));
    const packed: WriteArgs<"commit"> = [lease, head, { ...commit, blobs, files }];
    return { packed: packed as WriteArgs<Name>, buffers };
  }
  if (name === "saveVectors") {
    const [agent, embedder, vectors] = args as WriteArgs<"saveVectors">;
    const copies: Vectors = vectors.map(({ id, vector }) => ({ id, vector: moved(new Float32Array(vector)) }));
    const packed: WriteArgs<"saveVectors"> = [agent, embedder, copies];
    return { packed: packed as WriteArgs<Name>, buffers };
  }
  return { packed: args, buffers };
}

const toGoaldError = ({ code, message, hint }: Failure): GoaldError =>
  new GoaldError(code as ErrorCode, message, { hint });

/** An error that has crossed over from a dying thread has a message, and is none for `Error.isError`. */
const messageOf = (thrown: unknown): string => String((thrown as { message?: unknown } | null)?.message ?? thrown);

const diedError = (trouble: string | undefined): GoaldError =>
  new GoaldError(
    "GOALD_INTERNAL",
    `The thread that writes to the store died before it said whether this was written: ${trouble}.`,
    { hint: "The log says whether it was: load the agent again and go on from there." },
  );
