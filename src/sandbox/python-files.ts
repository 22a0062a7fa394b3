/** python-files.ts -- where the installed Pyodide is. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

let found: string | undefined;

/** Returns the package's folder. Throws when it is not installed. */
export function findPyodide(): string {
  found ??= dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  return found;
}

/**
 * Looks for the package's folder as Node does: 0.15 ms of CPU at each start, where resolving it takes 2.5. `from`: the file from
 * which it is searched.
 */
export function hasPyodide(from: string = import.meta.url): boolean {
  return foldersAbove(fileURLToPath(from)).some((folder) =>
    existsSync(join(folder, "node_modules", "pyodide", "package.json")),
  );
}

function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}

// Goald's own Python, which runs in the sandbox.

const FOLDER = new URL("./python/goald_cells/", import.meta.url);

/** Files, sorted by name. */
export const pythonSources = (): readonly (readonly [name: string, source: string])[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".py"))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, FOLDER), "utf8")] as const);

// The file of a start-up snapshot: its bytes, and their SHA-256 after them.

export const DIGEST_BYTES = 32;

export const withDigest = (snapshot: Uint8Array): readonly Uint8Array[] => [
  snapshot,
  createHash("sha256").update(snapshot).digest(),
];

export const withoutDigest = (file: Uint8Array): Uint8Array => file.subarray(0, file.length - DIGEST_BYTES);
