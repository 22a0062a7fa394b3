/** python-engine.ts -- runs cells of Python by Pyodide: closes what it could reach, and connects it to its host. */
import { readFileSync } from "node:fs";
import type { CellOutcome } from "#core/ports/sandbox.ts";
import { MEBIBYTE } from "#core/text.ts";
import { FileView, ROOT } from "./file-view.ts";
import { freezeIntrinsics, loadPython } from "./load-python.ts";
import {
  type EngineHost,
  type GuestCell,
  type GuestOptions,
  MAX_FILE_BYTES,
  MAX_QUESTION_BYTES,
  type Question,
  type RunCell,
} from "./protocol.ts";
import type { Fs, FsNode, Python } from "./pyodide.ts";
import { withoutDigest } from "./python-files.ts";

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(this: WasmMemory, pages: number): number;
}

const WASM_PAGE_BYTES = 65_536;
/** SIGINT: Python raises KeyboardInterrupt. */
const INTERRUPT = 2;
/** Code that goes on after an interrupt gets another one after this time. */
const NEXT_INTERRUPT_MS = 40;
/** Time between two lines that are shown. */
const SHOW_EVERY_MS = 250;
const now = performance.now.bind(performance);

export async function openEngine({ memoryMegabytes, snapshot }: GuestOptions, host: EngineHost): Promise<RunCell> {
  limitMemory(memoryMegabytes * MEBIBYTE);
  const setClock = replaceClock();
  const python = await startPython(snapshot);
  const { FS } = python;
  limitStoredBytes(FS, python.ERRNO_CODES);
  const files = new FileView(FS, python.ERRNO_CODES, host);
  closePython(python);
  const { buffer, ...watch } = watchClock(host);
  python.setInterruptBuffer(buffer);
  const cells = connect(python, host, files, watch);
  // The stack of an error that reaches Python would name files of this machine.
  Error.stackTraceLimit = 0;
  freezeIntrinsics();
  const withoutKnown = createFunctionFilter();
  let depth = 0;
  return (cell, saved) => {
    setClock(cell.startedAt);
    files.expectChanges();
    // Not of a cell inside a wait, whose outer cell goes on.
    if (depth === 0 && FS.cwd() !== ROOT) FS.chdir(ROOT);
    depth += 1;
    const outcome = cells.run?.(JSON.stringify({ cell: withoutKnown(cell), saved }));
    depth -= 1;
    return JSON.parse(String(outcome)) as CellOutcome;
  };
}

/** Leaves out functions that are those of the cell before: a thousand of them take Python tens of milliseconds. */
function createFunctionFilter(): (cell: GuestCell) => object {
  let last = "";
  return (cell) => {
    const text = JSON.stringify(cell.functions);
    const { functions, ...rest } = cell;
    const isKnown = text === last;
    last = text;
    return isKnown ? rest : { ...rest, functions };
  };
}

/** Starts without a snapshot that does not work. */
async function startPython(snapshot: string | null): Promise<Python> {
  if (snapshot === null) return loadPython();
  return loadPython({ _loadSnapshot: withoutDigest(readFileSync(snapshot)) }).catch(() => loadPython());
}

/** Growth of Python's memory beyond the limit fails, which raises MemoryError. */
function limitMemory(maxBytes: number): void {
  const { Memory } = Reflect.get(globalThis, "WebAssembly") as { readonly Memory: { readonly prototype: WasmMemory } };
  const { grow } = Memory.prototype;
  Memory.prototype.grow = function (pages: number): number {
    if (this.buffer.byteLength + pages * WASM_PAGE_BYTES > maxBytes)
      throw new RangeError("The limit of memory is reached.");
    return grow.call(this, pages);
  };
}

/** Python's clock starts at a given time for each cell, so that code that runs again reads about the same. */
function replaceClock(): (startedAt: string) => void {
  const parse = Date.parse.bind(Date);
  let start = Date.now();
  let since = now();
  Date.now = () => Math.floor(start + now() - since);
  return (startedAt) => {
    [start, since] = [parse(startedAt), now()];
  };
}

/**
 * Python reads the buffer between its instructions, at each fiftieth jump or call. Then a printed line is shown, too, that came
 * too soon after another one.
 */
function watchClock(host: EngineHost) {
  let isWatched = false;
  let limit = Infinity;
  let notBefore = 0;
  let printed: string | undefined;
  let notShownBefore = 0;
  const showPrinted = (): void => {
    if (printed === undefined || now() < notShownBefore) return;
    notShownBefore = now() + SHOW_EVERY_MS;
    host.show(printed);
    printed = undefined;
  };
  const print = (line: string): void => {
    printed = line;
    showPrinted();
  };
  const buffer = {
    length: 1,
    get 0(): number {
      if (isWatched) showPrinted();
      if (!isWatched || now() < notBefore || (host.timeLeftMs() > 0 && now() < limit)) return 0;
      notBefore = now() + NEXT_INTERRUPT_MS;
      return INTERRUPT;
    },
    set 0(_: number) {
      // Python takes the signal by writing 0.
    },
  };
  /** Returns what was so before. `limitMs`: less time than the cell has. */
  const watchTime = (value: boolean, limitMs?: number): boolean => {
    const before = isWatched;
    // Each cell begins and ends without a watch, and its first line is shown at once.
    if (!value) [printed, notShownBefore] = [undefined, 0];
    isWatched = value;
    limit = now() + (limitMs ?? Infinity);
    return before;
  };
  return { watchTime, print, buffer };
}

