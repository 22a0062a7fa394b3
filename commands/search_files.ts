/**
 * search_files -- shows the files of a folder as a tree with sizes, or the lines that contain a text.
 *
 * Files, bytes, results and the length of the answer are limited; the answer names the limit that ended the search. Links
 * are not followed. Hidden folders and goald's own are skipped unless the directory is inside them.
 */
import { type CommandContext, defineCommand, fail, succeed, type Workspace } from "#core/command.ts";
import { isGoaldError } from "#core/errors.ts";
import { tidyPath } from "#core/guarded-files.ts";
import { countNoun, formatSize } from "#core/text.ts";
import { createFileTree, type FileTree } from "#util/file-tree.ts";
import { isBinary } from "#util/media-format.ts";

const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_ALL_BYTES = 128 * 1024 * 1024;
const MAX_CHARS = 16_000;
const DEFAULT_LIMIT = 100;
/** Characters of a line shown around a match. */
const EXCERPT_CHARS = 200;

export default defineCommand({
  name: "search_files",
  label: "Search Files",
  group: "files",
  summary: "lists the files of a folder, or the lines that hold a text.",
  args: {
    type: "object",
    properties: {
      directory: {
        type: "string",
        description: "relative path of a folder, empty for all",
      },
      text: { type: "string", description: "lists the lines with this text" },
      limit: {
        type: "integer",
        description: "most results, default 100",
        minimum: 1,
        maximum: 1000,
      },
    },
    required: ["directory"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  returns: {
    type: "array",
    description: "paths; with text: file, line and text of each match",
  },
  effect: "pure",

  async run({ directory, text = "", limit = DEFAULT_LIMIT }, { workspace, signal }) {
    const asked = { workspace, root: directory === "/" ? "" : directory, limit, signal };
    const counts = { files: 0, bytes: 0, chars: 0, left: new Set<string>(), skipped: 0, stopped: "" };
    const search: FileSearch = { ...asked, results: [], found: [], ...counts };
    try {
      const shown = text === "" ? await showTree(search) : await searchFolder(search, text);
      return succeed(shown, { source: "workspace", value: search.found });
    } catch (error) {
      if (!isGoaldError(error, "GOALD_FILE_MISSING")) throw error;
      return fail(
        "folder-missing",
        `There is no folder ${JSON.stringify(directory)}. ${await suggestFolders(workspace)}`,
      );
    }
  },
});

/** A search has its folder and text, and counts its results and cost so far. */
interface FileSearch extends Pick<CommandContext, "workspace" | "signal"> {
  readonly root: string;
  /** Maximum of results. */
  readonly limit: number;
  readonly results: string[];
  /** The same for code: paths, or lines that match. */
  readonly found: unknown[];
  files: number;
  bytes: number;
  chars: number;
  /** Skipped folders. */
  readonly left: Set<string>;
  /** Number of large or binary files that were not searched. */
  skipped: number;
  /** Reason of an early end; else empty. */
  stopped: string;
}

async function showTree(search: FileSearch): Promise<string> {
  const { root, limit } = search;
  let tree: FileTree | undefined;
  for await (const file of walkFiles(search)) {
    tree ??= createFileTree(findRoot(file.path, root));
    tree.add(file);
    search.found.push(file.path);
  }
  const shown: string[] = [];
  for (const line of tree?.render(limit) ?? []) {
    search.chars += line.length + 1;
    if (search.chars > MAX_CHARS) {
      search.stopped = `at ${shown.length} lines, which fill the answer`;
      break;
    }
    shown.push(line);
  }
  const size = tree && tree.files > 0 ? `, ${formatSize(tree.bytes)},` : "";
  const head = `${countNoun(search.files, "file")}${size} in ${nameRoot(root)}`;
  return [`${head}${shown.length > 0 ? ":" : "."}`, ...shown, ...listNotes(search)].join("\n");
}

/** The folder as paths contain it: "" or with a slash at its end. `root` may be absolute or a detour. */
function findRoot(path: string, root: string): string {
  const steps = tidyPath(root).split("/");
  const endings = steps.map((_step, index) => `${steps.slice(index).join("/")}/`);
  return endings.find((ending) => path.startsWith(ending)) ?? "";
}

async function searchFolder(search: FileSearch, text: string): Promise<string> {
  await findLines(search, lowerCase(text));
  const { results, files, root } = search;
  const head = `${countNoun(results.length, "line")} with ${JSON.stringify(text.slice(0, 80))} in ${countNoun(files, "file")} of ${nameRoot(root)}`;
  return [`${head}${results.length > 0 ? ":" : "."}`, ...results, ...listNotes(search)].join("\n");
}

async function findLines(search: FileSearch, needle: string): Promise<void> {
  const { workspace, limit } = search;
  for await (const { path, bytes: size } of walkFiles(search)) {
    // A file may be removed after it was listed.
    const bytes = size > MAX_FILE_BYTES ? undefined : await workspace.read(path).catch(() => undefined);
    if (!bytes || isBinary(bytes)) {
      search.skipped += 1;
      continue;
    }
    search.bytes += bytes.length;
    for (const match of matchLines(new TextDecoder().decode(bytes), needle)) {
      const result = `${path}:${match.line}: ${match.text}`;
      if (search.results.length === limit) search.stopped = `at ${limit} results`;
      else if (search.chars + result.length > MAX_CHARS)
        search.stopped = `at ${search.results.length} results, which fill the answer`;
      if (search.stopped) return;
      search.results.push(result);
      search.found.push({ file: path, ...match });
      search.chars += result.length + 1;
    }
  }
}

/** Skips hidden folders and goald's own below the root, and ends at the limits. */
async function* walkFiles(search: FileSearch): ReturnType<Workspace["list"]> {
  const isEntered = (folder: string): boolean => {
    const isHidden = /(?:^|\/)(?:\.[^/]*|_goald)$/.test(folder);
    if (isHidden) search.left.add(`${folder}/`);
    return !isHidden;
  };
  for await (const file of search.workspace.list(search.root, isEntered)) {
    search.signal.throwIfAborted();
    if (search.files === MAX_FILES) search.stopped = `after ${MAX_FILES} files`;
    else if (search.bytes > MAX_ALL_BYTES) search.stopped = `after ${MAX_ALL_BYTES / 1024 / 1024} MB of text`;
    if (search.stopped) return;
    search.files += 1;
    yield file;
  }
}

interface LineMatch {
  readonly line: number;
  readonly text: string;
}

/** Yields matching lines lazily, since a file may have millions. */
function* matchLines(content: string, needle: string): Generator<LineMatch> {
  const lower = lowerCase(content);
  let line = 1;
  let start = 0;
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, start)) {
    for (let end = content.indexOf("\n", start); end >= 0 && end < at; end = content.indexOf("\n", start)) {
      start = end + 1;
      line += 1;
    }
    const end = content.indexOf("\n", at);
    yield { line, text: cutExcerpt(content.slice(start, end < 0 ? undefined : end), at - start) };
    if (end < 0) return;
    start = end + 1;
    line += 1;
  }
}

