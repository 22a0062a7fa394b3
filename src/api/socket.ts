/**
 * socket.ts -- one HTTP request to a home's host, over its unix socket. It reaches no network. Throws GOALD_DAEMON with
 * a hint when no reply comes, and the host's own error when it refuses. Each connection serves one request, so that an
 * open connection never keeps a process alive.
 */
import type { IncomingMessage } from "node:http";
import { daemonError, type ErrorCode, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { systemClock } from "#util/clock.ts";
import { createEventStreamParser, type ServerSentEvent } from "#util/event-stream.ts";
import { isRecord, parseJson } from "#util/json.ts";

export type Followed =
  | { readonly kind: "event"; readonly event: RecordedEvent }
  /** A piece of the reply that is arriving, after `from` characters. The reply may restart, and may never be completed. */
  | { readonly kind: "delta"; readonly seq: number; readonly from: number; readonly text: string }
  /** The last line that the running code of a cell has printed. */
  | { readonly kind: "printed"; readonly line: string }
  /** The client was too slow (`dropped`), or the host shuts down (`bye`). A new connection follows. */
  | { readonly kind: "dropped" | "bye"; readonly reason: string; readonly after: number };

export interface FollowOptions {
  /** Number of the last known event. */
  readonly after: number;
  /** True to also yield pieces of replies. */
  readonly live?: boolean;
  /** True for the terminal that holds the agent in front (`Control.addFollower`). */
  readonly hold?: boolean;
  /** Ends without an error when aborted. */
  readonly signal?: AbortSignal;
  /** Maximum wait for a host that replies. */
  readonly patienceMs?: number;
  /** Time of silence after which a connection counts as lost. */
  readonly idleMs?: number;
}

const PATIENCE_MS = 15_000;
/** The host sends a comment each 15 s. */
const IDLE_MS = 45_000;
const MAX_EVENT_CHARS = 32 * 1024 * 1024;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Follows an agent's events as they are committed, and reconnects whenever the connection is lost. Yields each event
 * once and in order: a new connection starts after the last number. The host may be restarted meanwhile. Throws
 * GOALD_DAEMON when no host replies for `patienceMs`, and the error of a run that has failed in front.
 */
export async function* followAgent(socket: string, path: string, options: FollowOptions): AsyncGenerator<Followed> {
  const { signal, patienceMs = PATIENCE_MS, idleMs = IDLE_MS } = options;
  let { after } = options;
  let lastAnswerAt = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal?.aborted) {
    try {
      const leftMs = Math.max(1, lastAnswerAt + patienceMs - performance.now());
      const stream = await openStream(socket, {
        method: "GET",
        path: `${path}?after=${after}${options.live ? "&live=true" : ""}${options.hold ? "&hold=true" : ""}`,
        lastEventId: after,
        answerMs: leftMs,
        idleMs,
        signal,
      });
      lastAnswerAt = performance.now();
      try {
        for await (const followed of readStream(stream.response, after)) {
          if (followed.kind === "event") after = followed.event.seq;
          pauseMs = FIRST_PAUSE_MS;
          yield followed;
          // Restarts the wait, so that the consumer's time does not count.
          lastAnswerAt = performance.now();
        }
      } finally {
        stream.close();
      }
    } catch (thrown) {
      if (signal?.aborted) return;
      if (!isLost(thrown)) throw thrown;
      if (performance.now() - lastAnswerAt >= patienceMs)
        throw isGoaldError(thrown) ? thrown : lostFor(patienceMs, thrown);
    }
    await systemClock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Ends with the connection, or after `dropped` or `bye`. */
async function* readStream(chunks: AsyncIterable<Uint8Array>, known: number): AsyncGenerator<Followed> {
  const parser = createEventStreamParser(MAX_EVENT_CHARS);
  let after = known;
  for await (const chunk of chunks)
    for (const sent of parser.push(chunk)) {
      const followed = toFollowed(sent, after);
      if (followed === undefined) continue;
      if (followed.kind === "event") after = followed.event.seq;
      yield followed;
      if (followed.kind === "dropped" || followed.kind === "bye") return;
    }
}

/** Returns undefined for a known event, and for unknown kinds of a newer host. */
function toFollowed({ event, data }: ServerSentEvent, after: number): Followed | undefined {
  switch (event) {
    case "message": {
      const recorded = parse(data) as RecordedEvent;
      if (!Number.isInteger(recorded.seq)) throw unreadable(data);
      if (recorded.seq <= after) return undefined;
      if (recorded.seq === after + 1) return { kind: "event", event: recorded };
      throw new GoaldError(
        "GOALD_INTERNAL",
        `Expected event ${after + 1} of the agent, the daemon sent event ${recorded.seq}.`,
      );
    }
    case "delta": {
      const { seq, from, text } = parse(data);
      return typeof seq === "number" && typeof from === "number" && typeof text === "string"
        ? { kind: "delta", seq, from, text }
        : undefined;
    }
    case "printed": {
      const { line } = parse(data);
      return typeof line === "string" ? { kind: "printed", line } : undefined;
    }
    case "failed":
      throw errorIn(parse(data)) ?? unreadable(data);
    case "dropped":
    case "bye": {
      const { reason } = parse(data);
      return { kind: event, reason: typeof reason === "string" ? reason : "", after };
    }
    default:
      return undefined;
  }
}

function parse(data: string): Readonly<Record<string, unknown>> {
  const value = parseJson(data);
  if (!isRecord(value)) throw unreadable(data);
  return value;
}

const unreadable = (data: string): GoaldError =>
  new GoaldError(
    "GOALD_INTERNAL",
    `The daemon sent an event that cannot be read: ${JSON.stringify(data.slice(0, 80))}`,
  );

/** True for an error of the connection, not of its content. */
const isLost = (thrown: unknown): boolean => !isGoaldError(thrown) || thrown.code === "GOALD_DAEMON";

const lostFor = (patienceMs: number, cause: unknown): GoaldError =>
  daemonError(`No daemon has replied for ${patienceMs / 1000} s: ${toError(cause).message}.`, SEE_STATUS, cause);
const SEE_STATUS = "See whether it is running: goald status";

export interface HostCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Maximum time from the connection to the end of the reply; for a stream, to its headers. */
  readonly answerMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export const ANSWER_MS = 10_000;
/** A live host accepts a connection at once; a slower one is stopped or overloaded. */
const CONNECT_MS = 2_000;
/** Far more than a page of a thousand events with long texts. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves to the parsed reply; undefined for an empty one. */
export async function callHost(socket: string, call: HostCall): Promise<unknown> {
  return takeAnswer(await sendRequest(socket, call, "application/json"), socket);
}

/** Reads the reply and closes the connection. Throws for a reply that is not a success. */
async function takeAnswer(sent: SentRequest, socket: string): Promise<unknown> {
  try {
    const text = await readAnswer(sent.response);
    if (isSuccess(sent.response)) return parseAnswer(text, socket);
    throw refusal(text, sent.response, socket);
  } catch (thrown) {
    throw sent.explain(thrown);
  } finally {
    sent.close();
  }
}

/**
 * Receives server-sent events. The host must send comments more often than each `idleMs`: reading rejects when the
 * connection is lost or idle for that time, and ends when the host ends it.
 */
async function openStream(
  socket: string,
  call: HostCall & { readonly lastEventId: number; readonly idleMs: number },
): Promise<SentRequest> {
  const sent = await sendRequest(socket, call, "text/event-stream", { "last-event-id": `${call.lastEventId}` });
  const { response } = sent;
  if (!isSuccess(response)) return takeAnswer(sent, socket) as Promise<never>;
  sent.answered();
  response.setTimeout(call.idleMs, () => response.destroy(new Error(`nothing came for ${call.idleMs} ms`)));
  return sent;
}

interface SentRequest {
  readonly response: IncomingMessage;
  /** Stops the time limit of the reply. */
  answered(): void;
  /** Converts an error of reading the reply into an error for people. */
  explain(thrown: unknown): GoaldError;
  close(): void;
}

function sendRequest(
  socket: string,
  call: HostCall,
  accept: string,
  more: Readonly<Record<string, string>> = {},
): Promise<SentRequest> {
  const { method, path, body, signal, answerMs = ANSWER_MS } = call;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    host: "goald",
    accept,
    ...more,
    ...(text === undefined
      ? {}
      : { "content-type": "application/json", "content-length": `${Buffer.byteLength(text)}` }),
  };
  // A normal import also loads web sockets, which costs each verb 15 ms.
  const { request } = process.getBuiltinModule("node:http");
  return new Promise((resolve, reject) => {
    let tooLate: GoaldError | undefined;
    const explain = (thrown: unknown): GoaldError => tooLate ?? unreachable(toError(thrown), socket);
    const outgoing = request({ socketPath: socket, method, path, headers, agent: false, signal });
    const limit = (ms: number, problem: GoaldError): (() => void) => {
      const timer = setTimeout(
        () => {
          tooLate = problem;
          outgoing.destroy(problem);
        },
        Math.min(ms, LONGEST_TIMER_MS),
      );
      return () => clearTimeout(timer);
    };
    const connected = limit(CONNECT_MS, silent(socket, `accepted no connection within ${CONNECT_MS / 1000} s`));
    const answered = limit(answerMs, silent(socket, `did not answer within ${answerMs / 1000} s`));
    const close = (): void => {
      connected();
      answered();
      outgoing.destroy();
    };
    outgoing.on("socket", (connection) => connection.once("connect", connected));
    outgoing.on("response", (response) => resolve({ response, answered, explain, close }));
    // A second rejection has no effect, for example after the connection was closed on purpose.
    outgoing.on("error", (error) => {
      connected();
      answered();
      reject(explain(error));
    });
    outgoing.end(text);
  });
}

const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode < 300;

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new GoaldError("GOALD_HTTP_TOO_LARGE", `The reply of the daemon has more than ${MAX_ANSWER_BYTES} bytes.`, {
        hint: "Request less at a time.",
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseAnswer(text: string, socket: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw strange(socket, "with text that is not JSON", cause);
  }
}

/** Returns the host's error. Any other reply does not come from a known version of goald. */
function refusal(text: string, { statusCode }: IncomingMessage, socket: string): GoaldError {
  const body = parseJson(text);
  return errorIn(isRecord(body) ? body.error : undefined) ?? strange(socket, `with HTTP status ${statusCode}`);
}

function errorIn(sent: unknown): GoaldError | undefined {
  if (!isRecord(sent) || typeof sent.message !== "string") return undefined;
  return new GoaldError(knownCode(sent.code), sent.message, { hint: typeof sent.hint === "string" ? sent.hint : "" });
}

/** Returns GOALD_INTERNAL for codes of newer daemons that are unknown here. */
function knownCode(code: unknown): ErrorCode {
  if (typeof code !== "string") return "GOALD_INTERNAL";
  const { exitCode } = new GoaldError(code as ErrorCode, "");
  return typeof exitCode === "number" ? (code as ErrorCode) : "GOALD_INTERNAL";
}

/** Returns errors of this file unchanged, and explains errors of the system. */
function unreachable(error: Error & { readonly code?: string }, socket: string): GoaldError {
  if (error.name === "GoaldError") return error as GoaldError;
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
      return daemonError(`The daemon is not running: no process listens at ${socket}.`, "Start it: goald up", error);
    case "EACCES":
    case "EPERM":
      return daemonError(
        `You may not use the daemon's socket ${socket}.`,
        "It belongs to the user who started the daemon. See: goald doctor",
        error,
      );
    default:
      return daemonError(`The connection to the daemon was lost: ${error.message}.`, SEE_STATUS, error);
  }
}

const silent = (socket: string, what: string): GoaldError =>
  daemonError(
    `The daemon at ${socket} ${what}.`,
    "See its state: goald status. If it hangs: goald down --kill, then goald up",
  );

const strange = (socket: string, how: string, cause?: unknown): GoaldError =>
  daemonError(
    `The process at ${socket} replied ${how}: it is not a daemon that this goald understands.`,
    "Start a daemon of this version: goald restart",
    cause,
  );
