/**
 * read-return.ts -- reads the answer of a sub-task that was given as text, as its type asks for it.
 *
 * An answer has several readings, from the exact to the lenient. The first one that is valid against the type counts, so a
 * lenient reading never changes an answer that an exact one explains.
 */
import { type JsonSchema, typesOf } from "#core/command.ts";
import { checkResult } from "./check-result.ts";
import { parseShallowJson } from "./json.ts";
import { pythonToJson } from "./python-literal.ts";

/** Digits in groups of three, as people write them. */
const GROUPED = /^[+-]?\d{1,3}(?:([, \u00a0\u202f])\d{3})(?:\1\d{3})*(?:\.\d+)?$/;
const BULLET = /^\s{0,20}(?:[-*\u2022]|\d{1,4}[.)])\s+(.*)$/;
/** A longer answer must be JSON as a whole. */
const MAX_LENIENT_CHARS = 100_000;
/** Brackets at which a value may begin that ends the answer. */
const MAX_BEGINNINGS = 20;
const MAX_SENTENCE_CHARS = 500;

/** An answer that no reading makes valid comes back as JSON if it is JSON, else as it is, and so fails the check of its type. */
export function readReturn(text: string, returns: JsonSchema): unknown {
  const answer = text.trim();
  const types = typesOf(returns);
  const isText = types.length > 0 && types.every((type) => type === "string" || type === "null");
  for (const value of isText ? readText(answer) : listReadings(answer))
    if (checkResult(returns, value).length === 0) return value;
  return isText ? answer : (readLiteral(answer) ?? answer);
}

/** A text stays as it is, quotes and all. Only a word for nothing may mean null. */
const readText = (answer: string): readonly unknown[] => [...(/^(?:null|None)$/.test(answer) ? [null] : []), answer];

function* listReadings(answer: string): Generator<unknown> {
  if (answer.length > MAX_LENIENT_CHARS) return yield parseShallowJson(answer) ?? answer;
  const inner = readFence(answer) ?? answer.replace(/^(\*\*|`)(.+)\1$/s, "$2");
  for (const value of [readLiteral(answer), readLiteral(inner)]) if (value !== undefined) yield value;
  yield answer;
  const bullets = readBullets(inner);
  if (bullets) yield* [bullets.map((item) => readLiteral(item) ?? item), bullets];
  const value =
    readLiteral(/:\s+(\S[^\n]*?)\.?$/.exec(inner.slice(-MAX_SENTENCE_CHARS))?.[1] ?? "") ?? readLastValue(inner);
  if (value !== undefined) yield value;
}

function readFence(text: string): string | undefined {
  const opening = /^(`{3,}|~{3,})[^\n`]*\n/m.exec(text);
  if (!opening) return undefined;
  const [line, marks = ""] = opening;
  const start = opening.index + line.length;
  const end = text.lastIndexOf(marks);
  return end < start ? undefined : text.slice(start, end).trim();
}

/** Reads JSON, a Python literal or a number whose digits are in groups. */
function readLiteral(text: string): unknown {
  if (GROUPED.test(text)) return Number(text.replace(/[^\d.+-]/g, ""));
  return parseShallowJson(text) ?? parseShallowJson(pythonToJson(text) ?? "");
}

/** The items of a text that is a list in Markdown, below a line that ends in a colon or not. */
function readBullets(text: string): readonly string[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const items = (lines[0]?.trimEnd().endsWith(":") ? lines.slice(1) : lines).map((line) =>
    BULLET.exec(line)?.[1]?.trim(),
  );
  return items.length > 0 && items.every((item) => item !== undefined) ? items : undefined;
}

/** The list or object with which a text ends. */
function readLastValue(text: string): unknown {
  const ending = text.replace(/\.$/, "");
  if (!/[\]}]$/.test(ending)) return undefined;
  for (const { index } of ending.matchAll(/(?<=^|[\s:])[[{]/g).take(MAX_BEGINNINGS)) {
    const value = readLiteral(ending.slice(index));
    if (value !== undefined) return value;
  }
  return undefined;
}
