/**
 * edit_file -- replaces exact text in a file, when it occurs as often as expected.
 *
 * `prepare` records the hash of the file before and after the edit. After a crash, `probe` compares the file with both, so
 * the edit happens exactly once, and an edit by somebody else is not overwritten. A miss changes nothing and shows the
 * most similar lines.
 */
import { hash } from "node:crypto";
import { defineCommand, fail, type Probe, succeed, type Workspace } from "#core/command.ts";
import { countNoun, joinNames } from "#core/text.ts";
import { decodeUtf8, isBinary } from "#util/media-format.ts";
import {
  countLineEnds,
  countLines,
  findNearLines,
  type LineSpan,
  nameDifference,
  numberLines,
  widenSpan,
} from "#util/near-text.ts";
import { findText, MAX_PLACES, replaceText, type TextEdit } from "#util/replace-text.ts";

/** SHA-256 of the file. */
interface Prepared {
  readonly before: string;
  readonly after: string;
}
/** The workspace reads at most this many bytes at once, so a larger file cannot be restored. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_SHOWN_LINES = 40;
const MAX_LISTED = 20;
/** Lines shown before and after a changed place. */
const CONTEXT_LINES = 2;

export default defineCommand({
  name: "edit_file",
  label: "Edit file",
  group: "files",
  summary: "replaces exact text that occurs once, or count times.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
      old: { type: "string", description: "exact text of the file, enough of it to occur once" },
      new: { type: "string", description: "what replaces it" },
      count: {
        type: "integer",
        description: "how often old occurs, default 1",
        minimum: 1,
        maximum: MAX_PLACES,
      },
    },
    required: ["file", "old", "new"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: false, restorable: true },
  writes: { file: null },
  effect: "reconcilable",

  async prepare({ file, ...args }, { workspace }): Promise<Prepared | null> {
    const content = await readText(workspace, file);
    const edit = typeof content === "string" ? content : planEdit(content, args);
    if (typeof edit === "string" || edit.kind !== "replaced") return null;
    const before = await workspace.preserve(file);
    return before ? { before: before.sha256, after: hashOf(edit.content) } : null;
  },

  async run({ file, ...args }, { workspace }, prepared) {
    const path = (await workspace.stat(file))?.path ?? file;
    const content = await readText(workspace, file);
    if (typeof content === "string") return fail("file-unfit", content);
    const edit = planEdit(content, args);
    if (typeof edit === "string") return fail("bad-edit", edit);
    if (edit.kind !== "replaced") return fail("not-found", describeMiss(path, content, args, edit));
    if (hashOf(content) !== (prepared as Prepared | null)?.before)
      return fail(
        "changed-since",
        `${path} was changed by somebody else meanwhile, so it was not edited. Read it first.`,
      );
    await workspace.write(file, edit.content);
    return succeed(describeEdit(path, edit), { source: "workspace", artifacts: [path], value: path });
  },

  async probe({ file }, { workspace }, prepared): Promise<Probe> {
    if (prepared === null) return "not-done";
    const { before, after } = prepared as Prepared;
    if (!(await workspace.stat(file))) return "unknown";
    const found = hashOf(await workspace.read(file));
    if (found === before) return "not-done";
    if (found !== after) return "unknown";
    // The crash came before the file history recorded the edit.
    await workspace.preserve(file);
    return "done";
  },
});

interface EditArgs {
  readonly old: string;
  readonly new: string;
  readonly count?: number;
}
type Missed = Exclude<TextEdit, { readonly kind: "replaced" }>;

/** Returns a sentence for a file that cannot be edited. */
async function readText(workspace: Workspace, file: string): Promise<Uint8Array | string> {
  const found = await workspace.stat(file);
  if (!found)
    return `There is no file ${JSON.stringify(file)}. write_to_file makes a new one; search_files shows what there is.`;
  const content = await workspace.read(file);
  if (isBinary(content)) return `${found.path} holds binary data, which edit_file does not change.`;
  if (decodeUtf8(content) === undefined)
    return `${found.path} is not UTF-8 text, so an edit could damage it. Nothing was changed.`;
  return content;
}

/** Returns a sentence for arguments that can never match. */
function planEdit(content: Uint8Array, args: EditArgs): TextEdit | string {
  if (args.old === "")
    return "`old` is empty. write_to_file replaces a whole file, and append_to_file adds to its end.";
  if (args.old === args.new) return "`old` and `new` are the same text, so there is nothing to change.";
  return replaceText(content, args, args.count ?? 1, MAX_FILE_BYTES);
}

