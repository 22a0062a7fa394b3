/**
 * clear-calls.ts -- finds the command that a damaged reply still states without a guess, and tells whether two calls are the same.
 *
 * A repair of the whole reply may move text from one field to another. A command with side effects must therefore be readable in
 * its own part of the reply.
 */
import type { CommandCall } from "#core/call.ts";
import { collectTexts } from "./arrange-args.ts";
import type { CallValidator } from "./check-call.ts";
import { ARGS_KEYS, findCall, NAME_KEYS } from "./find-call.ts";
import { findConflictingKey, findStringEnd, isSameJson } from "./json.ts";
import { MAX_DAMAGED_CHARS, parseClearly } from "./mend-object.ts";

/** Ignores the order of the arguments. */
export const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSameJson(Object.entries(a.args).sort(), Object.entries(b.args).sort());

const COMMAND_KEY = /["']command["']\s{0,50}:\s{0,50}(?=\{)/gi;
/** Only the brackets of the reply around the command, and the end of a fence, follow it. */
const LAST = /^[\s}\]]{0,200}(?:`{3}\s{0,50})?$/;

/**
 * Returns the command that a damaged reply still states without a guess: the key `command` occurs once, its object can be read
 * with mended spelling, and nothing but closing brackets follows it. Undefined when there is none, or it is not valid.
 */
export function readOwnCall(source: string, validator: CallValidator): CommandCall | undefined {
  if (source.length > MAX_DAMAGED_CHARS) return undefined;
  const [key, ...others] = source.matchAll(COMMAND_KEY).take(2);
  if (!key || others.length > 0) return undefined;
  const own = source.slice(key.index + key[0].length);
  const parsed = parseClearly(own);
  const isOwn = "kind" in parsed && parsed.ending === "whole" && LAST.test(own.slice(parsed.length));
  if (!isOwn || findConflictingKey(parsed.json, parsed.value) !== null) return undefined;
  const shape = findCall({ command: parsed.value }, validator.isName);
  const checked = shape.kind === "call" ? validator.checkCall(shape.call, own) : undefined;
  return checked?.kind === "valid" ? checked.call : undefined;
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
