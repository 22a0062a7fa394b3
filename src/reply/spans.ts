/**
 * spans.ts -- how much of the command itself stands in a damaged or cut-off reply.
 *
 * A repair of the whole may have moved text from one field into another. For commands
 * that change things the command's own piece of the reply must therefore be readable by
 * itself; and in a reply that ended too early the arguments must have closed before the end.
 */
import { endOfString, parseJson } from "./json.ts";
import { mend } from "./mend.ts";
import { ARGS_KEYS, NAME_KEYS } from "./shape.ts";

const CALL_KEY =
  /["'“‘`]?\b(?:command|tool_call|function_call|function)\b["'”’`]?\s{0,50}(?:=>|[:=：])\s{0,50}(?=\{)/gi;
/** What may follow a value: the next key, the end of what it stands in or of the reply. Else its end is some string's content. */
const BEHIND =
  /^\s{0,50}(?:[,;，；]\s{0,50}){0,3}(?:[}\])｝]|```|["'“„‘`\s]{0,4}thoughts?\b|["'“„‘`]?[\w ]{0,40}["'”“’`]?\s{0,50}(?:$|=>|[:=：]))/i;
const MAX_SPANS = 20;

export interface ClearSpans {
  /** Every value under a command's key that can be read without a guess, wherever in the source it stands. */
  readonly values: readonly unknown[];
  /** None that cannot stands before them: they may be pieces of it. */
  readonly isFirstClear: boolean;
}

export function clearSpans(source: string): ClearSpans {
  const values: unknown[] = [];
  let isFirstClear = true;
  for (const match of source.matchAll(CALL_KEY).take(MAX_SPANS)) {
    const mended = mend(source, match.index + match[0].length, "resolve");
    const isWhole = mended.owed === "" && BEHIND.test(source.slice(mended.end, mended.end + 200));
    const isClear = mended.isClear && !mended.hasConflict && isWhole;
    const value = isClear ? parseJson(mended.text) : undefined;
    if (value !== undefined) values.push(value);
    else if (values.length === 0) isFirstClear = false;
  }
  return { values, isFirstClear };
}

/** True when a name and the arguments, or the whole command, end before the text does. Expects mended text. */
export function isCallClosed(written: string): boolean {
  const containers: string[] = [];
  let key = "";
  let text = "";
  let hasName = false;
  for (let at = 0; at < written.length; at++) {
    const char = written[at];
    if (char === '"') {
      const end = endOfString(written, at);
      if (end === written.length) return false;
      text = written.slice(at + 1, end).toLowerCase();
      if (NAME_KEYS.includes(key)) hasName = true;
      at = end;
    } else if (char === ":") key = text;
    else if (char === ",") key = "";
    else if (char === "{" || char === "[") {
      containers.push(key);
      key = "";
    } else if (char === "}" || char === "]") {
      const closed = containers.pop();
      if (containers.includes("thoughts")) continue;
      if (closed === "command" || (hasName && closed !== undefined && ARGS_KEYS.includes(closed))) return true;
    }
  }
  return false;
}
