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
const MAX_SPANS = 20;

/** Every value under a command's key that can be read without a guess, wherever in the source it stands. */
export function clearSpans(source: string): readonly unknown[] {
  const values: unknown[] = [];
  for (const match of source.matchAll(CALL_KEY).take(MAX_SPANS)) {
    const mended = mend(source, match.index + match[0].length, "resolve");
    if (!mended.isClear || mended.hasConflict || mended.owed !== "") continue;
    const value = parseJson(mended.text);
    if (value !== undefined) values.push(value);
  }
  return values;
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
