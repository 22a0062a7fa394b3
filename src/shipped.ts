/** shipped.ts -- the version, the folder and the data files that goald ships with. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The folder with commands/, prompts/ and config/: the checkout, or `dist` of the published package. */
export const ROOT_FOLDER = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

/** The running checkout; undefined for a published package. */
export const CHECKOUT = existsSync(new URL("../tsconfig.json", import.meta.url)) ? ROOT_FOLDER : undefined;

export function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Reads a JSON file; `path` is relative to the shipped folder. */
export async function readShippedJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(new URL(`../${path}`, import.meta.url), "utf8"));
}
