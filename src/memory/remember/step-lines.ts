/**
 * step-lines.ts -- the lines of a step's row: thoughts, command and result, each short or shortened, with the texts
 * that are too long for the row.
 */
import { hash } from "node:crypto";
import type { CommandCall, Observation, OpenCall } from "#core/call.ts";
import { DO_NOTHING, THINK } from "#core/command.ts";
import { isFurtherCall } from "#core/frames.ts";
import { dropPiecePlace, formatPiece, type LineRange, THOUGHTS } from "#core/memory.ts";
import type { MemoryRow, NewMemory } from "#core/ports/memory.ts";
import type { AgentState } from "#core/state.ts";
import { isBlobRef, oneLine, type Text } from "#core/text.ts";
import { thoughtsInReply } from "#reply/reply-thoughts.ts";
import { chunkText } from "#util/chunk-text.ts";

export type ReadText = (text: Text) => Promise<string>;

/** Lines of a row, and the texts of which the lines have only the beginning. */
export interface Lines {
  readonly lines: readonly string[];
  readonly texts: readonly LongText[];
}
/** Whose words a text contains. */
export type Origin = Pick<NewMemory, "trust" | "outside">;

/** Text up to `whole` characters is in the row, of longer text the first `head`. */
const THOUGHT_CHARS = { whole: 600, head: 160 };
const ARGUMENT_CHARS = { whole: 200, head: 120 };
const ARGUMENTS_CHARS = 400;
const RESULT_CHARS = { whole: 400, head: 160 };
const SOURCE_CHARS = 120;
const FILES_CHARS = 400;
const MAX_FILES = 5;

const isLong = (text: string, { whole }: { readonly whole: number }): boolean => text.trim().length > whole;
const shorten = (text: string, chars: { readonly whole: number; readonly head: number }): string =>
  clipEnd(text, isLong(text, chars) ? chars.head : chars.whole);

/** A longer number may be divided. */
const FIGURE_AT_END = /(?<!\d[-.,:/]?)\d[-.,:/\d]{0,40}$/;

/** At most `limit` characters of the beginning, without half a number. Lines stay, but for their ends and empty ones. */
export function clipEnd(text: string, limit: number): string {
  const whole = text.trim();
  const lines = whole
    .slice(0, limit * 4)
    .replace(/[\r\v\f\u0085\u2028\u2029]/g, " ")
    .replace(/\s*\n/g, "\n");
  if (lines.length <= limit && whole.length <= limit * 4) return lines;
  const end = lines.slice(0, limit - 1).replace(FIGURE_AT_END, "");
  return `${end.toWellFormed()}…`;
}

/** The beginning as one line. */
export const clipLine = (text: string, limit: number): string => oneLine(clipEnd(text, limit), limit);

/** Lines after the first are indented, so that none looks like the next part of the row. */
export const indentLines = (text: string): string => text.replaceAll("\n", "\n  ");

const formatOf = (source: string, { trust }: Origin): LongText["format"] =>
  trust === "web" || /\.(?:md|markdown)$/i.test(source) ? "markdown" : "plain";

const pieced = (of: Pick<TextOfSource, "source" | "text" | "lines">, origin: Origin): LongText => {
  const { source, text, lines } = of;
  return { source, text, format: formatOf(source, origin), ...(lines ? { lines } : {}), ...origin };
};

/**
 * Reads the model's thoughts before the call: what it found out and why it goes on, and the lines of its plan and its criticism that
 * have a figure. The sentence for the onlooker is used when there are no others.
 */
export async function readThoughts(before: AgentState, open: OpenCall & { kind: "command" }, read: ReadText) {
  if (isFurtherCall(open.callId)) return open.thought;
  const window = before.frames.find(({ id }) => id === open.frame)?.window ?? [];
  const reply = window.findLast(({ kind, step }) => kind === "reply" && step === open.step);
  const thoughts = reply ? thoughtsInReply(await read(reply.text), reply.form) : null;
  const { text = "", reasoning = "", plan = "", criticism = "" } = thoughts ?? {};
  const said = [text, reasoning, ...figureLines(plan), ...figureLines(criticism)].map((part) => part.trim());
  return said.every((part) => part === "") ? open.thought : [...new Set(said)].filter((part) => part !== "").join("\n");
}

