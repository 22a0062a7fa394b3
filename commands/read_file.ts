/**
 * read_file -- lines of a text file, as many as fit into one result.
 *
 * The file is scanned in pieces, so that its size costs time but no memory. The first line of
 * the answer says which lines of how many follow; the last one says how to read on.
 */
import { type CommandContext, defineCommand, fail, succeed } from "#core/command.ts";

type Workspace = CommandContext["workspace"];

/** About 4,500 tokens; longer results would be put aside into a file. */
const MAX_CHARS = 18_000;
/** A character takes at most four bytes in UTF-8; one more tells that there was more. */
const MAX_BYTES = 4 * MAX_CHARS + 1;
const PIECE_BYTES = 1024 * 1024;
const NEWLINE = 10;
/** A NUL among the first bytes: git's sign of a binary file too. */
const BINARY_BYTES = 8000;

export default defineCommand({
  name: "read_file",
  label: "Read file",
  summary: "shows a text file; lines count from 1, long files come in parts.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "Relative path of a text file", hint: "file", minLength: 1 },
      first_line: { type: "integer", description: "First line to show, 1 by default", hint: "number", minimum: 1 },
      last_line: { type: "integer", description: "Last line to show, the end by default", hint: "number", minimum: 1 },
    },
    required: ["file"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run({ file, first_line = 1, last_line }, { workspace, signal }) {
    const found = await workspace.stat(file);
    if (!found)
      return fail("file-missing", `There is no file ${JSON.stringify(file)}. ${await advice(workspace, file)}`);
    const { path, bytes } = found;
    if (last_line !== undefined && last_line < first_line)
      return fail("bad-range", `last_line ${last_line} is before first_line ${first_line}.`);
    const scan = await scanLines(workspace, path, bytes, first_line, last_line ?? Number.POSITIVE_INFINITY, signal);
    if (scan === "binary")
      return fail("file-binary", `${path} holds ${bytes} bytes of binary data and cannot be shown as text.`);
    if (scan.lines === 0) return succeed(`${path} is empty.`, { source: "workspace" });
    if (first_line > scan.lines)
      return fail("line-missing", `${path} has ${scan.lines} lines; first_line ${first_line} is behind the end.`);
    return succeed(show(path, scan, first_line, last_line), { source: "workspace" });
  },
});

interface Scan {
  /** How many lines the file has. */
  readonly lines: number;
  /** The wanted lines, as far as they may fit. */
  readonly wanted: Uint8Array;
}

async function scanLines(
  workspace: Workspace,
  file: string,
  size: number,
  first: number,
  last: number,
  signal: AbortSignal,
): Promise<Scan | "binary"> {
  const wanted: Uint8Array[] = [];
  let room = MAX_BYTES;
  let line = 1;
  let offset = 0;
  let previous = NEWLINE;
  while (offset < size) {
    signal.throwIfAborted();
    const piece = await workspace.read(file, { offset, length: PIECE_BYTES });
    if (piece.length === 0) break;
    if (offset === 0 && piece.subarray(0, BINARY_BYTES).includes(0)) return "binary";
    for (let start = 0; start < piece.length; ) {
      const end = piece.indexOf(NEWLINE, start);
      const next = end < 0 ? piece.length : end + 1;
      if (line >= first && line <= last && room > 0) {
        const part = piece.subarray(start, Math.min(next, start + room));
        wanted.push(part);
        room -= part.length;
      }
      if (end >= 0) line += 1;
      start = next;
    }
    offset += piece.length;
    previous = piece.at(-1) ?? NEWLINE;
  }
  return { lines: previous === NEWLINE ? line - 1 : line, wanted: Buffer.concat(wanted) };
}

function show(path: string, { lines, wanted }: Scan, first: number, last = lines): string {
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(wanted);
  const text = first === 1 ? decoded.replace(/^\uFEFF/, "") : decoded;
  const end = Math.min(last, lines);
  if (text.length <= MAX_CHARS) return `${path}, ${range(first, end, lines)}:\n${text}`;

  const cut = text.lastIndexOf("\n", MAX_CHARS - 1) + 1;
  if (cut === 0) {
    const more = first < end ? ` Read on with first_line ${first + 1}.` : "";
    const start = text.slice(0, MAX_CHARS).toWellFormed();
    return `${path}, the beginning of ${range(first, first, lines)}:\n${start}\n[This line goes on; it is too long to be shown whole.${more}]`;
  }
  const shown = text.slice(0, cut);
  const shownEnd = first + shown.split("\n").length - 2;
  return `${path}, ${range(first, shownEnd, lines)}:\n${shown}[Read on with first_line ${shownEnd + 1}.]`;
}

const range = (first: number, last: number, lines: number): string =>
  first === last ? `line ${first} of ${lines}` : `lines ${first} to ${last} of ${lines}`;

/** The files whose names are most like the one that was asked for. */
async function advice(workspace: Workspace, file: string): Promise<string> {
  const asked = pairs(file);
  const near: { readonly path: string; readonly likeness: number }[] = [];
  let seen = 0;
  for await (const { path } of workspace.list("")) {
    near.push({ path, likeness: likeness(asked, pairs(path)) });
    near.sort((a, b) => b.likeness - a.likeness).splice(3);
    seen += 1;
    if (seen === 2000) break;
  }
  const alike = near.filter((entry) => entry.likeness > 0.3).map((entry) => entry.path);
  if (alike.length > 0) return `Similar names: ${alike.join(", ")}.`;
  return seen === 0 ? "The workspace is empty." : "search_files shows what there is.";
}

/** Sørensen–Dice coefficient over pairs of letters: 1 for the same, 0 for nothing in common. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return (2 * common) / Math.max(1, a.size + b.size);
}

/** Of the file's name alone: models get the folder wrong more often than the name. */
function pairs(path: string): ReadonlySet<string> {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return new Set(Array.from(name, (_letter, index) => name.slice(index, index + 2)));
}
