/** pyodide.ts -- the parts of Pyodide and of Emscripten's file system that the Python engine uses, as types. */

export interface FsNode {
  name: string;
  readonly parent: FsNode;
  readonly mode: number;
  /** Of a file: its storage, which may be longer than `usedBytes`. Of a folder: its nodes by name. */
  contents: Uint8Array | Record<string, FsNode>;
  usedBytes: number;
  node_ops: NodeOperations;
  stream_ops: StreamOperations;
  name_next?: FsNode;
}
export interface FsStream {
  readonly node: FsNode;
}
export interface FsAttributes {
  readonly size?: number;
}

export interface NodeOperations {
  setattr(node: FsNode, attributes: FsAttributes): void;
  mknod(parent: FsNode, name: string, mode: number, device: number): FsNode;
  rename(node: FsNode, folder: FsNode, name: string): void;
  unlink(parent: FsNode, name: string): void;
  symlink(parent: FsNode, name: string, target: string): FsNode;
}
export interface StreamOperations {
  read(stream: FsStream, buffer: Uint8Array, offset: number, length: number, position: number): number;
  write(
    stream: FsStream,
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
    canOwn?: boolean,
  ): number;
  mmap(stream: FsStream, length: number, position: number, protection: number, flags: number): unknown;
  msync(stream: FsStream, buffer: Uint8Array, offset: number, length: number, flags: number): number;
}

export interface MemoryFs {
  readonly ops_table: {
    readonly dir: { readonly node: NodeOperations; readonly stream: StreamOperations };
    readonly file: { readonly node: NodeOperations; readonly stream: StreamOperations };
  };
  mount(mount: unknown): FsNode;
}

export interface Fs {
  readonly filesystems: Record<string, unknown> & { readonly MEMFS: MemoryFs };
  readonly nameTable: readonly (FsNode | undefined)[];
  readonly streams: readonly (FsStream | null | undefined)[];
  readonly ErrnoError: new (code: number) => Error;
  lookupPath(path: string, options?: object): { readonly path: string; readonly node?: FsNode };
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  mount: (type: object, options: object, path: string) => unknown;
  unmount: unknown;
  mkdirTree(path: string): void;
  cwd(): string;
  chdir(path: string): void;
  chmod(path: string, mode: number): void;
  writeFile(path: string, text: string): void;
  hashRemoveNode(node: FsNode): void;
}

export type PythonObject = (...args: readonly unknown[]) => unknown;
export interface Python {
  readonly FS: Fs;
  readonly ERRNO_CODES: Readonly<Record<string, number>>;
  runPython(code: string): unknown;
  pyimport(name: string): Readonly<Record<string, PythonObject>>;
  setInterruptBuffer(buffer: unknown): void;
  setStdout(options: object): void;
  setStderr(options: object): void;
  setStdin(options: object): void;
  makeMemorySnapshot(): Uint8Array;
}
