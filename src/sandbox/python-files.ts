/** python-files.ts -- where the installed Pyodide is. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { dirname } from "node:path";

let found: string | undefined;

/** Returns the package's folder. Throws when it is not installed. */
export function findPyodide(): string {
  found ??= dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  return found;
}

/** Takes less than the 2.5 ms of CPU of resolving it, at each start. `from`: the file from which it is searched. */
export function hasPyodide(from: string = import.meta.url): boolean {
  try {
    return findPackageJSON("pyodide", from) !== undefined;
  } catch {
    return false;
  }
}

const FOLDER = new URL("./python/goald_cells/", import.meta.url);

/** Goald's own Python, sorted by file name. */
export const pythonSources = (): readonly (readonly [name: string, source: string])[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".py"))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, FOLDER), "utf8")] as const);

export const DIGEST_BYTES = 32;

/** The file of a start-up snapshot: its bytes, and their SHA-256 after them. */
export const withDigest = (snapshot: Uint8Array): readonly Uint8Array[] => [
  snapshot,
  createHash("sha256").update(snapshot).digest(),
];

export const withoutDigest = (file: Uint8Array): Uint8Array => file.subarray(0, file.length - DIGEST_BYTES);
