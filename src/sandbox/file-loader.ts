/** file-loader.ts -- loads the content of files into the view, and drops what was only read when it becomes too much. */
import { MEBIBYTE } from "#util/mebibyte.ts";
import type { ListedFile, ViewTree } from "./file-tree.ts";
import { type EngineHost, MAX_FILE_BYTES } from "./protocol.ts";
import type { Fs, FsNode } from "./pyodide.ts";

/** Content that code has read and not changed. */
const MAX_CACHED_BYTES = 64 * MEBIBYTE;
const MEGABYTE = 1_000_000;

export class FileLoader {
  readonly #fs: Fs;
  readonly #errors: Readonly<Record<string, number>>;
  readonly #host: EngineHost;
  readonly #tree: ViewTree;
  #refusal = "";

  constructor(fs: Fs, errors: Readonly<Record<string, number>>, host: EngineHost, tree: ViewTree) {
    this.#fs = fs;
    this.#errors = errors;
    this.#host = host;
    this.#tree = tree;
  }

  takeRefusal(): string {
    const refusal = this.#refusal;
    this.#refusal = "";
    return refusal;
  }

  /** Throws an error of Emscripten, and notes why in words. */
  load(node: FsNode): void {
    const listed = this.#tree.listedFile(node);
    if (!listed || listed.isLoaded) return;
    const { path, bytes } = listed;
    if (bytes > MAX_FILE_BYTES)
      this.#refuse(
        "EFBIG",
        `${path} has ${Math.ceil(bytes / MEGABYTE)} MB. Code can read files of up to ${Math.floor(MAX_FILE_BYTES / MEGABYTE)} MB.`,
      );
    this.#dropFor(bytes);
    const { reply, bytes: content } = this.#host.ask({ type: "ask", what: "read", path });
    if ("error" in reply) this.#refuse("EACCES", reply.error.text);
    node.contents = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
    node.usedBytes = content.byteLength;
    listed.isLoaded = true;
  }

  read(node: FsNode): Uint8Array {
    this.load(node);
    const { buffer, byteOffset } = node.contents as Uint8Array;
    return new Uint8Array(buffer, byteOffset, node.usedBytes);
  }

  #refuse(code: string, words: string): never {
    this.#refusal = words;
    throw new this.#fs.ErrnoError(this.#errors[code] ?? 0);
  }

  /** Drops all content that can be loaded again when the next file does not fit beside it. */
  #dropFor(bytes: number): void {
    const cached: (readonly [FsNode, ListedFile])[] = [];
    let sum = bytes;
    for (const [, node] of this.#tree.files()) {
      const listed = this.#tree.listedFile(node);
      if (!listed?.isLoaded || listed.isChanged || listed.stamp === null) continue;
      cached.push([node, listed]);
      sum += node.usedBytes;
    }
    if (sum <= MAX_CACHED_BYTES) return;
    for (const [node, listed] of cached) {
      node.contents = new Uint8Array();
      listed.isLoaded = false;
    }
  }
}
