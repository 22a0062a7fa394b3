/**
 * x-posts.ts -- posts on X with its API v2, for the user whose tokens are configured.
 *
 * A post cannot be taken back, so failures are told apart with care. A refusal or a failed connection is GOALD_POST:
 * nothing was posted. If X may have processed the request (5xx, timeout, lost connection, unreadable answer), the
 * result is unknown and nothing is sent a second time.
 */
import { randomBytes } from "node:crypto";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Posts } from "#core/services.ts";
import type { Http } from "#http/http.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { listCauses, type Quote, quoteWithout } from "#util/outside-errors.ts";
import { type OAuthKeys, signRequest } from "./oauth.ts";

export interface XPostsParts {
  /** Such as https://api.x.com. */
  readonly baseUrl: string;
  readonly keys: OAuthKeys;
  readonly http: Pick<Http, "to">;
  readonly clock: Clock;
  /** Timeout of the whole answer. Defaults to 30 s. */
  readonly timeoutMs?: number;
}

type Posted = Awaited<ReturnType<Posts["post"]>>;

const MAX_X_ANSWER_BYTES = 256 * 1024;
const POST_TIMEOUT_MS = 30_000;
const POST_ID = /^\d{1,19}$/;

/** Sends nothing and checks no setting before the first post. */
export function createXPosts(parts: XPostsParts): Posts {
  const quote = quoteWithoutAll(Object.values(parts.keys));
  return {
    async post(text, signal) {
      requireLength(text);
      const url = new URL(`${parts.baseUrl.replace(/\/+$/, "")}/2/tweets`);
      const { timeoutMs = POST_TIMEOUT_MS } = parts;
      const limits = { maxBytes: MAX_X_ANSWER_BYTES, firstByteTimeoutMs: timeoutMs, totalTimeoutMs: timeoutMs };
      const send = parts.http.to(url.origin, limits);
      const stamp = {
        nonce: randomBytes(16).toString("hex"),
        seconds: Math.floor(parts.clock.now().getTime() / 1000),
      };
      const headers = {
        authorization: signRequest("POST", url, parts.keys, stamp),
        "content-type": "application/json",
        accept: "application/json",
      };
      try {
        const response = await send(url, { method: "POST", headers, body: JSON.stringify({ text }), signal });
        return readPostAnswer(response.status, response.headers, await response.text(), quote);
      } catch (error) {
        signal.throwIfAborted();
        return explainSendFailure(error, quote);
      }
    },
  };
}

function requireLength(text: string): void {
  const length = countPostLength(text);
  if (text.trim() === "") throw postError("A post needs some text; this one has none.");
  if (length > MAX_POST_LENGTH)
    throw postError(
      `The text has ${length} characters as X counts (an address is 23, an emoji 2), and ${MAX_POST_LENGTH} are allowed. Nothing was posted.`,
      "Shorten it, or cut it into several posts.",
    );
}

function readPostAnswer(status: number, headers: Headers, body: string, quote: Quote): Posted {
  const parsed = parseJson(body);
  const answer: XAnswer | undefined = isRecord(parsed) ? parsed : undefined;
  if (status >= 200 && status < 300) {
    const id: unknown = answer?.data?.id;
    if (typeof id === "string" && POST_ID.test(id))
      return { kind: "posted", id, url: `https://x.com/i/web/status/${id}` };
    return unknownResult(`X answered ${status}, but not with the number of a post: “${quote(body)}”`);
  }
  // X may have read the whole request before it answered 408.
  if (status >= 500 || status === 408 || status < 400)
    return unknownResult(`X answered ${status}: “${quote(findXMessage(answer) ?? body)}”`);
  throw explainRefusal(status, headers, answer, quote(findXMessage(answer) ?? body));
}

const unknownResult = (reason: string): Posted => ({ kind: "unknown", reason });

function explainRefusal(status: number, headers: Headers, answer: XAnswer | undefined, words: string): GoaldError {
  // X's words about a rejected key may contain the key.
  if (status === 401)
    return postError(
      "X refused the keys (401). Nothing was posted.",
      "Check TW_CONSUMER_KEY, TW_CONSUMER_SECRET, TW_ACCESS_TOKEN and TW_ACCESS_TOKEN_SECRET, and this machine's clock.",
    );
  const said = `X answered ${status}. Nothing was posted.`;
  if (status === 403 && /duplicate/i.test(findXMessage(answer) ?? ""))
    return postError(
      `${said} The same text has been posted before.`,
      "Do not send it again; look at the account's posts.",
      words,
    );
  if (status === 403)
    return postError(said, "The app needs write permission, and tokens that were made after it was given.", words);
  if (status === 429) return postError(`${said} ${describeRateLimit(headers)}`, "", words);
  return postError(said, "", words);
}

