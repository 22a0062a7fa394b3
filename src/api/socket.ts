/**
 * socket.ts -- one HTTP call to a home's host, over its unix socket. It reaches no network.
 *
 * Whatever keeps an answer from coming is a GOALD_DAEMON that says what to do; what the host
 * itself refuses comes out as the very error that it threw. A connection serves one call, so that a
 * process that has nothing more to ask can end.
 */
import type { IncomingMessage } from "node:http";
import { type ErrorCode, GoaldError, toError } from "#core/errors.ts";
import { isRecord, parseJson } from "#util/json.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** From the connection to the end of the answer; for a stream, to its head. */
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
}

export const ANSWER_MS = 10_000;
/** A live host takes a connection at once; what takes longer is stopped or drowned. */
const CONNECT_MS = 2_000;
/** A page of a thousand events with all their long texts stays far below. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves to the JSON of the answer; undefined when it has none. */
export async function callHost(socket: string, call: Call): Promise<unknown> {
  const sent = await send(socket, call, "application/json");
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

export interface OpenStream {
  /** Rejects when the connection is lost, or nothing came for `idleMs`; ends when the host ends it. */
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): void;
}

/** Server-sent events; the host sends a sign of life more often than each `idleMs`. */
export async function openStream(
  socket: string,
  call: Call & { readonly lastEventId: number; readonly idleMs: number },
): Promise<OpenStream> {
  const sent = await send(socket, call, "text/event-stream", { "last-event-id": `${call.lastEventId}` });
  const { response } = sent;
  if (!isSuccess(response)) {
    try {
      throw refusal(await readAnswer(response), response, socket);
    } catch (thrown) {
      throw sent.explain(thrown);
    } finally {
      sent.close();
    }
  }
  sent.answered();
  response.setTimeout(call.idleMs, () => response.destroy(new Error(`nothing came for ${call.idleMs} ms`)));
  return { chunks: response, close: sent.close };
}

interface Sent {
  readonly response: IncomingMessage;
  /** The time limit of the answer no longer holds. */
  answered(): void;
  /** What was thrown while the answer was read, as an error for people. */
  explain(thrown: unknown): GoaldError;
  close(): void;
}

function send(socket: string, call: Call, accept: string, more: Readonly<Record<string, string>> = {}): Promise<Sent> {
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
  // Importing the module would load all of it, web sockets too: 15 ms of each call from a terminal.
  const { request } = process.getBuiltinModule("node:http");
  return new Promise((resolve, reject) => {
    let tooLate: GoaldError | undefined;
    const explain = (thrown: unknown): GoaldError => tooLate ?? unreachable(toError(thrown), socket);
    const outgoing = request({
      socketPath: socket,
      method,
      path,
      headers,
      agent: false,
      ...(signal ? { signal } : {}),
    });
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
    const connected = limit(CONNECT_MS, silent(socket, `took no call within ${CONNECT_MS / 1000} s`));
    const answered = limit(answerMs, silent(socket, `did not answer within ${answerMs / 1000} s`));
    const close = (): void => {
      connected();
      answered();
      outgoing.destroy();
    };
    outgoing.on("socket", (connection) => connection.once("connect", connected));
    outgoing.on("response", (response) => resolve({ response, answered, explain, close }));
    // A late error, such as that of a connection closed on purpose, has been told or does not matter.
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
      throw new GoaldError("GOALD_HTTP_TOO_LARGE", `The daemon's answer has more than ${MAX_ANSWER_BYTES} bytes.`, {
        hint: "Ask for less at a time.",
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

// ---------------------------------------------------------------- what came

function parseAnswer(text: string, socket: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw strange(socket, "with text that is no JSON", cause);
  }
}

/** What the host threw; anything else that is no success is not from a goald that we know. */
function refusal(text: string, { statusCode }: IncomingMessage, socket: string): GoaldError {
  const body = parseJson(text);
  const error = isRecord(body) ? body.error : undefined;
  if (!isRecord(error) || typeof error.message !== "string") return strange(socket, `with HTTP status ${statusCode}`);
  const hint = typeof error.hint === "string" ? error.hint : "";
  return new GoaldError(knownCode(error.code), error.message, { hint });
}

/** A newer daemon may know codes that this client does not. */
function knownCode(code: unknown): ErrorCode {
  if (typeof code !== "string") return "GOALD_INTERNAL";
  const { exitCode } = new GoaldError(code as ErrorCode, "");
  return typeof exitCode === "number" ? (code as ErrorCode) : "GOALD_INTERNAL";
}

// ---------------------------------------------------------------- what did not come

/** Errors of this file pass as they are; those of the system become words. */
function unreachable(error: Error & { readonly code?: string }, socket: string): GoaldError {
  if (error.name === "GoaldError") return error as GoaldError;
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
      return new GoaldError("GOALD_DAEMON", `The daemon is not running: nobody listens at ${socket}.`, {
        hint: "Start it: goald up",
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new GoaldError("GOALD_DAEMON", `The daemon's socket ${socket} may not be used by you.`, {
        hint: "It belongs to the user who started the daemon. See: goald doctor",
        cause: error,
      });
    default:
      return new GoaldError("GOALD_DAEMON", `The connection to the daemon was lost: ${error.message}.`, {
        hint: "See whether it still runs: goald status",
        cause: error,
      });
  }
}

const silent = (socket: string, what: string): GoaldError =>
  new GoaldError("GOALD_DAEMON", `The daemon at ${socket} ${what}.`, {
    hint: "See what it does: goald status. When it hangs: goald down --kill, then goald up",
  });

const strange = (socket: string, how: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", `What listens at ${socket} answered ${how}: no daemon that this goald understands.`, {
    hint: "Start this version's: goald restart",
    cause,
  });
