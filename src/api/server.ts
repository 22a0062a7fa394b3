/**
 * server.ts -- the local API: serves `Control` and `Reading` over HTTP, on a unix socket that only its owner can open.
 *
 * Each request passes the guard, the body parser and the schemas. Then the server calls one method and redacts the JSON
 * of the reply.
 */
import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from "fastify";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { hasDoubledName } from "#util/json.ts";
import { closed } from "#util/schema.ts";
import {
  answerWithEvents,
  createEventStreams,
  type EventStreams,
  type EventsRequest,
  requireRoom,
} from "./event-stream.ts";
import { createJsonWriter, type ToJson } from "./json-writer.ts";
import {
  bodyOf,
  type CreateCheck,
  cannotListen,
  loadChecks,
  noRoute,
  type Refusal,
  refusalOf,
  refuseRequest,
  unavailableRefusal,
  usageRefusal,
} from "./refusals.ts";
import { type Given, type HostApi, paramsOf, type RouteDescription } from "./route.ts";
import { buildOpenApi, CHANGES_ROUTE, DOCUMENT_ROUTE, EVENTS_ROUTE, methodsOf, ROUTES } from "./routes.ts";
import { PARAMS } from "./schemas.ts";
import type { StreamLimits } from "./server-sent-events.ts";

export interface ServerLimits extends AppLimits, StreamLimits {
  /** Maximum time for open requests when the server closes, in ms. */
  readonly closeMs: number;
}

export interface LocalServerOptions extends HostApi {
  /** Absolute path. The caller holds the lock of the home, so a socket at this path belongs to a dead host. */
  readonly socket: string;
  /** Redacts secrets and keeps JSON valid. */
  redact(text: string): string;
  /** Called with internal problems, each a redacted sentence. */
  onProblem(problem: string): void;
  readonly limits?: Partial<ServerLimits>;
}

export interface LocalServer {
  readonly socket: string;
  /** Number of open event streams. */
  readonly followers: number;
  /** When the last request came or the last stream ended, as `performance.now()`. */
  readonly usedAt: number;
  /**
   * Refuses new requests, ends event streams with the committed events and `bye`, and waits for open requests up to the
   * limit. `Control` and `Reading` must work until it resolves. A second call waits for the first.
   */
  close(reason: string): Promise<void>;
}

const LIMITS: ServerLimits = {
  // Requests that come at once wait in the host. Followers have their own limit.
  connections: 1_000,
  followers: 80,
  bodyBytes: 1024 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 5_000,
  closeMs: 5_000,
  slowReaderMs: 30_000,
  behindEvents: 50_000,
  aliveMs: 15_000,
  flushMs: 5_000,
  pageEvents: 100,
};

/** Clients that the system keeps until the host accepts them. Linux allows 4,096 unless configured otherwise. */
const BACKLOG = 4_096;

/** Rejects with GOALD_DAEMON when it cannot listen at the socket. */
export async function startServer(options: LocalServerOptions): Promise<LocalServer> {
  const { control, reading, socket } = options;
  const limits = { ...LIMITS, ...options.limits };
  clearSocketPlace(socket);
  const toJson = createJsonWriter(options.redact);
  const onProblem = (problem: string): void => options.onProblem(options.redact(problem));
  const streams = createEventStreams({ control, toJson, redact: options.redact, onProblem, limits });
  const parts: Parts = {
    control,
    reading,
    toJson,
    onProblem,
    streams,
    state: { closing: false, askedAt: performance.now() },
  };
  const app = await createApp(limits, (refusal) => toJson(bodyOf(refusal)));
  addRefusals(app, parts, limits);
  addRoutes(app, parts);
  await listen(app, socket);
  app.server.on("error", (error) => onProblem(`The local API: ${error.message}`));
  let closing: Promise<void> | undefined;
  return {
    socket,
    get followers() {
      return streams.count;
    },
    get usedAt() {
      return Math.max(parts.state.askedAt, streams.endedAt);
    },
    close: (reason) => {
      parts.state.closing = true;
      closing ??= close(app, streams, reason, limits.closeMs);
      return closing;
    },
  };
}

interface Parts extends HostApi {
  readonly toJson: ToJson;
  readonly onProblem: (problem: string) => void;
  readonly streams: EventStreams;
  readonly state: { closing: boolean; askedAt: number };
}

