/** find-pyodide.ts -- where the installed Pyodide is. */
import { createRequire } from "node:module";
import { dirname } from "node:path";

export interface PyodidePlace {
  readonly folder: string;
  /** Absolute path of its ES module. */
  readonly program: string;
}

let found: PyodidePlace | undefined;

/** Throws when it is not installed. */
export function findPyodide(): PyodidePlace {
  if (found) return found;
  const folder = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  found = { folder, program: `${folder}/pyodide.mjs` };
  return found;
}
