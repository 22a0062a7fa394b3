/**
 * guard.ts -- refuses requests before a route runs and before the body is read.
 *
 * The file permission of the socket is the authentication. The guard is a second check: it refuses requests that a web page
 * could send through a bridge. These have another Host, an Origin, or a body type that browsers send without permission.
 * The guard compares the raw Host header.
 */
import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "#core/errors.ts";
import { METHODS } from "./route.ts";

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type RawRequest = FastifyRequest["raw"];

export const HOST = "goald";
const JSON_TYPE = /^application\/json(?:\s{0,8};\s{0,8}charset="?utf-8"?)?$/i;

export function refuseRequest(request: RawRequest): Refusal | undefined {
  const { method = "", headers, url = "" } = request;
  if (!url.startsWith("/") || url.startsWith("//"))
    return foreign(421, "The request must name a path of this server, such as /v1/status.");
  if (hostsOf(request).length !== 1 || headers.host !== HOST)
    return foreign(421, `The request must have exactly one Host header: \`${HOST}\`.`);
  if (Object.keys(headers).some((name) => name === "origin" || name.startsWith("sec-fetch-")))
    return foreign(403, "Requests of a web page are refused.");
  if (!(METHODS as readonly string[]).includes(method))
    return {
      ...usageRefusal(405, "This server supports GET, POST, PUT, PATCH and DELETE."),
      headers: { allow: METHODS.join(", ") },
    };
  if (!hasBody(request)) return undefined;
  if (method === "GET" || method === "DELETE") return usageRefusal(400, `A ${method} request must not have a body.`);
  if (headers["content-encoding"] !== undefined || !JSON_TYPE.test(headers["content-type"] ?? ""))
    return usageRefusal(415, "The body must be uncompressed JSON in UTF-8, with `content-type: application/json`.");
  return undefined;
}

/** Node keeps only the first of several Host headers. */
const hostsOf = ({ rawHeaders }: RawRequest): readonly string[] =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");

const hasBody = ({ headers }: RawRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

const foreign = (status: number, message: string): Refusal => ({
  status,
  code: "GOALD_HTTP_REFUSED",
  message,
  hint: "The socket serves programs of this user, such as: curl --unix-socket … http://goald/v1/status",
});

export const usageRefusal = (status: number, message: string, hint = "See GET /v1/openapi.json."): Refusal => ({
  status,
  code: "GOALD_USAGE",
  message,
  hint,
});

export const unavailableRefusal = (message: string, hint: string): Refusal => ({
  status: 503,
  code: "GOALD_DAEMON",
  message,
  hint,
});
