/**
 * ingest-read.ts -- reads the named files, and the files below named folders.
 *
 * Links inside a folder, hidden files, node_modules, binary and large files are skipped, each with a reason. Memories that
 * were read from a skipped file earlier stay.
 */
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";

export interface Skipped {
  readonly path: string;
  readonly reason: string;
}
export interface FoundText {
  /** Absolute path with links resolved. */
  readonly path: string;
  readonly text: string;
  readonly format: "markdown" | "plain";
}

const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_FILES = 20_000;
const MARKDOWN: ReadonlySet<string> = new Set([".md", ".markdown", ".mdx", ".mkd"]);

/** Returns the real path and kind, or undefined when nothing is there. Throws GOALD_FILE. */
export async function placeOf(
  given: string,
): Promise<{ readonly path: string; readonly isFolder: boolean } | undefined> {
  try {
    const path = await realpath(resolve(given));
    const found = await stat(path);
    if (!found.isDirectory() && !found.isFile())
      throw new GoaldError("GOALD_FILE", `${given} is neither a file nor a folder.`);
    return { path, isFolder: found.isDirectory() };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    if (isGoaldError(thrown)) throw thrown;
    throw new GoaldError("GOALD_FILE", `${given} cannot be read: ${toError(thrown).message}`);
  }
}

/** Resolves to true when the path does not exist. */
export async function isGone(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (thrown) => codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR",
  );
}

/** Lists the files below a folder by name, and reports skipped ones. Throws GOALD_USAGE for too many. */
export async function* filesBelow(folder: string, skip: (skipped: Skipped) => void): AsyncGenerator<string> {
  let count = 0;
  for (const folders = [folder]; folders.length > 0; ) {
    const current = folders.pop() as string;
    const entries = await readdir(current, { withFileTypes: true }).catch((thrown) => {
      skip({ path: current, reason: toError(thrown).message });
      return [];
    });
    const inner: string[] = [];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(current, entry.name);
      if (entry.isSymbolicLink()) skip({ path, reason: "a link" });
      else if (entry.name.startsWith(".")) skip({ path, reason: "hidden" });
      else if (entry.name === "node_modules") skip({ path, reason: "packages" });
      else if (entry.isDirectory()) inner.push(path);
      else if (!entry.isFile()) skip({ path, reason: "not a file" });
      else if (++count > MAX_FILES) throw tooMany(folder);
      else yield path;
    }
    folders.push(...inner.reverse());
  }
}

/** Returns undefined for a skipped file. */
export async function readText(path: string, skip: (skipped: Skipped) => void): Promise<FoundText | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) return void skip({ path, reason: `larger than ${MAX_FILE_BYTES / 1024 / 1024} MB` });
    const bytes = await readFile(path);
    const text = bytes.includes(0) ? undefined : decode(bytes);
    if (text === undefined) return void skip({ path, reason: "not text" });
    return { path, text, format: MARKDOWN.has(extname(path).toLowerCase()) ? "markdown" : "plain" };
  } catch (thrown) {
    return void skip({ path, reason: toError(thrown).message });
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const codeOf = (thrown: unknown): unknown => (thrown as { readonly code?: unknown } | null)?.code;

const tooMany = (folder: string): GoaldError =>
  new GoaldError("GOALD_USAGE", `There are more than ${MAX_FILES} files below ${folder}.`, {
    hint: "Name only the folders that you need.",
  });
