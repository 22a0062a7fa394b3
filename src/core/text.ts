/**
 * text.ts -- free text in events: short, well-formed, and safe to store anywhere. Text over `SPILL_BYTES` is stored
 * once as a blob, and the event carries its hash and its first characters, so that state and prompts stay small
 * whatever a model or a command returns.
 */

/** Longer text (in bytes of UTF-8) becomes a blob. */
export const SPILL_BYTES = 32 * 1024;
/** Characters of a spilled text that stay in the reference. */
export const HEAD_CHARS = 4_000;

export interface BlobRef {
  /** SHA-256 of the bytes, in hex. */
  readonly blob: string;
  readonly bytes: number;
  readonly head: string;
  /** The bytes are the JSON of a value, not a text. */
  readonly json?: true;
}
export type Text = string | BlobRef;

export const isBlobRef = (value: unknown): value is BlobRef =>
  typeof value === "object" &&
  value !== null &&
  /^[0-9a-f]{64}$/.test(String((value as BlobRef).blob)) &&
  typeof (value as BlobRef).bytes === "number" &&
  typeof (value as BlobRef).head === "string";

/** Replaces each reference, at any depth, by the text or the value in its blob. One that `read` does not find stays. */
export async function restoreValue(
  value: unknown,
  read: (text: BlobRef) => Promise<string | undefined>,
): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (isBlobRef(value)) {
    const text = await read(value);
    return text !== undefined && value.json ? JSON.parse(text) : (text ?? value);
  }
  if (Array.isArray(value)) return Promise.all(value.map((item) => restoreValue(item, read)));
  const members = Object.entries(value).map(async ([name, item]) => [name, await restoreValue(item, read)] as const);
  return Object.fromEntries(await Promise.all(members));
}

/** The part that can be shown without reading the blob. */
export const headOf = (text: Text): string => (typeof text === "string" ? text : text.head);

/**
 * Text that every store and wire accepts: no NUL (Postgres refuses it), no lone
 * surrogate (it is not UTF-8). Each becomes U+FFFD, so that offsets stay.
 */
export const wellFormed = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed();

/** Shortens `text` to `limit` characters from both ends, naming the gap where there is room. Never splits a surrogate pair. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const gapFor = (left: number): string => `\n[… ${left} characters left out …]\n`;
  const room = limit - gapFor(text.length).length;
  if (room <= 0) return text.slice(0, limit).toWellFormed();
  const head = Math.ceil(room * 0.7);
  return (text.slice(0, head) + gapFor(text.length - room) + text.slice(text.length - (room - head))).toWellFormed();
}

/** "22,500", as people read it. `toLocaleString` would load the tables of all languages at every start. */
export const withCommas = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

/** "1 file", "2 files". For a noun that takes no more than an "s". */
export const countNoun = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** "a", "a and b", "a, b and 3 more". `word` stands before the last one of a whole list. */
export function joinNames(names: readonly string[], max: number, word = "and"): string {
  if (names.length > max) return `${names.slice(0, max).join(", ")} and ${names.length - max} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;
}

/**
 * A part of a file name, of `limit` code points: letters and digits of every script stay, in lower case; Latin letters lose
 * their accents, and all else becomes a hyphen. Empty when none stay.
 */
export function slugWords(text: string, limit: number): string {
  const letters = text
    .toWellFormed()
    .normalize("NFKD")
    .replace(/(\p{Script=Latin})\p{M}+/gu, "$1")
    .replace(/\p{Default_Ignorable_Code_Point}|['’`]/gu, "")
    .normalize("NFC")
    .toLowerCase();
  const words = letters.replace(/[^\p{L}\p{N}\p{M}]+/gu, "-").replace(/^[-\p{M}]+/u, "");
  return [...words].slice(0, limit).join("").replace(/-+$/, "");
}

/** Folds white space and truncates to one line of `limit` characters, marked with an ellipsis. Never splits a surrogate pair. */
export function oneLine(text: string, limit: number): string {
  const whole = text.trim();
  const line = whole
    .slice(0, limit * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= limit && whole.length <= limit * 4) return line;
  return `${line.slice(0, limit - 1).toWellFormed()}…`;
}

/** Bytes of a megabyte in a setting. */
export const MEBIBYTE = 1024 * 1024;

/** "1 byte", "999 bytes", "1.5 KB", "12 MB"; a unit is 1,000 of the one before. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return countNoun(bytes, "byte");
  let size = bytes;
  let unit = "";
  for (const next of ["KB", "MB", "GB", "TB"]) {
    if (size < 999.5) break;
    size /= 1000;
    unit = next;
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

/** Persian and Indic words need joiners. */
const JOINING =
  "Arabic Syriac Nko Mandaic Mongolian Phags_Pa Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join("");
const EMOJI = "\\p{Extended_Pictographic}";
const VISIBLE_EFFECT = new RegExp(
  [
    `(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}])`,
    `(?<=${EMOJI}[\\ufe0f\\p{Emoji_Modifier}]?)\\u200d(?=${EMOJI})`,
    `(?<=${EMOJI})[\\ufe0e\\ufe0f]`,
    "(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
    "(?<=\\u{1f3f4})[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}",
  ].join("|"),
  "gu",
);
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u;

/**
 * Returns the first mark in a name that nobody sees, such as a zero-width space or a soft hyphen, as `U+200B`;
 * undefined when every character can be seen. Two names that look alike must be the same name. A mark is accepted where
 * it changes how its neighbours look: a joiner in a script that joins its letters or between two emoji, a selector or a
 * flag's tags after an emoji. Pure.
 */
export function findUnseenMark(name: string): string | undefined {
  const [mark] = UNSEEN.exec(name) ? (UNSEEN.exec(name.replace(VISIBLE_EFFECT, "")) ?? []) : [];
  return mark && `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
