/**
 * recalls.ts -- renders recalled memories as a delimited block of lines.
 *
 * A recall that is shown with the rows around it is one passage: their lines in the order of the memory, apart from
 * other passages by an empty line. Passages are in the order of their best recall.
 */
import { changingNumbers, isSeries, orderOf } from "#core/memory.ts";
import type { ClosedFact, Recall, RecalledRow, ShownRecall, ShownRow, TextRange, Trust } from "#core/ports/memory.ts";
import { describeReadBefore } from "#core/provenance.ts";
import { foldLine } from "#util/outside-text.ts";
import { delimitText, formatName } from "./delimit.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";
import { fillTemplate, type Words } from "./words.ts";

/** Returns "" for no recalls. Ages are relative to `now`. */
export const renderRecalls = (parts: readonly RecallPart[], now: Date, words: Words): string =>
  parts.length === 0
    ? ""
    : fillTemplate(words["last-message/recalls"], { events: delimitText("data", renderPassages(parts, now)) });

/** Best first. Of each passage the lines in the order of the memory. */
export function renderPassages(parts: readonly RecallPart[], now: Date): string {
  const recalls = new Map(parts.map((part) => [part.row.id, part]));
  const renderRow = (part: RowPart): string => {
    const recall = recalls.get(part.row.id);
    return recall ? renderRecallLine(recall, now) : renderNearLine(part);
  };
  let text = "";
  let isLastAlone = true;
  for (const passage of joinPassages(parts)) {
    const rows = [...passage.values()].sort((a, b) => orderOf(a.row.id) - orderOf(b.row.id));
    const isAlone = rows.length === 1;
    if (text !== "") text += isAlone && isLastAlone ? "\n" : "\n\n";
    text += rows.map(renderRow).join("\n");
    isLastAlone = isAlone;
  }
  return text;
}

type Passage = Map<string, RowPart>;

/** Joins recalls that share a row or are beside each other. */
function joinPassages(parts: readonly RecallPart[]): readonly Passage[] {
  const passages: Passage[] = [];
  for (const part of parts) {
    const rows: readonly RowPart[] = [part, ...part.around];
    const [first = new Map<string, RowPart>(), ...more] = passages.filter((passage) =>
      rows.some(({ row }) => passage.has(row.id)),
    );
    for (const row of [...more.flatMap((passage) => [...passage.values()]), ...rows]) first.set(row.row.id, row);
    for (const passage of more) passages.splice(passages.indexOf(passage), 1);
    if (!passages.includes(first)) passages.push(first);
  }
  return passages;
}

// Chooses what a prompt shows of its recalls: 1,400 tokens of lines, 15 % of a small context window.
//
// The recalls come first: each has at most 200 tokens, and the memory of a turn three times as many; more in total are
// shortened to such shares. The rest goes to the numbers of series, then to the rows around each recall: those at its
// side for all recalls, then those one further. No row is shown twice.

const MAX_RECALLS = 10;
const MAX_ROW_TOKENS = 200;
const MAX_ROWS_TOKENS = 1_370;
const MAX_SHARE_OF_CONTEXT = 0.15;
/** Shorter rows are useless, so fewer rows are shown instead. */
const LEAST_ROW_TOKENS = 60;
/** Longer text of one share never shows; it is cut before all other work. */
const MAX_TEXT_CHARS = 1_200;
/** The memory of a turn has the input of its commands. */
const TURN_SHARES = 3;
const MAX_SERIES_TOKENS = 200;
/** A row around a recall is shown whole or, if it is longer, without its middle. */
const MAX_NEAR_TOKENS = 140;
const LEAST_NEAR_TOKENS = 12;
const MOST_CHARS_PER_TOKEN = 6;

interface SizedPart extends RecallPart {
  readonly tokens: number;
  readonly shares: number;
}

/** Keeps the order of `recalls`; drops the last ones when rows would become too short. Ages are relative to `now`. */
export function fitRecalls(recalls: readonly Recall[], now: Date, contextTokens: number): readonly RecallPart[] {
  const most = Math.min(MAX_ROWS_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens));
  const kept = recalls.slice(0, Math.min(MAX_RECALLS, Math.ceil(most / LEAST_ROW_TOKENS)));
  const whole = kept.map((recall) => sizePart(beginPart(recall), now));
  const share = findShare(whole, most);
  const parts = whole.map((part) => shortenPart(part, share * part.shares, now));
  let left = most - parts.reduce((sum, part) => sum + part.tokens, 0);
  const taken = new Set(kept.map(({ id }) => id));
  const listed = parts.map((part, at) => {
    const longer = addSeries(part, (kept[at] as Recall).series, { left, taken, now });
    left -= longer.tokens - part.tokens;
    return longer;
  });
  const around = chooseAround(kept, taken, left);
  return listed.map(({ tokens: _tokens, shares: _shares, ...part }, at) => ({ ...part, around: around[at] ?? [] }));
}

