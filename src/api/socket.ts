/**
 * socket.ts -- one HTTP request to a home's host, over its unix socket. It reaches no network.
 *
 * Throws GOALD_DAEMON with a hint when no reply comes, and the host's own error when it refuses. Each connection serves one
 * request, so that an open connection never keeps a process alive.
 */
import type { IncomingMessage } from "node:http";
import { type ErrorCode, GoaldError, toError } from "#core/errors.ts";
import { isRecord, parseJson } from "#util/json.ts";

export interface HostCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Maximum time from the connection to the end of the reply; for a stream, to its headers. */
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
}

export const ANSWER_MS = 10_000;
/** A live host accepts a connection at once; a slower one is stopped or overloaded. */
const CONNECT_MS = 2_000;
/** Far more than a page of a thousand events with long texts. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves to the parsed reply; undefined for an empty one. */
export async function callHost(socket: string, call: HostCall): Promise<unknown> {
  const sent = await sendRequest(socket, call, "application/json");
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
  /** Rejects when the connection is lost or idle for `idleMs`. Ends when the host ends it. */
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): void;
}

/** Receives server-sent events. The host must send comments more often than each `idleMs`. */
export async function openStream(
  socket: string,
  call: HostCall & { readonly lastEventId: number; readonly idleMs: number },
): Promise<OpenStream> {
  const sent = await sendRequest(socket, call, "text/event-stream", { "last-event-id": `${call.lastEventId}` });
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

// ---------------------------------------------------------------- replies

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

/** Reads an error as a host sends it. */
export function errorIn(sent: unknown): GoaldError | undefined {
  if (!isRecord(sent) || typeof sent.message !== "string") return undefined;
  return new GoaldError(knownCode(sent.code), sent.message, { hint: typeof sent.hint === "string" ? sent.hint : "" });
}

/** Returns GOALD_INTERNAL for codes of newer daemons that are unknown here. */
function knownCode(code: unknown): ErrorCode {
  if (typeof code !== "string") return "GOALD_INTERNAL";
  const { exitCode } = new GoaldError(code as ErrorCode, "");
  return typeof exitCode === "number" ? (code as ErrorCode) : "GOALD_INTERNAL";
}

// ---------------------------------------------------------------- no reply

/** Returns errors of this file unchanged, and explains errors of the system. */
function unreachable(error: Error & { readonly code?: string }, socket: string): GoaldError {
  if (error.name === "GoaldError") return error as GoaldError;
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
      return new GoaldError("GOALD_DAEMON", `The daemon is not running: no process listens at ${socket}.`, {
        hint: "Start it: goald up",
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new GoaldError("GOALD_DAEMON", `You may not use the daemon's socket ${socket}.`, {
        hint: "It belongs to the user who started the daemon. See: goald doctor",
        cause: error,
      });
    default:
      return new GoaldError("GOALD_DAEMON", `The connection to the daemon was lost: ${error.message}.`, {
        hint: "See whether it is running: goald status",
        cause: error,
      });
  }
}

const silent = (socket: string, what: string): GoaldError =>
  new GoaldError("GOALD_DAEMON", `The daemon at ${socket} ${what}.`, {
    hint: "See its state: goald status. If it hangs: goald down --kill, then goald up",
  });

const strange = (socket: string, how: string, cause?: unknown): GoaldError =>
  new GoaldError(
    "GOALD_DAEMON",
    `The process at ${socket} replied ${how}: it is not a daemon that this goald understands.`,
    {
      hint: "Start a daemon of this version: goald restart",
      cause,
    },
  );