/** Says when X accepts posts again. A used-up 24-hour limit counts before the 15-minute limit. */
function describeRateLimit(headers: Headers): string {
  const names = ["x-user-limit-24hour", "x-app-limit-24hour", "x-rate-limit"];
  const used = names.find((name) => headers.get(`${name}-remaining`) === "0") ?? "x-rate-limit";
  const seconds = Number(headers.get(`${used}-reset`) || Number.NaN);
  const at = new Date(seconds * 1000);
  return Number.isNaN(at.getTime())
    ? "Its limit is reached; try later."
    : `Its limit is reached until ${at.toISOString()}.`;
}

/** Errors that occur before the first byte is sent. */
const NEVER_SENT =
  /ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS|ERR_SSL|CERT|SELF_SIGNED|UNABLE_TO_|bad port|GOALD_CONFIG/;

function explainSendFailure(error: unknown, quote: Quote): Posted {
  if (isGoaldError(error, "GOALD_POST")) throw error;
  const chain = listCauses(error);
  const reason = quote(chain.at(-1)?.message ?? "");
  if (chain.some(({ code, message }) => NEVER_SENT.test(`${code ?? ""} ${message}`)))
    throw new GoaldError("GOALD_POST", `X could not be reached (${reason}). Nothing was posted.`, {
      hint: "Try later.",
      outside: [],
      cause: error,
    });
  return unknownResult(`no usable answer came from X (${reason})`);
}

interface XAnswer {
  readonly data?: { readonly id?: unknown };
  readonly detail?: unknown;
  readonly title?: unknown;
  readonly errors?: readonly { readonly message?: unknown }[];
}

function findXMessage(answer: XAnswer | undefined): string | undefined {
  const first = Array.isArray(answer?.errors) ? answer.errors[0]?.message : undefined;
  return [answer?.detail, first, answer?.title].find((words) => typeof words === "string");
}

function quoteWithoutAll(secrets: readonly string[]): Quote {
  const quotes = secrets.map(quoteWithout);
  return (text, limit) => quotes.reduce<unknown>((clean, quote) => quote(clean, limit), text) as string;
}

/** `words`: what X said. */
const postError = (message: string, hint = "", words = ""): GoaldError =>
  new GoaldError("GOALD_POST", message, { hint, words, ...(words === "" ? { outside: [] } : {}) });

const MAX_POST_LENGTH = 280;
/** X replaces every address by a short one of this length. */
const ADDRESS_LENGTH = 23;
const ADDRESS_PATTERN = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?'()[\]]/giu;
/** Code points that count one: Latin to Georgian; some spaces, dashes and quotation marks. */
const LIGHT_RANGES: readonly (readonly [from: number, to: number])[] = [
  [0, 4351],
  [8192, 8205],
  [8208, 8223],
  [8242, 8247],
];
const HEAVY_LENGTH = 2;

/**
 * Counts the length of a post as X does: one for most letters, two for other characters and emoji, 23 for a URL. X
 * decides in the end: it also counts names such as "example.com" as addresses, and lets some accounts write more.
 */
export function countPostLength(text: string): number {
  const normal = text.normalize("NFC");
  const addresses = normal.match(ADDRESS_PATTERN)?.length ?? 0;
  return addresses * ADDRESS_LENGTH + countTextLength(normal.replace(ADDRESS_PATTERN, ""));
}

function countTextLength(text: string): number {
  let emoji = 0;
  const rest = text.replace(/\p{RGI_Emoji}/gv, () => {
    emoji++;
    return "";
  });
  let length = emoji * HEAVY_LENGTH;
  for (const character of rest) length += isLightCharacter(character.codePointAt(0) ?? 0) ? 1 : HEAVY_LENGTH;
  return length;
}

const isLightCharacter = (code: number): boolean => LIGHT_RANGES.some(([from, to]) => code >= from && code <= to);
