/** load-python.ts -- starts Pyodide offline in a process whose ways out are closed, with goald's own Python. */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { closeNetwork, refuse } from "#cage/close-network.ts";
import type { Python } from "./pyodide.ts";
import { findPyodide, pythonSources } from "./python-files.ts";

/** In Python's own file system. */
const SOURCES_INSIDE = "/lib/goald/goald_cells";
/** Modules that most cells use. A snapshot holds them. */
const PRELOADED =
  "ast, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal, difflib, enum, fractions, functools, glob, hashlib, heapq, html, inspect, io, itertools, json, linecache, math, operator, os, pathlib, pickle, random, re, shutil, statistics, string, tempfile, textwrap, time, traceback, types, typing, unicodedata, urllib.parse, uuid, xml.etree.ElementTree, zipfile";

interface SnapshotOptions {
  readonly _loadSnapshot?: Uint8Array;
  readonly _makeSnapshot?: true;
}

/** Closes node first. */
export async function loadPython(options: SnapshotOptions = {}): Promise<Python> {
  const sources = pythonSources();
  const folder = findPyodide();
  await closeNode();
  const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
  const python: Python = await loadPyodide({
    indexURL: folder,
    _sysExecutable: "python",
    // Python sees no object of JavaScript.
    jsglobals: Object.freeze(Object.create(null)),
    // Texts have the same order in sets after each start: code that runs again must do the same.
    env: { HOME: "/workspace", TZ: "UTC", LANG: "C.UTF-8", PYTHONHASHSEED: "0" },
    stdin: () => null,
    stdout: () => undefined,
    stderr: () => undefined,
    ...options,
  });
  python.FS.mkdirTree(SOURCES_INSIDE);
  for (const [name, source] of sources) python.FS.writeFile(`${SOURCES_INSIDE}/${name}`, source);
  if (!options._loadSnapshot)
    python.runPython(`import sys; sys.path.append("/lib/goald"); import ${PRELOADED}; import goald_cells.cells`);
  return python;
}

const CLOSED_MODULES = new Set(
  ["child_process", "fs", "fs/promises", "module", "net", "tls", "vm"].map((name) => `node:${name}`).concat("ws"),
);
const CLOSED_PROCESS =
  "abort chdir exit reallyExit execve loadEnvFile umask setuid setgid seteuid setegid setgroups initgroups".split(" ");
const CLOSED_URL = new URL(`./closed-node${extname(import.meta.url)}`, import.meta.url).href;

/**
 * Closes node to Pyodide before it is loaded: its modules, its environment, and what changes the process. Code in a
 * cell may reach objects of JavaScript through a hole in Pyodide. Then it finds no way on. The cage is the boundary.
 * Waits for the modules that replace those of node.
 */
async function closeNode(): Promise<void> {
  await import("./closed-node.ts");
  closeNetwork();
  // The newest hook is asked first.
  registerHooks({
    resolve: (name, context, resolveNext) =>
      CLOSED_MODULES.has(name) ? { url: CLOSED_URL, shortCircuit: true } : resolveNext(name, context),
  });
  for (const name of CLOSED_PROCESS) Reflect.defineProperty(process, name, { value: refuse, configurable: false });
  // Emscripten reads constants of the file system by it.
  const binding = (name: string): object => (name === "constants" ? { fs: {} } : refuse());
  Reflect.defineProperty(process, "binding", { value: binding, writable: false });
  process.argv.splice(0);
  for (const name of ["log", "error", "warn", "info", "debug", "trace", "dir", "table"] as const)
    console[name] = () => undefined;
}

const INTRINSICS = (
  "Object Function Array Map Set WeakMap WeakSet Promise RegExp Date Error TypeError RangeError String Number " +
  "Boolean Symbol BigInt ArrayBuffer SharedArrayBuffer DataView Uint8Array Int8Array Uint16Array Int16Array " +
  "Uint32Array Int32Array Float32Array Float64Array BigInt64Array BigUint64Array JSON Math Reflect Proxy Atomics " +
  "WebAssembly TextDecoder TextEncoder URL Buffer"
).split(" ");

/**
 * Freezes the objects of JavaScript itself, so that code that reaches one of them changes none. Without it, a setter on
 * `Object.prototype` could catch objects of Emscripten, such as its `mount`.
 */
export function freezeIntrinsics(): void {
  const done = new Set<object>();
  const named = INTRINSICS.map((name): unknown => Reflect.get(globalThis, name));
  for (const value of [...named, Object.getPrototypeOf(Uint8Array)]) {
    if (!isObject(value)) continue;
    if ("prototype" in value) freeze(value.prototype, done);
    freeze(value, done);
  }
  const instances = [[][Symbol.iterator](), (function* () {})(), async () => undefined];
  for (const instance of instances) freeze(Object.getPrototypeOf(instance), done);
  const { Memory } = Reflect.get(globalThis, "WebAssembly") as { readonly Memory: { readonly prototype: object } };
  freeze(Memory.prototype, done);
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

function freeze(value: unknown, done: Set<object>): void {
  if (!isObject(value) || done.has(value)) return;
  done.add(value);
  if (isPrototype(value)) for (const key of Reflect.ownKeys(value)) makeShadowable(value, key);
  if (value === Error) freezeError();
  else Object.freeze(value);
}

/** Pyodide sets its limit of stack frames. */
function freezeError(): void {
  for (const key of Reflect.ownKeys(Error))
    if (key !== "stackTraceLimit") Reflect.defineProperty(Error, key, { writable: false, configurable: false });
  Object.preventExtensions(Error);
}

const isPrototype = (value: object): boolean =>
  (value as { constructor?: { prototype?: unknown } }).constructor?.prototype === value;

/** An object below may still have a property of this name. A frozen plain property would forbid the assignment. */
function makeShadowable(prototype: object, key: PropertyKey): void {
  const { configurable, enumerable = false, value, ...rest } = Reflect.getOwnPropertyDescriptor(prototype, key) ?? {};
  if (!configurable || !("writable" in rest)) return;
  Reflect.defineProperty(prototype, key, {
    configurable: false,
    enumerable,
    get: () => value,
    set(this: object, given: unknown) {
      if (this === prototype) throw new TypeError("It is frozen.");
      Reflect.defineProperty(this, key, { value: given, writable: true, enumerable: true, configurable: true });
    },
  });
}
