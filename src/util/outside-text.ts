/**
 * outside-text.ts -- removes control sequences and hidden characters from outside text.
 *
 * Terminals obey escape sequences, log viewers obey carriage returns, and all screens obey direction marks. A text can
 * use them to hide or rewrite lines, or to show a file name backwards. Tags and rows of variation selectors are
 * invisible, but models read them. All text for models, terminals and logs passes through here.
 *
 * Known sequences are removed as a whole, then all remaining controls one by one, so that removal cannot build a new
 * sequence. Tab, newline, zero-width joiners and all visible characters stay. Time is linear in the length, because no
 * pattern reads past an escape twice. `clean(clean(x)) === clean(x)`.
 */

export function clean(text: string): string {
  const plain = SUSPECT.test(text) ? text.replace(SEQUENCE, "").replace(/\r\n?/g, "\n").replace(STRAY, "") : text;
  return HIDDEN.test(plain) ? plain.replace(TAGS, "$1").replace(SELECTORS, "$1") : plain;
}

export const foldLine = (text: string): string => clean(text).toWellFormed().replace(/\s+/g, " ").trim();

/** Visible text stays: one selector chooses the form of a character, and tags between these two ends belong to a flag. */
const HIDDEN = /[\u{e0000}-\u{e01ef}]|[\ufe00-\ufe0f]{2}/u;
const TAGS = /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f})|[\u{e0000}-\u{e00ff}]/gu;
const SELECTORS = /([\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;

/** Control characters and direction marks, except tab and newline. */
const SUSPECT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const STRAY = new RegExp(SUSPECT.source, "g");

/**
 * OSC, DCS, APC, PM and SOS, in 7-bit and 8-bit forms: an opener, a body, and ST, BEL or CAN as the end. A match stays
 * on its line; else two openers in a table would remove all rows between them.
 */
const STRING_SEQUENCE =
  /(?:\u001b[\]P_^X]|[\u0090\u0098\u009d-\u009f])[^\u0007\u0018\u001b\u009c\r\n]*(?:\u0007|\u0018|\u001b\\|\u009c)?/;
/** CSI: parameters, intermediates and a final byte, which may be missing. */
const CONTROL_SEQUENCE = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?/;
/** All other escapes, such as saving the cursor, choosing a character set, or a reset. */
const SHORT_SEQUENCE = /\u001b[ -/]*[0-~]?/;
const SEQUENCE = new RegExp(
  [STRING_SEQUENCE, CONTROL_SEQUENCE, SHORT_SEQUENCE].map(({ source }) => source).join("|"),
  "g",
);

/**
 * Returns the numbered lines of code, for people. Unseen and control characters are written out, so that the code
 * cannot look different from what runs.
 */
export function numberCode(code: string): readonly string[] {
  const lines = showUnseen(code.replace(/\n$/, "")).split("\n");
  const width = String(lines.length).length;
  return lines.map((line, index) => `${String(index + 1).padStart(width)} | ${line}`);
}

/** Controls except tab and newline, direction marks, line separators, and characters without width or ink. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\ufff9-\ufffb]|(?!\u200c|\u200d|[\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu;

/**
 * Writes characters that control a screen or are invisible on it as `\u{…}`, so that a person can judge a text: `clean`
 * removes them, which is right for reading but hides evidence. Tab, newline, joiners and the selectors of emoji stay.
 */
export const showUnseen = (text: string): string => text.replaceAll("\r\n", "\n").replace(UNSEEN, writeCodePoint);

const writeCodePoint = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/**
 * Writes each of these characters in JSON text as its escape. They occur only in strings there, so the parsed value
 * stays the same. For JSON that a person reads.
 */
export const escapeUnseenInJson = (json: string): string => json.replace(UNSEEN, escapeUnits);

const JOINERS = /\u200c|\u200d|[\ufe00-\ufe0f]/g;

/** The same with joiners and selectors too. For JSON that programs read: nothing invisible is left. */
export const inertJson = (json: string): string => escapeUnseenInJson(json).replace(JOINERS, escapeUnits);

/** A character outside the basic plane becomes two escapes. */
const escapeUnits = (character: string): string => character.split("").map(escapeUnit).join("");
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Changes Markdown from outside so that a preview of it fetches nothing. Images become links, and the brackets of HTML
 * elements that could fetch something become text. Elements without an attribute stay, because code is full of them.
 * Code is changed too: only its renderer knows for certain where it ends. Takes linear time.
 */
export function makeInert(markdown: string): string {
  const isFetching = createTagCheck(markdown);
  const isImage = createImageCheck(markdown);
  return markdown
    .replace(/<(?=[a-z])|!\[/gi, (mark, at: number) => {
      if (mark === "<") return isFetching(at) ? "&lt;" : mark;
      return isImage(at) ? "!\\[" : mark;
    })
    .replace(REMOTE_DEFINITION, "]\\:");
}

/** `[name]: address`, which an image elsewhere can use. Entities and backslashes can hide the address. */
const REMOTE_DEFINITION = /\]:(?=\s*[^\s]{0,64}?(?:[a-z]:|\/\/|[\\&]))/gi;
/** These fetch by their content. */
const ACTIVE = /(?:style|script)\b/iy;

/** Whether the tag at an offset can fetch something. Offsets must increase. */
function createTagCheck(text: string): (at: number) => boolean {
  const nameEnd = createFinder(text, /[\s/>=]/g);
  const nextEnd = createFinder(text, /[>=]/g);
  return (at) => {
    ACTIVE.lastIndex = at + 1;
    if (ACTIVE.test(text)) return true;
    const afterName = nameEnd(at);
    return /[\s/]/.test(text[afterName] ?? "") && text[nextEnd(afterName)] === "=";
  };
}

/** Whether a link's end follows in the paragraph. Offsets must increase. */
function createImageCheck(text: string): (at: number) => boolean {
  const nextLink = createFinder(text, /\]\(/g);
  const nextBlank = createFinder(text, /\n[^\S\n]*\n/g);
  return (at) => nextLink(at) < nextBlank(at);
}

/** Finds the first match from an offset on; the text's length plus one when there is none. Offsets must increase. */
function createFinder(text: string, pattern: RegExp): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found >= from) return found;
    pattern.lastIndex = from;
    found = pattern.exec(text)?.index ?? text.length + 1;
    return found;
  };
}

const STRING_END = /^[^\\]"[,:}\]]$/;

/**
 * Returns the words of a growing text that further text cannot change: up to and including its last white space. It
 * searches from the end, so the cost is the last word. In JSON the end of a string ends a word, too: a quote inside a
 * string is escaped, so no secret continues behind it.
 */
export function cutToWholeWords(text: string, isJson = false): string {
  const endsString = (end: number): boolean => isJson && STRING_END.test(text.slice(end - 2, end + 1));
  let end = text.length;
  while (end > 0 && !/\s/.test(text[end - 1] as string) && !endsString(end)) end--;
  return text.slice(0, end);
}
