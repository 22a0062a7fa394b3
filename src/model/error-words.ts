/**
 * error-words.ts -- extracts a server's error message from the shapes in which servers send it. Pure.
 *
 * Reads OpenAI's `error.message`, FastAPI's `detail`, a plain `error` or `message`, Google's list of one, and a
 * router's copy of the message behind it. Never reads the request that some servers echo.
 */
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";

const MAX_PARSED = 200_000;
const MAX_WORDS = 4_000;

/** Returns all messages and the fields they name. "" for JSON in another shape. Other text is returned as it is. */
export function collectErrorWords(body: string): string {
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

/** Returns the message for a person, or the body if there is none. */
export function findErrorSentence(body: string): unknown {
  const parsed = parseErrorBody(body);
  if (parsed === undefined) return body;
  const { error, detail, message } = asRecord(parsed);
  const { message: said, metadata } = asRecord(error);
  const { raw } = asRecord(metadata);
  if (typeof said === "string" && typeof raw === "string") return `${said}: ${raw}`;
  return (typeof error === "string" ? error : said) ?? detail ?? message ?? parsed;
}

/** Parses the body, and unwraps the list of Google's compatible server. Undefined if it is not JSON. */
function parseErrorBody(body: string): unknown {
  const parsed = parseJson(body.slice(0, MAX_PARSED));
  return Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
}

const TIME_SPAN = "(\\d+(?:\\.\\d+)?) ?(ms|milliseconds?|h|hours?|m|min(?:ute)?s?|s|sec(?:ond)?s?)(?![a-z])";
const WAIT_PHRASE = new RegExp(`\\b(?:retry|try again) (?:in|after) ((?:${TIME_SPAN},? ?){1,4})`, "i");

/** Returns the wait in milliseconds that a text names, such as "Please try again in 1m6.5s". Null if it names none. */
export function parseWaitMs(words: string): number | null {
  const spans = [...(WAIT_PHRASE.exec(words)?.[1] ?? "").matchAll(new RegExp(TIME_SPAN, "gi"))];
  if (spans.length === 0) return null;
  return Math.ceil(spans.reduce((sum, [, count, unit = ""]) => sum + Number(count) * parseUnitMs(unit), 0));
}

function parseUnitMs(unit: string): number {
  if (/^mil|^ms/i.test(unit)) return 1;
  return /^h/i.test(unit) ? 3_600_000 : /^m/i.test(unit) ? 60_000 : 1_000;
}

const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