/** The lines with a digit that is not their number in a list and not in an address. */
const figureLines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => /\d/.test(line.replaceAll(/^\s*\d+[.)]\s|\w+:\/\/\S+/g, "")));

export function thoughtLines(thoughts: string, origin: Origin): Lines {
  if (thoughts.trim() === "") return { lines: [], texts: [] };
  const texts = isLong(thoughts, THOUGHT_CHARS) ? [pieced({ source: THOUGHTS, text: thoughts }, origin)] : [];
  return { lines: [LABELS.thought + oneLine(shorten(thoughts, THOUGHT_CHARS), THOUGHT_CHARS.whole)], texts };
}

/** `args`: those of the call, with long texts whole. */
export function commandLines({ name, args }: CommandCall, { argument }: CommandTexts, origin: Origin): Lines {
  const texts: LongText[] = [];
  const written = JSON.stringify(args, (key, value: unknown) => {
    if (typeof value !== "string") return value;
    const isOfSource = key === argument?.name && value === argument.text;
    if (isLong(value, ARGUMENT_CHARS))
      texts.push(pieced(isOfSource ? argument : { source: key === "" ? name : `${name} ${key}`, text: value }, origin));
    return shorten(value, ARGUMENT_CHARS);
  });
  if (written.length > ARGUMENTS_CHARS)
    texts.push(pieced({ source: name, text: written.replace(/(?<=[\]},"\d]),(?=["[{])/g, ",\n") }, origin));
  return { lines: [`${LABELS.command}${name} ${clipEnd(written, ARGUMENTS_CHARS)}`], texts };
}

/** Prompts have the methods that searches found, so a list of them needs no pieces. */
const isMethodList = (text: string): boolean =>
  text
    .trim()
    .split("\n")
    .every((line) => /^`\w+\(.*\).*`: /.test(line));

/** `text`: the whole text of the observation. `call`: absent when it is no longer known. */
export function resultLines(
  { status, code, artifacts }: Observation,
  text: string,
  { isConfirmed, result }: CommandTexts,
  { source, ...origin }: Origin & { readonly source: string },
): Lines {
  const label = isConfirmed ? LABELS.done : LABELS.result(code === undefined ? status : `${status}, ${code}`);
  const isCut = isLong(text, RESULT_CHARS) && !isMethodList(text);
  const texts = isCut ? [pieced(result ?? { source, text }, origin)] : [];
  const lines = [label + indentLines(shorten(text, RESULT_CHARS))];
  if (artifacts.length > 0) {
    const more = artifacts.length > MAX_FILES ? ` and ${artifacts.length - MAX_FILES} more` : "";
    lines.push(`${LABELS.files}${oneLine(artifacts.slice(0, MAX_FILES).join(", "), FILES_CHARS)}${more}`);
  }
  return { lines, texts };
}

/** The source of the result of a call that is no file or page. */
export const describeCall = ({ name, args }: CommandCall): string =>
  oneLine(
    `${name} ${JSON.stringify(args, (_key, value: unknown) => (typeof value === "string" ? oneLine(value, 60) : value))}`,
    SOURCE_CHARS,
  );

export const joinLines = (...parts: readonly Lines[]): Lines => ({
  lines: parts.flatMap(({ lines }) => lines),
  texts: parts.flatMap(({ texts }) => texts),
});

/** Replaces references to long texts, at any depth. */
export async function readArguments(args: CommandCall["args"], read: ReadText): Promise<CommandCall["args"]> {
  const members = Object.entries(args).map(async ([name, value]) => [name, await readValue(value, read)] as const);
  return Object.fromEntries(await Promise.all(members));
}

async function readValue(value: unknown, read: ReadText): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (isBlobRef(value)) return read(value);
  if (Array.isArray(value)) return Promise.all(value.map((item) => readValue(item, read)));
  return readArguments(value as CommandCall["args"], read);
}

export interface TextOfSource {
  /** The file, page or command that the text is of. */
  readonly source: string;
  readonly text: string;
  /** The lines of the file that the text has; absent: unknown. */
  readonly lines?: LineRange;
  /** The source has no other text now than this and what it had outside these lines. */
  readonly isCurrent?: true;
}

