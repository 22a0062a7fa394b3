/**
 * search_files -- which files there are, and where a text stands in them.
 *
 * Bounded in every direction: files looked at, bytes read, results, and the length of the
 * answer; whichever bound is met is said at the end, and nothing is looked for beyond it. Links are not followed. Hidden folders and
 * goald's own are left out unless the directory asked for lies inside them.
 */
import { type CommandContext, defineCommand, fail, succeed } from "#core/command.ts";
import { countNoun } from "#core/text.ts";

type Workspace = CommandContext["workspace"];

const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_ALL_BYTES = 128 * 1024 * 1024;
const MAX_CHARS = 16_000;
const DEFAULT_LIMIT = 100;
const BINARY_BYTES = 8000;
/** Characters of a line around what was found. */
const EXCERPT_CHARS = 200;

export default defineCommand({
  name: "search_files",
  label: "Search Files",
  summary: 'lists a folder ("" is all of it), or the lines that hold a text.',
  args: {
    type: "object",
    properties: {
      directory: {
        type: "string",
        description: 'Relative path of a folder; "" for the whole workspace',
        hint: "directory",
      },
      text: { type: "string", description: "Show the lines that contain this; case does not count", hint: "text" },
      limit: {
        type: "integer",
        description: "Results at most, 100 by default",
        hint: "number",
        minimum: 1,
        maximum: 1000,
      },
    },
    required: ["directory"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run({ directory, text = "", limit = DEFAULT_LIMIT }, { workspace, signal }) {
    const root = directory === "/" ? "" : directory;
    const search: Search = { results: [], files: 0, bytes: 0, chars: 0, left: new Set(), skipped: 0, stopped: "" };
    try {
      await look(workspace, root, lowerCase(text), limit, search, signal);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "GOALD_FILE_MISSING") throw error;
      return fail("folder-missing", `There is no folder ${JSON.stringify(directory)}. ${await folders(workspace)}`);
    }
    return succeed(answer(search, root, text), { source: "workspace" });
  },
});

/** What a search has found and spent so far. */
interface Search {
  readonly results: string[];
  files: number;
  bytes: number;
  chars: number;
  /** Folders not entered. */
  readonly left: Set<string>;
  /** Files too large or binary, whose text was not searched. */
  skipped: number;
  /** Why it ended early; empty when it did not. */
  stopped: string;
}

async function look(
  workspace: Workspace,
  root: string,
  needle: string,
  limit: number,
  search: Search,
  signal: AbortSignal,
): Promise<void> {
  let walked = 0;
  for await (const { path, bytes } of workspace.list(root)) {
    signal.throwIfAborted();
    walked += 1;
    if (walked > MAX_FILES) search.stopped = `after ${MAX_FILES} files`;
    else if (search.bytes > MAX_ALL_BYTES) search.stopped = `after ${MAX_ALL_BYTES / 1024 / 1024} MB of text`;
    if (search.stopped) return;
    const left = leftOut(path, root);
    if (left) {
      search.left.add(left);
      continue;
    }
    search.files += 1;
    const found =
      needle === ""
        ? [`${path}  ${countNoun(bytes, "byte")}`]
        : await linesWith(workspace, path, bytes, needle, search);
    for (const result of found) {
      if (search.results.length === limit) search.stopped = `at ${limit} results`;
      else if (search.chars + result.length > MAX_CHARS)
        search.stopped = `at ${search.results.length} results, which fill the answer`;
      if (search.stopped) return;
      search.results.push(result);
      search.chars += result.length + 1;
    }
  }
}

/** The hidden folder that `path` lies in, unless the search was pointed into it. */
function leftOut(path: string, root: string): string | undefined {
  const parts = path.split("/").slice(0, -1);
  const from = root.split("/").filter((part) => part !== "" && part !== ".").length;
  const hidden = parts.findIndex(
    (part, depth) => depth >= from && (part.startsWith(".") || (depth === 0 && part === "_goald")),
  );
  return hidden < 0 ? undefined : `${parts.slice(0, hidden + 1).join("/")}/`;
}

async function linesWith(
  workspace: Workspace,
  path: string,
  size: number,
  needle: string,
  search: Search,
): Promise<Iterable<string>> {
  const bytes = size > MAX_FILE_BYTES ? undefined : await readQuietly(workspace, path);
  if (!bytes || bytes.subarray(0, BINARY_BYTES).includes(0)) {
    search.skipped += 1;
    return [];
  }
  search.bytes += bytes.length;
  return matches(path, new TextDecoder().decode(bytes), needle);
}

/** Each line that holds the needle, made when it is asked for: a file of short lines has millions. */
function* matches(path: string, content: string, needle: string): Generator<string> {
  const lower = lowerCase(content);
  let line = 1;
  let start = 0;
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, start)) {
    for (let end = content.indexOf("\n", start); end >= 0 && end < at; end = content.indexOf("\n", start)) {
      start = end + 1;
      line += 1;
    }
    const end = content.indexOf("\n", at);
    yield `${path}:${line}: ${excerpt(content.slice(start, end < 0 ? undefined : end), at - start)}`;
    if (end < 0) return;
    start = end + 1;
    line += 1;
  }
}

/** Of the same length, so that places in it are places in the text: İ alone would become two. */
const lowerCase = (text: string): string => text.replaceAll("İ", "i").toLowerCase();

/** It may vanish between list and read; then it is one of the files that were not searched. */
const readQuietly = (workspace: Workspace, path: string): Promise<Uint8Array | undefined> =>
  workspace.read(path).catch(() => undefined);

function excerpt(line: string, at: number): string {
  const start = Math.max(0, Math.min(at - EXCERPT_CHARS / 4, line.length - EXCERPT_CHARS));
  const part = line
    .slice(start, start + EXCERPT_CHARS)
    .toWellFormed()
    .trim();
  return `${start > 0 ? "…" : ""}${part}${start + EXCERPT_CHARS < line.length ? "…" : ""}`;
}

function answer(search: Search, root: string, text: string): string {
  const { results, files, left, skipped, stopped } = search;
  const where = root === "" || root === "." ? "the workspace" : root;
  const head =
    text === ""
      ? `${countNoun(results.length, "file")} in ${where}`
      : `${countNoun(results.length, "line")} with ${JSON.stringify(text.slice(0, 80))} in ${countNoun(files, "file")} of ${where}`;
  const notes = [
    stopped && `Stopped ${stopped}: there may be more. Name a smaller directory or a longer text.`,
    skipped > 0 && `${countNoun(skipped, "file")} not searched: binary, or over ${MAX_FILE_BYTES / 1024 / 1024} MB.`,
    left.size > 0 && `Left out: ${[...left].slice(0, 10).join(", ")}. Name such a directory to look inside.`,
  ].filter((note) => typeof note === "string" && note !== "");
  return [`${head}${results.length > 0 ? ":" : "."}`, ...results, ...notes].join("\n");
}

async function folders(workspace: Workspace): Promise<string> {
  const names = new Set<string>();
  let walked = 0;
  for await (const { path } of workspace.list("")) {
    walked += 1;
    if (path.includes("/")) names.add(`${path.slice(0, path.indexOf("/"))}/`);
    if (names.size === 10 || walked === MAX_FILES) break;
  }
  return names.size === 0 ? "The workspace has no folders." : `Folders there: ${[...names].join(", ")}.`;
}
