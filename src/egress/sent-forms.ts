/** sent-forms.ts -- the letters that the parts of a call may stand for, alone and joined with those of earlier calls. */
import { decodeForms } from "./decode-forms.ts";
import { GRAM } from "./find-shared.ts";
import { foldText } from "./fold-text.ts";
import type { SentPart } from "./sent-text.ts";

const MAX_STREAM_CHARS = 4_000;
const MAX_SLOTS = 24;

/** Folded forms of what one call sends: each part, and all of them in a row. */
export function formsOfCall(parts: readonly SentPart[]): readonly string[] {
  const names = parts.filter(isName).map(({ value }) => value);
  const values = parts.filter((part) => !isName(part)).map(({ value }) => value);
  return foldForms([values.join(""), values.join(" "), names.join(" "), ...values, [...values].reverse().join(" ")]);
}

/** Folded forms of each part alone. */
export const formsOfParts = (parts: readonly SentPart[]): readonly string[] =>
  foldForms(parts.map(({ value }) => value));

/**
 * Folded forms of the values that one slot had in several calls, in the order of the calls, backwards, and in the order of a
 * number that came with them.
 */
export function formsOfStreams(calls: readonly (readonly SentPart[])[]): readonly string[] {
  const [last = []] = calls.slice(-1);
  const slots = [...new Set(last.map(({ slot }) => slot))].slice(0, MAX_SLOTS);
  const rows = calls.map((parts) => new Map(parts.map(({ slot, value }) => [slot, value])));
  const orders = [rows, rows.toReversed(), ...slots.flatMap((slot) => orderByNumber(rows, slot))];
  const whole = orders.map((order) => order.map((row) => [...row.values()].join(" ")));
  const streams = slots.flatMap((slot) => orders.map((order) => order.map((row) => row.get(slot) ?? "")));
  return foldForms([...whole, ...streams].filter((pieces) => pieces.length > 1).flatMap(joinPieces));
}

type Row = ReadonlyMap<string, string>;

function orderByNumber(rows: readonly Row[], slot: string): readonly (readonly Row[])[] {
  const numberOf = (row: Row): number => Number.parseInt(/\d+/.exec(row.get(slot) ?? "")?.[0] ?? "", 10);
  const counted = rows.filter((row) => !Number.isNaN(numberOf(row)));
  return counted.length < 2 ? [] : [counted.toSorted((a, b) => numberOf(a) - numberOf(b))];
}

/** The pieces in a row, as they are and each decoded by itself. */
function joinPieces(pieces: readonly string[]): readonly string[] {
  const ways = [(piece: string) => piece, reverse, decodeFrom("hex"), decodeFrom("base64")];
  return ways.map((way) => pieces.map(way).join("").slice(-MAX_STREAM_CHARS));
}

const reverse = (text: string): string => [...text].reverse().join("");
const decodeFrom = (code: "hex" | "base64") => (text: string) => Buffer.from(text, code).toString("utf8");

const foldForms = (texts: readonly string[]): readonly string[] => {
  const long = [...new Set(texts)].filter((text) => text.length >= GRAM);
  return [...new Set(long.flatMap(decodeForms).map(foldText))].filter((form) => form.length >= GRAM);
};

const isName = ({ slot }: SentPart): boolean => slot === "names" || slot.endsWith(" names");
