/**
 * server.ts -- the local API: serves `Control` and `Reading` over HTTP, on a unix socket that only its owner can open.
 * Each request passes the guard, the body parser and the schemas. Then the server calls one method and redacts the JSON
 * of the reply. A second listener, on 127.0.0.1, serves the page and the same table of routes; it opens when somebody
 * asks for it (door.ts).
 */
import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import type { FastifyError, FastifyInstance, FastifyReply } from "fastify";
import { openJsonCache } from "#config/private-file.ts";
import { daemonError, isGoaldError, toError } from "#core/errors.ts";
import { asRecord, type JsonFile } from "#util/json.ts";
import { inertJson } from "#util/outside-text.ts";
import type { Redactors } from "#util/redact.ts";
import { closed, type Static, text } from "#util/schema.ts";
import { waitingToJson } from "#views/waiting.ts";
import type { PageDoor } from "./door.ts";
import { answerWithEvents, createEventStreams, type EventStreams } from "./event-stream.ts";
import { type AppLimits, createApp, turnAwayOver, withHeaders } from "./http-app.ts";
import {
  bodyOf,
  type Door,
  noRoute,
  type Refusal,
  refusalOf,
  refuseRequest,
  SOCKET,
  unknownTicket,
} from "./refusals.ts";
import { type Given, type HostApi, paramsOf, type RouteDescription } from "./route.ts";
import { buildOpenApi, CHANGES_ROUTE, DOCUMENT_ROUTE, EVENTS_ROUTE, methodsOf, ROUTES } from "./routes.ts";
import { type DashboardLink, PARAMS, ProofRequest } from "./schemas.ts";
import type { StreamLimits, StreamParts, ToJson } from "./server-sent-events.ts";

export interface ServerLimits extends AppLimits, StreamLimits {
  /** Maximum time for open requests when the server closes, in ms. */
  readonly closeMs: number;
}

export interface LocalServerOptions extends HostApi, Redactors {
  /** Absolute path. The caller holds the lock of the home, so a socket at this path belongs to a dead host. */
  readonly socket: string;
  /** Called with internal problems, each a redacted sentence. */
  onProblem(problem: string): void;
  readonly limits?: Partial<ServerLimits>;
  /** Port of the page's door; null for one that the system chooses. Default: null. */
  readonly doorPort?: number | null;
  /** Creates the door of the page, when it is opened first. Default: that of door.ts. */
  createDoor?(file: JsonFile): Promise<PageDoor>;
}

export type LocalServer = Awaited<ReturnType<typeof startServer>>;

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
  aliveMs: 15_000,
  flushMs: 5_000,
  pageEvents: 100,
};

/** Clients that the system keeps until the host accepts them. Linux allows 4,096 unless configured otherwise. */
const BACKLOG = 4_096;

/**
 * Rejects with GOALD_DAEMON when it cannot listen at the socket. Opens the door again for pages that are signed in since
 * an earlier server of this home.
 */
export async function startServer(options: LocalServerOptions) {
  const { control, reading, socket, redact, doorPort } = options;
  const limits = { ...LIMITS, ...options.limits };
  const toJson: ToJson = (view) =>
    inertJson("waiting" in asRecord(view) ? waitingToJson(asRecord(view), options) : redact(JSON.stringify(view)));
  const onProblem = (problem: string): void => options.onProblem(redact(problem));
  const given = { control, toJson, redact, onProblem, limits };
  const streams = createEventStreams(given);
  const state = { closing: false, askedAt: performance.now(), page: null };
  const parts: Parts = { ...given, reading, streams, apps: [], state };
  const app = await openApp(SOCKET, parts);
  await listen(app, socket, onProblem);
  parts.apps.push(app);
  let closing: Promise<void> | undefined;
  const file = openJsonCache(dirname(socket), "page.json");
  let door: ReturnType<typeof openDoor> | undefined;
  const create = async () => (await options.createDoor?.(file)) ?? (await import("./door.ts")).createDoor({ file });
  const open = (port: number, load = create): NonNullable<typeof door> => {
    door ??= openDoor(load(), port, parts).catch((thrown) => {
      door = undefined;
      throw thrown;
    });
    return door;
  };
  const kept = (await file.read()) ? await create() : undefined;
  if (kept?.keptPort)
    await open(doorPort ?? kept.keptPort, async () => kept).catch(({ message }) => onProblem(message));
  return {
    socket,
    /** Number of open event streams. */
    get followers(): number {
      return streams.count;
    },
    /** Address of the page without a ticket; null while its door is closed. */
    get page(): string | null {
      return parts.state.page;
    },
    /** When the last request that no door refused came, or the last stream ended, as `performance.now()`. */
    get usedAt(): number {
      return Math.max(parts.state.askedAt, streams.endedAt);
    },
    /**
     * Opens the door of the page on 127.0.0.1, unless it is open, and resolves to an address with a ticket of one use.
     * Throws GOALD_DAEMON.
     */
    openDashboard: async (): Promise<DashboardLink> => (await open(doorPort ?? 0)).invite(),
    /**
     * Refuses new requests, ends event streams with the committed events and `bye`, and waits for open requests up to the
     * limit. `Control` and `Reading` must work until it resolves. A second call waits for the first.
     */
    close: (reason: string): Promise<void> => {
      parts.state.closing = true;
      closing ??= close(parts, file, reason);
      return closing;
    },
  };
}

