/**
 * recalls.ts -- renders recalled memories as a delimited block of one-line rows.
 *
 * A row has at most 200 tokens, and the memory of a turn three times as many. Rows over 1,400 tokens in total are shortened to
 * such shares, so that ten rows fit into 1,500 tokens with their frame. A small context window gives them at most 15 % of its size.
 */
import type { Trust } from "#core/ports/memory-row.ts";
import type { Recall } from "#core/ports/recall.ts";
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { delimitText } from "./delimit.ts";
import { formatName } from "./format-name.ts";
import { fillTemplate, type Words } from "./template.ts";
import { estimateTokens, shrinkText } from "./tokens.ts";

export const MAX_RECALLS = 10;
const MAX_ROW_TOKENS = 200;
const MAX_ROWS_TOKENS = 1_400;
const MAX_SHARE_OF_CONTEXT = 0.15;
/** Shorter rows are useless, so fewer rows are shown instead. */
const LEAST_ROW_TOKENS = 60;
/** Longer text of one share never shows; it is cut before all other work. */
const MAX_TEXT_CHARS = 1_200;

/** Keeps the order of `recalls`; drops the last ones when rows would become too short. Ages are relative to `now`. */
export function renderRows(recalls: readonly Recall[], now: Date, contextTokens: number): readonly string[] {
  const most = Math.min(MAX_ROWS_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens));
  const rows = recalls.slice(0, Math.ceil(most / LEAST_ROW_TOKENS)).map((recall) => renderRow(recall, now));
  const tokens = rows.reduce((sum, row) => sum + Math.min(row.tokens, MAX_ROW_TOKENS * row.shares), 0);
  const allShares = rows.reduce((sum, { shares }) => sum + shares, 0);
  const share = tokens <= most ? MAX_ROW_TOKENS : Math.floor(most / allShares);
  return rows.map((row) => shortenRow(row, share * row.shares).line);
}

/** Returns "" for no rows. */
export const renderRecalls = (rows: readonly string[], words: Words): string =>
  rows.length === 0 ? "" : fillTemplate(words.recalls, { events: delimitText("data", rows.join("\n")) });

interface RecallRow {
  readonly head: string;
  readonly text: string;
  readonly line: string;
  readonly tokens: number;
  /** The memory of a turn has the input of its commands. */
  readonly shares: number;
}
const TURN_SHARES = 3;

/** Cache by recall id: most recalls of a step return at the next step. */
const kept = new Map<string, { readonly recall: Recall; readonly age: string; readonly row: RecallRow }>();
const MAX_KEPT_ROWS = 128;

function renderRow(recall: Recall, now: Date): RecallRow {
  const known = kept.get(recall.id);
  const age = formatAge(now, recall.at);
  if (known && known.age === age && isSameRecall(known.recall, recall)) return known.row;
  const text = cleanRowText(recall);
  const row = { ...renderRowWithin(renderRowHead(recall, age), text, text.length), shares: sharesOf(recall) };
  if (kept.size >= MAX_KEPT_ROWS) kept.clear();
  kept.set(recall.id, { recall, age, row });
  return row;
}

/** Compares two recalls of one memory. */
const isSameRecall = (one: Recall, other: Recall): boolean =>
  pickShownText(one) === pickShownText(other) &&
  one.step === other.step &&
  one.at === other.at &&
  one.kind === other.kind &&
  one.trust === other.trust &&
  one.closed?.step === other.closed?.step &&
  one.closed?.by === other.closed?.by;

const sharesOf = ({ kind }: Recall): number => (kind === "turn" ? TURN_SHARES : 1);

function shortenRow(row: RecallRow, maxTokens: number): Omit<RecallRow, "shares"> {
  if (row.tokens <= maxTokens) return row;
  return shrinkText(row.text.length, row.tokens, maxTokens, (limit) => renderRowWithin(row.head, row.text, limit));
}

function renderRowWithin(head: string, text: string, limit: number): Omit<RecallRow, "shares"> {
  const line = `${head} ${shortenText(text, limit)}`;
  // Adds one token for the line end.
  return { head, text, line, tokens: estimateTokens(line) + 1 };
}

function renderRowHead({ id, step, at, kind, trust, closed }: Recall, age: string): string {
  const time = formatName(at, 40).replace(/:\d\d(?:\.\d+)?Z$/, "Z");
  const when = `${step === null ? "no step" : `step ${step}`} | ${time}, ${age}`;
  return `[${formatName(id)} | ${when} | ${KINDS[kind]}${closed ? describeEnd(closed) : ""} | ${WHOSE[trust]}]`;
}

/** Marks a fact that a newer one has replaced. */
const describeEnd = ({ step }: NonNullable<Recall["closed"]>): string =>
  step === null ? ", was so before" : `, was so until step ${step}`;

const KINDS: Readonly<Record<Recall["kind"], string>> = {
  step: "step",
  turn: "memory of a turn",
  fact: "fact",
  note: "note",
  file_chunk: "piece of a text",
  reflection: "reflection",
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

const pickShownText = ({ text, excerpt }: Recall): string => excerpt ?? text;

const cleanRowText = (recall: Recall): string =>
  clean(clip(pickShownText(recall), MAX_TEXT_CHARS * sharesOf(recall)))
    .toWellFormed()
    .replace(/\s+/g, " ")
    .trim();

/** Keeps both ends: a memory starts with the intent and ends with the outcome. */
function shortenText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  if (limit < 3) return "…";
  const head = Math.ceil((limit - 3) * 0.7);
  return `${text.slice(0, head)} … ${text.slice(text.length - (limit - 3 - head))}`.toWellFormed();
}
