/**
 * clean.ts -- removes control sequences and hidden characters from outside text.
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
