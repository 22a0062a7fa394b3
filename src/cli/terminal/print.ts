/**
 * print.ts -- the one way to standard output and standard error.
 *
 * Control characters and direction marks never pass, and marks without width are written out, whoever made the text. A verb
 * may clean its texts before, so that they fit a line or a table.
 */
import { clean } from "#util/clean.ts";
import { showUnseen } from "#util/unseen.ts";

export const printable = (text: string): string => showUnseen(clean(text));

export const printLine = (line: string): void => console.log(printable(line));

/** Writes a line to standard error. */
export const printNote = (line: string): void => console.error(printable(line));

/** Colours and weights of goald itself. Texts of others must be cleaned before they are styled. */
const STYLE = /(\u001b\[[0-9;]{1,20}m)/;

const printableInStyle = (text: string): string =>
  text
    .split(STYLE)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join("");

export const printStyledLine = (line: string): void => console.log(printableInStyle(line));

/** Writes a part of a line. */
export const printStyledPart = (text: string): void => void process.stdout.write(printableInStyle(text));

/** Moves the cursor to the top left and clears the screen. */
const CLEAR = "\u001b[H\u001b[2J";

export const redrawScreen = (text: string): void => void process.stdout.write(`${CLEAR}${printable(text)}`);
