/** file-tree.ts -- the files of the view: which the host listed, which code changed, moved or removed. */
import type { CellFile } from "#core/ports/sandbox.ts";
import type { Fs, FsNode, MemoryFs, NodeOperations, StreamOperations } from "./pyodide.ts";

/** The version of a file that the host has. Code made a file without one. */
export interface ListedFile {
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

export class ViewTree {
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

  *files(): Generator<readonly [path: string, node: FsNode]> {
    if (this.#root) yield* this.#filesIn(this.#root, "");
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
    this.#hostPaths = new Set(wanted.keys());
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
    if (!folder || name === undefined || name in folder.contents) return;
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

  *#filesIn(folder: FsNode, prefix: string): Generator<readonly [path: string, node: FsNode]> {
    for (const [name, node] of Object.entries(folder.contents as Record<string, FsNode>)) {
      if (this.#fs.isDir(node.mode)) yield* this.#filesIn(node, `${prefix}${name}/`);
      else yield [`${prefix}${name}`, node];
    }
  }
}
