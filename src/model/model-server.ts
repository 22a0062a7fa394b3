/**
 * model-server.ts -- sends requests to a server of OpenAI's API, with the key and the limits of the settings. An error
 * status becomes a StatusError with the whole body.
 */
import { GoaldError } from "#core/errors.ts";
import { joinNames, withCommas } from "#core/text.ts";
import type { Http } from "#http/http.ts";
import { asRecord } from "#util/json.ts";

export const MAX_LIST_BYTES = 2 * 1024 * 1024;
const MAX_MODEL_NAME_CHARS = 200;
const OFFERED_NAMES = 10;

export type ListedServer = Pick<ModelServer, "baseUrl" | "apiKey" | "http">;

/** Returns the JSON at a path below the base URL, undefined if there is none within the time. Never rejects. */
async function readJson(server: ListedServer, path: string, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
  const { baseUrl, apiKey, http } = server;
  try {
    const send = createSender({ baseUrl, apiKey, http, timeoutMs, maxBytes: MAX_LIST_BYTES });
    return await (await send(path, undefined, signal)).json();
  } catch {
    return undefined;
  }
}

/**
 * Reads the model names that `GET <base>/models` offers. They are for a person to choose from; goald itself needs none.
 * Returns undefined if there is no list within the time. Never rejects.
 */
export const listModels = async (server: ListedServer, timeoutMs: number, signal?: AbortSignal) =>
  readModelList(await readJson(server, "/models", timeoutMs, signal));

/**
 * Returns the context in tokens with which Ollama has loaded a model, which its API with OpenAI's names does not tell;
 * undefined for any other server. Never rejects.
 */
export async function readLoadedContext(server: ListedServer, model: string, timeoutMs: number, signal?: AbortSignal) {
  const baseUrl = server.baseUrl.replace(/\/v1\/?$/, "");
  const { models } = asRecord(await readJson({ ...server, baseUrl }, "/api/ps", timeoutMs, signal));
  const running = Array.isArray(models) ? models.map(asRecord) : [];
  const tokens = running.find(({ name }) => name === model || name === `${model}:latest`)?.context_length;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

/** The end of a sentence about a model that Ollama has loaded, and what to do. */
export const describeContext = (tokens: number): string =>
  `with a context of ${withCommas(tokens)} tokens, and drops a part of a longer prompt. Start Ollama with more, such as OLLAMA_CONTEXT_LENGTH=32768.`;

/** Returns undefined for any other body. Ollama's list is null before the first model is installed. */
export function readModelList(body: unknown) {
  if (typeof body !== "object" || body === null || !("data" in body)) return undefined;
  // Cloud servers often do not declare that it is one.
  const isOpenAIList = "object" in body && body.object === "list";
  const models: unknown = body.data ?? (isOpenAIList ? [] : undefined);
  if (!Array.isArray(models)) return undefined;
  const names = models.map((model: { readonly id?: unknown } | null) => model?.id).filter(isModelName);
  return names.length === models.length ? { isOpenAIList, names } : undefined;
}

const isModelName = (name: unknown): name is string =>
  typeof name === "string" && name !== "" && name.length <= MAX_MODEL_NAME_CHARS;

/** Returns the first names as text for a sentence. */
export const listNames = (names: readonly string[]): string =>
  names.length === 0 ? "(none yet)" : joinNames(names, OFFERED_NAMES);

export interface ModelServer {
  /** Such as https://api.openai.com/v1. */
  readonly baseUrl: string;
  /** Empty for a server without keys. */
  readonly apiKey: string;
  readonly http: Pick<Http, "to">;
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

/**
 * The members of `T`, a type of OpenAI's published schema, as a server may send them: missing, or with any value. The
 * compiler then rejects a member that the schema does not have.
 */
export type Received<T> = { readonly [Name in keyof T]?: unknown };

/** Sends JSON as a POST, and a request without a body as a GET. `path`: below the base URL, such as /models. */
export type SendRequest = (path: string, body?: object, signal?: AbortSignal) => Promise<Response>;

/** Throws GOALD_CONFIG for an invalid base URL. The function rejects with a StatusError, or with the errors of `Http`. */
export function createSender(server: ModelServer): SendRequest {
  const { baseUrl, apiKey } = server;
  const send = openFetch(server);
  const headers = {
    accept: "application/json",
    "content-type": "application/json",
    ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
  };
  return (path, body, signal) => {
    requireUsableKey(apiKey);
    const url = parseBaseUrl(baseUrl);
    url.pathname = url.pathname.replace(/\/$/, "") + path;
    const content = body === undefined ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) };
    return send(url, { ...content, headers, ...(signal ? { signal } : {}) });
  };
}

/** Returns the fetch of this server, which throws a StatusError for an error status. */
export function openFetch({
  baseUrl,
  http,
  timeoutMs,
  totalTimeoutMs = timeoutMs,
  maxBytes,
}: ModelServer): typeof fetch {
  const limits = {
    firstByteTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs, // some servers send the headers at once and the body when the model is done
    totalTimeoutMs,
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
  const send = http.to(parseBaseUrl(baseUrl).origin, limits);
  return async (input, init) => {
    const response = await send(input, init);
    if (response.ok) return response;
    const body = await response.text().catch((error: Error) => error.message);
    throw new StatusError(response.status, response.headers, body);
  };
}

/** Throws for a key that no header can contain, before anything is sent. */
export function requireUsableKey(apiKey: string): void {
  if (/[^\x21-\x7e]/.test(apiKey))
    throw new UnusableKeyError("The key holds a space, a line break or a foreign letter.");
}

/** Returns a base URL for messages, without query and credentials, which may be secret. */
export function formatBaseUrl(baseUrl: string): string {
  const { origin, pathname } = parseBaseUrl(baseUrl);
  return (origin + pathname).replace(/\/$/, "");
}

export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl);
  if ((url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.password === "")
    return url;
  throw new GoaldError(
    "GOALD_CONFIG",
    "Expected a base URL such as https://api.openai.com/v1, without a name or password in it.",
    { hint: "Set OPENAI_BASE_URL, and the key in OPENAI_API_KEY." },
  );
}
