/**
 * redact.ts -- removes secrets from text before it is logged, shown or stored. Known secrets are found by value, in the
 * forms that occur in text: plain, JSON-escaped once and twice, URL-encoded, backwards, inside base64 and in hex, and with
 * single characters escaped (`\u0061`, `%61`, `&#97;`). Unknown keys are found by pattern. Each takes one pass,
 * linear in the text. Valid JSON stays valid, and redacting twice changes nothing more.
 */
import { orUndefined } from "#core/errors.ts";
import { parseJson } from "./json.ts";

/** Shorter values are ordinary words, and redacting them would make the text unreadable. */
const MIN_SECRET_CHARS = 6;
/** Shorter base64 would match by chance. */
const MIN_BASE64_CHARS = 8;
const REPLACEMENT = "[redacted]";

export type Redact = (text: string) => string;

/**
 * `redact`: for text that is shown or logged; removes known secrets and what looks like one. `scrub`: for text that is
 * stored, or that a person approves; removes known secrets.
 */
export type Redactors = Readonly<Record<"redact" | "scrub", Redact>>;

export function createRedactor(secrets: readonly string[]): Redact {
  const redactKnown = createValueRedactor(secrets);
  const replaceAll: Redact = (text) => redactPatterns(replaceEscaped(redactKnown(text), TOKEN, ESCAPED_IN_TOKEN));
  return (text) => {
    const redacted = replaceAll(text);
    return redacted === text || !breaksJson(text, redacted) ? redacted : redactParsed(text, replaceAll);
  };
}

/** Redacts known secrets only: in text that goald stores and reads again, a pattern could damage text that resembles a key. */
export function createValueRedactor(secrets: readonly string[]): Redact {
  const forms = [...new Set(secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(formsOf))];
  if (forms.length === 0) return (text) => text;
  const known = patternOf(forms);
  const unescaped = patternOf(forms.map((form) => unescapeText(form, ESCAPED_IN_SECRET).text));
  return (text) => replaceEscaped(text.replace(known, REPLACEMENT), unescaped, ESCAPED_IN_SECRET);
}

/** Returns a copy of a JSON value without secrets in its texts. */
export const redactJson = <T>(value: T, redact: Redact): T => JSON.parse(redact(JSON.stringify(value)));

/** Builds one alternation, the longest first. */
function patternOf(forms: readonly string[]): RegExp {
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(RegExp.escape).join("|"), "g");
}

function formsOf(secret: string): readonly string[] {
  const escaped = jsonEscaped(secret);
  const url = encodeURIComponent(secret.toWellFormed());
  const lowerUrl = url.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  const backwards = [...secret].reverse().join("");
  const hex = Buffer.from(secret).toString("hex");
  const plain = [secret, backwards, escaped, jsonEscaped(escaped), url, lowerUrl, form, hex, hex.toUpperCase()];
  return [...plain, ...base64Forms(secret)];
}

const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * Returns the base64 characters that depend on the secret alone, for each of the three offsets in a group of three
 * bytes. So `user:secret` in a Basic header is found too.
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

const ENCODED =
  "%(?:25){0,8}(?<hex>[2-7][0-9a-f])|&#x(?<hex>[2-7][0-9a-f]);|&#(?<decimal>\\d{2,3});|&(?<name>amp|lt|gt|quot|apos);";
