/**
 * remembered-input.ts -- writes the arguments of a call so that a model can read and copy them. Pure.
 *
 *   language: python
 *   code:
 *   import csv
 *   rows = list(csv.reader(open("a.csv")))
 *
 * Short arguments come first. A text of several lines follows its name as it is, without quotes and escapes.
 */
import { clip, headOf, isBlobRef, type Text } from "./text.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** Characters of the arguments of one call. */
const MAX_INPUT_CHARS = 8_000;
/** A text up to this length stays whole also when all arguments together are too long. */
const SHORT_CHARS = 1_000;

/** An argument that is too long to be remembered whole. */
export interface LongArgument {
  readonly name: string;
  readonly text: Text;
}

/** The long texts of arguments that are too long together. */
export function listLongArguments(args: Arguments): readonly LongArgument[] {
  if (writeArguments(args).length <= MAX_INPUT_CHARS && !Object.values(args).some(isBlobRef)) return [];
  return Object.entries(args).flatMap(([name, value]) =>
    isText(value) && lengthOf(value) > SHORT_CHARS ? [{ name, text: value }] : [],
  );
}

/** `places`: the file that holds each long argument. */
export function describeArguments(args: Arguments, places: ReadonlyMap<string, string> = new Map()): string {
  const long = listLongArguments(args).map(({ name, text }) => [name, shorten(text, places.get(name))] as const);
  return clip(writeArguments({ ...args, ...Object.fromEntries(long) }), MAX_INPUT_CHARS);
}

function shorten(text: Text, place: string | undefined): string {
  const head = headOf(text).slice(0, SHORT_CHARS).toWellFormed();
  return `${head}\n[… the beginning of ${sizeOf(text)}${place === undefined ? "" : `; the whole is in ${place}`} …]`;
}

function writeArguments(args: Arguments): string {
  const written = Object.entries(args).map(([name, value]) => ({ name, text: writeValue(value) }));
  const isLine = ({ text }: { readonly text: string }): boolean => !text.includes("\n");
  return [
    ...written.filter(isLine).map(({ name, text }) => `${name}: ${text}`),
    ...written.filter((each) => !isLine(each)).map(({ name, text }) => `${name}:\n${text}`),
  ].join("\n");
}

function writeValue(value: unknown): string {
  return isText(value)
    ? headOf(value)
    : (JSON.stringify(value, (_name, inner: unknown) => (isBlobRef(inner) ? inner.head : inner)) ?? "");
}

const isText = (value: unknown): value is Text => typeof value === "string" || isBlobRef(value);
const lengthOf = (text: Text): number => (typeof text === "string" ? text.length : text.bytes);
const sizeOf = (text: Text): string => (typeof text === "string" ? `${text.length} characters` : `${text.bytes} bytes`);
