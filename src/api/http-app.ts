/**
 * http-app.ts -- configures fastify: no logger, custom validation and JSON writer, limits on every request. Fastify's
 * compilers for validation and replies cost most of its time and memory; refusals.ts and event-stream.ts replace them.
 * Only JSON bodies are parsed: a web page may send text/plain to any address without permission.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GoaldError } from "#core/errors.ts";
import { jsonProblem } from "#util/json.ts";
import { loadChecks, type Refusal, refusalOf, usageRefusal } from "./refusals.ts";

export interface AppLimits {
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

type Write = (refusal: Refusal) => string;
type Headers = Readonly<Record<string, string>>;

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
export const withHeaders = (reply: FastifyReply): FastifyReply => reply.headers(HEADERS);

/** `write` renders the body of a refusal. `headers`: sent with every reply, whatever it is. */
export async function createApp(limits: AppLimits, write: Write, headers: Headers): Promise<FastifyInstance> {
  const [{ fastify }, createCheck] = await Promise.all([import("fastify"), loadChecks()]);
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    return503OnClosing: false,
    bodyLimit: limits.bodyBytes,
    keepAliveTimeout: limits.idleMs,
    requestTimeout: limits.requestMs,
    // Each check wakes an idle process, so a slow connection is closed within twice its limit.
    http: { headersTimeout: limits.headersMs, connectionsCheckingInterval: limits.headersMs, requireHostHeader: false },
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    schemaController: {
      // Fastify's types accept only its own compiler packages here.
      compilersFactory: { buildValidator: () => createCheck, buildSerializer: () => () => JSON.stringify } as never,
    },
    // Called for an invalid address, for which neither hooks nor routes run.
    frameworkErrors: (error, _request, reply) => {
      const refusal = refusalOf(error);
      void withHeaders((reply as unknown as FastifyReply).code(refusal.status)).send(write(refusal));
    },
    clientErrorHandler: (error, connection) => {
      if (error.code === "ECONNRESET" || !connection.writable) return;
      const refusal = unreadableRefusal(error.code);
      connection.end(rawReply(refusal.status, write(refusal), { ...headers, ...HEADERS }));
      connection.destroySoon();
    },
  });
  // Before fastify, which neither touches the replies to invalid addresses nor those of hijacked streams.
  app.server.prependListener("request", (_request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  });
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const json = body.toString();
    if (json === "") done(null, {});
    else if (!Buffer.from(json).equals(body as Buffer)) done(badBody("is not in UTF-8"));
    else
      void parseJson(request, json, (error, value) => {
        const problem = error ? undefined : jsonProblem(json);
        done(problem === undefined ? error : badBody(problem), value);
      });
  });
  return app;
}

const badBody = (problem: string): GoaldError =>
  new GoaldError("GOALD_USAGE", `The body ${problem}.`, { hint: "See GET /v1/openapi.json." });

function unreadableRefusal(code: string): Refusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return usageRefusal(408, "The request took too long to arrive.");
  if (code === "HPE_HEADER_OVERFLOW") return usageRefusal(431, "The headers of the request are too long.");
  return usageRefusal(400, "The request is not valid HTTP.");
}

function rawReply(status: number, body: string, headers: Headers): string {
  const all = { ...headers, connection: "close", "content-length": Buffer.byteLength(body) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${process.getBuiltinModule("node:http").STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`;
}

/**
 * Counts connections. Above the limit, the oldest one that has not sent a whole head is closed. The returned function is
 * true for a connection above the limit when there is none.
 */
export function turnAwayOver(most: number, { server }: FastifyInstance): (connection: object) => boolean {
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