const HTML_NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
/** Characters that JSON, URLs and HTML escape without need. Secrets are compared without any backslash. */
const ESCAPED_IN_SECRET = new RegExp(`\\\\{1,65536}(?:u(?<hex>[0-9a-f]{4}))?|${ENCODED}`, "gi");
const ESCAPED_IN_TOKEN = new RegExp(`(?<!\\\\)\\\\{1,65536}(?:u(?<hex>[0-9a-f]{4})|(?=/))|${ENCODED}`, "gi");
/** Deep nesting is known by its rows of backslashes. */
const HAS_ESCAPES = /\\[u/]|\\{4}|%[2-7]|&[#aglq]/i;

function unescapeText(escaped: string, escapes: RegExp) {
  let text = "";
  let from = 0;
  const ends: { readonly start: number; readonly end: number; readonly source: number; readonly after: number }[] = [];
  for (const { 0: whole, groups: { hex, decimal, name = "" } = {}, index } of escaped.matchAll(escapes)) {
    text += escaped.slice(from, index);
    const start = text.length;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    text += hex || decimal ? String.fromCharCode(code) : (HTML_NAMES[name.toLowerCase()] ?? "");
    from = index + whole.length;
    ends.push({ start, end: text.length, source: index, after: from });
  }
  text += escaped.slice(from);
  let next = 0;
  /** Maps an offset of `text` to the escaped text. */
  const sourceOf = (offset: number): number => {
    while ((ends[next]?.end ?? Number.POSITIVE_INFINITY) <= offset) next++;
    const last = ends[next - 1];
    if (!last) return offset;
    // Backslashes belong to the character after them.
    return last.start === offset ? last.source : last.after + offset - last.end;
  };
  return { text, sourceOf };
}

/** Replaces matches of the pattern in the text without escapes, at their places in the text with them. */
function replaceEscaped(given: string, pattern: RegExp, escapes: RegExp): string {
  if (!HAS_ESCAPES.test(given)) return given;
  const { text, sourceOf } = unescapeText(given, escapes);
  let redacted = "";
  let done = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    redacted += given.slice(done, sourceOf(index)) + REPLACEMENT;
    done = sourceOf(index + match.length);
  }
  return redacted + given.slice(done);
}

