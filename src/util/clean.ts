/**
 * clean.ts -- text from outside without the characters that act instead of being read.
 *
 * A terminal obeys escape sequences, a log viewer carriage returns, every screen the marks that
 * turn the direction of writing: with them a text can hide a line, rewrite what stands above it, or
 * show a file name backwards. And there are letters that no screen shows and every model reads: tags, and rows of
 * variation selectors. Models, terminals and logs all get text through here.
 *
 * Known sequences go as a whole, so that no debris stays; whatever controls are left then go one
 * by one, so nothing can be put together again from the pieces. Tab, newline, zero-width joiners
 * and all visible characters stay. Time is linear in the length: each pattern stops at the next
 * escape and never reads on past it twice. `clean(clean(x)) === clean(x)`.
 */
export function clean(text: string): string {
  const plain = SUSPECT.test(text) ? text.replace(SEQUENCE, "").replace(/\r\n?/g, "\n").replace(STRAY, "") : text;
  return HIDDEN.test(plain) ? plain.replace(TAGS, "$1").replace(SELECTORS, "$1") : plain;
}

/** Nothing seen is lost: one selector chooses a form of the character before it, and tags between these two ends are a flag's. */
const HIDDEN = /[\u{e0000}-\u{e01ef}]|[\ufe00-\ufe0f]{2}/u;
const TAGS = /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f})|[\u{e0000}-\u{e00ff}]/gu;
const SELECTORS = /([\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;

/** Everything that is not itself text, but for tab and newline. */
const SUSPECT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const STRAY = new RegExp(SUSPECT.source, "g");

/**
 * OSC, DCS, APC, PM and SOS, in their 7-bit and 8-bit forms: an opener, a body, and ST, BEL or CAN as
 * the end. None reaches beyond its line: two of them in two rows of a table would take all rows between with them.
 */
const STRING_SEQUENCE =
  /(?:\u001b[\]P_^X]|[\u0090\u0098\u009d-\u009f])[^\u0007\u0018\u001b\u009c\r\n]*(?:\u0007|\u0018|\u001b\\|\u009c)?/;
/** CSI: parameters, intermediates, final byte; the end may be missing. */
const CONTROL_SEQUENCE = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?/;
/** Every other escape: save the cursor, choose a character set, reset. */
const SHORT_SEQUENCE = /\u001b[ -/]*[0-~]?/;
const SEQUENCE = new RegExp(
  [STRING_SEQUENCE, CONTROL_SEQUENCE, SHORT_SEQUENCE].map(({ source }) => source).join("|"),
  "g",
);
