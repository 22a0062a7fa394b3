/**
 * open-file.ts -- reads and writes an open file or folder by its descriptor.
 *
 * Calls that the system answers from memory (open, stat, close, small parts) are synchronous: a thread switch costs
 * several times the call, and one append needs twenty calls. Calls that may wait for the disk (fsync, large parts) run
 * on a thread, so that they do not block the main thread.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsync,
  ftruncate,
  openSync,
  read,
  readSync,
  type Stats,
  write,
  writeSync,
} from "node:fs";
import { codeOf } from "./file-errors.ts";

/** Errors of file systems that have no modes. */
const NO_MODES: ReadonlySet<string> = new Set(["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"]);
/** Parts up to this size are read and written synchronously. */
const SMALL_BYTES = 64 * 1024;

export class OpenFile implements AsyncDisposable {
  readonly descriptor: number;

  constructor(path: string, flags: number, mode?: number) {
    this.descriptor = openSync(path, flags, mode);
  }

  stat(): Stats {
    return fstatSync(this.descriptor);
  }

  /** For own files only. Does nothing on a file system without modes. */
  setMode(mode: number): void {
    try {
      fchmodSync(this.descriptor, mode);
    } catch (error) {
      if (!NO_MODES.has(codeOf(error) ?? "")) throw error;
    }
  }

  /** Fills `bytes` from `position` on; returns the number of bytes read. */
  async read(bytes: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < bytes.length) {
      const some = await this.#readSome(bytes.subarray(filled), position + filled);
      if (some === 0) break;
      filled += some;
    }
    return filled;
  }

  #readSome(bytes: Uint8Array, position: number): number | Promise<number> {
    if (bytes.length <= SMALL_BYTES) return readSync(this.descriptor, bytes, 0, bytes.length, position);
    return onThread((done) => read(this.descriptor, bytes, 0, bytes.length, position, done));
  }

  /** Writes all bytes at the current position. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) from += await this.#writeSome(bytes.subarray(from));
  }

  #writeSome(bytes: Uint8Array): number | Promise<number> {
    if (bytes.length <= SMALL_BYTES) return writeSync(this.descriptor, bytes);
    return onThread((done) => write(this.descriptor, bytes, done));
  }

  truncate(bytes: number): Promise<void> {
    return onThread((done) => ftruncate(this.descriptor, bytes, done));
  }

  sync(): Promise<void> {
    return onThread((done) => fsync(this.descriptor, done));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.descriptor);
  }
}

type FileCallback<T> = (error: Error | null, value?: T) => void;

function onThread<T>(start: (done: FileCallback<T>) => void): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  start((error, value) => (error ? reject(error) : resolve(value as T)));
  return promise;
}