interface Parts extends HostApi, Omit<StreamParts, "control"> {
  readonly streams: EventStreams;
  readonly limits: ServerLimits;
  /** The socket has one app, and the open door of the page another. */
  readonly apps: FastifyInstance[];
  readonly state: { closing: boolean; askedAt: number; page: string | null };
}

/** An app with the table of routes behind one door. Its routes cannot be reached past `door.authenticate`. */
async function openApp(door: Door, parts: Parts): Promise<FastifyInstance> {
  const app = await createApp(parts.limits, (refusal) => parts.toJson(bodyOf(refusal)), door.headers);
  addRefusals(app, parts, door);
  void app.register(async (behind) => {
    behind.addHook("onRequest", async (request, reply) => {
      const refusal = door.authenticate?.(request, reply);
      if (refusal) return sendRefusal(reply.header("connection", "close"), refusal, parts);
      parts.state.askedAt = performance.now();
      return undefined;
    });
    addRoutes(behind, parts);
  });
  return app;
}

async function openDoor(created: Promise<PageDoor>, port: number, parts: Parts) {
  const door = await created;
  const app = await openApp(door, parts);
  for (const [path, read] of door.files)
    app.get(path, async (_request, reply) => {
      const { type, content } = await read();
      return reply.header("content-type", type).send(content);
    });
  app.post("/session", { schema: { body: closed({ ticket: text }) } }, async ({ body, socket }, reply) => {
    const secret = await door.exchange((body as { readonly ticket: string }).ticket, socket.localPort as number);
    return secret === undefined ? sendRefusal(reply, unknownTicket, parts) : withHeaders(reply).send({ secret });
  });
  app.post("/session/proof", { schema: { body: ProofRequest } }, async ({ body, socket }, reply) => {
    const { nonce } = body as Static<typeof ProofRequest>;
    return withHeaders(reply).send(door.prove(nonce, socket.localPort as number));
  });
  await listen(app, port, parts.onProblem);
  parts.apps.push(app);
  const { port: own } = app.addresses()[0] as { readonly port: number };
  parts.state.page = `http://127.0.0.1:${own}/`;
  return { invite: () => door.invite(own) };
}

function addRoutes(app: FastifyInstance, parts: Parts): void {
  const { toJson } = parts;
  for (const route of ROUTES)
    app.route({
      ...addressOf(route),
      handler: async (request, reply) =>
        withHeaders(reply.code(route.status)).send(toJson(await route.act(parts, request as Given))),
    });
  app.route({
    ...addressOf(EVENTS_ROUTE),
    handler: async (request, reply) => {
      const page = await answerWithEvents(request, reply, parts);
      return page === undefined ? reply : withHeaders(reply).send(page);
    },
  });
  app.route({
    ...addressOf(CHANGES_ROUTE),
    handler: async (_request, reply) => {
      parts.streams.openChanges(reply);
      return reply;
    },
  });
  app.route({
    ...addressOf(DOCUMENT_ROUTE),
    handler: (_request, reply) => withHeaders(reply).send(toJson(buildOpenApi())),
  });
}

