/**
 * guard.ts -- what is refused before any route runs, and before a body is read.
 *
 * The file permission of the socket is the authentication. This is the second door: a request that a web page
 * could have sent through some bridge (a foreign Host, an Origin, a body that needs no leave from the browser) is
 * never one of ours. The host is compared as it was sent, once, and with nothing parsed.
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

export function refuse(request: RawRequest): Refusal | undefined {
  const { method = "", headers, url = "" } = request;
  if (!url.startsWith("/") || url.startsWith("//"))
    return foreign(421, "The request must name a path of this server, such as /v1/status, and no other server.");
  if (hostsOf(request).length !== 1 || headers.host !== HOST)
    return foreign(421, `The Host of a request must be \`${HOST}\`, once.`);
  if (Object.keys(headers).some((name) => name === "origin" || name.startsWith("sec-fetch-")))
    return foreign(403, "Requests that a browser sends for a web page are refused.");
  if (!(METHODS as readonly string[]).includes(method))
    return {
      ...usage(405, "The methods of this server are GET, POST, PUT, PATCH and DELETE."),
      headers: { allow: METHODS.join(", ") },
    };
  if (!hasBody(request)) return undefined;
  if (method === "GET" || method === "DELETE") return usage(400, `A request with ${method} has no body.`);
  if (headers["content-encoding"] !== undefined || !JSON_TYPE.test(headers["content-type"] ?? ""))
    return usage(415, "The body must be JSON in UTF-8, as it is, with `content-type: application/json`.");
  return undefined;
}

/** Node keeps the first of several and says nothing. */
const hostsOf = ({ rawHeaders }: RawRequest): readonly string[] =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");

const hasBody = ({ headers }: RawRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

const foreign = (status: number, message: string): Refusal => ({
  status,
  code: "GOALD_HTTP_REFUSED",
  message,
  hint: "The socket is for programs of this user: goald itself, curl --unix-socket … http://goald/v1/status.",
});

export const usage = (status: number, message: string, hint = "See GET /v1/openapi.json."): Refusal => ({
  status,
  code: "GOALD_USAGE",
  message,
  hint,
});

export const unavailable = (message: string, hint: string): Refusal => ({
  status: 503,
  code: "GOALD_DAEMON",
  message,
  hint,
});
