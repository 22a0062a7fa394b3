/**
 * clear-calls.ts -- finds the commands that a damaged or truncated reply still states without a guess.
 *
 * A repair of the whole reply may move text from one field to another. A command with side effects must therefore be
 * readable in its own part of the reply; in a truncated reply its arguments must be closed.
 */
import type { CommandCall } from "#core/call.ts";
import { collectTexts } from "./arrange-args.ts";
import type { CallValidator } from "./check-call.ts";
import { ARGS_KEYS, findCall, NAME_KEYS } from "./find-call.ts";
import { findStringEnd, isSameJson, parseJson } from "./json.ts";
import { mendObject } from "./mend.ts";

/** Ignores the order of the arguments. */
export const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSameJson(Object.entries(a.args).sort(), Object.entries(b.args).sort());

/** Returns the valid calls whose own part of a damaged object can be read without a guess. */
export function findClearCalls(source: string, validator: CallValidator) {
  const { values, isFirstClear } = readClearSpans(source);
  const calls: readonly CommandCall[] = values.flatMap((value) => {
    const shape = findCall({ command: value }, validator.isName);
    const checked = shape.kind === "call" ? validator.checkCall(shape.call, source) : null;
    return checked?.kind === "valid" ? [checked.call] : [];
  });
  return { calls, isFirstClear };
}

/** True when an argument contains U+FFFD, which replaced a lost character. */
export const isDamaged = ({ args }: CommandCall): boolean => collectTexts(args).some((text) => text.includes("\ufffd"));

/** True when an argument contains brackets and keys of the reply, or a stray quote at one end: a wrong guess. */
export const looksMisread = ({ args }: CommandCall): boolean =>
  collectTexts(args).some(
    (value) =>
      /"\s{0,50}(?::|,\s{0,50}"|[}\]]\s{0,50}[,}\]])/.test(value) ||
      /^[^“„]*”\s*$/.test(value) ||
      (/^\s*"|"\s*$/.test(value) && value.split('"').length % 2 === 0),
  );

const CALL_KEY =
  /["'“‘`]?\b(?:command|tool_call|function_call|function)\b["'”’`]?\s{0,50}(?:=>|[:=：])\s{0,50}(?=\{)/gi;
/** Text that may follow a value: a key, a closing bracket, the end. Before other text, the end of the value is string content. */
const BEHIND =
  /^\s{0,50}(?:[,;，；]\s{0,50}){0,3}(?:[}\])｝]|```|["'“„‘`\s]{0,4}thoughts?\b|["'“„‘`]?[\w ]{0,40}["'”“’`]?\s{0,50}(?:$|=>|[:=：]))/i;
const MAX_SPANS = 20;

interface ClearSpans {
  /** All values below a command key that can be read without a guess. */
  readonly values: readonly unknown[];
  /** False when an unclear value precedes them: they may be parts of it. */
  readonly isFirstClear: boolean;
}

function readClearSpans(source: string): ClearSpans {
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

/** True when the whole command, or its name and arguments, are closed in the mended text. */
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
