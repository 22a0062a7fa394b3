/**
 * error-words.ts -- what a server says is wrong, in the shapes that servers say it in. Pure.
 *
 * OpenAI's `error.message`, FastAPI's `detail`, a plain `error` or `message`, Google's list of one, and a router's copy of
 * what the server behind it said. Never the request that some of them echo: its words are not the server's.
 */
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";

const MAX_PARSED = 200_000;
const MAX_WORDS = 4_000;

/** All words, with the names of what they are said of; "" for JSON in none of these shapes. Text that is no JSON is words. */
export function errorWords(body: string): string {
  const parsed = parseErrorBody(body);
  if (parsed === undefined) return body.slice(0, MAX_WORDS);
  const top = asRecord(parsed);
  const error = asRecord(top.error);
  const details = [top.detail, top.errors, error.detail, error.details].flat().flatMap((each) => {
    const { loc, msg, message, reason, retryDelay } = asRecord(each);
    return [each, msg, message, reason, retryDelay && `retry in ${retryDelay}`, ...(Array.isArray(loc) ? loc : [])];
  });
  const { raw } = asRecord(error.metadata);
  return [top.error, error.message, error.param, error.code, error.type, raw, top.message, top.code, ...details, parsed]
    .filter((each) => typeof each === "string")
    .join("\n")
    .slice(0, MAX_WORDS);
}

/** The sentence for a person; else the body as it is. */
export function errorSentence(body: string): unknown {
  const parsed = parseErrorBody(body);
  if (parsed === undefined) return body;
  const { error, detail, message } = asRecord(parsed);
  const { message: said, metadata } = asRecord(error);
  const { raw } = asRecord(metadata);
  if (typeof said === "string" && typeof raw === "string") return `${said}: ${raw}`;
  return (typeof error === "string" ? error : said) ?? detail ?? message ?? parsed;
}

/** The body as JSON, out of the list that Google's compatible server puts it into; undefined when it is none. */
function parseErrorBody(body: string): unknown {
  const parsed = parseJson(body.slice(0, MAX_PARSED));
  return Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
}

const SPAN = "(\\d+(?:\\.\\d+)?) ?(ms|milliseconds?|h|hours?|m|min(?:ute)?s?|s|sec(?:ond)?s?)(?![a-z])";
const WAIT = new RegExp(`\\b(?:retry|try again) (?:in|after) ((?:${SPAN},? ?){1,4})`, "i");

/** The time that the words name, as in "Please try again in 1m6.5s", in milliseconds; null when they name none. */
export function waitIn(words: string): number | null {
  const spans = [...(WAIT.exec(words)?.[1] ?? "").matchAll(new RegExp(SPAN, "gi"))];
  if (spans.length === 0) return null;
  return Math.ceil(spans.reduce((sum, [, count, unit = ""]) => sum + Number(count) * millisecondsOf(unit), 0));
}

function millisecondsOf(unit: string): number {
  if (/^mil|^ms/i.test(unit)) return 1;
  return /^h/i.test(unit) ? 3_600_000 : /^m/i.test(unit) ? 60_000 : 1_000;
}

const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
