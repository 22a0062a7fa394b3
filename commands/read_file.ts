/**
 * read_file -- shows lines of a text file, as many as fit into one result.
 *
 * The file is scanned in parts, so its size costs time but no memory. The first line of the result states which of how many
 * lines follow; the last line states how to continue.
 */
import type { Observation } from "#core/call.ts";
import { defineCommand, fail, succeed, type Workspace } from "#core/command.ts";
import { formatSize } from "#core/text.ts";
import { isBinary, readImageFacts } from "#util/media-format.ts";

/** About 4,500 tokens; longer results would be spilled to a file. */
const MAX_CHARS = 18_000;
/** Code gets up to this much, which is more than the model reads. */
const MAX_BYTES = 4_000_000;
/** UTF-8 has at most four bytes per character; one more byte shows that text follows. */
const SHOWN_BYTES = 4 * MAX_CHARS + 1;
const PIECE_BYTES = 1024 * 1024;
const NEWLINE = 10;
/** Large enough to find the size of a picture behind the notes of a camera. */
const HEADER_BYTES = 256 * 1024;

export default defineCommand({
  name: "read_file",
  label: "Read file",
  group: "files",
  summary: "shows a text file; long ones come in parts.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
      first_line: { type: "integer", description: "first line to show, default 1", minimum: 1 },
      last_line: { type: "integer", description: "last line to show", minimum: 1 },
    },
    required: ["file"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",

  async run({ file, first_line = 1, last_line }, { workspace, signal }) {
    const found = await workspace.stat(file);
    if (!found)
      return fail("file-missing", `There is no file ${JSON.stringify(file)}. ${await suggestFiles(workspace, file)}`);
    const { path, bytes } = found;
    if (last_line !== undefined && last_line < first_line)
      return fail("bad-range", `last_line ${last_line} is before first_line ${first_line}.`);
    const scan = await scanLines(workspace, path, bytes, first_line, last_line ?? Number.POSITIVE_INFINITY, signal);
    if (scan === "binary")
      return describeBinary(path, bytes, await workspace.read(path, { offset: 0, length: HEADER_BYTES }));
    if (scan.lines === 0) return succeed(`${path} is empty.`, { source: "workspace", value: "" });
    if (first_line > scan.lines)
      return fail("line-missing", `${path} has ${scan.lines} lines; first_line ${first_line} is behind the end.`);
    const text = formatLines(path, scan, first_line, last_line);
    const isWhole = scan.wanted.length <= MAX_BYTES;
    return succeed(text, { source: "workspace", ...(isWhole ? { value: decode(scan.wanted, first_line) } : {}) });
  },
});

function describeBinary(path: string, bytes: number, header: Uint8Array): Observation {
  const picture = readImageFacts(header);
  if (!picture) return fail("file-binary", `${path} holds ${bytes} bytes of binary data and cannot be shown as text.`);
  const { format, width, height } = picture;
  const text = `${path} is a ${format.toUpperCase()} picture of ${width} x ${height} pixels (${formatSize(bytes)}). It cannot be shown as text.`;
  return succeed(text, { source: "workspace", value: path });
}

interface LineScan {
  /** Number of lines of the file. */
  readonly lines: number;
  /** The requested lines, up to `MAX_BYTES` and one byte more. */
  readonly wanted: Uint8Array;
}

async function scanLines(
  workspace: Workspace,
  file: string,
  size: number,
  first: number,
  last: number,
  signal: AbortSignal,
): Promise<LineScan | "binary"> {
  const wanted: Uint8Array[] = [];
  let room = MAX_BYTES + 1;
  let line = 1;
  let offset = 0;
  let previous = NEWLINE;
  while (offset < size) {
    signal.throwIfAborted();
    const piece = await workspace.read(file, { offset, length: PIECE_BYTES });
    if (piece.length === 0) break;
    if (offset === 0 && isBinary(piece)) return "binary";
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

/** Without the mark at the beginning of a file. */
function decode(lines: Uint8Array, first: number): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(lines);
  return first === 1 ? text.replace(/^\uFEFF/, "") : text;
}

function formatLines(path: string, { lines, wanted }: LineScan, first: number, last = lines): string {
  const text = decode(wanted.subarray(0, SHOWN_BYTES), first);
  const end = Math.min(last, lines);
  if (text.length <= MAX_CHARS) return `${path}, ${formatRange(first, end, lines)}:\n${text}`;

  const cut = text.lastIndexOf("\n", MAX_CHARS - 1) + 1;
  if (cut === 0) {
    const more = first < end ? ` Read on with first_line ${first + 1}.` : "";
    const start = text.slice(0, MAX_CHARS).toWellFormed();
    return `${path}, the beginning of ${formatRange(first, first, lines)}:\n${start}\n[This line goes on; it is too long to be shown whole: code can read the rest.${more}]`;
  }
  const shown = text.slice(0, cut);
  const shownEnd = first + shown.split("\n").length - 2;
  return `${path}, ${formatRange(first, shownEnd, lines)}:\n${shown}[Read on with first_line ${shownEnd + 1}.]`;
}

const formatRange = (first: number, last: number, lines: number): string =>
  first === last ? `line ${first} of ${lines}` : `lines ${first} to ${last} of ${lines}`;

/** Suggests the files with the most similar names. */
async function suggestFiles(workspace: Workspace, file: string): Promise<string> {
  const asked = listPairs(file);
  const near: { readonly path: string; readonly likeness: number }[] = [];
  let seen = 0;
  for await (const { path } of workspace.list("")) {
    near.push({ path, likeness: measureLikeness(asked, listPairs(path)) });
    near.sort((a, b) => b.likeness - a.likeness).splice(3);
    seen += 1;
    if (seen === 2000) break;
  }
  const alike = near.filter((entry) => entry.likeness > 0.3).map((entry) => entry.path);
  if (alike.length > 0) return `Similar names: ${alike.join(", ")}.`;
  return seen === 0 ? "The workspace is empty." : "search_files shows what there is.";
}

/** Sørensen–Dice coefficient over pairs of letters: 1 for equal names, 0 for no common pair. */
function measureLikeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return (2 * common) / Math.max(1, a.size + b.size);
}

/** Uses the file name only: models mistake the folder more often than the name. */
function listPairs(path: string): ReadonlySet<string> {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return new Set(Array.from(name, (_letter, index) => name.slice(index, index + 2)));
}