export interface CommandTexts {
  /** The result says no more than the call. */
  readonly isConfirmed: boolean;
  readonly result?: TextOfSource;
  /** The argument of this name is text of the source. */
  readonly argument?: TextOfSource & { readonly name: string };
}

const CONFIRMING: ReadonlySet<string> = new Set([
  ...["append_to_file", "write_to_file", "edit_file", "move_file", "delete_file", "add_task", "modify_task"],
  ...[DO_NOTHING, THINK],
]);

/**
 * Finds the texts of goald's own commands that memory treats in a special way: those that are text of a file or page,
 * and those that only confirm the call. The text of any other command belongs to its call. `result`: the whole text of
 * the observation; `args`: those of the call, with long texts whole.
 */
export function readCommandTexts(
  { name, args }: CommandCall,
  { status, artifacts }: Pick<Observation, "status" | "artifacts">,
  result: string,
): CommandTexts {
  if (status !== "ok") return { isConfirmed: false };
  const isConfirmed = CONFIRMING.has(name);
  switch (name) {
    case "read_file":
      return { isConfirmed, ...fileIn(result) };
    case "browse_website": {
      const source = oneLine(`${args.url}, asked: ${args.question}`, 300);
      return { isConfirmed, result: { source, text: result, isCurrent: true } };
    }
    case "write_to_file": {
      const text = String(args.text);
      const all = text.split("\n").length;
      const written = { name: "text", text, source: artifacts[0] ?? String(args.file) };
      return { isConfirmed, argument: { ...written, lines: { first: 1, last: all, all }, isCurrent: true } };
    }
    case "append_to_file":
    case "edit_file": {
      const argument = name === "edit_file" ? "new" : "text";
      const source = artifacts[0] ?? String(args.file);
      return { isConfirmed, argument: { name: argument, text: String(args[argument]), source } };
    }
    default:
      return { isConfirmed };
  }
}

const FILE_HEAD = /^(.{1,300}), (?:the beginning of )?lines? (\d+)(?: to (\d+))? of (\d+):\n/;
const FILE_END = /\n?\[(?:Read on with first_line|This line goes on)[^\]\n]*\]$/;

/** Takes a result of read_file apart. */
function fileIn(result: string): Pick<CommandTexts, "result"> {
  const [head, source = "", first, last = first, all] = FILE_HEAD.exec(result) ?? [];
  if (head === undefined) return {};
  const text = result.slice(head.length).replace(FILE_END, "");
  const lines = { first: Number(first), last: Number(last), all: Number(all) };
  return { result: { source, text, lines, isCurrent: true } };
}

export interface LongText extends Origin, Omit<TextOfSource, "isCurrent"> {
  readonly format: "markdown" | "plain";
}

export const MAX_PIECES = 40;
const MAX_CHARS = 500;
const MAX_CHARS_OF_LONG = 700;
const LONG_CHARS = 15_000;
const SHARE_OF_BEGINNING = 0.7;
/** Characters of all texts of a step that are cut, more than its pieces can hold; of longer texts the middle is left out. */
const MAX_STEP_CHARS = 40_000;
const MIN_TEXT_CHARS = 1_000;
const TITLE_CHARS = 300;

/**
 * Returns the row of a step and the pieces of the texts that it has only the beginning of, with its event, step and
 * importance. Each piece is a memory of its own. It has up to 500 characters, that of a text over 15,000 up to 700;
 * lines that fit are never cut. A step has at most 40 pieces: of the longest texts the first seven tenths and the last
 * three are kept.
 */
export function withPieces(row: NewMemory, texts: readonly LongText[]): readonly NewMemory[] {
  const { namespace, seq, step, importance } = row;
  const mostChars = Math.max(MIN_TEXT_CHARS, Math.floor(MAX_STEP_CHARS / texts.length));
  const cut = texts.slice(0, MAX_PIECES).map((text) => ({ text, parts: cutText(text, mostChars) }));
  const counts = share(cut.map(({ parts }) => parts.length));
  const pieces = cut.flatMap(({ text: { source, trust, outside }, parts }, at) =>
    keepEnds(parts, counts[at] as number).map(({ place, title, text }) => ({
      namespace,
      seq,
      step,
      importance,
      kind: "piece" as const,
      trust,
      source,
      text: formatPiece(title, place, text),
      key: hash("sha256", JSON.stringify([source, title, text])),
      ...(outside ? { outside } : {}),
    })),
  );
  return [row, ...pieces];
}

