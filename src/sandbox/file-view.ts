/**
 * file-view.ts -- the agent's folder as Python sees it, at /workspace: a private copy in the memory of the process.
 *
 * The list of files comes from the host when code looks at the folder, the content of a file when code reads it. What code
 * changes goes out with `save`.
 */
import { posix } from "node:path";
import { FileLoader } from "./file-loader.ts";
import { ViewTree } from "./file-tree.ts";
import { type EngineHost, type FileList, MAX_FILE_BYTES } from "./protocol.ts";
import type { Fs, FsNode, NodeOperations, StreamOperations } from "./pyodide.ts";

export const ROOT = "/workspace";
const MEGABYTE = 1_000_000;

interface Change {
  readonly path: string;
  readonly content: Uint8Array | null;
}

export class FileView {
  readonly #fs: Fs;
  readonly #errors: Readonly<Record<string, number>>;
  readonly #host: EngineHost;
  readonly #tree: ViewTree;
  readonly #loader: FileLoader;
  /** The host may have changed the folder since the last list. */
  #isStale = false;
  #isComplete = true;
  /** Paths that were asked for since the last list, because it is not complete. */
  readonly #unlisted = new Set<string>();
  /** Code has changed something since the last save. */
  #isTouched = false;

  constructor(fs: Fs, errors: Readonly<Record<string, number>>, host: EngineHost) {
    this.#fs = fs;
    this.#errors = errors;
    this.#host = host;
    const { MEMFS } = fs.filesystems;
    const operations = {
      folder: this.#folderOperations(),
      file: this.#fileOperations(),
      stream: this.#streamOperations(),
    };
    this.#tree = new ViewTree(fs, operations);
    this.#loader = new FileLoader(fs, errors, host, this.#tree);
    fs.mkdirTree(ROOT);
    fs.mount({ mount: (mount: unknown) => this.#tree.setRoot(MEMFS.mount(mount)) }, {}, ROOT);
    this.#listBeforeLooking();
  }

  /** The next look at the folder lists it again. */
  expectChanges(): void {
    this.#isStale = true;
  }

  /** Returns why the last file could not be read, once. Empty: nothing was refused. */
  takeRefusal(): string {
    return this.#loader.takeRefusal();
  }

  /** Sends what code changed. Returns why it was refused, in words; the view then is that of the host again. */
  save(): string | undefined {
    if (!this.#isTouched) return undefined;
    this.#isTouched = false;
    const problem = this.#send();
    this.#isStale = true;
    if (problem !== undefined) this.#tree.clear();
    return problem;
  }

  #send(): string | undefined {
    const changes: Change[] = [];
    try {
      for (const path of this.#tree.removedPaths()) changes.push({ path, content: null });
      for (const [path, node] of this.#tree.changedFiles()) changes.push({ path, content: this.#loader.read(node) });
    } catch {
      return `The changes were not saved: ${this.takeRefusal()}`;
    }
    if (changes.length === 0) return undefined;
    const contents = changes.map(({ content }) => content ?? new Uint8Array());
    const total = contents.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (total > MAX_FILE_BYTES)
      return `The changes were not saved: they have ${Math.ceil(total / MEGABYTE)} MB, more than the ${Math.floor(MAX_FILE_BYTES / MEGABYTE)} MB that fit into one save.`;
    const files = changes.map(({ path, content }) => ({ path, bytes: content?.byteLength ?? null }));
    const { reply } = this.#host.ask({ type: "ask", what: "save", files }, Buffer.concat(contents));
    if ("error" in reply) return `The changes were not saved: ${reply.error.text}`;
    this.#tree.markSaved();
    return undefined;
  }

  /** Every way to a file leads through this function of Emscripten. */
  #listBeforeLooking(): void {
    const look = this.#fs.lookupPath;
    this.#fs.lookupPath = (path, options) => {
      const isInside = !path.startsWith("/") || path.startsWith(ROOT);
      if (this.#isStale && isInside) this.#list();
      if (this.#isComplete || !isInside) return look.call(this.#fs, path, options);
      try {
        const found = look.call(this.#fs, path, options);
        if (found.node || !this.#addUnlisted(path)) return found;
      } catch (error) {
        if (!this.#addUnlisted(path)) throw error;
      }
      return look.call(this.#fs, path, options);
    };
  }

  /** A folder may have more files than a list. Asks the host for a file that is not in it. */
  #addUnlisted(path: string): boolean {
    const relative = posix.relative(ROOT, posix.resolve(this.#fs.cwd(), path));
    if (relative === "" || relative.startsWith("..") || this.#unlisted.has(relative)) return false;
    this.#unlisted.add(relative);
    const { reply, bytes } = this.#host.ask({ type: "ask", what: "read", path: relative });
    if ("error" in reply) return false;
    this.#tree.addFile({ path: relative, bytes: bytes.byteLength, stamp: "" });
    return true;
  }

  #list(): void {
    this.#isStale = false;
    const { reply } = this.#host.ask({ type: "ask", what: "list" });
    if ("error" in reply) throw new this.#fs.ErrnoError(this.#errors.EIO ?? 0);
    const { files, isComplete } = reply.value as FileList;
    this.#tree.replaceList(files);
    this.#isComplete = isComplete;
    this.#unlisted.clear();
  }

  #folderOperations(): Partial<NodeOperations> {
    const { node } = this.#fs.filesystems.MEMFS.ops_table.dir;
    return {
      mknod: (parent, name, mode, device) => {
        const made = this.#tree.adopt(node.mknod(parent, name, mode, device));
        if (this.#fs.isFile(mode)) this.#isTouched = true;
        return made;
      },
      rename: (moved, folder, name) => {
        node.rename(moved, folder, name);
        this.#isTouched = true;
      },
      unlink: (parent, name) => {
        node.unlink(parent, name);
        this.#isTouched = true;
      },
      symlink: () => {
        throw new this.#fs.ErrnoError(this.#errors.EPERM ?? 0);
      },
    };
  }

  #fileOperations(): Partial<NodeOperations> {
    const { node } = this.#fs.filesystems.MEMFS.ops_table.file;
    return {
      setattr: (file, attributes) => {
        if (attributes.size !== undefined) {
          if (attributes.size > 0) this.#loader.load(file);
          this.#noteChange(file);
        }
        node.setattr(file, attributes);
      },
    };
  }

  #streamOperations(): Partial<StreamOperations> {
    const { stream: memory } = this.#fs.filesystems.MEMFS.ops_table.file;
    return {
      read: (stream, ...rest) => {
        this.#loader.load(stream.node);
        return memory.read(stream, ...rest);
      },
      mmap: (stream, ...rest) => {
        this.#loader.load(stream.node);
        return memory.mmap(stream, ...rest);
      },
      write: (stream, ...rest) => {
        this.#loader.load(stream.node);
        const written = memory.write(stream, ...rest);
        this.#noteChange(stream.node);
        return written;
      },
      msync: (stream, buffer, _offset, length, _flags) => {
        memory.write(stream, buffer, 0, length, _offset, false);
        this.#noteChange(stream.node);
        return 0;
      },
    };
  }

  #noteChange(node: FsNode): void {
    this.#isTouched = true;
    this.#tree.noteChange(node);
  }
}
