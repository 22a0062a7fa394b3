/**
 * open-file.ts -- one open file or folder, by its descriptor.
 *
 * What the system answers from its memory (open, stat, close, small pieces) is asked for in place: a hop to
 * another thread and back costs several times the call itself, and one append needs twenty such calls. What
 * may take the disk's time (fsync, large pieces) goes to a thread, so that nobody else waits for it.
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

const NO_MODES: ReadonlySet<string> = new Set(["EPERM", "EINVAL", "ENOSYS", "ENOTSUP"]);
/** Up to here a piece is read or written in place. */
const SMALL_BYTES = 64 * 1024;

export class OpenFile implements AsyncDisposable {
  readonly descriptor: number;

  constructor(path: string, flags: number, mode?: number) {
    this.descriptor = openSync(path, flags, mode);
  }

  stat(): Stats {
    return fstatSync(this.descriptor);
  }

  /** For a file of our own, where only a file system that knows no modes refuses: then it has none to lose. */
  setMode(mode: number): void {
    try {
      fchmodSync(this.descriptor, mode);
    } catch (error) {
      if (!NO_MODES.has(codeOf(error) ?? "")) throw error;
    }
  }

  /** Fills `bytes` from `position` of the file on; returns how many there were. */
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

  /** All of it, where the file stands. */
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

type Done<T> = (error: Error | null, value?: T) => void;

function onThread<T>(start: (done: Done<T>) => void): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  start((error, value) => (error ? reject(error) : resolve(value as T)));
  return promise;
}