// Repeats in these patterns are bounded where the engine backtracks: without bounds, some megabytes of text overflow
// its stack.
/** Keys with a prefix of their own, by who gives them out. */
const TOKEN_FORMS = [
  // OpenAI and all who took its form, Google, Hugging Face, Groq, xAI, Perplexity, NVIDIA, Replicate, ElevenLabs.
  "sk-[\\w-]{16,4096}|AIza[\\w-]{30,255}|ya29\\.[\\w-]{20,4096}|GOCSPX-[\\w-]{20,255}|hf_\\w{20,255}|gsk_\\w{20,255}",
  "(?:xai|pplx|nvapi)-[\\w-]{20,255}|r8_\\w{30,255}|sk_[0-9a-f]{40,255}|tvly-[\\w-]{16,255}|pcsk_\\w{16,255}",
  // GitHub, GitLab, npm, PyPI, Docker, AWS, DigitalOcean, Vault, Databricks.
  "gh[pousr]_\\w{20,255}|github_pat_\\w{20,255}|glpat-[\\w-]{20,255}|npm_\\w{36,255}|pypi-[\\w-]{32,4096}",
  "dckr_pat_[\\w-]{20,255}|(?:AKIA|ASIA)[0-9A-Z]{16}|do[opr]_v1_\\w{40,255}|hvs\\.[\\w-]{20,4096}|dapi[0-9a-f]{32}",
  // Slack, Discord, Telegram, Stripe, SendGrid, Shopify, Linear, Notion; tokens of JSON.
  "x(?:ox[abeprs]|app)-[\\w-]{10,255}|(?<=hooks\\.slack\\.com/services/)[\\w/]{20,255}|(?<=/api/webhooks/)\\d{1,20}/[\\w-]{20,255}",
  "\\d{8,12}:AA[\\w-]{32,64}|[rs]k_(?:live|test)_\\w{16,255}|whsec_\\w{20,255}|SG\\.[\\w-]{16,64}\\.[\\w-]{16,255}",
  "shp(?:at|ca|pa|ss)_\\w{32,255}|lin_api_\\w{30,255}|ntn_\\w{40,255}|(?<![\\w-])eyJ[\\w-]{8,16384}\\.eyJ[\\w-]{8,16384}\\.[\\w-]{16,4096}",
  // Sentry, Figma, Postman, Contentful, age, Mailgun, Twilio, Fly.
  "sntrys_[\\w+/=-]{32,4096}|figd_[\\w-]{32,255}|PMAK-[0-9a-f]{24}-[0-9a-f]{32,64}|CFPAT-[\\w-]{32,255}",
  "AGE-SECRET-KEY-1[0-9A-Z]{50,255}|key-[0-9a-f]{32}|SK[0-9a-f]{32}|fm2_[\\w+/=-]{40,4096}",
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9])(?:${TOKEN_FORMS.join("|")})`, "g");
/** The password of `https://user:password@host`. */
const USER_INFO = /(:\/\/[^\s/?#:@"'\\]{0,255}:)[^\s/?#@"'\\]{1,255}(?=@)/g;
const PRIVATE_KEY = /(-----BEGIN [A-Z ]{0,32}PRIVATE KEY(?: BLOCK)?-----)(?:[\w\s+/=\\:,.]|-(?!-)){1,16384}/g;
const BEARER = /\b(bearer\s{1,8})(?=[a-z.~+/_-]{0,255}\d)[\w.~+/-]{8,16384}={0,2}/gi;

const SECRET_NAME =
  "authorization|(?:api|access|secret|private|account|subscription)[_-]?key|client[_-]?secret|[_-]secret|(?:access|auth|refresh|id|api|bearer)token|[_-]token|password|passwd|(?<=[\"'?&])(?:token|passphrase|pwd)|(?<=[?&])secret";
const NAMES_SECRET = new RegExp(`(?:${SECRET_NAME})$`, "i");
/** Matches the value of `"api_key": "…"` up to its closing quote. */
const JSON_MEMBER = new RegExp(
  `((?:${SECRET_NAME})"\\s{0,8}:\\s{0,8}")[^"\\\\\\n]*(?:\\\\.[^"\\\\\\n]*){0,4096}`,
  "gi",
);
const JSON_NUMBER = new RegExp(`((?:${SECRET_NAME})"\\s{0,8}:\\s{0,8})-?\\d[\\d.eE+-]*`, "gi");
/** The same inside a JSON string, as in `\"api_key\":\"…\"`, or in single quotes. */
const QUOTED_MEMBER = new RegExp(`((?:${SECRET_NAME})(\\\\{1,7}"|')\\s{0,8}[:=]\\s{0,8}\\2)[^"'\\\\\\n]+`, "gi");
/**
 * Matches `api_key=…` and `Authorization: Basic …`. In JSON a plain quote after the sign ends the string, and `, : } ]`
 * or white space follows it, so a value never begins with these.
 */
const ASSIGNMENT = new RegExp(
  `((?:${SECRET_NAME})[^\\S\\n]{0,8}[:=][^\\S\\n]{0,8}(?:\\\\{0,7}["'])?(?:(?:basic|bearer|digest|token|apikey)\\s{1,8})?)[^\\s"'\\\\,:;&}\\]=][^\\s"'\\\\,;&}\\]]*`,
  "gi",
);

function redactPatterns(text: string): string {
  return text
    .replace(TOKEN, REPLACEMENT)
    .replace(USER_INFO, `$1${REPLACEMENT}`)
    .replace(PRIVATE_KEY, `$1${REPLACEMENT}`)
    .replace(JSON_MEMBER, `$1${REPLACEMENT}`)
    .replace(JSON_NUMBER, `$1"${REPLACEMENT}"`)
    .replace(QUOTED_MEMBER, `$1${REPLACEMENT}`)
    .replace(ASSIGNMENT, redactAssignment)
    .replace(BEARER, `$1${REPLACEMENT}`);
}

/** Keeps the closing bracket of a redacted value, and code: a person who approves it must see its calls. */
const redactAssignment = (match: string, start: string): string =>
  match === start + REPLACEMENT.slice(0, -1) || (!/["']/.test(start) && /[\w)\]][([`]/.test(match))
    ? match
    : `${start}${REPLACEMENT}`;

/** Only a secret that resembles JSON (a bare number, or one with quotes) can break it. */
function breaksJson(before: string, after: string): boolean {
  return /^\s*[[{"\d-]/.test(before) && parseJson(before) !== undefined && parseJson(after) === undefined;
}

/** Redacts each string, name and number on its own, which is slower. */
function redactParsed(text: string, replaceAll: Redact): string {
  const redactValue = (name: string, value: unknown): unknown => {
    if (typeof value === "string") return NAMES_SECRET.test(name) ? REPLACEMENT : replaceAll(value);
    if (typeof value === "number") return replaceAll(String(value)) === String(value) ? value : REPLACEMENT;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [replaceAll(name), inner]));
  };
  const redacted = orUndefined(() => JSON.stringify(JSON.parse(text, redactValue)));
  return redacted === undefined ? JSON.stringify(REPLACEMENT) : redacted + (text.endsWith("\n") ? "\n" : "");
}
