/**
 * visible.ts -- text to be judged by a person, with all written out that acts on a screen or is not seen there.
 *
 * `clean` takes such characters out, and with a sequence all that stands in it: right for what is read, wrong where somebody
 * looks for what may have been hidden. Tab and newline stay, joiners and the selectors of emoji too.
 */

/** DEL, the upper controls, what turns the writing, separators of lines, and what has no width or no ink. */
export const UNSEEN =
  /[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]|\u034f/gu;
const CONTROL = /[\u0000-\u0008\u000b-\u001f]/g;

export const visible = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(CONTROL, written).replace(UNSEEN, written);

const written = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