type Watch = Omit<ReturnType<typeof watchClock>, "buffer">;

/** Gives Python its functions, all that it has of JavaScript. Returns the module of cells. */
function connect(python: Python, host: EngineHost, files: FileView, { watchTime, print }: Watch) {
  const { connect: setFunctions } = python.pyimport("goald_cells.host");
  const cells = python.pyimport("goald_cells.cells");
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const wait = Atomics.wait;
  const ask = (text: string): string => {
    if (Buffer.byteLength(text) > MAX_QUESTION_BYTES - 1_024)
      return JSON.stringify({ error: { code: "too-large", text: "Too large: save it with open(), pass its name." } });
    const unsaved = files.save();
    if (unsaved !== undefined) return JSON.stringify({ unsaved });
    const question = { ...(JSON.parse(text) as object), type: "ask" } as Question;
    const { reply } = host.ask(question);
    if (reply.changesFiles || question.what === "run") files.expectChanges();
    if ("change" in reply && reply.change) cells.apply?.(JSON.stringify(reply.change));
    return JSON.stringify("error" in reply ? { error: reply.error } : { value: reply.value });
  };
  const endCode = (): string => {
    host.endCode();
    return files.save() ?? "";
  };
  const functions = [
    ask,
    () => host.startCode(),
    endCode,
    watchTime,
    () => host.timeLeftMs(),
    (milliseconds: number) => void wait(sleeper, 0, 0, milliseconds),
    () => files.takeRefusal(),
    print,
  ];
  setFunctions?.(...functions.map(harden));
  cells.start?.();
  return cells;
}

/** Python gets an object without a prototype, and no stack of this process with an error. */
function harden(call: (...args: never[]) => unknown): object {
  const hardened = (...args: never[]): unknown => {
    try {
      return call(...args);
    } catch {
      throw Object.assign(new Error("The sandbox has failed."), { stack: "" });
    }
  };
  Object.setPrototypeOf(hardened, null);
  return Object.freeze(hardened);
}

/** Takes away what of JavaScript and of Emscripten's file systems Python could reach. */
function closePython(python: Python): void {
  const { FS } = python;
  const sink = { write: (bytes: Uint8Array): number => bytes.length, isatty: false };
  python.setStdout(sink);
  python.setStderr(sink);
  python.setStdin({ stdin: () => null, isatty: false });
  // What code writes outside of its folder would be lost without a word. /tmp remains.
  for (const folder of ["/", "/home", "/lib"]) FS.chmod(folder, 0o555);
  closeFileSystems(FS, python.ERRNO_CODES.EPERM ?? 1);
  python.runPython(`
import os, sys
for name in [name for name in sys.modules if name.partition(".")[0] in ("js", "pyodide_js", "_pyodide_core") or name in ("pyodide.http", "pyodide.code")]:
    del sys.modules[name]
sys.meta_path[:] = [finder for finder in sys.meta_path if "JsFinder" not in type(finder).__name__]
os.chdir("/workspace")
`);
}

function closeFileSystems(FS: Fs, errno: number): void {
  const refuse = (): never => {
    throw new FS.ErrnoError(errno);
  };
  FS.mount = refuse;
  FS.unmount = refuse;
  for (const name of Object.keys(FS.filesystems)) Reflect.deleteProperty(FS.filesystems, name);
}

const MAX_STORED_BYTES = 192 * MEBIBYTE;
/** All files are counted when they have grown by this much. */
const COUNT_EVERY_BYTES = 8 * MEBIBYTE;

/** Also for files that are made later. */
function limitStoredBytes(FS: Fs, errors: Readonly<Record<string, number>>): void {
  const { file } = FS.filesystems.MEMFS.ops_table;
  const { write } = file.stream;
  const { setattr } = file.node;
  let stored = countBytes(FS);
  let grown = 0;
  const grow = (node: FsNode, size: number): void => {
    if (size > MAX_FILE_BYTES) throw new FS.ErrnoError(errors.EFBIG ?? 0);
    const more = size - (node.contents as Uint8Array).byteLength;
    if (more <= 0) return;
    grown += more;
    if (grown > COUNT_EVERY_BYTES || stored + grown > MAX_STORED_BYTES) [stored, grown] = [countBytes(FS) + more, 0];
    if (stored + grown > MAX_STORED_BYTES) throw new FS.ErrnoError(errors.ENOSPC ?? 0);
  };
  file.stream.write = (stream, buffer, offset, length, position, canOwn) => {
    grow(stream.node, position + length);
    return write(stream, buffer, offset, length, position, canOwn);
  };
  file.node.setattr = (node, attributes) => {
    if (attributes.size !== undefined) grow(node, attributes.size);
    setattr(node, attributes);
  };
}

/** Removed files count as long as they are open. */
function countBytes(FS: Fs): number {
  const nodes = new Set<FsNode>();
  for (const first of FS.nameTable) for (let node = first; node; node = node.name_next) nodes.add(node);
  for (const stream of FS.streams) if (stream) nodes.add(stream.node);
  let sum = 0;
  for (const { contents } of nodes) if (ArrayBuffer.isView(contents)) sum += contents.byteLength;
  return sum;
}