/** Returns the tokens of one share. A row that needs less leaves the rest to the others. */
function findShare(parts: readonly SizedPart[], most: number): number {
  let left = most;
  let shares = parts.reduce((sum, part) => sum + part.shares, 0);
  for (const part of parts.toSorted((a, b) => a.tokens / a.shares - b.tokens / b.shares)) {
    if (part.tokens > (left / shares) * part.shares) break;
    left -= part.tokens;
    shares -= part.shares;
  }
  return shares === 0 ? MAX_ROW_TOKENS : Math.min(MAX_ROW_TOKENS, Math.floor(left / shares));
}

function beginPart(recall: Recall): RecallPart {
  const { around: _around, series: _series, score: _score, ranges, ...row } = recall;
  const most = MAX_TEXT_CHARS * sharesOf(row);
  const given: readonly TextRange[] = ranges ?? [[0, row.text.length]];
  const isCut = ranges !== undefined || row.text.length > most;
  return { row, ...(isCut ? { ranges: shortenRanges(given, most) } : {}), around: [], series: [], others: 0 };
}

const sharesOf = ({ kind }: RecalledRow): number => (kind === "turn" ? TURN_SHARES : 1);

const sizePart = (part: RecallPart, now: Date): SizedPart => ({
  ...part,
  tokens: estimateLine(renderRecallLine(part, now)),
  shares: sharesOf(part.row),
});

function shortenPart(part: SizedPart, maxTokens: number, now: Date): SizedPart {
  if (part.tokens <= maxTokens) return part;
  const ranges = part.ranges ?? [[0, part.row.text.length] as const];
  return shrinkText(lengthOf(ranges), part.tokens, maxTokens, (limit) =>
    sizePart({ ...part, ranges: shortenRanges(ranges, limit) }, now),
  );
}

interface Room {
  readonly left: number;
  /** Ids of rows that are shown already; receives those of the series. */
  readonly taken: Set<string>;
  readonly now: Date;
}

/** Lists the numbers of as many rows of the series as fit, the newest first. */
function addSeries(part: SizedPart, given: Recall["series"], { left, taken, now }: Room): SizedPart {
  const rows = given?.rows.filter(({ id }) => !taken.has(id)) ?? [];
  if (!given || rows.length === 0 || part.ranges) return part;
  if (!isSeries([part.row.text, ...rows.map(({ text }) => text)])) return part;
  const most = Math.min(left, MAX_SERIES_TOKENS);
  for (let count = rows.length; count > 0; count--) {
    const series = rows.slice(0, count);
    const longer = sizePart({ ...part, series, others: given.others + rows.length - count }, now);
    if (longer.tokens - part.tokens > most) continue;
    for (const { id } of series) taken.add(id);
    return longer;
  }
  return part;
}

/** Returns the rows shown around each recall. Rows that are shown already join their passages and take no room. */
function chooseAround(
  recalls: readonly Recall[],
  taken: ReadonlySet<string>,
  mostTokens: number,
): readonly (readonly RowPart[])[] {
  const chosen = recalls.map((): RowPart[] => []);
  const shown = new Map<string, RowPart>(recalls.map((row) => [row.id, { row }]));
  let left = mostTokens;
  const isShownAt = (at: number, row: RecalledRow | undefined): boolean =>
    row !== undefined && (chosen[at] ?? []).some((part) => part.row.id === row.id);
  for (const distance of [0, 1])
    for (const [at, { around }] of recalls.entries())
      for (const side of [around?.before ?? [], around?.after ?? []]) {
        const row = side[distance];
        if (!row || (distance > 0 && !isShownAt(at, side[distance - 1]))) continue;
        const known = shown.get(row.id);
        if (known) chosen[at]?.push(known);
        if (known || taken.has(row.id) || isTooLong(row, left)) continue;
        const { part, tokens } = fitNear(row);
        // An empty line may part its passage from the one before.
        if (tokens + 1 > left) continue;
        left -= tokens + 1;
        shown.set(row.id, part);
        chosen[at]?.push(part);
      }
  return chosen;
}

/** Saves the estimate of rows that cannot fit. */
const isTooLong = ({ text }: RecalledRow, tokens: number): boolean =>
  tokens < LEAST_NEAR_TOKENS || (tokens < MAX_NEAR_TOKENS && text.length > MOST_CHARS_PER_TOKEN * tokens);

/** Includes the line end. A line that follows a line end is found in the cache of estimates at the next step. */
const estimateLine = (line: string): number => estimateTokens(`\n${line}`);

interface SizedRow {
  readonly part: RowPart;
  readonly tokens: number;
}

/** Cache by id: most rows around the recalls of a step return at the next step. */
const keptRows = new Map<string, SizedRow>();
const MAX_KEPT_ROWS = 256;

