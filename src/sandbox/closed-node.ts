/**
 * closed-node.ts -- what Pyodide gets in place of node's modules for files, programs and the network, and of `ws`. It
 * reads Pyodide's own files while it starts, and nothing more.
 */
import { readFile as readAny } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { findPyodide } from "./python-files.ts";

/** Pyodide reads these of `node:fs`. */
export const constants = {};

export async function readFile(path: string, options: { readonly encoding?: "utf8" } = {}): Promise<string | Buffer> {
  if (dirname(path) !== findPyodide()) throw new Error("Not permitted in a cage.");
  return readAny(path, options);
}

/** `require` of Pyodide: gives nothing but this. */
export const createRequire = () => () => closed;

const closed = {
  constants,
  dirname,
  fileURLToPath,
  /** The exit code of a shell for a program that cannot be run. */
  spawnSync: () => ({ status: 126, signal: null, stdout: new Uint8Array(), stderr: new Uint8Array() }),
  /** For random numbers. */
  randomFillSync: (view: Uint8Array): Uint8Array => crypto.getRandomValues(view),
};
