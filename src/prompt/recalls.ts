/**
 * recalls.ts -- chooses what a prompt shows of recalled memories, and renders it as a delimited block of lines. A
 * recall that is shown with the rows around it is one passage: their lines in the order of the memory, apart from other
 * passages by an empty line. Passages are in the order of their best recall.
 */
import { changingNumbers, isSeries, numbersIn, orderOf } from "#core/memory.ts";
import type { Recall, RecalledRow, ShownRecall, TextRange, Trust } from "#core/ports/memory.ts";
import { describeReadBefore } from "#core/provenance.ts";
import { rememberBy } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText, formatName } from "./delimit.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";
import { fillTemplate, type Words } from "./words.ts";

/** Returns "" for no recalls. */
export const renderRecalls = (recalls: readonly Recall[], words: Words): string =>
  recalls.length === 0
    ? ""
    : fillTemplate(words["last-message/recalls"], { events: delimitText("data", renderPassages(recalls)) });

/** Best first. Of each passage the lines in the order of the memory. */
export function renderPassages(recalls: readonly Recall[]): string {
  const matches = new Map(recalls.map((recall) => [recall.id, recall]));
  const renderRow = (row: RecalledRow): string => {
    const recall = matches.get(row.id);
    return recall ? renderRecallLine(recall) : renderNearLine(row);
  };
  let text = "";
  let isLastAlone = true;
  for (const passage of joinPassages(recalls)) {
    const rows = [...passage.values()].sort((a, b) => orderOf(a.id) - orderOf(b.id));
    const isAlone = rows.length === 1;
    if (text !== "") text += isAlone && isLastAlone ? "\n" : "\n\n";
    text += rows.map(renderRow).join("\n");
    isLastAlone = isAlone;
  }
  return text;
}

type Passage = Map<string, RecalledRow>;

/** Joins recalls that share a row or are beside each other. */
function joinPassages(recalls: readonly Recall[]): readonly Passage[] {
  const passages: Passage[] = [];
  for (const recall of recalls) {
    const rows: readonly RecalledRow[] = [recall, ...(recall.around ?? [])];
    const [first = new Map<string, RecalledRow>(), ...more] = passages.filter((passage) =>
      rows.some(({ id }) => passage.has(id)),
    );
    for (const row of [...more.flatMap((passage) => [...passage.values()]), ...rows]) first.set(row.id, row);
    for (const passage of more) passages.splice(passages.indexOf(passage), 1);
    if (!passages.includes(first)) passages.push(first);
  }
  return passages;
}

const MAX_RECALLS = 10;
const MAX_ROW_TOKENS = 200;
const MAX_ROWS_TOKENS = 690;
const MAX_SHARE_OF_CONTEXT = 0.15;
/** Shorter rows are useless, so fewer rows are shown instead. */
const LEAST_ROW_TOKENS = 60;
/** Longer text never shows; it is cut before all other work. */
const MAX_TEXT_CHARS = 1_200;
const MAX_TURN_CHARS = 3_600;
/** Each recall has one share of the room, and the best one a half more. */
const SHARES_OF_BEST = 1.5;
/** The memory of a turn has the input of its commands. */
const TURN_TOKENS = 600;
const TURN_SHARES = 3;
/** Of the numbers of all series together. A row of more tokens than the second lists none. */
const MAX_SERIES_TOKENS = 200;
const MAX_LISTING_TOKENS = 100;
const MAX_NEAR_TOKENS = 100;
const LEAST_NEAR_TOKENS = 12;

interface Sized<Row extends RecalledRow> {
  readonly row: Row;
  readonly tokens: number;
  /** Characters of the text that are shown. */
  readonly chars: number;
}

/**
 * Chooses what a prompt shows of its recalls: 690 tokens of lines, at most 15 % of a small context window. Keeps the
 * order of `recalls`; drops the last ones when rows would become too short.
 *
 * The numbers of series come first, then the recalls: each has at most 200 tokens, and the memory of a turn three times
 * as many; more in total are shortened to shares. The rest goes to the rows right before and after the recalls, those
 * of the best first. No row is shown twice.
 */
export function fitRecalls(recalls: readonly Recall[], contextTokens: number): readonly Recall[] {
  const most = Math.min(MAX_ROWS_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens));
  const kept = recalls.slice(0, Math.min(MAX_RECALLS, Math.ceil(most / LEAST_ROW_TOKENS)));
  const whole = kept.map(({ around: _around, series: _series, ...row }) => cutRow(row, charsOf(row), renderRecallLine));
  const taken = new Set(kept.map(({ id }) => id));
  let seriesTokens = MAX_SERIES_TOKENS;
  const listed = whole.map((sized, at) => {
    const longer = addSeries(sized, kept[at]?.series, seriesTokens, taken);
    if (longer) seriesTokens -= longer.tokens - sized.tokens;
    return longer;
  });
  const others = whole.filter((_sized, at) => !listed[at]);
  const room = shareOut(others, most - listed.reduce((sum, longer) => sum + (longer?.tokens ?? 0), 0));
  const fitted = whole.map((sized, at) => listed[at] ?? fitRow(sized, room.get(sized) ?? 0, renderRecallLine));
  const around = chooseAround(kept, taken, most - fitted.reduce((sum, { tokens }) => sum + tokens, 0));
  return fitted.map(({ row }, at) => ({ ...row, around: around[at] ?? [] }));
}

