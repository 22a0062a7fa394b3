/**
 * replace-text.ts -- replaces exact text in the bytes of a file, when it occurs as often as expected. The search takes
 * time linear in the file, whatever the text is. Bytes outside the replaced places never change. In a file whose lines
 * all end in CRLF, line ends of both texts become CRLF, because models see and write LF only.
 */

/** Occurrences beyond this number are counted, not listed and not replaced. */
export const MAX_PLACES = 10_000;
const NEWLINE = 10;
const RETURN = 13;

export type TextEdit =
  | {
      readonly kind: "replaced";
      readonly content: Uint8Array;
      /** Byte offsets of the new texts in `content`. */
      readonly places: readonly number[];
      /** Length of each new text. */
      readonly placeBytes: number;
      /** The line ends that the texts were changed to; null when they were used as given. */
      readonly lineEnd: "CRLF" | "LF" | null;
    }
  | { readonly kind: "too-large"; readonly bytes: number }
  /** Both texts are equal once they have the line ends of the file. */
  | { readonly kind: "same" }
  | { readonly kind: "missing" }
  | ({ readonly kind: "other-count" } & Occurrences);

interface Occurrences {
  readonly count: number;
  /** Byte offsets, at most `MAX_PLACES`. */
  readonly places: readonly number[];
  /** Whether two of the listed places overlap. */
  readonly overlap: boolean;
}

/** `old` is not empty. */
export function replaceText(
  content: Uint8Array,
  texts: { readonly old: string; readonly new: string },
  count: number,
  maxBytes: number,
): TextEdit {
  for (const { old, replacement, lineEnd } of listVariants(content, texts)) {
    const found = findText(content, old);
    if (found.count === 0) continue;
    if (found.count !== count || found.overlap) return { kind: "other-count", ...found };
    if (Buffer.compare(old, replacement) === 0) return { kind: "same" };
    const bytes = content.length + count * (replacement.length - old.length);
    if (bytes > maxBytes) return { kind: "too-large", bytes };
    return { kind: "replaced", ...splice(content, found.places, old.length, replacement, bytes), lineEnd };
  }
  return { kind: "missing" };
}

interface Variant {
  readonly old: Uint8Array;
  readonly replacement: Uint8Array;
  readonly lineEnd: "CRLF" | "LF" | null;
}

/** The texts as given first, unless the file has CRLF only; then with the other line ends that the file has. */
function listVariants(content: Uint8Array, texts: { readonly old: string; readonly new: string }): Variant[] {
  const encode = (change: (text: string) => string, lineEnd: Variant["lineEnd"]): Variant => ({
    old: Buffer.from(change(texts.old)),
    replacement: Buffer.from(change(texts.new)),
    lineEnd,
  });
  const given = encode((text) => text, null);
  const crlf = encode((text) => toLf(text).replaceAll("\n", "\r\n"), "CRLF");
  const lf = encode(toLf, "LF");
  const has = findLineEnds(content);
  const variants = has.crlf && !has.lf ? [crlf] : has.crlf ? [given, crlf, lf] : [given, lf];
  const isSame = (a: Variant, b: Variant): boolean =>
    Buffer.compare(a.old, b.old) === 0 && Buffer.compare(a.replacement, b.replacement) === 0;
  return variants.map((variant) => (isSame(variant, given) ? given : variant));
}

const toLf = (text: string): string => text.replaceAll("\r\n", "\n");

function findLineEnds(content: Uint8Array): { readonly crlf: boolean; readonly lf: boolean } {
  let crlf = false;
  let lf = false;
  for (let at = 0; at < content.length && !(crlf && lf); at += 1)
    if (content[at] === NEWLINE) {
      if (content[at - 1] === RETURN) crlf = true;
      else lf = true;
    }
  return { crlf, lf };
}

/** Knuth-Morris-Pratt: finds overlapping occurrences too, in time linear in both lengths. `text` is not empty. */
export function findText(content: Uint8Array, text: Uint8Array): Occurrences {
  const borders = computeBorders(text);
  const places: number[] = [];
  let count = 0;
  let overlap = false;
  let matched = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at];
    while (matched > 0 && byte !== text[matched]) matched = borders[matched - 1] ?? 0;
    if (byte === text[matched]) matched += 1;
    if (matched < text.length) continue;
    const place = at + 1 - text.length;
    count += 1;
    overlap ||= place < (places.at(-1) ?? -text.length) + text.length;
    if (places.length < MAX_PLACES) places.push(place);
    matched = borders[matched - 1] ?? 0;
  }
  return { count, places, overlap };
}

/** The length of the longest proper prefix of each beginning of `text` that is its suffix too. */
function computeBorders(text: Uint8Array): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[at] === text[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

function splice(
  content: Uint8Array,
  places: readonly number[],
  oldBytes: number,
  replacement: Uint8Array,
  bytes: number,
): { readonly content: Uint8Array; readonly places: readonly number[]; readonly placeBytes: number } {
  const result = new Uint8Array(bytes);
  const newPlaces: number[] = [];
  let read = 0;
  let written = 0;
  for (const place of places) {
    result.set(content.subarray(read, place), written);
    written += place - read;
    newPlaces.push(written);
    result.set(replacement, written);
    written += replacement.length;
    read = place + oldBytes;
  }
  result.set(content.subarray(read), written);
  return { content: result, places: newPlaces, placeBytes: replacement.length };
}
