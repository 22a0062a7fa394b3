/**
 * server.ts -- the local API: HTTP around one `Control`, on a unix socket that only its owner can open.
 *
 * The way of a request: guard, body, schemas, one call of `Control`, JSON without secrets.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isGoaldError, toError } from "#core/errors.ts";
import { type AppLimits, createApp, turnAwayOver, withHeaders } from "./app.ts";
import type { Control } from "./control.ts";
import { bodyOf, cannotListen, noRoute, refusalOf } from "./errors.ts";
import { createEventStreams, type EventStreams, type StreamLimits } from "./event-streams.ts";
import { answerWithEvents, type EventsQuery } from "./events-route.ts";
import { type Refusal, refuse, unavailable } from "./guard.ts";
import { createJsonWriter, type ToJson } from "./json.ts";
import { buildOpenApi } from "./openapi.ts";
import type { Given, RouteDescription } from "./route.ts";
import { DOCUMENT_ROUTE, EVENTS_ROUTE, methodsOf, ROUTES } from "./routes.ts";
import { agentName, closed } from "./schemas.ts";
import { clearSocketPlace, makePrivate } from "./socket-file.ts";

export interface ServerLimits extends AppLimits, StreamLimits {
  /** How long requests under way may take when the server closes; then they are cut off. */
  readonly closeMs: number;
}

export interface LocalServerOptions {
  readonly control: Control;
  /** Absolute. Whoever calls holds the lock of the home: a socket that lies there is a dead host's. */
  readonly socket: string;
  /** Takes secrets out of text, and leaves JSON valid. */
  redact(text: string): string;
  /** Told what went wrong inside, each a sentence, secrets taken out. */
  onProblem(problem: string): void;
  readonly limits?: Partial<ServerLimits>;
}

export interface LocalServer {
  readonly socket: string;
  /** Event streams that are open. */
  readonly followers: number;
  /**
   * Takes no more requests, sends readers of events what is committed and then `bye`, and waits for requests
   * under way as long as its limits say. `Control` must still answer meanwhile. A second call waits for the first.
   */
  close(reason: string): Promise<void>;
}

const LIMITS: ServerLimits = {
  connections: 100,
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

/** Rejects with GOALD_DAEMON when it cannot listen there. */
export async function startServer(options: LocalServerOptions): Promise<LocalServer> {
  const { control, socket } = options;
  const limits = { ...LIMITS, ...options.limits };
  clearSocketPlace(socket);
  const toJson = createJsonWriter(options.redact);
  const onProblem = (problem: string): void => options.onProblem(options.redact(problem));
  const streams = createEventStreams({ control, toJson, redact: options.redact, onProblem, limits });
  const parts: Parts = { control, toJson, onProblem, streams, state: { closing: false } };
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
    close: (reason) => {
      parts.state.closing = true;
      closing ??= close(app, streams, reason, limits.closeMs);
      return closing;
    },
  };
}

interface Parts {
  readonly control: Control;
  readonly toJson: ToJson;
  readonly onProblem: (problem: string) => void;
  readonly streams: EventStreams;
  readonly state: { closing: boolean };
}

function addRoutes(app: FastifyInstance, parts: Parts): void {
  const { control, toJson } = parts;
  for (const route of ROUTES)
    app.route({
      ...addressOf(route),
      handler: async (request, reply) =>
        withHeaders(reply.code(route.status)).send(toJson(await route.act(control, givenBy(request)))),
    });
  app.route({
    ...addressOf(EVENTS_ROUTE),
    handler: async (request, reply) => {
      const page = await answerWithEvents(givenBy(request) as EventsQuery, request, reply, parts);
      return page === undefined ? reply : withHeaders(reply).send(page);
    },
  });
  app.route({
    ...addressOf(DOCUMENT_ROUTE),
    handler: (_request, reply) => withHeaders(reply).send(toJson(buildOpenApi())),
  });
}

/** Everything that is refused: before a route runs, by one, or because there is none. */
function addRefusals(app: FastifyInstance, { toJson, onProblem, state }: Parts, limits: ServerLimits): void {
  const isTooMany = turnAwayOver(limits.connections, app);
  const send = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
    withHeaders(reply.code(refusal.status).headers(refusal.headers ?? {})).send(toJson(bodyOf(refusal)));

  app.addHook("onRequest", async (request, reply) => {
    const refusal = state.closing ? GOING_DOWN : isTooMany(request.raw.socket) ? TOO_MANY : refuse(request.raw);
    // A body that nobody wants may still be on its way: the connection ends with the answer.
    return refusal && send(reply.header("connection", "close"), refusal);
  });
  app.addHook("onSend", async (_request, reply) => {
    // A connection that were kept would keep the host.
    if (state.closing) reply.header("connection", "close");
  });
  app.setNotFoundHandler((request, reply) =>
    send(reply, noRoute(request.method, methodsOf(request.url.split("?")[0] ?? ""))),
  );
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const refusal = refusalOf(error);
    if (refusal.status === 500) onProblem(`A request could not be answered: ${toError(error).stack}`);
    return send(reply, refusal);
  });
}

const GOING_DOWN = unavailable("The host is going down.", "Try again in a moment: goald starts the next one.");
const TOO_MANY = unavailable(
  "Too many programs talk to goald at once.",
  "End some that follow an agent, and try again.",
);

const addressOf = ({ method, path, query, body }: RouteDescription) => ({
  method,
  url: path,
  schema: {
    ...(path.includes(":agent") ? { params: closed({ agent: agentName }) } : {}),
    querystring: query ?? closed({}),
    ...(body ? { body } : {}),
  },
});

const givenBy = ({ params, query, body }: FastifyRequest): Given => ({
  agent: (params as { readonly agent?: string }).agent ?? "",
  query,
  body,
});

async function listen(app: FastifyInstance, socket: string): Promise<void> {
  try {
    await app.ready();
    clearSocketPlace(socket);
    await app.listen({ path: socket });
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