function addRoutes(app: FastifyInstance, parts: Parts): void {
  const { toJson } = parts;
  for (const route of ROUTES)
    app.route({
      ...addressOf(route),
      handler: async (request, reply) =>
        withHeaders(reply.code(route.status)).send(toJson(await route.act(parts, givenBy(request)))),
    });
  app.route({
    ...addressOf(EVENTS_ROUTE),
    handler: async (request, reply) => {
      const page = await answerWithEvents(givenBy(request) as EventsRequest, request, reply, parts);
      return page === undefined ? reply : withHeaders(reply).send(page);
    },
  });
  app.route({
    ...addressOf(CHANGES_ROUTE),
    handler: async (_request, reply) => {
      requireRoom(parts.streams);
      reply.hijack();
      parts.streams.openChanges(reply.raw);
      return reply;
    },
  });
  app.route({
    ...addressOf(DOCUMENT_ROUTE),
    handler: (_request, reply) => withHeaders(reply).send(toJson(buildOpenApi())),
  });
}

/** Handles refusals before a route runs, refusals by a route, and unknown addresses. */
function addRefusals(app: FastifyInstance, { toJson, onProblem, state }: Parts, limits: ServerLimits): void {
  const isTooMany = turnAwayOver(limits.connections, app);
  const send = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
    withHeaders(reply.code(refusal.status).headers(refusal.headers ?? {})).send(toJson(bodyOf(refusal)));

  app.addHook("onRequest", async (request, reply) => {
    state.askedAt = performance.now();
    const refusal = state.closing ? GOING_DOWN : isTooMany(request.raw.socket) ? TOO_MANY : refuseRequest(request.raw);
    // Closes the connection with the reply: the rest of a refused body is not read.
    return refusal && send(reply.header("connection", "close"), refusal);
  });
  app.addHook("onSend", async (_request, reply) => {
    // A persistent connection would keep the process alive.
    if (state.closing) reply.header("connection", "close");
  });
  app.setNotFoundHandler((request, reply) =>
    send(reply, noRoute(request.method, methodsOf(request.url.split("?")[0] ?? ""))),
  );
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const refusal = refusalOf(error);
    if (refusal.status === 500) onProblem(`A request failed: ${toError(error).stack}`);
    return send(reply, refusal);
  });
}

const GOING_DOWN = unavailableRefusal("The host is shutting down.", "Retry in a moment: goald starts a new one.");
const TOO_MANY = unavailableRefusal("Too many clients are connected.", "Close some of them and retry.");

const addressOf = ({ method, path, query, body }: RouteDescription) => ({
  method,
  url: path,
  schema: {
    ...(path.includes(":") ? { params: closed(paramsIn(path)) } : {}),
    querystring: query ?? closed({}),
    ...(body ? { body } : {}),
  },
});

const paramsIn = (path: string) => Object.fromEntries(paramsOf(path).map((name) => [name, PARAMS[name]]));

const givenBy = ({ params, query, body }: FastifyRequest): Given => ({
  params: params as Given["params"],
  query,
  body,
});

async function listen(app: FastifyInstance, socket: string): Promise<void> {
  try {
    await app.ready();
    clearSocketPlace(socket);
    await app.listen({ path: socket, backlog: BACKLOG });
    makePrivate(socket);
  } catch (thrown) {
    await app.close();
    if (isGoaldError(thrown)) throw thrown;
    const { message } = toError(thrown);
    throw cannotListen(`The socket ${socket} cannot be opened: ${message}`, "See: goald doctor", thrown);
  }
}

async function close(app: FastifyInstance, streams: EventStreams, reason: string, closeMs: number): Promise<void> {
  const closed = app.close();
  const late = setTimeout(() => app.server.closeAllConnections(), closeMs);
  await streams.close(reason);
  await closed;
  clearTimeout(late);
}

/** Length of sun_path without its terminating NUL. */
const MAX_PATH_BYTES = 107;

/**
 * Throws GOALD_DAEMON when no private socket can be created at this path.
 *
 * The caller holds the lock of the home, so a socket at this path belongs to a dead host. It is removed; other files stay.
 * The folder's mode protects the socket between listening and chmod.
 */
function clearSocketPlace(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (!isAbsolute(path) || path.includes("\0"))
    throw cannotListen("The path of the socket must be absolute.", "This is a fault of goald.");
  if (bytes > MAX_PATH_BYTES)
    throw cannotListen(
      `Expected a socket path of at most ${MAX_PATH_BYTES} bytes, got ${bytes}: ${path}`,
      "Use a home with a shorter path: --home",
    );
  const folder = dirname(path);
  checkFolder(folder, statOrNone(folder));
  const found = statOrNone(path);
  if (!found) return;
  if (!found.isSocket() || !isOurs(found))
    throw cannotListen(`Another file is at the path of the socket: ${path}`, `Move it away: ls -l ${path}`);
  unlinkSync(path);
}

/** Call this after listening. */
function makePrivate(path: string): void {
  chmodSync(path, 0o600);
}

