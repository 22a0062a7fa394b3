/**
 * app.ts -- fastify as we need it: no logger, no schema compilers of its own, limits on everything that comes in.
 *
 * Loaded when a server is started. Its compilers for checks and replies are most of what it costs, in time and in
 * memory; ours (check.ts, json.ts) stand in their place. Of what it can read as a body only JSON is left:
 * text/plain a web page may send anywhere without asking.
 */
import type { FastifyInstance, FastifyReply, FastifyServerOptions } from "fastify";
import { type CreateCheck, loadChecks } from "./check.ts";
import { refusalOf } from "./errors.ts";
import { type Refusal, usage } from "./guard.ts";

export interface AppLimits {
  /** One more is told so, and turned away. */
  readonly connections: number;
  readonly bodyBytes: number;
  /** How long the head of a request may take to come, and the whole of it. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** A connection without a request is closed after so long. */
  readonly idleMs: number;
}

/** Connections over the limit that are told so; more are closed without a word. */
const TURNED_AWAY_AT_ONCE = 32;
/** Percent-encoded, a name of 80 characters is up to 960 long. */
const MAX_PARAM_CHARS = 1_000;

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
export const withHeaders = (reply: FastifyReply): FastifyReply => reply.headers(HEADERS);

/** `write` makes the body of a refusal. */
export async function createApp(limits: AppLimits, write: (refusal: Refusal) => string): Promise<FastifyInstance> {
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
    // An address that cannot be read: no hook runs, and no route either.
    frameworkErrors: (error, _request, reply) => {
      const refusal = refusalOf(error);
      void withHeaders((reply as unknown as FastifyReply).code(refusal.status)).send(write(refusal));
    },
    clientErrorHandler: (error, connection) => {
      if (error.code === "ECONNRESET" || !connection.writable) return;
      connection.end(rawReply(unreadable(error.code), write));
      connection.destroySoon();
    },
  });
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, {});
    else void parseJson(request, body as string, done);
  });
  return app;
}

function compilers(createCheck: CreateCheck) {
  const compilersFactory = { buildValidator: () => createCheck, buildSerializer: () => () => JSON.stringify };
  // Fastify's types know these two as the whole of its own packages.
  return compilersFactory as unknown as NonNullable<
    NonNullable<FastifyServerOptions["schemaController"]>["compilersFactory"]
  >;
}

function unreadable(code: string): Refusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return usage(408, "The request took too long to come.");
  if (code === "HPE_HEADER_OVERFLOW") return usage(431, "The head of the request is too long.");
  return usage(400, "This is no HTTP that can be read.");
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

/** Counts connections; says of each whether it was one too many. */
export function turnAwayOver(most: number, { server }: FastifyInstance): (connection: object) => boolean {
  const turnedAway = new WeakSet<object>();
  let count = 0;
  server.maxConnections = most + TURNED_AWAY_AT_ONCE;
  server.on("connection", (connection) => {
    count++;
    if (count > most) turnedAway.add(connection);
    connection.once("close", () => {
      count--;
    });
  });
  return (connection) => turnedAway.has(connection);
}