/** Returns the tokens that each row may have. A row that needs less than its share leaves the rest to the others. */
function shareOut<Row extends Sized<RecalledRow>>(rows: readonly Row[], most: number): ReadonlyMap<Row, number> {
  const wishes = rows.map((sized, at) => ({
    sized,
    tokens: Math.min(sized.tokens, sized.row.kind === "turn" ? TURN_TOKENS : MAX_ROW_TOKENS),
    shares: (at === 0 ? SHARES_OF_BEST : 1) * (sized.row.kind === "turn" ? TURN_SHARES : 1),
  }));
  let left = most;
  let leftShares = wishes.reduce((sum, { shares }) => sum + shares, 0);
  const room = new Map<Row, number>();
  for (const { sized, tokens, shares } of wishes.sort((a, b) => a.tokens / a.shares - b.tokens / b.shares)) {
    const given = Math.min(tokens, Math.floor((left * shares) / leftShares));
    room.set(sized, given);
    left -= given;
    leftShares -= shares;
  }
  return room;
}

/** Cuts the text until its line has at most `most` tokens. `longest` shows as much of it as a prompt ever does. */
function fitRow<Row extends RecalledRow>(longest: Sized<Row>, most: number, render: (row: Row) => string): Sized<Row> {
  const { row, tokens, chars } = longest;
  if (tokens <= most) return longest;
  return shrinkText(chars, tokens, most, (limit) => cutRow(row, limit, render));
}

/** A very long text is cut before its line is estimated. */
const charsOf = ({ kind, text }: RecalledRow): number =>
  Math.min(text.length, kind === "turn" ? MAX_TURN_CHARS : MAX_TEXT_CHARS);

function cutRow<Row extends RecalledRow>(row: Row, limit: number, render: (row: Row) => string): Sized<Row> {
  const { length } = row.text;
  if (limit >= length) return { row, tokens: estimateLine(render(row)), chars: length };
  const ranges = excerptOf(row, limit);
  const cut = { ...row, ranges };
  const chars = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  return { row: cut, tokens: estimateLine(render(cut)), chars };
}

/** Most rows are beside a recall at the next step too. */
const fitNearRow = rememberBy((row: RecalledRow) =>
  fitRow(cutRow(row, charsOf(row), renderNearLine), MAX_NEAR_TOKENS, renderNearLine),
);

/** Lists the numbers of as many rows of the series as fit, the newest first. `taken` receives their ids. */
function addSeries(
  { row, tokens, chars }: Sized<Recall>,
  given: Recall["series"],
  most: number,
  taken: Set<string>,
): Sized<Recall> | undefined {
  const rows = given?.rows.filter(({ id }) => !taken.has(id)) ?? [];
  if (!given || tokens > MAX_LISTING_TOKENS || !isSeries([row, ...rows].map(({ text }) => numbersIn(text))))
    return undefined;
  for (let count = rows.length; count > 0; count--) {
    const listed = { ...row, series: { rows: rows.slice(0, count), others: given.others + rows.length - count } };
    const listedTokens = estimateLine(renderRecallLine(listed));
    if (listedTokens > tokens + most) continue;
    for (const { id } of listed.series.rows) taken.add(id);
    return { row: listed, tokens: listedTokens, chars };
  }
  return undefined;
}

/** Returns the rows shown around each recall. Rows that are shown already join their passages and take no room. */
function chooseAround(
  recalls: readonly Recall[],
  taken: ReadonlySet<string>,
  most: number,
): readonly (readonly RecalledRow[])[] {
  const shown = new Map<string, RecalledRow>(recalls.map((row) => [row.id, row]));
  let left = most;
  return recalls.map(({ around = [] }) =>
    around.flatMap((row): readonly RecalledRow[] => {
      const known = shown.get(row.id);
      if (known) return [known];
      if (taken.has(row.id) || left < LEAST_NEAR_TOKENS) return [];
      const near = fitNearRow(row);
      // An empty line may part its passage from the one before.
      if (near.tokens + 1 > left) return [];
      left -= near.tokens + 1;
      shown.set(row.id, near.row);
      return [near.row];
    }),
  );
}

