/**
 * recalls.ts -- past events from long-term memory, as a block of one-line rows.
 *
 * Each row is one line, whatever the memory held, and all stand in a delimiter that they
 * cannot close. A row takes at most 200 tokens; when that is more than 1,400 in all, each takes an
 * equal share, so that ten always find room below 1,500 together with the words around them; in a small context window they
 * take 15 % of it at most.
 */
import type { Trust } from "#core/ports/memory-row.ts";
import type { Recall } from "#core/ports/recall.ts";
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { delimit } from "./delimit.ts";
import { nameLine } from "./messages.ts";
import { fill, type Words } from "./template.ts";
import { estimateTokens, shrink } from "./tokens.ts";

export const MAX_RECALLS = 10;
const MAX_ROW_TOKENS = 200;
const MAX_ROWS_TOKENS = 1_400;
const MAX_SHARE_OF_CONTEXT = 0.15;
/** Shorter a row would say nothing: rather fewer of them. */
const LEAST_ROW_TOKENS = 60;
/** More of a memory's text than this never shows; it is cut before anything else looks at it. */
const MAX_TEXT_CHARS = 1_200;

/** Rows in the order given, with their ages at `now`; the worst are left out where there is no room for so many. */
export function renderRows(recalls: readonly Recall[], now: Date, contextTokens: number): readonly string[] {
  const most = Math.min(MAX_ROWS_TOKENS, Math.floor(MAX_SHARE_OF_CONTEXT * contextTokens));
  const rows = recalls.slice(0, Math.ceil(most / LEAST_ROW_TOKENS)).map((recall) => wholeRow(recall, now));
  const tokens = rows.reduce((sum, row) => sum + Math.min(row.tokens, MAX_ROW_TOKENS), 0);
  const share = tokens <= most ? MAX_ROW_TOKENS : Math.floor(most / rows.length);
  return rows.map((row) => shortRow(row, share).line);
}

/** Empty when there is nothing to recall. */
export const recallsBlock = (rows: readonly string[], words: Words): string =>
  rows.length === 0 ? "" : fill(words.recalls, { events: delimit("data", rows.join("\n")) });

interface Row {
  readonly head: string;
  readonly text: string;
  readonly line: string;
  readonly tokens: number;
}

/** Most recalls of a step come again at the next one: their rows are kept, the newest of them. */
const kept = new Map<string, { readonly recall: Recall; readonly age: string; readonly row: Row }>();
const MAX_KEPT_ROWS = 128;

function wholeRow(recall: Recall, now: Date): Row {
  const known = kept.get(recall.id);
  const age = ageAt(now, recall.at);
  if (known && known.age === age && readsTheSame(known.recall, recall)) return known.row;
  const text = textOfRow(recall);
  const row = rowWith(headOfRow(recall, age), text, text.length);
  if (kept.size >= MAX_KEPT_ROWS) kept.clear();
  kept.set(recall.id, { recall, age, row });
  return row;
}

/** Of two recalls of one memory. */
const readsTheSame = (one: Recall, other: Recall): boolean =>
  shownOf(one) === shownOf(other) &&
  one.step === other.step &&
  one.at === other.at &&
  one.kind === other.kind &&
  one.trust === other.trust;

function shortRow(row: Row, maxTokens: number): Row {
  if (row.tokens <= maxTokens) return row;
  return shrink(row.text.length, row.tokens, maxTokens, (limit) => rowWith(row.head, row.text, limit));
}

function rowWith(head: string, text: string, limit: number): Row {
  const line = `${head} ${shorten(text, limit)}`;
  // One more for the line end behind it.
  return { head, text, line, tokens: estimateTokens(line) + 1 };
}

function headOfRow({ id, step, at, kind, trust }: Recall, age: string): string {
  const time = nameLine(at, 40).replace(/:\d\d(?:\.\d+)?Z$/, "Z");
  const when = `${step === null ? "no step" : `step ${step}`} | ${time}, ${age}`;
  return `[${nameLine(id)} | ${when} | ${KINDS[kind]} | ${WHOSE[trust]}]`;
}

const KINDS: Readonly<Record<Recall["kind"], string>> = {
  step: "step",
  fact: "fact",
  note: "note",
  file_chunk: "piece of a text",
  reflection: "reflection",
};
/** Whose words a memory holds, the least trusted that are in it. */
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

/** A clock that was set back makes nothing older than now. */
function ageAt(now: Date, at: string): string {
  const seconds = (now.getTime() - Date.parse(at)) / 1000;
  const [length, unit] = UNITS.find(([each]) => seconds >= each) ?? [];
  return length === undefined ? "just now" : `${Math.floor(seconds / length)} ${unit} ago`;
}

const shownOf = ({ text, excerpt }: Recall): string => excerpt ?? text;

const textOfRow = (recall: Recall): string =>
  clean(clip(shownOf(recall), MAX_TEXT_CHARS))
    .toWellFormed()
    .replace(/\s+/g, " ")
    .trim();

/** Both ends stay: a memory begins with what was meant and ends with what came of it. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  if (limit < 3) return "…";
  const head = Math.ceil((limit - 3) * 0.7);
  return `${text.slice(0, head)} … ${text.slice(text.length - (limit - 3 - head))}`.toWellFormed();
}
