/**
 * screen.ts -- what a person sees of a terminal's output: it obeys the control sequences that goald and Node's readline write.
 *
 * The screen has no end at the top. Any other control character or sequence throws.
 */
import { stripVTControlCharacters } from "node:util";
import type { LineInput } from "#cli/terminal/line-input.ts";

const CONTROL = /\u001b\[(\?)?(\d*)(?:;\d*)*([A-Za-z])/y;
const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]/u;

/** `columns`: Infinity for a terminal without a size. Lines have no blanks at their ends. */
export function screenOf(output: string, columns: number = Number.POSITIVE_INFINITY): string {
  return rowsOf(output, columns)
    .map((row) => row.join("").trimEnd())
    .join("\n");
}

function rowsOf(output: string, columns: number): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  let [row, column] = [0, 0];
  const line = (): string[] => {
    const found = rows[row] ?? [];
    rows[row] = found;
    return found;
  };
  const put = (segment: string): void => {
    const cells = WIDE.test(segment) ? 2 : 1;
    if (column + cells > columns) [row, column] = [row + 1, 0];
    const cell = line();
    while (cell.length < column) cell.push(" ");
    cell.splice(column, cells, segment, ...Array.from({ length: cells - 1 }, () => ""));
    column += cells;
  };
  const obey = (letter: string, count: string): void => {
    const times = Number(count || 1);
    if (letter === "A") row = Math.max(0, row - times);
    else if (letter === "B") row += times;
    else if (letter === "C") column = Math.min(column + times, columns);
    else if (letter === "D") column = Math.max(0, column - times);
    else if (letter === "G") column = times - 1;
    else if (letter === "K") line().splice(count === "2" ? 0 : column);
    else if (letter === "J" && count === "2") rows.splice(0);
    else if (letter === "J") {
      line().splice(column);
      rows.splice(row + 1);
    } else if (letter === "H") [row, column] = [0, 0];
    else if (letter !== "m" && letter !== "h" && letter !== "l") throw new Error(`unknown sequence: ${count}${letter}`);
  };
  for (let at = 0; at < output.length; ) {
    CONTROL.lastIndex = at;
    const control = CONTROL.exec(output);
    if (control) {
      obey(control[3] ?? "", control[2] ?? "");
      at += control[0].length;
      continue;
    }
    const segment = firstOf(output.slice(at, at + 24));
    at += segment.length;
    if (segment === "\n" || segment === "\r\n") [row, column] = [row + 1, 0];
    else if (segment === "\r") column = 0;
    else if (segment === "\u0007") continue;
    else if (/[\u0000-\u001f\u007f]/.test(segment)) throw new Error(`control character ${JSON.stringify(segment)}`);
    else put(segment);
  }
  line();
  return Array.from(rows, (each) => each ?? []);
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
function firstOf(text: string): string {
  if (/^[ -~]{2}/.test(text)) return text[0] as string;
  for (const { segment } of segmenter.segment(text)) return segment;
  return "";
}

/** All that was ever shown, as text: with the frames of lines that changed, without control sequences. */
export const everShown = (output: string): string => stripVTControlCharacters(output).replaceAll("\r", "");

// The input of a person who types given lines and then leaves.

/** `typedAhead` are the lines that `takeTypedAhead` returns. */
export function scriptedLines(lines: readonly string[], typedAhead: readonly string[] = []) {
  const left = [...lines];
  /** All questions, oldest first; questions for secrets begin with "(secret) ". */
  const asked: string[] = [];
  const answer = (question: string): Promise<string | undefined> => {
    asked.push(question);
    return Promise.resolve(left.shift());
  };
  const input: LineInput = {
    interrupted: false,
    askLine: answer,
    askSecret: (question) => answer(`(secret) ${question}`),
    wasBegunEarly: false,
    typed: "",
    watchTyping: () => {},
    takeTypedAhead: () => Promise.resolve(typedAhead),
    close: () => {},
  };
  return { ...input, asked: asked as readonly string[] };
}