function fitNear(row: RecalledRow): SizedRow {
  const kept = keptRows.get(row.id);
  const last = kept?.part.row;
  if (kept && last?.text === row.text && last.trust === row.trust && last.closed?.by === row.closed?.by) return kept;
  const sized = sizeNear(row);
  if (keptRows.size >= MAX_KEPT_ROWS) keptRows.clear();
  keptRows.set(row.id, sized);
  return sized;
}

function sizeNear(row: RecalledRow): SizedRow {
  const size = (part: RowPart): SizedRow => ({ part, tokens: estimateLine(renderNearLine(part)) });
  const long = row.text.length > MAX_TEXT_CHARS;
  const whole: readonly TextRange[] = shortenRanges([[0, row.text.length]], MAX_TEXT_CHARS);
  const sized = size(long ? { row, ranges: whole } : { row });
  if (sized.tokens <= MAX_NEAR_TOKENS) return sized;
  return shrinkText(lengthOf(whole), sized.tokens, MAX_NEAR_TOKENS, (limit) =>
    size({ row, ranges: shortenRanges(whole, limit) }),
  );
}

// Renders a row of memory as one line: its head, and the stretches of its text that are shown.

/** The line of a row that matches. */
const renderRecallLine = (part: RecallPart, now: Date): string =>
  `${renderHead(part.row, now)} ${renderText(part)}${renderSeries(part)}`;

/** The line of a row before or after one that matches. */
function renderNearLine(part: RowPart): string {
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
function shortenRanges(ranges: readonly TextRange[], limit: number): readonly TextRange[] {
  const length = lengthOf(ranges);
  if (length <= limit) return ranges;
  const head = Math.ceil(limit * 0.7);
  return [...cutRanges(ranges, 0, head), ...cutRanges(ranges, length - (limit - head), length)];
}

const lengthOf = (ranges: readonly TextRange[]): number => ranges.reduce((sum, [from, to]) => sum + to - from, 0);

/** The characters from `from` to `to` of the joined ranges. */
function cutRanges(ranges: readonly TextRange[], from: number, to: number): readonly TextRange[] {
  let before = 0;
  return ranges.flatMap(([begin, end]): readonly TextRange[] => {
    const [first, last] = [begin + Math.max(0, from - before), Math.min(end, begin + to - before)];
    before += end - begin;
    return first < last ? [[first, last]] : [];
  });
}

// What a prompt shows of its recalls, and its record in the log.
//
// The record has ids and ranges of characters, never texts. With the rows it gives the same lines again.

interface RowPart {
  readonly row: RecalledRow;
  /** Absent: the whole text. */
  readonly ranges?: readonly TextRange[];
}

export interface RecallPart extends RowPart {
  /** Rows right before and after it; one of them may be another recall. */
  readonly around: readonly RowPart[];
  /** Rows whose numbers its line lists, the newest first. */
  readonly series: readonly RecalledRow[];
  /** Further rows of the series, which the line counts. */
  readonly others: number;
}

/** Returns every row of the parts, once. */
export const rowsOfParts = (parts: readonly RecallPart[]): readonly RecalledRow[] => [
  ...new Map(
    parts
      .flatMap(({ row, around, series }) => [row, ...around.map((near) => near.row), ...series])
      .map((row) => [row.id, row]),
  ).values(),
];

/** Leaves out recalls that are shown whole and alone. */
export const recordShown = (parts: readonly RecallPart[]): readonly ShownRecall[] =>
  parts
    .map(({ around, series, others, ...part }) => ({
      ...recordRow(part),
      ...(around.length > 0 ? { with: around.map(recordRow) } : {}),
      ...(series.length > 0 ? { series: series.map(({ id }) => id), ...(others > 0 ? { others } : {}) } : {}),
    }))
    .filter((recall) => Object.keys(recall).length > 1);

const recordRow = ({ row, ranges }: RowPart): ShownRow => ({ id: row.id, ...(ranges ? { ranges } : {}) });

/** Returns the parts of a record. Leaves out rows that `rows` lacks. */
export function readShown(
  recallIds: readonly string[],
  shown: readonly ShownRecall[],
  rows: ReadonlyMap<string, RecalledRow>,
): readonly RecallPart[] {
  const recorded = new Map(shown.map((recall) => [recall.id, recall]));
  const readRow = ({ id, ranges }: ShownRow): readonly RowPart[] => {
    const row = rows.get(id);
    return row ? [{ row, ...(ranges ? { ranges } : {}) }] : [];
  };
  return recallIds.flatMap((id) => {
    const recall: ShownRecall = recorded.get(id) ?? { id };
    const series = (recall.series ?? []).flatMap((other) => rows.get(other) ?? []);
    const around = (recall.with ?? []).flatMap(readRow);
    return readRow(recall).map((part) => ({ ...part, around, series, others: recall.others ?? 0 }));
  });
}
