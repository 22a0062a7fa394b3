/** load-python.ts -- starts Pyodide offline in a process whose ways out are closed, with goald's own Python. */
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { closeNode } from "./close-node.ts";
import { findPyodide } from "./find-pyodide.ts";
import type { Python } from "./pyodide.ts";

type LoadPyodide = (options: object) => Promise<Python>;

const SOURCES = new URL("./python/goald_cells/", import.meta.url);
/** In Python's own file system. */
const SOURCES_INSIDE = "/lib/goald/goald_cells";
/** Modules that most cells use. A snapshot holds them. */
const PRELOADED =
  "ast, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal, difflib, enum, fractions, functools, glob, hashlib, heapq, html, inspect, io, itertools, json, linecache, math, operator, os, pathlib, pickle, random, re, shutil, statistics, string, tempfile, textwrap, time, traceback, types, typing, unicodedata, urllib.parse, uuid, xml.etree.ElementTree, zipfile";

/** Files of goald's own Python, sorted by name. */
export const pythonSources = (): readonly (readonly [name: string, source: string])[] =>
  readdirSync(SOURCES)
    .filter((name) => name.endsWith(".py"))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, SOURCES), "utf8")] as const);

/** Bytes of a snapshot, or what makes one. */
export async function loadPython(
  start: { readonly snapshot: Uint8Array | null } | { readonly makes: true },
): Promise<Python> {
  const sources = pythonSources();
  const { folder, program } = findPyodide();
  await closeNode();
  const { loadPyodide } = (await import(pathToFileURL(program).href)) as { readonly loadPyodide: LoadPyodide };
  const python = await loadPyodide({
    indexURL: folder,
    // Python sees no object of JavaScript.
    jsglobals: Object.freeze(Object.create(null)),
    // Texts have the same order in sets after each start: code that runs again must do the same.
    env: { HOME: "/workspace", TZ: "UTC", LANG: "C.UTF-8", PYTHONHASHSEED: "0" },
    _sysExecutable: "python",
    stdin: () => null,
    stdout: () => undefined,
    stderr: () => undefined,
    ...("makes" in start ? { _makeSnapshot: true } : start.snapshot ? { _loadSnapshot: start.snapshot } : {}),
  });
  python.FS.mkdirTree(SOURCES_INSIDE);
  for (const [name, source] of sources) python.FS.writeFile(`${SOURCES_INSIDE}/${name}`, source);
  if ("makes" in start || !start.snapshot)
    python.runPython(`import sys; sys.path.append("/lib/goald"); import ${PRELOADED}; import goald_cells.cells`);
  return python;
}
