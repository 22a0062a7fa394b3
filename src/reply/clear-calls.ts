/** clear-calls.ts -- */
import type { CommandCall } from "#core/call.ts";
import type { CallValidator } from "./check-call.ts";
import { ARGS_KEYS, findCall, NAME_KEYS } from "./find-call.ts";
import { findStringEnd, isSameJson, parseJson } from "./json.ts";
import { mendObject } from "./mend.ts";

/** The order of the arguments says nothing. */
export const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSameJson(Object.entries(a.args).sort(), Object.entries(b.args).sort());

/** The calls that stand in a damaged object as pieces of their own, and can be read there without a guess. */
export function findClearCalls(source: string, validator: CallValidator) {
  const { values, isFirstClear } = readClearSpans(source);
  const calls: readonly CommandCall[] = values.flatMap((value) => {
    const shape = findCall({ command: value }, validator.isName);
    const checked = shape.kind === "call" ? validator.checkCall(shape.call, source) : null;
    return checked?.kind === "valid" ? [checked.call] : [];
  });
  return { calls, isFirstClear };
}

/** Bytes that are no text came in the place of a letter: what stood there is lost. */
export const isDamaged = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some((value) => typeof value === "string" && value.includes("\ufffd"));

/** A guess that took brackets and keys of the reply for content, or a stray quote at an end of it. */
export const looksMisread = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some(
      (value) =>
        typeof value === "string" &&
        (/"\s{0,50}(?::|,\s{0,50}"|[}\]]\s{0,50}[,}\]])/.test(value) ||
          /^[^“„]*”\s*$/.test(value) ||
          (/^\s*"|"\s*$/.test(value) && value.split('"').length % 2 === 0)),
    );

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

export function readClearSpans(source: string): ClearSpans {
  const values: unknown[] = [];
  let isFirstClear = true;
  for (const match of source.matchAll(CALL_KEY).take(MAX_SPANS)) {
    const mended = mendObject(source, match.index + match[0].length, "resolve");
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
      const end = findStringEnd(written, at);
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
