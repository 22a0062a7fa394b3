/**
 * inert-json.ts -- JSON text that does nothing to the terminal it is shown on, and hides nothing from who reads it there.
 *
 * JSON leaves DEL, the C1 controls, the marks that turn the direction of writing and the characters that nobody sees as
 * they are; a terminal obeys the first ones, and with `clean` all that stands between two of them goes. Outside
 * strings they cannot stand, so each is written as its escape: every program reads the same value. Joiners and the
 * selectors of emoji stay.
 */
export const inertJson = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]|\u034f/gu,
    (character) => Array.from({ length: character.length }, (_, at) => escapeOf(character.charCodeAt(at))).join(""),
  );

const escapeOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;