function checkFolder(folder: string, found: Stats | undefined): void {
  const problem = !found
    ? "does not exist"
    : !found.isDirectory()
      ? "is not a folder, or is a link"
      : !isOurs(found)
        ? "belongs to another user"
        : (found.mode & 0o077) !== 0
          ? "is open to other users"
          : undefined;
  if (problem === undefined) return;
  throw cannotListen(
    `The folder of the socket ${problem}: ${folder}`,
    problem.startsWith("is open") ? `chmod 700 ${folder}` : "It must be your own folder with mode 0700.",
  );
}

/** True on systems without user ids, which have no file modes either. */
const isOurs = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

function statOrNone(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

// Configures fastify: no logger, custom validation and JSON writer, limits on every request.
//
// Fastify's compilers for validation and replies cost most of its time and memory; refusals.ts and event-stream.ts replace them.
// Only JSON bodies are parsed: a web page may send text/plain to any address without permission.

interface AppLimits {
  /** Maximum connections; further clients get a refusal. */
  readonly connections: number;
  readonly bodyBytes: number;
  /** Maximum time for the headers of a request, and for the whole request. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** Maximum idle time of a connection without a request. */
  readonly idleMs: number;
}

/** Maximum connections above the limit that get a refusal; further ones are closed without one. */
const TURNED_AWAY_AT_ONCE = 32;
/** Allows a percent-encoded name of 80 characters (960 characters) and longer paths. */
const MAX_PARAM_CHARS = 4_096;

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
const withHeaders = (reply: FastifyReply): FastifyReply => reply.headers(HEADERS);

/** `write` renders the body of a refusal. */
async function createApp(limits: AppLimits, write: (refusal: Refusal) => string): Promise<FastifyInstance> {
  const [{ fastify }, createCheck] = await Promise.all([import("fastify"), loadChecks()]);
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    return503OnClosing: false,
    bodyLimit: limits.bodyBytes,
    keepAliveTimeout: limits.idleMs,
    requestTimeout: limits.requestMs,
    http: { headersTimeout: limits.headersMs, connectionsCheckingInterval: 1_000 },
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    schemaController: { compilersFactory: compilers(createCheck) },
    // Called for an invalid address, for which neither hooks nor routes run.
    frameworkErrors: (error, _request, reply) => {
      const refusal = refusalOf(error);
      void withHeaders((reply as unknown as FastifyReply).code(refusal.status)).send(write(refusal));
    },
    clientErrorHandler: (error, connection) => {
      if (error.code === "ECONNRESET" || !connection.writable) return;
      connection.end(rawReply(unreadableRefusal(error.code), write));
      connection.destroySoon();
    },
  });
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, {});
    else
      void parseJson(request, body as string, (error, value) =>
        done(error ?? (hasDoubledName(body as string) ? DOUBLED_NAME : null), value),
      );
  });
  return app;
}

const DOUBLED_NAME = new GoaldError("GOALD_USAGE", "The body has an object with the same name twice.", {
  hint: "Send each name once.",
});

function compilers(createCheck: CreateCheck) {
  const compilersFactory = { buildValidator: () => createCheck, buildSerializer: () => () => JSON.stringify };
  // Fastify's types accept only its own compiler packages here.
  return compilersFactory as unknown as NonNullable<
    NonNullable<FastifyServerOptions["schemaController"]>["compilersFactory"]
  >;
}

function unreadableRefusal(code: string): Refusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return usageRefusal(408, "The request took too long to arrive.");
  if (code === "HPE_HEADER_OVERFLOW") return usageRefusal(431, "The headers of the request are too long.");
  return usageRefusal(400, "The request is not valid HTTP.");
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

function rawReply(refusal: Refusal, write: (refusal: Refusal) => string): string {
  const body = write(refusal);
  const headers = { ...HEADERS, connection: "close", "content-length": Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}\r\n${lines.join("")}\r\n${body}`;
}

/**
 * Counts connections. Above the limit, the oldest one that has not sent a whole head is closed. The returned function is
 * true for a connection above the limit when there is none.
 */
function turnAwayOver(most: number, { server }: FastifyInstance): (connection: object) => boolean {
  const turnedAway = new WeakSet<object>();
  const silent = new Set<FastifyRequest["raw"]["socket"]>();
  let count = 0;
  server.maxConnections = most + TURNED_AWAY_AT_ONCE;
  server.on("request", ({ socket }) => silent.delete(socket));
  server.on("connection", (connection) => {
    count++;
    const [oldest] = silent;
    if (count > most && oldest) oldest.destroy();
    else if (count > most) turnedAway.add(connection);
    silent.add(connection);
    connection.once("close", () => {
      count--;
      silent.delete(connection);
    });
  });
  return (connection) => turnedAway.has(connection);
}
