/** pinecone-answers.ts -- what Pinecone answers, checked before anything is built on it; and its failures, in words and without the key. */

import { GoaldError, toError } from "#core/errors.ts";
import { isRecord } from "#util/json.ts";
import type { Quote } from "#util/quote.ts";
import { parseRetryAfter } from "#util/retry-after.ts";

export interface IndexFacts {
  readonly dimension: number;
  readonly metric: string | undefined;
  readonly vectorType: string | undefined;
  /** Records by namespace. */
  readonly counts: ReadonlyMap<string, number>;
}
export interface Match {
  readonly id: string;
  readonly score: number;
}

/** How far a namespace is: of a write the number that it got, of a query the number that it has taken in; null: not said. */
export type Progress = number | null;

/** `lasting`: it will be the same in a minute. `afterMs`: not before, the server says. */
export class PineconeTrouble extends GoaldError {
  readonly lasting: boolean;
  readonly afterMs: number | null;
  /** 0 when there was no answer. */
  readonly status: number;
  constructor(message: string, { lasting = false, afterMs = null as number | null, status = 0, hint = "" } = {}) {
    super("GOALD_HTTP_REFUSED", message, { hint });
    this.lasting = lasting;
    this.afterMs = afterMs;
    this.status = status;
  }
}

/** An answer with a status other than success, taken out of the client's hands with what it said. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  /** Not called `status`: the client would take it for a failure of its own to try again. */
  readonly answered: number;
  readonly headers: Headers;
  constructor(status: number, headers: Headers, body: string) {
    super(body);
    this.answered = status;
    this.headers = headers;
  }
}

// ---------------------------------------------------------------- answers

export function matchesIn(body: unknown): readonly Match[] {
  const matches = isRecord(body) ? (body.matches ?? []) : undefined;
  if (!Array.isArray(matches)) throw new PineconeTrouble("Pinecone's answer to a query is no list of matches.");
  return matches.map((match: unknown) => {
    const { id, score } = isRecord(match) ? match : {};
    if (typeof id !== "string" || typeof score !== "number" || !Number.isFinite(score))
      throw new PineconeTrouble("Pinecone's answer to a query has a match without an id or a score.");
    return { id: decoded(id), score };
  });
}

/** Names go there in ASCII, which is all that it takes. */
function decoded(id: string): string {
  try {
    return decodeURI(id);
  } catch {
    return id;
  }
}

export function factsIn(body: unknown): IndexFacts {
  const { dimension, metric, vectorType, namespaces } = isRecord(body) ? body : {};
  if (typeof dimension !== "number" || !Number.isInteger(dimension) || dimension < 1)
    throw new PineconeTrouble("Pinecone does not say how many dimensions the index has: is it one for dense vectors?", {
      lasting: true,
    });
  const counts = Object.entries(isRecord(namespaces) ? namespaces : {}).map(([name, summary]) => {
    const { vectorCount, recordCount } = isRecord(summary) ? summary : {};
    return [decoded(name), Number(vectorCount ?? recordCount ?? 0) || 0] as const;
  });
  const text = (value: unknown) => (typeof value === "string" ? value.toLowerCase() : undefined);
  return { dimension, metric: text(metric), vectorType: text(vectorType), counts: new Map(counts) };
}

/** The key goes there: only to Pinecone itself, or to the machine that was asked. */
export function hostIn(body: unknown, index: string, controller: string, quote: Quote): string {
  const { host } = isRecord(body) ? body : {};
  const origin = typeof host === "string" ? withScheme(host) : "";
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isPinecone = url?.protocol === "https:" && /(?:^|\.)pinecone\.io$/.test(url.hostname);
  if (url && (isPinecone || url.hostname === new URL(controller).hostname)) return url.origin;
  throw new PineconeTrouble(
    `Pinecone names ${quote(host)} as the place of the index ${index}; the key is not sent there.`,
    { lasting: true, hint: "If it is right, set it as PINECONE_HOST." },
  );
}

export function placeOf(body: unknown): string | undefined {
  const { deployment } = isRecord(body) ? body : {};
  const { region, environment } = isRecord(deployment) ? deployment : {};
  const place = region ?? environment;
  return typeof place === "string" ? place : undefined;
}

/** `us-east-1`, `us-east-1-aws` and `us-east1-gcp` are how environments are written. */
export const sameRegion = (asked: string, place: string): boolean => bare(asked) === bare(place);
const bare = (name: string): string => name.toLowerCase().replace(/-(?:aws|gcp|azure)$/, "");

export const numberIn = (headers: Headers, name: string): Progress => {
  const text = headers.get(name);
  const value = Number(text ?? Number.NaN);
  return text !== null && Number.isSafeInteger(value) ? value : null;
};

/** The client takes a host without a scheme for https, so do we. */
const withScheme = (host: string): string => (/^https?:\/\//.test(host) ? host : `https://${host}`);

export function originOf(address: string): string {
  const url = withScheme(address);
  if (URL.canParse(url)) return new URL(url).origin;
  throw new GoaldError("GOALD_CONFIG", `Expected the address of a Pinecone index, got ${JSON.stringify(address)}.`);
}

// ---------------------------------------------------------------- failures

const ADVICE: Readonly<Record<number, string>> = {
  400: "It does not take this request.",
  401: "It refused the key: check PINECONE_API_KEY.",
  403: "The key may not do this: check PINECONE_API_KEY and its project.",
  404: "It does not know this index: check PINECONE_INDEX or PINECONE_HOST, or create the index.",
  429: "It wants fewer requests.",
};

export function inWords(error: unknown, origin: string, quote: Quote): PineconeTrouble {
  const chain = causesOf(error);
  const known = chain.find((one): one is PineconeTrouble => one.name === "GoaldError" && "lasting" in one);
  if (known) return known;
  const refused = chain.find((one): one is StatusError => one.name === "StatusError");
  if (!refused)
    return new PineconeTrouble(`No usable answer from Pinecone at ${origin} (${quote(chain.at(-1)?.message)}).`);
  const { answered: status, headers, message } = refused;
  const said = message === "" || status === 401 ? "" : ` It said: “${quote(message)}”.`;
  const advice = ADVICE[status] ? ` ${ADVICE[status]}` : "";
  return new PineconeTrouble(`Pinecone at ${origin} answered ${status}.${advice}${said}`, {
    lasting: status >= 400 && status < 500 && ![408, 409, 429].includes(status),
    afterMs: parseRetryAfter(headers),
    status,
  });
}

function causesOf(thrown: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < 8; ) {
    const error = toError(next);
    chain.push(error);
    next = error.cause;
  }
  return chain;
}

export const missing = (): PineconeTrouble =>
  new PineconeTrouble("Memory is set to Pinecone, and no index is named.", {
    lasting: true,
    hint: "Set PINECONE_INDEX to the name of an index, or PINECONE_HOST to its address.",
  });

export const elsewhere = (index: string, asked: string, place: string): PineconeTrouble =>
  new PineconeTrouble(`The Pinecone index ${index} lies in ${place}, and PINECONE_ENV asks for ${asked}.`, {
    lasting: true,
    hint: "Correct PINECONE_ENV, or leave it out to take an index wherever it lies.",
  });
