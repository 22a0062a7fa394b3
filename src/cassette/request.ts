/** request.ts -- describes a request for comparison: method, redacted address, hash of the redacted body. */
import type { PublicInit } from "#http/http.ts";
import { sha256 } from "#store/chain.ts";
import { decodeBody, encodeBody, encodeUrl } from "./body.ts";
import type { ExchangeRequest } from "./format.ts";

/** Longer bodies are compared only by hash. */
const MAX_KEPT_BYTES = 256 * 1024;

export async function describeRequest(
  input: string | URL | Request,
  init: RequestInit | PublicInit | undefined,
  redact: (text: string) => string,
): Promise<ExchangeRequest> {
  const request = typeof input === "object" && "url" in input ? input : undefined;
  const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
  const url = encodeUrl(request?.url ?? String(input), redact);
  const bytes = await bytesOf(init?.body, request);
  if (bytes.length === 0) return { method, url, sha256: sha256("") };
  const body = encodeBody(bytes, redact);
  const kept = decodeBody(body);
  return { method, url, sha256: sha256(kept), ...(kept.length <= MAX_KEPT_BYTES ? { body } : {}) };
}

async function bytesOf(body: RequestInit["body"], request: Request | undefined): Promise<Uint8Array> {
  if (body === undefined || body === null)
    return request?.body ? new Uint8Array(await request.clone().arrayBuffer()) : new Uint8Array();
  // A stream could be read only once, but goald sends no streams.
  return new Uint8Array(await new Response(body).arrayBuffer());
}