function cutText({ source, text, format, lines }: LongText, mostChars: number) {
  const length = Math.min(text.length, mostChars);
  const maxChars = length <= LONG_CHARS ? MAX_CHARS : Math.min(MAX_CHARS_OF_LONG, Math.ceil(length / 30));
  const options = { maxChars, overlapChars: 0, format, wholeLines: true };
  const chunks = rangesOf(text, mostChars).flatMap(({ from, to }) =>
    chunkText(text.slice(from, to), options).map((chunk) => ({ ...chunk, start: from + chunk.start })),
  );
  const kept = chunks.filter((chunk) => chunk.text.trim() !== "");
  const lineAt = countLines(text, lines?.first ?? 1);
  return kept.map((chunk, at) => {
    const lead = chunk.lead.length + chunk.text.length <= 1.2 * maxChars ? chunk.lead : "";
    const first = lineAt(chunk.start);
    const last = lineAt(chunk.start + chunk.text.trimEnd().length);
    return {
      place: lines ? { first, last, all: lines.all } : { number: at + 1, count: kept.length },
      title: oneLine([source, ...chunk.headings].join(" > "), TITLE_CHARS),
      text: `${lead}${chunk.text.trimEnd()}`.toWellFormed(),
    };
  });
}

function rangesOf(text: string, mostChars: number): readonly { readonly from: number; readonly to: number }[] {
  if (text.length <= mostChars) return [{ from: 0, to: text.length }];
  const to = Math.floor(mostChars * SHARE_OF_BEGINNING);
  const end = text.length - (mostChars - to);
  const line = text.indexOf("\n", end) + 1;
  const from = line > 0 && line < end + MAX_CHARS ? line : end;
  return [
    { from: 0, to },
    { from, to: text.length },
  ];
}

/** Returns a function that gives the line of a position. Positions must be asked for in ascending order. */
function countLines(text: string, first: number): (position: number) => number {
  let line = first;
  let at = 0;
  return (position) => {
    for (let next = text.indexOf("\n", at); next >= 0 && next < position; next = text.indexOf("\n", at)) {
      line += 1;
      at = next + 1;
    }
    return line;
  };
}

/** Lowers the highest counts until all together are at most MAX_PIECES. */
function share(counts: readonly number[]): readonly number[] {
  let most = MAX_PIECES;
  const limited = (): number => counts.reduce((sum, count) => sum + Math.min(count, most), 0);
  while (limited() > MAX_PIECES) most -= 1;
  return counts.map((count) => Math.min(count, most));
}

function keepEnds<T>(parts: readonly T[], count: number): readonly T[] {
  if (parts.length <= count) return parts;
  const beginning = Math.ceil(count * SHARE_OF_BEGINNING);
  return [...parts.slice(0, beginning), ...parts.slice(parts.length - (count - beginning))];
}

const LABELS = {
  thought: "Thought: ",
  command: "Command: ",
  result: (outcome: string): string => `Result (${outcome}): `,
  /** A result that says no more than the command does. */
  done: "Done: ",
  files: "Files: ",
} as const;

const OF_STEP = /^(?:Thought|Command): /;
const CONFIRMATION = new RegExp(`\n${LABELS.done}[^\n]*`, "g");

/** A line end as JSON and Python escape it. Where it stays, the next line is read as if its first word began with n: `nprint`. */
const ESCAPED_LINE_END = /(?<!\\)((?:\\\\)*)\\n/g;

/**
 * Returns the content of a row, the part that is indexed, compared and embedded: its text without confirmations and
 * escaped line ends, and that of a piece without its place. A result that only confirms its command says nothing of its
 * own, but its words are in every such row. The other labels stay: without them fewer questions on agents' traces find
 * their row (R@10 0.576 instead of 0.581, without names of commands and arguments 0.539).
 */
export function contentOf({ kind, text }: Pick<MemoryRow, "kind" | "text">): string {
  if (kind === "piece") return dropPiecePlace(text);
  if (kind !== "step" || !OF_STEP.test(text)) return text;
  return text.replace(CONFIRMATION, "").replace(ESCAPED_LINE_END, "$1 ");
}
