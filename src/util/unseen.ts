/**
 * unseen.ts -- writes out characters that control a screen or are invisible on it, so that a person can judge a text.
 *
 * `clean` removes such characters, which is right for reading but hides evidence. Tab, newline, joiners and the
 * selectors of emoji stay.
 */

/** DEL, C1 controls, direction marks, line separators, and characters without width or ink. */
const UNSEEN =
  /[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]|\u034f/gu;
const CONTROL = /[\u0000-\u0008\u000b-\u001f]/g;

/** Writes each one as `\u{…}`. */
export const showUnseen = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(CONTROL, writeCodePoint).replace(UNSEEN, writeCodePoint);

const writeCodePoint = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/**
 * Writes each one in JSON text as its escape. They occur only in strings there, so the parsed value stays the same. For
 * JSON that a person reads.
 */
export const escapeUnseenInJson = (json: string): string => json.replace(UNSEEN, escapeUnits);

const JOINERS = /\u200c|\u200d|[\ufe00-\ufe0f]/g;

/** The same with joiners and selectors too. For JSON that programs read: nothing invisible is left. */
export const inertJson = (json: string): string => escapeUnseenInJson(json).replace(JOINERS, escapeUnits);

/** A character outside the basic plane becomes two escapes. */
const escapeUnits = (character: string): string => character.split("").map(escapeUnit).join("");
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