const hashOf = (content: Uint8Array): string => hash("sha256", content, "hex");

// ---------------------------------------------------------------- what the model reads

function describeEdit(path: string, edit: Extract<TextEdit, { readonly kind: "replaced" }>): string {
  const { content, places, placeBytes, lineEnd } = edit;
  const spans = spansOf(content, places, placeBytes);
  const size = content.length === 0 ? "It is empty now." : `It has ${countNoun(countLines(content), "line")} now.`;
  const ends = lineEnd ? ` Its line ends stayed ${lineEnd}.` : "";
  const head = `Edited ${path} at ${countNoun(places.length, "place")}, ${listLines(spans)}. ${size}${ends}`;
  const shown: string[] = [];
  for (const block of joinSpans(content, spans.slice(0, MAX_LISTED))) {
    if (shown.length >= MAX_SHOWN_LINES || content.length === 0) break;
    if (shown.length > 0) shown.push("…");
    shown.push(...numberLines(content, block, MAX_SHOWN_LINES - shown.length));
  }
  return [head, ...shown].join("\n");
}

/** Adds the lines around each span, and joins those that meet. */
function joinSpans(content: Uint8Array, spans: readonly LineSpan[]): LineSpan[] {
  const blocks: LineSpan[] = [];
  for (const span of spans) {
    const around = widenSpan(content, span, CONTEXT_LINES);
    const last = blocks.at(-1);
    if (last && around.start <= last.end + 1) blocks[blocks.length - 1] = { ...last, end: around.end };
    else blocks.push(around);
  }
  return blocks;
}

/** Line numbers for byte offsets in ascending order, in one pass. */
function spansOf(content: Uint8Array, places: readonly number[], bytes: number): LineSpan[] {
  let line = 1;
  let from = 0;
  return places.map((start) => {
    line += countLineEnds(content, from, start);
    from = start;
    return { start, end: start + bytes, firstLine: line };
  });
}

function listLines(spans: readonly LineSpan[]): string {
  const lines = [...new Set(spans.map(({ firstLine }) => firstLine))];
  return `${lines.length === 1 ? "line" : "lines"} ${joinNames(lines.map(String), MAX_LISTED)}`;
}

function describeMiss(path: string, content: Uint8Array, args: EditArgs, missed: Missed): string {
  if (missed.kind === "missing") return describeNothing(path, content, args);
  if (missed.kind === "same")
    return `\`old\` and \`new\` are the same text with the line ends of ${path}, so there is nothing to change.`;
  if (missed.kind === "too-large")
    return `${path} would have ${missed.bytes} bytes, and at most ${MAX_FILE_BYTES} can be restored. Nothing was changed.`;
  const { count = 1 } = args;
  const where = listLines(spansOf(content, missed.places, 0));
  if (missed.overlap)
    return `\`old\` occurs in ${path} at places that overlap (${where}), so it is not clear which is meant. Nothing was changed: give more of the text.`;
  const all = missed.count <= MAX_PLACES ? `, or count ${missed.count} to change all` : "";
  return `\`old\` occurs ${countTimes(missed.count)} in ${path}, not ${countTimes(count)}: ${where}. Nothing was changed: give more of the text around the place that you mean${all}.`;
}

const countTimes = (count: number): string => (count === 1 ? "once" : `${count} times`);

function describeNothing(path: string, content: Uint8Array, { old, new: replacement }: EditArgs): string {
  const head = `\`old\` is not in ${path} (${countNoun(countLines(content), "line")}). Nothing was changed.`;
  const there = replacement.trim() === "" ? undefined : findText(content, Buffer.from(replacement)).places[0];
  const already = there === undefined ? "" : ` \`new\` is there already: line ${1 + countLineEnds(content, 0, there)}.`;
  const near = findNearLines(content, old);
  if (!near) return `${head}${already} Nothing in it is similar: read it first.`;
  const difference = nameDifference(content, near, old);
  const lines = numberLines(content, widenSpan(content, near, 1), MAX_SHOWN_LINES);
  const words = `${head}${already} The most similar lines follow. ${difference}`.trimEnd();
  return [words, ...lines].join("\n");
}
