/** pinecone-errors.ts -- failures of Pinecone as errors that say what a person can do, without the key. */
import { GoaldError } from "#core/errors.ts";
import { listCauses, type Quote } from "#util/outside-errors.ts";
import { parseRetryAfter } from "#util/web-headers.ts";

export class PineconeError extends GoaldError {
  /** A retry in a minute would fail the same way. */
  readonly isLasting: boolean;
  /** Time that the server asks to wait before the next request. */
  readonly afterMs: number | null;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  constructor(message: string, { isLasting = false, afterMs = null as number | null, status = 0, hint = "" } = {}) {
    super("GOALD_HTTP_REFUSED", message, { hint });
    this.isLasting = isLasting;
    this.afterMs = afterMs;
    this.status = status;
  }
}

/** An answer other than success, thrown before Pinecone's client sees it. */
export class PineconeStatusError extends Error {
  override readonly name = "PineconeStatusError";
  /** Not called `status`: the client would treat the error as its own and retry. */
  readonly answered: number;
  readonly headers: Headers;
  constructor(status: number, headers: Headers, body: string) {
    super(body);
    this.answered = status;
    this.headers = headers;
  }
}

const ADVICE: Readonly<Record<number, string>> = {
  400: "It rejects this request.",
  401: "It rejected the key: check PINECONE_API_KEY.",
  403: "The key has no permission for this: check PINECONE_API_KEY and its project.",
  404: "It does not know this index: check PINECONE_INDEX, or create the index.",
  429: "It asks for fewer requests.",
};

export function toPineconeError(error: unknown, origin: string, quote: Quote): PineconeError {
  const chain = listCauses(error);
  const known = chain.find((cause): cause is PineconeError => cause.name === "GoaldError" && "isLasting" in cause);
  if (known) return known;
  const refused = chain.find((cause): cause is PineconeStatusError => cause.name === "PineconeStatusError");
  if (!refused)
    return new PineconeError(`No usable answer from Pinecone at ${origin} (${quote(chain.at(-1)?.message)}).`);
  const { answered: status, headers, message } = refused;
  const body = message === "" || status === 401 ? "" : ` The answer: “${quote(message)}”.`;
  const advice = ADVICE[status] ? ` ${ADVICE[status]}` : "";
  return new PineconeError(`Pinecone at ${origin} answered ${status}.${advice}${body}`, {
    isLasting: status >= 400 && status < 500 && ![408, 409, 429].includes(status),
    afterMs: parseRetryAfter(headers),
    status,
  });
}

export const noIndexError = (): PineconeError =>
  new PineconeError("The memory backend is Pinecone, but no index is set.", {
    isLasting: true,
    hint: "Set PINECONE_INDEX to the name of an index.",
  });
