/**
 * api.ts -- the session, requests to the local API, and its event streams.
 *
 * The secret of the session is never sent. A daemon that proves to know it, for the port of this page, gets the key that
 * both compute from it (api/door.ts). So another program at this port gets no key that opens anything.
 */
import type { DoorProof } from "./types.ts";

/** `status`: 0 when goald cannot be reached. `hint`: what to do about it; empty for nothing. */
export const apiError = (status: number, message: string, hint = "") =>
  Object.assign(new Error(message), { status, hint });
export type ApiError = ReturnType<typeof apiError>;
export const toApiError = (thrown: unknown): ApiError =>
  "status" in Object(thrown) ? (thrown as ApiError) : apiError(0, `The page has a fault. ${thrown}`);

/** Kept for this tab while the daemon answers: a page that is loaded anew while it is gone can be another program's. */
const SECRET = "goald-session";
let secret = "";
let key = "";
let isLeaving = false;
// A page that is loaded anew ends its streams by itself.
globalThis.addEventListener?.("beforeunload", () => {
  isLeaving = true;
});

/** Begins a session by the ticket in the address, or goes on with that of this tab. Throws ApiError: 401 for neither. */
export async function signIn(): Promise<void> {
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket !== undefined) {
    history.replaceState(null, "", "#/");
    ({ secret } = (await (await send("/session", { ticket })).json()) as { secret: string });
  } else secret = sessionStorage.getItem(SECRET) ?? "";
  if (!secret) throw apiError(401, "This page was opened without a ticket.");
  await greet();
}

export function signOut(): void {
  sessionStorage.removeItem(SECRET);
  secret = "";
}

/** A daemon proves itself sooner; what does not gets no page that could read the storage. */
const PROOF_MS = 500;

/** Makes the key for the daemon of now, once it has proved to be one. */
async function greet(): Promise<void> {
  const nonce = crypto.getRandomValues(new Uint8Array(32)).toHex();
  const late = setTimeout(() => sessionStorage.removeItem(SECRET), PROOF_MS);
  const answer = await send("/session/proof", { nonce }).catch((thrown: ApiError) => {
    throw thrown.status === 404 ? apiError(0, "Something else than goald answers at this address.") : thrown;
  });
  const { salt, proofs } = (await answer.json()) as DoorProof;
  if (!proofs.includes(await sign(`proof ${location.port} ${salt} ${nonce}`)))
    throw apiError(401, "The session has ended.");
  key = await sign(`key ${salt}`);
  clearTimeout(late);
  sessionStorage.setItem(SECRET, secret);
}

async function sign(words: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const own = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", own, encoder.encode(words))).toHex();
}

const send = (path: string, body: object): Promise<Response> =>
  request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Throws ApiError. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const headers = { ...init.headers, ...(path.startsWith("/v1") && { authorization: `Bearer ${key}` }) };
  const response = await fetch(path, { ...init, headers }).catch((thrown: unknown) => {
    if (init.signal?.aborted) throw thrown;
    throw apiError(0, "The page cannot reach goald.", "Start it: goald up");
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message: string; hint: string } };
  throw apiError(response.status, error?.message ?? response.statusText, error?.hint);
}

export async function get<T>(path: string, signal: AbortSignal | null = null): Promise<T> {
  return (await (await request(`/v1${path}`, { signal })).json()) as T;
}

export const post = (path: string, body: object = {}): Promise<Response> => send(`/v1${path}`, body);

export const at = (agent: string, rest = ""): string => `/agents/${encodeURIComponent(agent)}${rest}`;
export const atFile = (agent: string, path: string, rest: string): string =>
  at(agent, `/files/${encodeURIComponent(path)}${rest}`);

/** The server says that it is alive every 15 seconds. */
const SILENCE_MS = 40_000;
const RETRY_MS = 500;
const MOST_RETRY_MS = 8_000;

/**
 * Yields the messages of a stream until `signal` aborts, and connects again when it breaks: at the path of that moment.
 * `open` comes once per connection, before what the server sends. Throws ApiError when the server refuses the request.
 * `onDaemonGone`: given for the host's stream alone, whose break takes the secret out of the tab.
 */
export async function* follow(pathNow: () => string, signal: AbortSignal, onDaemonGone?: () => void) {
  for (let retryMs = RETRY_MS; !signal.aborted; retryMs = Math.min(MOST_RETRY_MS, retryMs * 2)) {
    try {
      await greet();
      const { body } = await request(`/v1${pathNow()}`, { signal, headers: { accept: "text/event-stream" } });
      yield { event: "open", data: null as unknown };
      for await (const { event, data } of readMessages(body)) {
        retryMs = RETRY_MS;
        yield { event, data: JSON.parse(data) as unknown };
      }
    } catch (thrown) {
      const { status } = toApiError(thrown);
      if (!signal.aborted && status >= 400 && status < 500) throw thrown;
    }
    if (signal.aborted) return;
    if (!isLeaving && onDaemonGone) sessionStorage.removeItem(SECRET);
    onDaemonGone?.();
    await new Promise((done) => setTimeout(done, retryMs));
  }
}

async function* readMessages(body: ReadableStream<Uint8Array<ArrayBuffer>> | null) {
  let rest = "";
  // Readable streams are not iterable in every browser.
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = () => {
    const silence = setTimeout(() => void reader?.cancel().catch(() => undefined), SILENCE_MS);
    return reader?.read().finally(() => clearTimeout(silence));
  };
  for (let part = await read(); part && !part.done; part = await read()) {
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
      if (field("data") !== "") yield { event: field("event") || "message", data: field("data") };
    }
  }
}