/** Includes the line end. A line that follows a line end is found in the cache of estimates at the next step. */
const estimateLine = (line: string): number => estimateTokens(`\n${line}`);

/** Characters of the beginning that are shown before a passage from further behind. */
const BEGINNING_CHARS = 80;
/** Share of a text without a focus that its beginning gets: a memory starts with the intent and ends with the outcome. */
const BEGINNING_SHARE = 0.7;
/** Shares of the excerpt of a step: of its command in any case, of its focus, and of its outcome in the rest. */
const COMMAND_SHARE = 0.25;
const FOCUS_SHARE = 0.6;
const OUTCOME_SHARE = 0.6;

/**
 * Returns at most `limit` characters of the text, as ascending ranges: of a step its command and its outcome, and its
 * thought only if the focus is there; of another text with a focus the beginning and what is around the focus; else
 * both ends. A cut never divides a number.
 */
export function excerptOf(row: Pick<RecalledRow, "kind" | "text" | "focus">, limit: number): readonly TextRange[] {
  const { kind, text, focus } = row;
  if (text.length <= limit) return [[0, text.length]];
  const ends = kind === "step" ? endsOfStep(text) : undefined;
  if (ends) return alignRanges(text, excerptOfStep(ends, focus, limit));
  if (focus) return alignRanges(text, windowOn(0, text.length, limit, focus));
  const beginning = Math.ceil(limit * BEGINNING_SHARE);
  return alignRanges(text, [
    [0, beginning],
    [text.length - (limit - beginning), text.length],
  ]);
}

/** The ends of command, outcome and thought; undefined for the row of no command, such as words of a person. */
function endsOfStep(text: string): readonly [command: number, outcome: number, thought: number] | undefined {
  if (!text.startsWith("Command: ")) return undefined;
  const command = text.indexOf("\n");
  const thought = text.lastIndexOf("\nThought: ");
  const outcome = thought < 0 ? text.length : thought;
  return command < 0 || command > outcome ? undefined : [command, outcome, text.length];
}

/** The name of the command comes first, then the focus, then the outcome. */
function excerptOfStep(ends: readonly number[], focus: TextRange | undefined, limit: number): readonly TextRange[] {
  const parts = ends.map((end, at) => ({ from: ends[at - 1] ?? 0, to: end, chars: 0 }));
  const [command, outcome] = parts;
  const focused = focus && parts.find(({ to }) => focus[0] < to);
  let left = limit;
  const give = (part: (typeof parts)[number] | undefined, most: number): void => {
    if (!part) return;
    const more = Math.max(0, Math.min(left, Math.floor(most), part.to - part.from - part.chars));
    part.chars += more;
    left -= more;
  };
  give(command, COMMAND_SHARE * limit);
  give(focused, Math.min(FOCUS_SHARE * limit, focus ? 1.5 * (focus[1] - focus[0]) : 0));
  give(outcome, OUTCOME_SHARE * left);
  give(command, left);
  give(outcome, left);
  return parts.flatMap((part) => windowOn(part.from, part.to, part.chars, part === focused ? focus : undefined));
}

/** At most `chars` characters of a stretch: its beginning and, if that does not reach it, what is around the focus. */
function windowOn(from: number, to: number, chars: number, focus: TextRange = [from, from]): readonly TextRange[] {
  if (chars === 0) return [];
  const head = Math.min(BEGINNING_CHARS, Math.ceil(chars / 3));
  const room = chars - head;
  const [first, last] = focus;
  const begin = Math.min(to - room, first - Math.max(0, Math.floor((room - (last - first)) / 2)));
  if (last <= from + chars || begin <= from + head) return [[from, Math.min(to, from + chars)]];
  return [
    [from, from + head],
    [begin, begin + room],
  ];
}

/** Joins ranges that meet, and moves the others' ends out of numbers. */
function alignRanges(text: string, ranges: readonly TextRange[]): readonly TextRange[] {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = joined.at(-1);
    if (last && last[1] === from) last[1] = to;
    else joined.push([from, to]);
  }
  return joined
    .map(([from, to]): TextRange => [leaveNumber(text, from, 1), leaveNumber(text, to, -1)])
    .filter(([from, to]) => from < to);
}

/** A longer number may be divided. */
const MAX_NUMBER_CHARS = 40;

/** Returns the next place, in steps of 1 or -1, at which a cut divides no number. */
function leaveNumber(text: string, place: number, step: 1 | -1): number {
  let left = place;
  while (Math.abs(left - place) < MAX_NUMBER_CHARS && isInNumber(text, left)) left += step;
  return isInNumber(text, left) ? place : left;
}

/** Signs between digits belong to the number: 14,284.5, 9:30, 2026-11-20. */
const isInNumber = (text: string, place: number): boolean =>
  /\d[-.,:/]?$/.test(text.slice(Math.max(0, place - 2), place)) && /^[-.,:/]?\d/.test(text.slice(place, place + 2));

const renderRecallLine = (recall: Recall): string =>
  `[${renderHead(recall)}] ${renderText(recall)}${renderSeries(recall)}`;

/** The line of a row before or after one that matches. */
const renderNearLine = (row: RecalledRow): string => `(${renderHead({ ...row, step: null })}) ${renderText(row)}`;

/** Such as `foo/12, step 9, web`: the words of an agent, goald or a command have no mark of their own. */
function renderHead(row: RecalledRow): string {
  const { id, step, closed } = row;
  const end = closed?.step === null ? ", was so before" : `, was so until step ${closed?.step}`;
  return `${formatName(id)}${step === null ? "" : `, step ${step}`}${closed ? end : ""}${WHOSE[row.trust]}${describeReadBefore(row)}`;
}

/** Source of a memory: the least trusted of its words. */
const WHOSE: Readonly<Record<Trust, string>> = {
  person: ", a person",
  agent: "",
  goald: ", goald",
  file: ", a file",
  web: ", web",
};

/** The stretches of the text, with an ellipsis for each gap. Lines after the first are indented, so that none looks like a head. */
function renderText({ text, ranges = [[0, text.length]] }: RecalledRow): string {
  const [first] = ranges[0] ?? [0];
  const [, last] = ranges.at(-1) ?? [0, 0];
  const stretches = ranges.map(([from, to]) => renderLines(text.slice(from, to))).join(" … ");
  return `${first > 0 ? "… " : ""}${stretches}${last < text.length ? " …" : ""}`;
}

const renderLines = (text: string): string =>
  clean(text)
    .toWellFormed()
    .replace(/[\u2028\u2029]/g, " ")
    .trim()
    .replace(/^Command: /, "")
    .replace(/^Result \(ok\): /m, "-> ")
    .replace(/\s*\n/g, "\n  ");

/** The changing numbers of the other rows, oldest first. */
function renderSeries({ text, series }: Recall): string {
  if (!series) return "";
  const [, ...numbers] = changingNumbers([text, ...series.rows.map((row) => row.text)].map(numbersIn));
  const values = series.rows.map(({ id, step }, at) => {
    const where = step === null ? formatName(id) : `step ${step}`;
    return `${numbers[at]?.join(", ")} (${where})`;
  });
  const more = series.others > 0 ? `; ${series.others} older` : "";
  return ` | also ${values.reverse().join("; ")}${more}`;
}

/** Returns every row that is shown, once. */
export const shownRows = (recalls: readonly Recall[]): readonly RecalledRow[] => [
  ...new Map(
    recalls
      .flatMap((recall): readonly RecalledRow[] => [recall, ...(recall.around ?? []), ...(recall.series?.rows ?? [])])
      .map((row) => [row.id, row]),
  ).values(),
];

/**
 * Returns what a prompt shows of its recalls, as the log records it: ids and ranges of characters, never texts. With
 * the rows `readShown` gives the same lines again. Leaves out recalls that are shown whole and alone.
 */
export const recordShown = (recalls: readonly Recall[]): readonly ShownRecall[] =>
  recalls
    .map(({ around = [], series, ...recall }) => ({
      ...recordRow(recall),
      ...(around.length > 0 ? { with: around.map(recordRow) } : {}),
      ...(series ? { series: series.rows.map(({ id }) => id) } : {}),
      ...(series && series.others > 0 ? { others: series.others } : {}),
    }))
    .filter((recall) => Object.keys(recall).length > 1);

const recordRow = ({ id, ranges }: RecalledRow): ShownRecall => ({ id, ...(ranges ? { ranges } : {}) });

/** Returns the recalls of a record. Leaves out rows that `rows` lacks. */
export function readShown(
  recallIds: readonly string[],
  shown: readonly ShownRecall[],
  rows: ReadonlyMap<string, RecalledRow>,
): readonly Recall[] {
  const recorded = new Map(shown.map((recall) => [recall.id, recall]));
  const readRow = ({ id, ranges }: ShownRecall): readonly RecalledRow[] => {
    const row = rows.get(id);
    return row ? [{ ...row, ...(ranges ? { ranges } : {}) }] : [];
  };
  return recallIds.flatMap((id) => {
    const recall: ShownRecall = recorded.get(id) ?? { id };
    const others = (recall.series ?? []).flatMap((other) => rows.get(other) ?? []);
    const series = others.length > 0 ? { series: { rows: others, others: recall.others ?? 0 } } : {};
    const around = (recall.with ?? []).flatMap(readRow);
    return readRow(recall).map((row) => ({ ...row, score: 0, around, ...series }));
  });
}
