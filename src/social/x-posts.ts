/**
 * x-posts.ts -- posts on X by its API v2, in the name of the user whose tokens are set.
 *
 * A post cannot be taken back from those who saw it, so what went wrong is told apart with care: a refusal, or a connection that never
 * was, is GOALD_POST and nothing was posted; where the request may have been worked on (5xx, silence, a broken
 * connection, an answer that makes no sense) the end is unknown, and nothing is sent a second time.
 */
import { randomBytes } from "node:crypto";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Posts } from "#core/services.ts";
import { causes } from "#util/causes.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { type Quote, quoteWithout } from "#util/quote.ts";
import { type OAuthKeys, signRequest } from "./oauth.ts";
import { MAX_POST_LENGTH, postLength } from "./post-length.ts";

export interface XPostsParts {
  /** Such as https://api.x.com. */
  readonly baseUrl: string;
  readonly keys: OAuthKeys;
  readonly http: {
    to(
      origin: string,
      limits: { readonly maxBytes: number; readonly firstByteTimeoutMs: number; readonly totalTimeoutMs: number },
    ): typeof fetch;
  };
  readonly clock: Clock;
  /** For the whole answer; 30 s by default. */
  readonly timeoutMs?: number;
}

type Posted = Awaited<ReturnType<Posts["post"]>>;

const MAX_ANSWER_BYTES = 256 * 1024;
const TIMEOUT_MS = 30_000;
/** X gives every post an id of digits only. */
const POST_ID = /^\d{1,19}$/;

/** Nothing is reached, and no setting is judged, before the first post. */
export function createXPosts(parts: XPostsParts): Posts {
  const quote = quoteWithoutAll(Object.values(parts.keys));
  return {
    async post(text, signal) {
      requireLength(text);
      const url = new URL(`${parts.baseUrl.replace(/\/+$/, "")}/2/tweets`);
      const { timeoutMs = TIMEOUT_MS } = parts;
      const limits = { maxBytes: MAX_ANSWER_BYTES, firstByteTimeoutMs: timeoutMs, totalTimeoutMs: timeoutMs };
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
        return readAnswer(response.status, response.headers, await response.text(), quote);
      } catch (error) {
        signal.throwIfAborted();
        return afterFailure(error, quote);
      }
    },
  };
}

function requireLength(text: string): void {
  const length = postLength(text);
  if (text.trim() === "") throw refusal("A post needs some text; this one has none.");
  if (length > MAX_POST_LENGTH)
    throw refusal(
      `The text has ${length} characters as X counts (an address is 23, an emoji 2), and ${MAX_POST_LENGTH} are allowed. Nothing was posted.`,
      "Shorten it, or cut it into several posts.",
    );
}

function readAnswer(status: number, headers: Headers, body: string, quote: Quote): Posted {
  const parsed = parseJson(body);
  const answer: XAnswer | undefined = isRecord(parsed) ? parsed : undefined;
  if (status >= 200 && status < 300) {
    const id: unknown = answer?.data?.id;
    if (typeof id === "string" && POST_ID.test(id))
      return { kind: "posted", id, url: `https://x.com/i/web/status/${id}` };
    return unknown(`X answered ${status}, but not with the number of a post: “${quote(body)}”`);
  }
  // 408: it gave up on us, and may have read what it needed.
  if (status >= 500 || status === 408 || status < 400)
    return unknown(`X answered ${status}: “${quote(saidIn(answer) ?? body)}”`);
  throw refused(status, headers, answer, quote(saidIn(answer) ?? body));
}

const unknown = (reason: string): Posted => ({ kind: "unknown", reason });

function refused(status: number, headers: Headers, answer: XAnswer | undefined, words: string): GoaldError {
  // What it says of a refused key is not repeated.
  if (status === 401)
    return refusal(
      "X refused the keys (401). Nothing was posted.",
      "Check TW_CONSUMER_KEY, TW_CONSUMER_SECRET, TW_ACCESS_TOKEN and TW_ACCESS_TOKEN_SECRET, and this machine's clock.",
    );
  const said = `X answered ${status}: “${words}”. Nothing was posted.`;
  if (status === 403 && /duplicate/i.test(saidIn(answer) ?? ""))
    return refusal(
      `${said} The same text has been posted before.`,
      "Do not send it again; look at the account's posts.",
    );
  if (status === 403)
    return refusal(said, "The app needs write permission, and tokens that were made after it was given.");
  if (status === 429) return refusal(`${said} ${nextTime(headers)}`);
  return refusal(said);
}

/** When X takes posts again: its limits of 24 hours count before the one of 15 minutes. */
function nextTime(headers: Headers): string {
  const names = ["x-user-limit-24hour", "x-app-limit-24hour", "x-rate-limit"];
  const used = names.find((name) => headers.get(`${name}-remaining`) === "0") ?? "x-rate-limit";
  const seconds = Number(headers.get(`${used}-reset`) || Number.NaN);
  const at = new Date(seconds * 1000);
  return Number.isNaN(at.getTime())
    ? "Its limit is reached; try later."
    : `Its limit is reached until ${at.toISOString()}.`;
}

/** These come before the first byte is sent. */
const NEVER_SENT =
  /ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS|ERR_SSL|CERT|SELF_SIGNED|UNABLE_TO_|bad port|GOALD_CONFIG/;

function afterFailure(error: unknown, quote: Quote): Posted {
  if (isGoaldError(error, "GOALD_POST")) throw error;
  const chain = causes(error);
  const reason = quote(chain.at(-1)?.message ?? "");
  if (chain.some(({ code, message }) => NEVER_SENT.test(`${code ?? ""} ${message}`)))
    throw new GoaldError("GOALD_POST", `X could not be reached (${reason}). Nothing was posted.`, {
      hint: "Try later.",
      cause: error,
    });
  return unknown(`no usable answer came from X (${reason})`);
}

interface XAnswer {
  readonly data?: { readonly id?: unknown };
  readonly detail?: unknown;
  readonly title?: unknown;
  readonly errors?: readonly { readonly message?: unknown }[];
}

function saidIn(answer: XAnswer | undefined): string | undefined {
  const first = Array.isArray(answer?.errors) ? answer.errors[0]?.message : undefined;
  return [answer?.detail, first, answer?.title].find((words) => typeof words === "string");
}

function quoteWithoutAll(secrets: readonly string[]): Quote {
  const quotes = secrets.map(quoteWithout);
  return (text, limit) => quotes.reduce<unknown>((clean, quote) => quote(clean, limit), text) as string;
}

const refusal = (message: string, hint = ""): GoaldError => new GoaldError("GOALD_POST", message, { hint });
