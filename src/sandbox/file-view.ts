/**
 * file-view.ts -- the agent's folder as Python sees it, at /workspace: a private copy in the memory of the process. The
 * list of files comes from the host when code looks at the folder, the content of a file when code reads it. What code
 * changes goes out with `save`.
 */
import { posix } from "node:path";
import type { CellFile, CellFileChange } from "#core/ports/sandbox.ts";
import { MEBIBYTE } from "#core/text.ts";
import { type EngineHost, type FileList, MAX_FILE_BYTES } from "./protocol.ts";
import type { Fs, FsNode, MemoryFs, NodeOperations, StreamOperations } from "./pyodide.ts";

export const ROOT = "/workspace";
const MEGABYTE = 1_000_000;
/** Content that code has read and not changed. What was only read is dropped when it becomes too much. */
const MAX_CACHED_BYTES = 64 * MEBIBYTE;

export class FileView {
  readonly #fs: Fs;
  readonly #errors: Readonly<Record<string, number>>;
  readonly #host: EngineHost;
  readonly #tree: ViewTree;
  /** The host may have changed the folder since the last list. */
  #isStale = false;
  #isComplete = true;
  /** Paths that were asked for since the last list, because it is not complete. */
  readonly #unlisted = new Set<string>();
  /** Code has changed something since the last save. */
  #isTouched = false;
  /** Why the last file could not be read. */
  #refusal = "";

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
    const refusal = this.#refusal;
    this.#refusal = "";
    return refusal;
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
    const changes: CellFileChange[] = [];
    try {
      for (const path of this.#tree.removedPaths()) changes.push({ path, bytes: null });
      for (const [path, node] of this.#tree.changedFiles()) changes.push({ path, bytes: this.#read(node) });
    } catch {
      return `The changes were not saved: ${this.takeRefusal()}`;
    }
    if (changes.length === 0) return undefined;
    const contents = changes.map(({ bytes }) => bytes ?? new Uint8Array());
    const total = contents.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (total > MAX_FILE_BYTES)
      return `The changes were not saved: they have ${Math.ceil(total / MEGABYTE)} MB, more than the ${Math.floor(MAX_FILE_BYTES / MEGABYTE)} MB that fit into one save.`;
    const files = changes.map(({ path, bytes }) => ({ path, bytes: bytes?.byteLength ?? null }));
    const { reply } = this.#host.ask({ type: "ask", what: "save", files }, Buffer.concat(contents));
    if ("error" in reply) return `The changes were not saved: ${reply.error.text}`;
    this.#tree.markSaved();
    return undefined;
  }

  /** Every way to a file leads through this function of Emscripten. */
  #listBeforeLooking(): void {
    const look = this.#fs.lookupPath;
    this.#fs.lookupPath = (path, options) => {
      const isInside = posix.resolve(this.#fs.cwd(), path).startsWith(ROOT);
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
          if (attributes.size > 0) this.#load(file);
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
        this.#load(stream.node);
        return memory.read(stream, ...rest);
      },
      mmap: (stream, ...rest) => {
        this.#load(stream.node);
        return memory.mmap(stream, ...rest);
      },
      write: (stream, ...rest) => {
        this.#load(stream.node);
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

  /** Loads the content of a file. Throws an error of Emscripten, and notes why in words. */
  #load(node: FsNode): void {
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

  #read(node: FsNode): Uint8Array {
    this.#load(node);
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

/** The version of a file that the host has. Code made a file without one. */
interface ListedFile {
  readonly path: string;
  /** Null: it was saved from here, and not listed since. */
  readonly stamp: string | null;
  readonly bytes: number;
  isLoaded: boolean;
  isChanged: boolean;
}
interface ViewOperations {
  readonly folder: Partial<NodeOperations>;
  readonly file: Partial<NodeOperations>;
  readonly stream: Partial<StreamOperations>;
}

/** The files of the view: which the host listed, which code changed, moved or removed. */
class ViewTree {
  readonly #fs: Fs;
  readonly #memory: MemoryFs;
  readonly #operations: ViewOperations;
  readonly #listed = new WeakMap<FsNode, ListedFile>();
  /** Folders that a list made. They go with their last file. */
  readonly #listedFolders = new WeakSet<FsNode>();
  /** Paths of the files that the host has, as far as they are known. */
  #hostPaths = new Set<string>();
  #root: FsNode | undefined;

  constructor(fs: Fs, operations: ViewOperations) {
    this.#fs = fs;
    this.#memory = fs.filesystems.MEMFS;
    this.#operations = operations;
  }

  setRoot(root: FsNode): FsNode {
    this.#root = this.adopt(root);
    return root;
  }

  /** Gives a new node the operations of the view. */
  adopt(node: FsNode): FsNode {
    const { folder, file, stream } = this.#operations;
    const isFolder = this.#fs.isDir(node.mode);
    node.node_ops = { ...node.node_ops, ...(isFolder ? folder : file) };
    if (!isFolder) node.stream_ops = { ...node.stream_ops, ...stream };
    return node;
  }

  listedFile(node: FsNode): ListedFile | undefined {
    return this.#listed.get(node);
  }

  noteChange(node: FsNode): void {
    const listed = this.#listed.get(node);
    if (listed) Object.assign(listed, { isLoaded: true, isChanged: true });
  }

  *files(folder = this.#root, prefix = ""): Generator<readonly [path: string, node: FsNode]> {
    for (const [name, node] of Object.entries((folder?.contents ?? {}) as Record<string, FsNode>)) {
      if (this.#fs.isDir(node.mode)) yield* this.files(node, `${prefix}${name}/`);
      else yield [`${prefix}${name}`, node];
    }
  }

  changedFiles(): readonly (readonly [path: string, node: FsNode])[] {
    return [...this.files()].filter(([path, node]) => {
      const listed = this.#listed.get(node);
      return !listed || listed.isChanged || listed.path !== path;
    });
  }

  removedPaths(): readonly string[] {
    const present = new Set([...this.files()].map(([path]) => path));
    return [...this.#hostPaths].filter((path) => !present.has(path));
  }

  /** The host has what is here. */
  markSaved(): void {
    this.#hostPaths = new Set();
    for (const [path, node] of this.files()) {
      this.#hostPaths.add(path);
      const listed = this.#listed.get(node);
      if (listed && !listed.isChanged && listed.path === path) continue;
      this.#listed.set(node, { path, stamp: null, bytes: node.usedBytes, isLoaded: true, isChanged: false });
    }
  }

  /** Changes of code stay as they are. */
  replaceList(files: readonly CellFile[]): void {
    const wanted = new Map(files.map((file) => [file.path, file]));
    for (const [path, node] of [...this.files()]) {
      const listed = this.#listed.get(node);
      if (!listed || listed.isChanged || listed.path !== path) continue;
      if (wanted.get(path)?.stamp !== listed.stamp) this.#remove(node);
    }
    for (const file of files) this.#add(file);
    this.#hostPaths = new Set([...this.files()].map(([path]) => path).filter((path) => wanted.has(path)));
  }

  /** A file of the host that was not in the list. */
  addFile(file: CellFile): void {
    this.#add(file);
    this.#hostPaths.add(file.path);
  }

  /** Forgets all, changes of code too. */
  clear(): void {
    for (const [, node] of [...this.files()]) this.#remove(node);
    this.#hostPaths = new Set();
  }

  #add({ path, bytes, stamp }: CellFile): void {
    const names = path.split("/");
    const name = names.pop();
    let folder = this.#root;
    for (const one of names) folder = folder && this.#openFolder(folder, one);
    // A folder or a file of code is in the way.
    if (!folder || name === undefined || Object.hasOwn(folder.contents, name)) return;
    const node = this.adopt(this.#memory.ops_table.dir.node.mknod(folder, name, 0o100666, 0));
    node.usedBytes = bytes;
    this.#listed.set(node, { path, stamp, bytes, isLoaded: false, isChanged: false });
  }

  #openFolder(parent: FsNode, name: string): FsNode | undefined {
    const known = Object.hasOwn(parent.contents, name) ? (parent.contents as Record<string, FsNode>)[name] : undefined;
    if (known) return this.#fs.isDir(known.mode) ? known : undefined;
    const made = this.adopt(this.#memory.ops_table.dir.node.mknod(parent, name, 0o40777, 0));
    this.#listedFolders.add(made);
    return made;
  }

  #remove(node: FsNode): void {
    const { parent } = node;
    this.#memory.ops_table.dir.node.unlink(parent, node.name);
    this.#fs.hashRemoveNode(node);
    if (parent !== this.#root && this.#listedFolders.has(parent) && Object.keys(parent.contents).length === 0)
      this.#remove(parent);
  }
}