/** Keeps the length, so that indexes stay valid: `İ` alone would become two characters. */
const lowerCase = (text: string): string => text.replaceAll("İ", "i").toLowerCase();

function cutExcerpt(line: string, at: number): string {
  const start = Math.max(0, Math.min(at - EXCERPT_CHARS / 4, line.length - EXCERPT_CHARS));
  const part = line
    .slice(start, start + EXCERPT_CHARS)
    .toWellFormed()
    .trim();
  return `${start > 0 ? "…" : ""}${part}${start + EXCERPT_CHARS < line.length ? "…" : ""}`;
}

const nameRoot = (root: string): string => (root === "" || root === "." ? "the workspace" : root);

const listNotes = ({ stopped, skipped, left }: FileSearch): readonly string[] =>
  [
    stopped && `Stopped ${stopped}: there may be more. Name a smaller directory or a longer text.`,
    skipped > 0 && `${countNoun(skipped, "file")} not searched: binary, or over ${MAX_FILE_BYTES / 1024 / 1024} MB.`,
    left.size > 0 && `Left out: ${[...left].slice(0, 10).join(", ")}. Name such a directory to look inside.`,
  ].filter((note): note is string => typeof note === "string" && note !== "");

async function suggestFolders(workspace: Workspace): Promise<string> {
  const names = new Set<string>();
  let walked = 0;
  for await (const { path } of workspace.list("")) {
    walked += 1;
    if (path.includes("/")) names.add(`${path.slice(0, path.indexOf("/"))}/`);
    if (names.size === 10 || walked === MAX_FILES) break;
  }
  return names.size === 0 ? "The workspace has no folders." : `Folders there: ${[...names].join(", ")}.`;
}