/** Handles refusals before and by a route, and unknown addresses. A client that hangs up in its body is not a problem. */
function addRefusals(app: FastifyInstance, parts: Parts, door: Door): void {
  const { onProblem, state, limits } = parts;
  const isTooMany = turnAwayOver(limits.connections, app);
  app.addHook("onRequest", async (request, reply) => {
    const isExcess = isTooMany(request.raw.socket);
    const refusal = state.closing ? GOING_DOWN : isExcess ? TOO_MANY : refuseRequest(request.raw, door);
    // Closes the connection with the reply: the rest of a refused body is not read.
    return refusal && sendRefusal(reply.header("connection", "close"), refusal, parts);
  });
  app.addHook("onSend", async (_request, reply) => {
    // A persistent connection would keep the process alive.
    if (state.closing) reply.header("connection", "close");
  });
  app.setNotFoundHandler((request, reply) =>
    sendRefusal(reply, noRoute(request.method, methodsOf(request.url.split("?")[0] ?? "")), parts),
  );
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refusal = refusalOf(error);
    if (refusal.status === 500 && error !== request.raw.errored) onProblem(`A request failed: ${toError(error).stack}`);
    return sendRefusal(reply, refusal, parts);
  });
}

const sendRefusal = (reply: FastifyReply, refusal: Refusal, { toJson }: Pick<Parts, "toJson">): FastifyReply =>
  withHeaders(reply.code(refusal.status).headers(refusal.headers ?? {})).send(toJson(bodyOf(refusal)));

const GOING_DOWN = refusalOf(daemonError("The host is shutting down.", "Retry in a moment: goald starts a new one."));
const TOO_MANY = refusalOf(daemonError("Too many clients are connected.", "Close some of them and retry."));

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

/** `place`: the path of a socket, or a port of 127.0.0.1. Problems after the start are reported. */
async function listen(app: FastifyInstance, place: string | number, onProblem: Parts["onProblem"]): Promise<void> {
  const isSocket = typeof place === "string";
  try {
    await app.ready();
    if (isSocket) clearSocketPlace(place);
    await app.listen({ ...(isSocket ? { path: place } : { host: "127.0.0.1", port: place }), backlog: BACKLOG });
    if (isSocket) chmodSync(place, 0o600);
  } catch (thrown) {
    await app.close();
    if (isGoaldError(thrown)) throw thrown;
    const problem = `cannot be opened: ${toError(thrown).message}`;
    if (isSocket) throw daemonError(`The socket ${place} ${problem}`, "See: goald doctor", thrown);
    const hint = "Choose another port: goald config daemon.port NUMBER";
    throw daemonError(`The port ${place} of 127.0.0.1 ${problem}`, hint, thrown);
  }
  app.server.on("error", (error) => onProblem(`The local API: ${error.message}`));
}

/** Ends the sessions of pages too: they outlive a server that dies, not one that a person ends. */
async function close({ apps, streams, limits }: Parts, file: JsonFile, reason: string): Promise<void> {
  const closed = Promise.all(apps.map((app) => app.close()));
  const late = setTimeout(() => apps.map(({ server }) => server.closeAllConnections()), limits.closeMs);
  if (await file.read()) await file.write(null);
  await streams.close(reason);
  await closed;
  clearTimeout(late);
}

/** Length of sun_path without its terminating NUL. */
const MAX_PATH_BYTES = 107;

/**
 * Throws GOALD_DAEMON when no private socket can be created at this path. The caller holds the lock of the home, so a
 * socket at this path belongs to a dead host. It is removed; other files stay. The folder's mode protects the socket
 * between listening and chmod.
 */
function clearSocketPlace(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES)
    throw daemonError(
      `Expected a socket path of at most ${MAX_PATH_BYTES} bytes, got ${bytes}: ${path}`,
      "Use a home, or for a temporary one a TMPDIR, with a shorter path: --home",
    );
  const folder = dirname(path);
  checkFolder(folder, statOrNone(folder));
  const found = statOrNone(path);
  if (!found) return;
  if (!found.isSocket() || !isOurs(found))
    throw daemonError(`Another file is at the path of the socket: ${path}`, `Move it away: ls -l ${path}`);
  unlinkSync(path);
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
  throw daemonError(
    `The folder of the socket ${problem}: ${folder}`,
    problem.startsWith("is open") ? `chmod 700 ${folder}` : "It must be your own folder with mode 0700.",
  );
}

/** True on systems without user ids, which have no file modes either. */
const isOurs = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

const statOrNone = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });
