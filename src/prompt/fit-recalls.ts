/**
 * fit-recalls.ts -- chooses what a prompt shows of its recalls: 1,400 tokens of lines, 15 % of a small context window.
 *
 * The recalls come first: each has at most 200 tokens, and the memory of a turn three times as many; more in total are
 * shortened to such shares. The rest goes to the numbers of series, then to the rows around each recall: those at its side for
 * all recalls, then those one further. No row is shown twice.
 */

import { isSeries } from "#core/memory.ts";
import type { Recall, RecalledRow, TextRange } from "#core/ports/memory.ts";
import { lengthOf, renderNearLine, renderRecallLine, shortenRanges } from "./recall-lines.ts";
import type { RecallPart, RowPart } from "./shown-recalls.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";

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
