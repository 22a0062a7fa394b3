/**
 * redact-stream.ts -- redacts the recorded text of a response after reassembly.
 *
 * A stream cuts a text, and with it a key, over many deltas. This module joins the strings at one place of its JSON texts,
 * redacts them as one text, and lays the result over the same deltas. The recording is a valid stream of the redacted reply.
 */
import { isRecord, parseJson } from "#util/json.ts";
import type { Redact } from "#util/redact.ts";

/** A part of the stream: one line, or all data lines of one event, which hold one JSON text together. */
interface Piece {
  readonly raw: string;
  readonly before: string;
  readonly after: string;
  /** The parsed JSON, or data that is not JSON; null for a line without data. */
  readonly box: { value: unknown } | null;
  readonly isJson: boolean;
}

/** A string of a piece. `box` is the piece that it belongs to. */
interface Leaf {
  readonly text: string;
  readonly box: object;
  replace(text: string): void;
}

/** Deeper values are not part of a reply. */
const MAX_DEPTH = 32;

export function redactReply(text: string, redact: Redact): string {
  const whole = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (whole !== undefined) return redact(isReply(whole) ? joinRedacted([documentPiece(text, whole)], redact) : text);
  return joinRedacted(splitPieces(text), redact);
}

const documentPiece = (raw: string, value: unknown): Piece => ({
  ...{ raw, before: "", after: "", box: { value }, isJson: true },
});

const isReply = (value: unknown): boolean => isRecord(value) && Array.isArray(value.choices) && isShallow(value);

function joinRedacted(pieces: readonly Piece[], redact: Redact): string {
  const changed = new Set<object>();
  // A server may name the index of a tool call only in its first delta.
  for (const heedsIndex of [true, false]) {
    const places = new Map<string, Leaf[]>();
    for (const { box } of pieces) if (box) collectLeaves(box, box, { name: "", depth: 0, heedsIndex }, places);
    for (const leaves of places.values()) redactLeaves(leaves, redact, changed);
  }
  return pieces.map((piece) => writePiece(piece, changed, redact)).join("");
}

function writePiece({ raw, before, after, box, isJson }: Piece, changed: ReadonlySet<object>, redact: Redact): string {
  const value = box?.value;
  const text = box && changed.has(box) ? `${before}${isJson ? JSON.stringify(value) : String(value)}${after}` : raw;
  // A delta alone can look like a key that the whole reply does not hold. The replay must get the reply as the log has it.
  return isReply(value) ? text : redact(text);
}

// ---------------------------------------------------------------- pieces

const LINE = /([^\r\n]*)(\r\n|\r|\n|$)/g;
const DATA = /^\ufeff?data: ?/;

function splitPieces(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let open: Piece[] = [];
  const close = (): void => {
    pieces.push(...joinPieces(open));
    open = [];
  };
  for (const [raw, line = "", after = ""] of text.matchAll(LINE)) {
    const before = DATA.exec(line)?.[0];
    const data = line.slice(before?.length ?? 0);
    const value = /^\s*[[{]/.test(data) ? parseJson(data) : undefined;
    const isJson = value !== undefined;
    if (isJson || before === undefined) close();
    if (isJson) pieces.push({ raw, before: before ?? "", after, box: { value }, isJson });
    else if (before === undefined) pieces.push({ raw, before: "", after, box: null, isJson });
    else open.push({ raw, before, after, box: { value: data }, isJson });
  }
  close();
  return pieces;
}

/** Data lines in a row are one text. */
function joinPieces(open: readonly Piece[]): readonly Piece[] {
  const [first, last] = [open[0], open.at(-1)];
  if (!first || !last || open.length === 1) return open;
  const value = parseJson(open.map(({ box }) => box?.value).join("\n"));
  if (value === undefined) return open;
  return [{ ...first, raw: open.map(({ raw }) => raw).join(""), after: last.after, box: { value }, isJson: true }];
}

// ---------------------------------------------------------------- leaves

interface Place {
  readonly name: string;
  readonly depth: number;
  /** Keeps the elements of an array apart that name an index. */
  readonly heedsIndex: boolean;
}

/** `__proto__` is a name like any other in JSON. */
const OWN = { writable: true, enumerable: true, configurable: true };

/** Collects the strings of a value by their place. Strings that a client joins have the same place. */
function collectLeaves(
  holder: object,
  box: object,
  { name, depth, heedsIndex }: Place,
  places: Map<string, Leaf[]>,
): void {
  if (depth > MAX_DEPTH) return;
  for (const [key, value] of Object.entries(holder)) {
    const inner = Array.isArray(holder) ? nameElement(name, value, heedsIndex) : nameMember(name, key);
    if (typeof value === "object" && value !== null)
      collectLeaves(value, box, { name: inner, depth: depth + 1, heedsIndex }, places);
    if (typeof value !== "string" || value === "") continue;
    const leaves = places.get(inner) ?? [];
    places.set(inner, leaves);
    leaves.push({
      text: value,
      box,
      replace: (text) => void Reflect.defineProperty(holder, key, { ...OWN, value: text }),
    });
  }
}

const nameElement = (name: string, value: unknown, heedsIndex: boolean): string =>
  heedsIndex && isRecord(value) && typeof value.index === "number" ? `${name}#${value.index}` : name;

/** A message may come in place of a delta, and parts of a text in place of the text. */
const nameMember = (name: string, key: string): string =>
  key === "text" ? name : `${name}.${key === "message" ? "delta" : key}`;

const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== "object" ||
  value === null ||
  (depth <= MAX_DEPTH && Object.values(value).every((inner) => isShallow(inner, depth + 1)));

/** Redacts the joined texts, and gives each leaf its share of the result. */
function redactLeaves(leaves: readonly Leaf[], redact: Redact, changed: Set<object>): void {
  const whole = leaves.map(({ text }) => text).join("");
  const redacted = redact(whole);
  if (redacted === whole) return;
  const move = mapOffsets(whole, redacted);
  let from = 0;
  for (const { text, box, replace } of leaves) {
    const share = redacted.slice(move(from), move(from + text.length));
    from += text.length;
    if (share === text) continue;
    replace(share);
    changed.add(box);
  }
}

/** Maps offsets of a text to those of its redacted form: those before and after all changes exactly, others by proportion. */
function mapOffsets(text: string, redacted: string): (offset: number) => number {
  const shorter = Math.min(text.length, redacted.length);
  let start = 0;
  while (start < shorter && text[start] === redacted[start]) start++;
  let same = 0;
  while (same < shorter - start && text.at(-1 - same) === redacted.at(-1 - same)) same++;
  const end = text.length - same;
  const ratio = (redacted.length - same - start) / (end - start || 1);
  return (offset) => {
    if (offset <= start) return offset;
    return offset >= end ? offset - text.length + redacted.length : start + Math.floor((offset - start) * ratio);
  };
}
