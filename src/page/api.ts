/** api.ts -- the session key, requests to the local API, and its event streams. */

/** `status`: 0 when goald cannot be reached. `hint`: what to do about it; empty for nothing. */
export class ApiError extends Error {
  readonly status: number;
  readonly hint: string;
  constructor(status: number, message: string, hint = "") {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}
export const toApiError = (thrown: unknown): ApiError =>
  "status" in Object(thrown) ? (thrown as ApiError) : new ApiError(0, `The page has a fault. ${thrown}`);

const KEY = "goald-key";
let key: string | null = null;

/** Exchanges the ticket in the address for a session key. Resolves to false when there is none. */
export async function signIn(): Promise<boolean> {
  key = sessionStorage.getItem(KEY);
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket === undefined) return key !== null;
  history.replaceState(null, "", "#/");
  const body = JSON.stringify({ ticket });
  const response = await fetch("/session", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!response.ok) return key !== null;
  ({ key } = (await response.json()) as { key: string });
  sessionStorage.setItem(KEY, key);
  return true;
}

export function signOut(): void {
  sessionStorage.removeItem(KEY);
  key = null;
}

/** Throws ApiError. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${key}` };
  const response = await fetch(`/v1${path}`, { ...init, headers }).catch((thrown: unknown) => {
    if (init.signal?.aborted) throw thrown;
    throw new ApiError(0, "The page cannot reach goald.", "Start it: goald up");
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message: string; hint: string } };
  throw new ApiError(response.status, error?.message ?? response.statusText, error?.hint);
}

export async function get<T>(path: string): Promise<T> {
  return (await (await request(path, {})).json()) as T;
}

export async function post(path: string, body: object = {}): Promise<void> {
  const headers = { "content-type": "application/json" };
  await request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** The path of an agent's resource. */
export const at = (agent: string, rest = ""): string => `/agents/${encodeURIComponent(agent)}${rest}`;
export const atFile = (agent: string, path: string, rest = ""): string =>
  at(agent, `/files/${encodeURIComponent(path)}${rest}`);

export interface StreamMessage {
  /** `open` comes once per connection, before what the server sends. */
  readonly event: string;
  readonly data: unknown;
}

const RETRY_MS = 500;
const MOST_RETRY_MS = 8_000;

/**
 * Yields the messages of a stream until `signal` aborts, and connects again when it breaks. `pathAfter` gets the number
 * of the last message that had one, or 0. Throws ApiError when the server refuses the request.
 */
export async function* follow(
  pathAfter: (last: number) => string,
  signal: AbortSignal,
  onBreak: () => void = () => undefined,
): AsyncGenerator<StreamMessage> {
  let [last, retryMs] = [0, RETRY_MS];
  while (!signal.aborted) {
    try {
      const { body } = await request(pathAfter(last), { signal, headers: { accept: "text/event-stream" } });
      yield { event: "open", data: null };
      for await (const { id, event, data } of readMessages(body)) {
        retryMs = RETRY_MS;
        if (id !== "") last = Number(id);
        yield { event, data: JSON.parse(data) };
      }
    } catch (thrown) {
      if (signal.aborted) return;
      const { status } = toApiError(thrown);
      if (status >= 400 && status < 500) throw thrown;
    }
    if (!signal.aborted) onBreak();
    await new Promise((done) => setTimeout(done, retryMs));
    retryMs = Math.min(MOST_RETRY_MS, retryMs * 2);
  }
}

async function* readMessages(body: ReadableStream<Uint8Array> | null) {
  let rest = "";
  const decoder = new TextDecoder();
  // Readable streams are not iterable in every browser.
  const reader = body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const blocks = (rest + decoder.decode(part.value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
      if (field("data") !== "") yield { id: field("id"), event: field("event") || "message", data: field("data") };
    }
  }
}
