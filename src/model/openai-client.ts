/**
 * openai-client.ts -- creates clients of the openai package, loaded on first use.
 *
 * Loading takes 0.2 s and 20 MB. The package's own retries, logs and environment variables are off, so that only the
 * settings decide what is sent. An error status becomes a StatusError with the whole body, because the package keeps
 * only its `error`.
 */
import type OpenAI from "openai";
import { GoaldError } from "#core/errors.ts";

/** The part of `Http` that this folder uses. */
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
  /** Empty for a server without keys. */
  readonly apiKey: string;
  readonly organization?: string;
  readonly http: ConfiguredHttp;
  /** Timeout of one whole answer. */
  readonly timeoutMs: number;
  /** Timeout of one whole answer, if it differs from `timeoutMs`, which then limits only the waits in it. */
  readonly totalTimeoutMs?: number;
  readonly maxBytes?: number;
}

/** A response with an error status, with its headers and whole body. `isInReply`: the error came in place of a reply. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly isInReply: boolean;
  constructor(status: number, headers: Headers, body: string, isInReply = false) {
    super(`HTTP status ${status}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.isInReply = isInReply;
  }
}

/** The key has characters that a header cannot contain. Nothing was sent. */
class UnusableKeyError extends Error {
  override readonly name = "UnusableKeyError";
}

/** Returns a function that creates the client at its first call. Throws GOALD_CONFIG for an invalid base URL. */
export function createLazyClient(server: ModelServer): () => Promise<OpenAI> {
  const { baseUrl, apiKey, organization, timeoutMs, totalTimeoutMs = timeoutMs, maxBytes } = server;
  const fetch = throwErrorStatus(
    server.http.to(parseBaseUrl(baseUrl).origin, {
      firstByteTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs, // some servers send the headers at once and the body when the model is done
      totalTimeoutMs,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    }),
  );
  let client: OpenAI | undefined;
  return async () => {
    if (/[^\x21-\x7e]/.test(apiKey))
      throw new UnusableKeyError("The key holds a space, a line break or a foreign letter.");
    const { OpenAI } = await import("openai");
    client ??= new OpenAI({
      baseURL: parseBaseUrl(baseUrl).href,
      apiKey: apiKey || "none",
      ...(apiKey ? {} : { defaultHeaders: { Authorization: null } }),
      adminAPIKey: null,
      organization: organization ?? null,
      project: null,
      webhookSecret: null,
      maxRetries: 0,
      timeout: timeoutMs + 10_000, // longer than the HTTP timeout, whose error says more
      logLevel: "off",
      fetch,
    });
    return client;
  };
}

/** Returns a base URL for messages, without query and credentials, which may be secret. */
export function formatBaseUrl(baseUrl: string): string {
  const { origin, pathname } = parseBaseUrl(baseUrl);
  return (origin + pathname).replace(/\/$/, "");
}

export function parseBaseUrl(baseUrl: string): URL {
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

const throwErrorStatus =
  (send: typeof fetch): typeof fetch =>
  async (input, init) => {
    const response = await send(input, init);
    if (response.ok) return response;
    const body = await response.text().catch((error: Error) => error.message);
    throw new StatusError(response.status, response.headers, body);
  };
