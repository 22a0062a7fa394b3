/** difference.ts -- describes the first difference between a recorded and a new request, in one sentence. */
import type { AnswerLine } from "./format.ts";

const AROUND = 40;

export function differenceOf(recorded: AnswerLine["request"], now: AnswerLine["request"]): string {
  if (!("json" in recorded) || !("json" in now)) return "it is another one, and the recording has only its hash";
  return firstDifference(recorded.json, now.json, "it") ?? "it is written in another way";
}

/** Searches depth first, in the order of the members. */
function firstDifference(recorded: unknown, now: unknown, path: string): string | undefined {
  if (typeof recorded === "string" && typeof now === "string")
    return recorded === now ? undefined : textDifference(recorded, now, path);
  if (!isObject(recorded) || !isObject(now) || Array.isArray(recorded) !== Array.isArray(now))
    return Object.is(recorded, now) ? undefined : `${path} was ${excerpt(recorded)}, and is ${excerpt(now)}`;
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const inner = Array.isArray(now) ? `${path}[${name}]` : `${path}.${name}`;
    if (!Object.hasOwn(now, name)) return `${inner} is missing; it was ${excerpt(recorded[name])}`;
    if (!Object.hasOwn(recorded, name)) return `${inner} is new: ${excerpt(now[name])}`;
    const found = firstDifference(recorded[name], now[name], inner);
    if (found) return found;
  }
  return undefined;
}

function textDifference(recorded: string, now: string, path: string): string {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  const part = (text: string): string =>
    JSON.stringify(text.slice(Math.max(0, at - AROUND), at + AROUND).toWellFormed());
  return `${path} differs from character ${at + 1} on: it was ${part(recorded)}, and is ${part(now)}`;
}

const excerpt = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 2 * AROUND ? text : `${text.slice(0, 2 * AROUND).toWellFormed()}…`;
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
