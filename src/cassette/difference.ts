/** difference.ts -- describes the first difference between a recorded and a new value, in one sentence. */
import { decodeBody } from "./body.ts";
import type { Body, ExchangeRequest } from "./format.ts";

const AROUND = 40;

export function differenceOf(recorded: ExchangeRequest, now: ExchangeRequest): string {
  if (recorded.method !== now.method || recorded.url !== now.url)
    return `it went to ${recorded.method} ${recorded.url}, and goes to ${now.method} ${now.url}`;
  if (!recorded.body || !now.body) return "its body is another one, and the recording has no more of it than a hash";
  const found = firstDifference(jsonOf(recorded.body), jsonOf(now.body), "body");
  return found ?? "its body is written in another way";
}

function jsonOf(body: Body): unknown {
  return "json" in body ? body.json : Buffer.from(decodeBody(body)).toString("utf8");
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
