/**
 * openai-client.ts -- the openai package, loaded on first use and kept on our terms.
 *
 * Loading it takes a fifth of a second and 20 MB, so nothing is loaded before the first
 * question. Its own retries, logs and environment variables are off: what is sent follows
 * from the settings alone. An answer with an error status is taken out of its hands
 * with its whole body, since it keeps only `error` of it.
 */
import type OpenAI from "openai";
import { GoaldError } from "#core/errors.ts";

/** What this room needs of the HTTP seam: its configured door. */
export interface ConfiguredHttp {
  to(
    origin: string,
    limits?: {
      readonly maxBytes?: number;
      readonly firstByteTimeoutMs?: number;
      readonly idleTimeoutMs?: number;
      readonly totalTimeoutMs?: number;
    },
  ): typeof fetch;
}

export interface ModelServer {
  /** Such as https://api.openai.com/v1. */
  readonly baseUrl: string;
  /** Empty for a server that wants none. */
  readonly apiKey: string;
  readonly organization?: string;
  readonly http: ConfiguredHttp;
  /** For one whole answer. */
  readonly timeoutMs: number;
  readonly maxBytes?: number;
}

/** An answer with a status other than success, and all it said. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  constructor(status: number, headers: Headers, body: string) {
    super(`HTTP status ${status}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** The key cannot stand in a header; nothing was sent. */
class UnusableKeyError extends Error {
  override readonly name = "UnusableKeyError";
}

/** Throws GOALD_CONFIG for a base URL that is none; the client itself is made at the first call. */
export function lazyClient(server: ModelServer): () => Promise<OpenAI> {
  const { baseUrl, apiKey, organization, timeoutMs, maxBytes } = server;
  const fetch = throwingStatus(
    server.http.to(baseUrlOf(baseUrl).origin, {
      firstByteTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs, // some servers send their headers at once, and the body when the model is done
      totalTimeoutMs: timeoutMs,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    }),
  );
  let client: OpenAI | undefined;
  return async () => {
    if (/[^\x21-\x7e]/.test(apiKey))
      throw new UnusableKeyError("The key holds a space, a line break or a foreign letter.");
    const { OpenAI } = await import("openai");
    client ??= new OpenAI({
      baseURL: baseUrlOf(baseUrl).href,
      apiKey: apiKey || "none",
      ...(apiKey ? {} : { defaultHeaders: { Authorization: null } }),
      adminAPIKey: null,
      organization: organization ?? null,
      project: null,
      webhookSecret: null,
      maxRetries: 0,
      timeout: timeoutMs + 10_000, // never first: the seam's own limit says more
      logLevel: "off",
      fetch,
    });
    return client;
  };
}

/** For messages: without a query or credentials, which may hold secrets. */
export function shownUrl(baseUrl: string): string {
  const { origin, pathname } = baseUrlOf(baseUrl);
  return (origin + pathname).replace(/\/$/, "");
}

export function baseUrlOf(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if ((url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.password === "")
    return url;
  throw new GoaldError(
    "GOALD_CONFIG",
    "Expected a base URL such as https://api.openai.com/v1, without a name or password in it.",
    {
      hint: "Set OPENAI_BASE_URL, and the key in OPENAI_API_KEY.",
    },
  );
}

const throwingStatus =
  (send: typeof fetch): typeof fetch =>
  async (input, init) => {
    const response = await send(input, init);
    if (response.ok) return response;
    const body = await response.text().catch((error: Error) => error.message);
    throw new StatusError(response.status, response.headers, body);
  };
