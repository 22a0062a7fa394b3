/** recall-lines.ts -- renders a row of memory as one line: its head, and the stretches of its text that are shown. */
import { changingNumbers } from "#core/memory.ts";
import type { ClosedFact, RecalledRow, TextRange, Trust } from "#core/ports/memory.ts";
import { describeReadBefore } from "#core/provenance.ts";
import { clean } from "#util/outside-text.ts";
import { formatName } from "./format-name.ts";
import type { RecallPart, RowPart } from "./shown-recalls.ts";

/** The line of a row that matches. */
export const renderRecallLine = (part: RecallPart, now: Date): string =>
  `${renderHead(part.row, now)} ${renderText(part)}${renderSeries(part)}`;

/** The line of a row before or after one that matches. */
export function renderNearLine(part: RowPart): string {
  const { id, closed } = part.row;
  const whose = renderOrigin(part.row);
  const marks = [...(closed ? [renderEnd(closed)] : []), ...(whose === WHOSE.agent ? [] : [whose])];
  return `(${[formatName(id), ...marks].join(" | ")}) ${renderText(part)}`;
}

function renderHead(row: RecalledRow, now: Date): string {
  const { id, step, at, kind, closed } = row;
  const time = formatName(at, 40).replace(/:\d\d(?:\.\d+)?Z$/, "Z");
  const when = `${step === null ? "no step" : `step ${step}`} | ${time}, ${formatAge(now, at)}`;
  return `[${formatName(id)} | ${when} | ${KINDS[kind]}${closed ? `, ${renderEnd(closed)}` : ""} | ${renderOrigin(row)}]`;
}

const renderOrigin = (row: RecalledRow): string => `${WHOSE[row.trust]}${describeReadBefore(row)}`;

/** Marks a fact that a newer one has replaced. */
const renderEnd = ({ step }: ClosedFact): string => (step === null ? "was so before" : `was so until step ${step}`);

const KINDS: Readonly<Record<RecalledRow["kind"], string>> = {
  step: "step",
  turn: "memory of a turn",
  fact: "fact",
  note: "note",
  file_chunk: "piece of a text",
  reflection: "reflection",
  piece: "piece of a step",
  forgetting: "mark",
};
/** Source of a memory: the least trusted of its words. */
const WHOSE: Readonly<Record<Trust, string>> = {
  person: "a person",
  agent: "agent",
  goald: "goald",
  file: "a file",
  web: "the web, anybody",
};

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** Returns "just now" for a time in the future, after the clock was set back. */
export function formatAge(now: Date, at: string): string {
  const seconds = (now.getTime() - Date.parse(at)) / 1000;
  const [length, unit] = UNITS.find(([each]) => seconds >= each) ?? [];
  return length === undefined ? "just now" : `${Math.floor(seconds / length)} ${unit} ago`;
}

/** The stretches of the text on one line, with an ellipsis for each gap. */
function renderText({ row: { text }, ranges = [[0, text.length]] }: RowPart): string {
  const [first] = ranges[0] ?? [0];
  const [, last] = ranges.at(-1) ?? [0, 0];
  const stretches = ranges.map(([from, to]) => foldLine(text.slice(from, to))).join(" … ");
  return `${first > 0 ? "… " : ""}${stretches}${last < text.length ? " …" : ""}`;
}

const foldLine = (text: string): string => clean(text).toWellFormed().replace(/\s+/g, " ").trim();

/** The changing numbers of the other rows, oldest first. */
function renderSeries({ row, series, others }: RecallPart): string {
  if (series.length === 0) return "";
  const [, ...numbers] = changingNumbers([row.text, ...series.map(({ text }) => text)]);
  const values = series.map(({ id, step }, at) => {
    const where = step === null ? formatName(id) : `step ${step}`;
    return `${numbers[at]?.join(", ")} (${where})`;
  });
  const more = others > 0 ? `; ${others} older` : "";
  return ` | also ${values.reverse().join("; ")}${more}`;
}

/** Keeps the first 70 % and the last 30 % of `limit` characters: a memory starts with the intent and ends with the outcome. */
export function shortenRanges(ranges: readonly TextRange[], limit: number): readonly TextRange[] {
  const length = lengthOf(ranges);
  if (length <= limit) return ranges;
  const head = Math.ceil(limit * 0.7);
  return [...cutRanges(ranges, 0, head), ...cutRanges(ranges, length - (limit - head), length)];
}

export const lengthOf = (ranges: readonly TextRange[]): number =>
  ranges.reduce((sum, [from, to]) => sum + to - from, 0);

/** The characters from `from` to `to` of the joined ranges. */
function cutRanges(ranges: readonly TextRange[], from: number, to: number): readonly TextRange[] {
  let before = 0;
  return ranges.flatMap(([begin, end]): readonly TextRange[] => {
    const [first, last] = [begin + Math.max(0, from - before), Math.min(end, begin + to - before)];
    before += end - begin;
    return first < last ? [[first, last]] : [];
  });
}
