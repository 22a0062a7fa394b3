/**
 * living-text.ts -- text that grows on a terminal above lines that change. It writes nothing itself: each call returns
 * what to write. Text breaks between words, and never reaches the last column. So the number of rows that the changing
 * lines take is known, and they are taken away exactly before a text is written. The text is never written a second
 * time.
 */
import { stripVTControlCharacters } from "node:util";

/** Below this width a terminal breaks the lines itself. */
const LEAST_COLUMNS = 20;
const MAX_INDENT = 24;
/** The further rows of an indented line begin this much later than its first one. */
const INDENT = 2;
const TAB = 8;
/** Colours and weights of goald itself. Texts of others must be cleaned before they are styled. */
export const STYLE = /(\u001b\[[0-9;]{1,20}m)/;
/** A line's end, blanks, or a word with the styles inside it. */
const TOKEN = /\n|[^\S\n]+|(?:\u001b\[[0-9;]{1,20}m|[^\s\u001b])+/g;

export class LivingText {
  readonly #columns: () => number;
  readonly #indent: number;
  /** Cells of the text's last row. */
  #column = 0;
  /** Blanks that are written with the next word, or dropped at a break. */
  #blanks = "";
  /** Blanks at the beginning of the text's last line, in cells. */
  #leading = 0;
  #lines: readonly string[] = [];
  /** Lines that wait for the end of the text's last line; they are shown below it meanwhile. */
  #later: string[] = [];
  /** Cells of each line below the text, as they stand on the screen. */
  #drawn: readonly number[] = [];

  /** `columns`: of the terminal, now. `indent`: cells before the further rows of a line that is not indented further itself. */
  constructor(columns: () => number, indent = -1) {
    this.#columns = columns;
    this.#indent = indent;
  }

  /** The text goes on with `text`, which may be a part of a line. */
  write(text: string): string {
    return `${this.#erase()}${this.#flow(text)}${this.#draw()}`;
  }

  /** A line of its own, which never breaks into a line that is not finished. */
  writeLine(line: string): string {
    if (this.#column + this.#blanks.length === 0) return this.write(`${line}\n`);
    this.#later.push(line);
    return this.write("");
  }

  /** Ends the text's last line when others wait for that. */
  end(): string {
    this.#lines = [];
    return this.write(this.#later.length > 0 ? "\n" : "");
  }

  /** The lines below the text are these now; each must fit into the terminal. */
  show(lines: readonly string[]): string {
    this.#lines = lines;
    return `${this.#erase()}${this.#draw()}`;
  }

  #flow(text: string): string {
    const columns = Math.max(this.#columns(), LEAST_COLUMNS) - 1;
    let out = "";
    for (const [token] of text.matchAll(TOKEN)) {
      if (token === "\n") {
        out += token;
        this.#column = 0;
        this.#blanks = "";
        this.#leading = 0;
        for (const line of this.#later.splice(0)) out += this.#flow(`${line}\n`);
      } else if (/^\s/.test(token)) this.#addBlanks(token);
      else out += this.#addWord(token, columns);
    }
    return out;
  }

  #addBlanks(token: string): void {
    for (const blank of token) {
      const at = this.#column + this.#blanks.length;
      this.#blanks += blank === "\t" ? " ".repeat(TAB - (at % TAB)) : " ";
    }
    if (this.#column === 0) this.#leading = Math.min(this.#blanks.length, MAX_INDENT);
  }

  #addWord(word: string, columns: number): string {
    const width = widthOf(word);
    const isFirst = this.#column === 0;
    let out = this.#blanks;
    this.#column += out.length;
    this.#blanks = "";
    // A word that no row can hold begins where it is. A name or an address that one can hold stays whole.
    if (this.#column + width > columns && !isFirst && width <= columns) out = this.#breakRow(columns - width);
    if (this.#column + width <= columns) {
      this.#column += width;
      return out + word;
    }
    for (const segment of piecesOf(word)) {
      const cells = widthOf(segment);
      if (this.#column + cells > columns) out += this.#breakRow(Math.floor(columns / 2));
      out += segment;
      this.#column += cells;
    }
    return out;
  }

  /** The next row begins under the words of its line, with at most `room` blanks. */
  #breakRow(room: number): string {
    this.#column = Math.min(this.#indent >= this.#leading ? this.#indent : this.#leading + INDENT, room);
    return `\n${" ".repeat(this.#column)}`;
  }

  #erase(): string {
    const columns = Math.max(this.#columns(), 1);
    // A terminal that became narrower has broken the lines.
    const rows = this.#drawn.reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / columns)), 0);
    if (rows === 0) return "";
    this.#drawn = [];
    const up = rows - (this.#column > 0 ? 0 : 1);
    const right = this.#column > 0 ? `\u001b[${this.#column}C` : "";
    return `\r${up > 0 ? `\u001b[${up}A` : ""}${right}\u001b[0J`;
  }

  #draw(): string {
    const held = stripVTControlCharacters(this.#later.join("\n")).split("\n");
    const rows = held.filter((row) => row !== "").map((row) => fitLine(row, this.#columns() - 1));
    const lines = [...rows, ...this.#lines];
    if (lines.length === 0) return "";
    this.#drawn = lines.map(widthOf);
    return `${this.#column > 0 ? "\n" : ""}${lines.join("\n")}`;
  }
}

/** Breaks lines between words. `indent`: cells before the further rows of a line. */
export const wrapText = (text: string, columns: number, indent?: number): string =>
  new LivingText(() => columns, indent).write(text);

/** As much of a line as fits, so that it stays one. All its styles stay, so that none goes on behind it. */
export function fitLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  const pieces = piecesOf(line);
  let width = 0;
  const end = pieces.findIndex((piece) => {
    width += widthOf(piece);
    return width > columns - 1;
  });
  const styles = pieces.slice(end).filter((piece) => STYLE.test(piece));
  return [...pieces.slice(0, end), "…", ...styles].join("");
}

/** The styles of a text, each as a whole, and its characters. */
const piecesOf = (text: string): readonly string[] =>
  text
    .split(STYLE)
    .flatMap((part) => (STYLE.test(part) ? [part] : Array.from(segmentsOf(part), ({ segment }) => segment)));

/** Made for the first text that needs it: it takes some 8 ms, and most tables are plain. */
let segmenter: Intl.Segmenter | undefined;

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Han, kana, hangul, fullwidth forms, halfwidth kana with their marks, and pictures in colour take two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|.[\uff9e\uff9f]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Cells that a text takes on a terminal, without goald's own styles. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(stripVTControlCharacters(text))) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The cells that each column of a table takes. */
export const columnWidths = (head: readonly string[], rows: readonly (readonly string[])[]): readonly number[] =>
  rows.reduce((most, row) => most.map((width, at) => Math.max(width, widthOf(row[at] ?? ""))), head.map(widthOf));
