/**
 * redact.ts -- takes secrets out of text before it is logged, shown or stored.
 *
 * Two nets: by value, for every secret that goald was given, in the forms in which it
 * turns up in text (plain, JSON-escaped once and twice, URL-encoded, inside base64); and by
 * pattern, for keys that nobody told goald about. One pass of each, linear in the text.
 * What is valid JSON before is valid JSON afterwards; redacting twice changes nothing more.
 */
import { parseJsonOrUndefined } from "./json.ts";

/** Shorter values are words rather than secrets: taking them out would take the text apart. */
const MIN_SECRET_CHARS = 6;
/** Fewer characters of base64 would match by chance. */
const MIN_BASE64_CHARS = 8;
const REPLACEMENT = "[redacted]";

export type Redact = (text: string) => string;

export function createRedactor(secrets: readonly string[]): Redact {
  const known = patternOf(secrets);
  const replaceAll: Redact = (text) => redactPatterns(known ? text.replace(known, REPLACEMENT) : text);
  return (text) => {
    const redacted = replaceAll(text);
    return redacted === text || !breaksJson(text, redacted) ? redacted : redactParsed(text, replaceAll);
  };
}

/**
 * Known secrets only, by value: for what is kept and read again, where a pattern would take apart
 * text that only looks like a key.
 */
export function createValueRedactor(secrets: readonly string[]): Redact {
  const known = patternOf(secrets);
  return (text) => (known ? text.replace(known, REPLACEMENT) : text);
}

// ---------------------------------------------------------------- by value

/** One alternation of every form of every secret, the longest first; undefined for none. */
function patternOf(secrets: readonly string[]): RegExp | undefined {
  const forms = new Set(secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(formsOf));
  if (forms.size === 0) return undefined;
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(RegExp.escape).join("|"), "g");
}

function formsOf(secret: string): readonly string[] {
  const escaped = jsonEscaped(secret);
  const url = encodeURIComponent(secret.toWellFormed());
  const lowerUrl = url.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  return [secret, escaped, jsonEscaped(escaped), url, lowerUrl, form, ...base64Forms(secret)];
}

const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * The characters of base64 that a secret alone decides, at each of the three places where it may
 * stand in a group of three bytes: so `user:secret` in a Basic header is found too.
 */
function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const decided = Math.floor((padded.length * 8) / 6);
    return (["base64", "base64url"] as const)
      .map((alphabet) => padded.toString(alphabet).slice(Math.ceil((before * 8) / 6), decided))
      .filter((form) => form.length >= MIN_BASE64_CHARS);
  });
}

// ---------------------------------------------------------------- by pattern
// Repeats are bounded where the engine would keep a place to come back to for each: unbounded,
// text of some megabytes overflows its stack.

/** Keys that name their maker: OpenAI and its likes, GitHub, Slack, AWS, Google, Hugging Face, Tavily, Pinecone, Groq. */
const TOKEN =
  /(?<![A-Za-z0-9])(?:sk-[\w-]{16,4096}|gh[pousr]_\w{20,255}|github_pat_\w{20,255}|xox[abeprs]-[\w-]{10,255}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,255}|hf_\w{20,255}|tvly-[\w-]{16,255}|pcsk_\w{16,255}|gsk_\w{20,255})/g;
const BEARER = /\b(bearer\s{1,8})[\w.~+/-]{8,16384}={0,2}/gi;

const SECRET_NAME =
  "authorization|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|(?:access|auth|refresh|id|api|bearer)[_-]?token|password|passwd";
const NAMES_SECRET = new RegExp(`(?:${SECRET_NAME})$`, "i");
/** `"api_key": "…"`: the value up to its closing quote. */
const JSON_MEMBER = new RegExp(`((?:${SECRET_NAME})"\\s{0,8}:\\s{0,8}")[^"\\\\]*(?:\\\\.[^"\\\\]*){0,4096}`, "gi");
const JSON_NUMBER = new RegExp(`((?:${SECRET_NAME})"\\s{0,8}:\\s{0,8})-?\\d[\\d.eE+-]*`, "gi");
/** The same inside a JSON string, `\"api_key\":\"…\"`, or in single quotes. */
const QUOTED_MEMBER = new RegExp(`((?:${SECRET_NAME})(\\\\{1,7}"|')\\s{0,8}[:=]\\s{0,8}\\2)[^"'\\\\\\n]+`, "gi");
/**
 * `api_key=…`, `Authorization: Basic …`. In JSON a plain quote after the sign ends the string, and
 * only one of `, : } ]` or white space can follow it: a value never begins with those.
 */
const ASSIGNMENT = new RegExp(
  `((?:${SECRET_NAME})\\s{0,8}[:=]\\s{0,8}(?:\\\\{0,7}["'])?(?:(?:basic|bearer|digest|token|apikey)\\s{1,8})?)[^\\s"'\\\\,:;&}\\]][^\\s"'\\\\,;&}\\]]*`,
  "gi",
);

function redactPatterns(text: string): string {
  return text
    .replace(TOKEN, REPLACEMENT)
    .replace(JSON_MEMBER, `$1${REPLACEMENT}`)
    .replace(JSON_NUMBER, `$1"${REPLACEMENT}"`)
    .replace(QUOTED_MEMBER, `$1${REPLACEMENT}`)
    .replace(ASSIGNMENT, redactAssignment)
    .replace(BEARER, `$1${REPLACEMENT}`);
}

/** A value that is redacted already keeps its closing bracket. */
const redactAssignment = (match: string, start: string): string =>
  match === start + REPLACEMENT.slice(0, -1) ? match : `${start}${REPLACEMENT}`;

// ---------------------------------------------------------------- JSON

/** Only a secret that looks like JSON itself (a bare number, one with quotes) can do this. */
function breaksJson(before: string, after: string): boolean {
  return /^\s*[[{"\d-]/.test(before) && isJson(before) && !isJson(after);
}

const isJson = (text: string): boolean => parseJsonOrUndefined(text) !== undefined;

/** The slow way: each string, name and number by itself. */
function redactParsed(text: string, replaceAll: Redact): string {
  const redactValue = (name: string, value: unknown): unknown => {
    if (typeof value === "string") return NAMES_SECRET.test(name) ? REPLACEMENT : replaceAll(value);
    if (typeof value === "number") return replaceAll(String(value)) === String(value) ? value : REPLACEMENT;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [replaceAll(name), inner]));
  };
  try {
    return JSON.stringify(JSON.parse(text, redactValue)) + (text.endsWith("\n") ? "\n" : "");
  } catch {
    return JSON.stringify(REPLACEMENT);
  }
}
