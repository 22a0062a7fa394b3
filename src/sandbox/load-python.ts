/** load-python.ts -- starts Pyodide offline in a process whose ways out are closed, with goald's own Python. */
import { pathToFileURL } from "node:url";
import { closeNode } from "./close-node.ts";
import { findPyodide } from "./find-pyodide.ts";
import type { Python } from "./pyodide.ts";
import { pythonSources } from "./python-sources.ts";

type LoadPyodide = (options: object) => Promise<Python>;

/** In Python's own file system. */
const SOURCES_INSIDE = "/lib/goald/goald_cells";
/** Modules that most cells use. A snapshot holds them. */
const PRELOADED =
  "ast, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal, difflib, enum, fractions, functools, glob, hashlib, heapq, html, inspect, io, itertools, json, linecache, math, operator, os, pathlib, pickle, random, re, shutil, statistics, string, tempfile, textwrap, time, traceback, types, typing, unicodedata, urllib.parse, uuid, xml.etree.ElementTree, zipfile";

interface PythonStart {
  readonly snapshot?: Uint8Array;
  readonly makesSnapshot?: boolean;
}

/** Closes node first. */
export async function loadPython({ snapshot, makesSnapshot = false }: PythonStart): Promise<Python> {
  const sources = pythonSources();
  const { folder, program } = findPyodide();
  await closeNode();
  const { loadPyodide } = (await import(pathToFileURL(program).href)) as { readonly loadPyodide: LoadPyodide };
  const options = {
    indexURL: folder,
    _sysExecutable: "python",
    // Python sees no object of JavaScript.
    jsglobals: Object.freeze(Object.create(null)),
    // Texts have the same order in sets after each start: code that runs again must do the same.
    env: { HOME: "/workspace", TZ: "UTC", LANG: "C.UTF-8", PYTHONHASHSEED: "0" },
    stdin: () => null,
    stdout: () => undefined,
    stderr: () => undefined,
  };
  const python = await loadPyodide({
    ...options,
    ...(makesSnapshot ? { _makeSnapshot: true } : {}),
    ...(snapshot ? { _loadSnapshot: snapshot } : {}),
  });
  python.FS.mkdirTree(SOURCES_INSIDE);
  for (const [name, source] of sources) python.FS.writeFile(`${SOURCES_INSIDE}/${name}`, source);
  if (!snapshot)
    python.runPython(`import sys; sys.path.append("/lib/goald"); import ${PRELOADED}; import goald_cells.cells`);
  return python;
}
