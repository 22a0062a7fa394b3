/**
 * text.ts -- free text as it lies in events: short, whole, and safe to store anywhere.
 *
 * Text over `SPILL_BYTES` is kept once, by its hash, and the event carries a
 * reference with the beginning of the text: state and prompts stay small whatever a
 * model or a command returns.
 */

/** 32 KB of UTF-8: what an event carries itself; more becomes a blob. */
export const SPILL_BYTES = 32 * 1024;
/** How much of a spilled text stays in the reference, in characters. */
export const HEAD_CHARS = 4_000;

export interface BlobRef {
  /** SHA-256 of the bytes, in hex. */
  readonly blob: string;
  readonly bytes: number;
  readonly head: string;
}
export type Text = string | BlobRef;

export const isBlobRef = (value: unknown): value is BlobRef =>
  typeof value === "object" &&
  value !== null &&
  /^[0-9a-f]{64}$/.test(String((value as BlobRef).blob)) &&
  typeof (value as BlobRef).bytes === "number" &&
  typeof (value as BlobRef).head === "string";

/** What can be shown without opening the blob. */
export const headOf = (text: Text): string => (typeof text === "string" ? text : text.head);

/**
 * Text that every store and wire accepts: no NUL (Postgres refuses it), no lone
 * surrogate (it is not UTF-8). Each becomes U+FFFD, so that offsets stay.
 */
export const wellFormed = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed();

/** At most `limit` characters of `text`, from both ends, with the gap named where there is room; never half a surrogate pair. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const gapFor = (left: number): string => `\n[… ${left} characters left out …]\n`;
  const room = limit - gapFor(text.length).length;
  if (room <= 0) return text.slice(0, limit).toWellFormed();
  const head = Math.ceil(room * 0.7);
  return (text.slice(0, head) + gapFor(text.length - room) + text.slice(text.length - (room - head))).toWellFormed();
}

/** "1 file", "2 files". `plural` is for a noun that takes more than an "s". */
export const countNoun = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** One line of at most `limit` characters, white space folded; what is left out is shown to be, and no surrogate pair is cut. */
export function oneLine(text: string, limit: number): string {
  const whole = text.trim();
  const line = whole
    .slice(0, limit * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= limit && whole.length <= limit * 4) return line;
  return `${line.slice(0, limit - 1).toWellFormed()}…`;
}
