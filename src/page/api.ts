/**
 * api.ts -- the session, requests to the local API, and its event streams.
 *
 * The secret of the session is never sent. A daemon that proves to know it, for the port of this page, gets the key that
 * both compute from it (api/door.ts). So another program at this port gets no key that opens anything.
 */
import type { DoorProof } from "./types.ts";

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

const SECRET = "goald-session";
let key = "";

/** Begins a session by the ticket in the address, or goes on with that of this tab. Throws ApiError: 401 for neither. */
export async function signIn(): Promise<void> {
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket !== undefined) {
    history.replaceState(null, "", "#/");
    const given = await send("/session", { ticket }).catch(() => null);
    if (given) sessionStorage.setItem(SECRET, ((await given.json()) as { secret: string }).secret);
  }
  await greet();
}

export const signOut = (): void => sessionStorage.removeItem(SECRET);

/** Makes the key for the daemon of now, once it has proved to be one. */
async function greet(): Promise<void> {
  const secret = sessionStorage.getItem(SECRET) ?? "";
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const answer = await send("/session/proof", { nonce }).catch(() => {
    throw new ApiError(0, "Something else than goald answers at this address.");
  });
  const { salt, proofs } = (await answer.json()) as DoorProof;
  if (!secret || !proofs.includes(await sign(secret, `proof ${location.port} ${salt} ${nonce}`)))
    throw new ApiError(401, "The session has ended.");
  key = await sign(secret, `key ${salt}`);
}

async function sign(secret: string, words: string): Promise<string> {
  const [encoder, algorithm] = [new TextEncoder(), { name: "HMAC", hash: "SHA-256" }];
  const own = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", own, encoder.encode(words))));
}
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const send = (path: string, body: object): Promise<Response> =>
  request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Throws ApiError. */
async function request(path: string, init: RequestInit): Promise<Response> {
  const headers = { ...init.headers, ...(path.startsWith("/v1") && { authorization: `Bearer ${key}` }) };
  const response = await fetch(path, { ...init, headers }).catch((thrown: unknown) => {
    if (init.signal?.aborted) throw thrown;
    throw new ApiError(0, "The page cannot reach goald.", "Start it: goald up");
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { message: string; hint: string } };
  throw new ApiError(response.status, error?.message ?? response.statusText, error?.hint);
}

export async function get<T>(path: string): Promise<T> {
  return (await (await request(`/v1${path}`, {})).json()) as T;
}

export const post = (path: string, body: object = {}): Promise<Response> => send(`/v1${path}`, body);

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
  let [last, retryMs, isBroken] = [0, RETRY_MS, false];
  while (!signal.aborted) {
    try {
      if (isBroken) await greet();
      const { body } = await request(`/v1${pathAfter(last)}`, { signal, headers: { accept: "text/event-stream" } });
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
    isBroken = true;
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
