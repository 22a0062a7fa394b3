/** pinecone-answers.ts -- reads Pinecone's answers and checks them before use. */

import { GoaldError } from "#core/errors.ts";
import { isRecord } from "#util/json.ts";
import type { Quote } from "#util/outside-errors.ts";
import { PineconeError } from "./pinecone-errors.ts";

export interface IndexFacts {
  readonly dimension: number;
  readonly metric: string | undefined;
  readonly vectorType: string | undefined;
  /** Records by namespace. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface PineconeMatch {
  readonly id: string;
  readonly score: number;
}

/** Log sequence number: of a write its own, of a query the last one that it includes; null: the server named none. */
export type SequenceNumber = number | null;

export function readMatches(body: unknown): readonly PineconeMatch[] {
  const matches = isRecord(body) ? (body.matches ?? []) : undefined;
  if (!Array.isArray(matches)) throw new PineconeError("Pinecone's answer to a query has no list of matches.");
  return matches.map((match: unknown) => {
    const { id, score } = isRecord(match) ? match : {};
    if (typeof id !== "string" || typeof score !== "number" || !Number.isFinite(score))
      throw new PineconeError("Pinecone's answer to a query has a match without an id or a score.");
    return { id: decodeName(id), score };
  });
}

/** Pinecone accepts only ASCII, so names are sent URI-encoded. */
function decodeName(id: string): string {
  try {
    return decodeURI(id);
  } catch {
    return id;
  }
}

export function readIndexFacts(body: unknown): IndexFacts {
  const { dimension, metric, vectorType, namespaces } = isRecord(body) ? body : {};
  if (typeof dimension !== "number" || !Number.isInteger(dimension) || dimension < 1)
    throw new PineconeError("Pinecone does not report the dimensions of the index. Is it an index for dense vectors?", {
      isLasting: true,
    });
  const counts = Object.entries(isRecord(namespaces) ? namespaces : {}).map(([name, summary]) => {
    const { vectorCount, recordCount } = isRecord(summary) ? summary : {};
    return [decodeName(name), Number(vectorCount ?? recordCount ?? 0) || 0] as const;
  });
  const text = (value: unknown) => (typeof value === "string" ? value.toLowerCase() : undefined);
  return { dimension, metric: text(metric), vectorType: text(vectorType), counts: new Map(counts) };
}

/** Returns the origin of the index. Accepts only pinecone.io and the controller's host, because the key is sent there. */
export function readHost(body: unknown, index: string, controller: string, quote: Quote): string {
  const { host } = isRecord(body) ? body : {};
  const origin = typeof host === "string" ? withScheme(host) : "";
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isPinecone = url?.protocol === "https:" && /(?:^|\.)pinecone\.io$/.test(url.hostname);
  if (url && (isPinecone || url.hostname === new URL(controller).hostname)) return url.origin;
  throw new PineconeError(
    `Pinecone gives ${quote(host)} as the host of the index ${index}; the key is not sent to that host.`,
    { isLasting: true, hint: "Check PINECONE_INDEX and PINECONE_CONTROLLER_HOST." },
  );
}

export const readSequenceNumber = (headers: Headers, name: string): SequenceNumber => {
  const text = headers.get(name);
  const value = Number(text ?? Number.NaN);
  return text !== null && Number.isSafeInteger(value) ? value : null;
};

/** Pinecone's client reads a host without a scheme as https. */
const withScheme = (host: string): string => (/^https?:\/\//.test(host) ? host : `https://${host}`);

export function originOf(address: string): string {
  const url = withScheme(address);
  if (URL.canParse(url)) return new URL(url).origin;
  throw new GoaldError("GOALD_CONFIG", `Expected the address of a Pinecone index, got ${JSON.stringify(address)}.`);
}
