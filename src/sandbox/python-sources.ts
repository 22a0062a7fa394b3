/** python-sources.ts -- goald's own Python, which runs in the sandbox. */
import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("./python/goald_cells/", import.meta.url);

/** Files, sorted by name. */
export const pythonSources = (): readonly (readonly [name: string, source: string])[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".py"))
    .sort()
    .map((name) => [name, readFileSync(new URL(name, FOLDER), "utf8")] as const);
