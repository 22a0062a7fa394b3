/** refusals.ts -- refuses requests: by their origin, by their schemas, and when an error was thrown. */
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, GoaldError, isGoaldError, machineAdvice, toError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { asRecord } from "#util/json.ts";
import type { ObjectSchema, Schema } from "#util/schema.ts";
import { METHODS } from "./route.ts";
import { PATTERNS } from "./schemas.ts";

const STATUS_OF: Partial<Readonly<Record<ErrorCode, number>>> = {
  GOALD_USAGE: 400,
  GOALD_CONFIG: 400,
  GOALD_COMMAND_INVALID: 400,
  GOALD_TEMPLATE: 400,
  GOALD_PROMPT_TOO_LONG: 400,
  GOALD_PATH_REFUSED: 400,
  GOALD_FILE: 400,
  GOALD_FILE_TOO_LARGE: 400,
  GOALD_NOT_FOUND: 404,
  GOALD_FILE_MISSING: 404,
  GOALD_CONFLICT: 409,
  GOALD_ALREADY_RUNNING: 409,
  GOALD_FENCED: 409,
  GOALD_DAEMON: 503,
  GOALD_STORE_FULL: 507,
};
const MAX_MESSAGE_CHARS = 4_000;

/** A refusal with status 500 is a fault of the host, which the caller must log. */
export function refusalOf(thrown: unknown): Refusal {
  if (isGoaldError(thrown)) {
    const { code, message, hint } = thrown;
    return { status: STATUS_OF[code] ?? 500, code, message: clip(message, MAX_MESSAGE_CHARS), hint };
  }
  const status = frameworkStatus(thrown);
  if (status !== undefined) return usageRefusal(status, wordsFor(status));
  return {
    status: 500,
    code: "GOALD_INTERNAL",
    message: clip(toError(thrown).message, MAX_MESSAGE_CHARS),
    hint: machineAdvice(thrown) ?? "This is a fault of goald. See its log: .goald/log/goald.log.",
  };
}

/** `Error.isError` does not recognize fastify's errors, which are created without the Error constructor. */
function frameworkStatus(thrown: unknown): number | undefined {
  const { code, statusCode } = asRecord(thrown);
  const isFramework = typeof code === "string" && code.startsWith("FST_ERR_");
  return isFramework && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined;
}

/** Replaces the framework's messages, which may quote the request. */
function wordsFor(status: number): string {
  if (status === 413) return "The body is too large: at most 1 MB are read.";
  if (status === 414) return "The address is too long.";
  if (status === 415) return "The body must be JSON, with `content-type: application/json`.";
  return "The request is not valid HTTP with a valid JSON body.";
}

export const bodyOf = ({ code, message, hint }: Refusal) => ({ error: { code, message, hint } });

export const noRoute = (method: string, known: readonly string[]): Refusal =>
  known.length > 0
    ? {
        ...usageRefusal(405, `This address supports ${known.join(", ")}, not ${method}.`),
        headers: { allow: known.join(", ") },
      }
    : usageRefusal(
        404,
        "Unknown address.",
        "See GET /v1/openapi.json. A daemon of another version may have other addresses: goald restart",
      );

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type RawRequest = FastifyRequest["raw"];

/** How requests come in, and which of them are let through. `port`: at which it listens; absent for a socket. */
export interface Door {
  /** Values that the Host header may have. */
  hosts(port?: number): readonly string[];
  /** Origins of the pages that may send requests. None: those of every page are refused. */
  origins(port?: number): readonly string[];
  /** Sent with every reply. */
  readonly headers: Readonly<Record<string, string>>;
  /** Refuses requests of the table of routes. Absent: whoever can connect may make them all. */
  authenticate?(request: FastifyRequest, reply: FastifyReply): Refusal | undefined;
}

export const SOCKET: Door = { hosts: () => ["goald"], origins: () => [], headers: {} };

const JSON_TYPE = /^application\/json(?:\s{0,8};\s{0,8}charset="?utf-8"?)?$/i;

/**
 * Refuses requests before a route runs and before the body is read. The file permission of the socket is its
 * authentication; there this guard is a second check, which refuses requests that a web page could send through a
 * bridge. At the door of the page it is the first check: every page of the browser can send to that door. The guard
 * compares the raw Host header, which DNS rebinding cannot make ours.
 */
export function refuseRequest(request: RawRequest, door: Door): Refusal | undefined {
  const { method = "", headers, url = "" } = request;
  if (!url.startsWith("/") || url.startsWith("//"))
    return foreign(421, "The request must name a path of this server, such as /v1/status.");
  const { localPort } = request.socket;
  const hosts = door.hosts(localPort);
  if (hostsOf(request).length !== 1 || !hosts.includes(headers.host ?? ""))
    return foreign(421, `The request must have exactly one Host header: \`${hosts.join("` or `")}\`.`);
  if (isOfForeignPage(headers, door.origins(localPort))) return foreign(403, "Requests of a web page are refused.");
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

/** A page on another port of this machine is of the same site and of another origin. `none`: a person typed the address. */
function isOfForeignPage(headers: RawRequest["headers"], origins: readonly string[]): boolean {
  if (origins.length === 0)
    return Object.keys(headers).some((name) => name === "origin" || name.startsWith("sec-fetch-"));
  const { origin, "sec-fetch-site": site = "none" } = headers;
  return (origin !== undefined && !origins.includes(origin)) || (site !== "none" && site !== "same-origin");
}

/** Node keeps only the first of several Host headers. */
const hostsOf = ({ rawHeaders }: RawRequest): readonly string[] =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");

const hasBody = ({ headers }: RawRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

export const foreign = (status: number, message: string, hint = SOCKET_HINT): Refusal => ({
  status,
  code: "GOALD_HTTP_REFUSED",
  message,
  hint,
});
const SOCKET_HINT = "The socket serves programs of this user, such as: curl --unix-socket … http://goald/v1/status";

const NEW_LINK = "Get a new address: goald dashboard";
export const unknownTicket = foreign(401, "The ticket was used or has expired.", NEW_LINK);
export const unknownKey = foreign(401, "The session has ended, or there was none.", NEW_LINK);

export const usageRefusal = (status: number, message: string, hint = "See GET /v1/openapi.json."): Refusal => ({
  status,
  code: "GOALD_USAGE",
  message,
  hint,
});

/** The coerced value, or an error that fastify passes to the error handler. */
export type RequestCheck = (data: unknown) => { readonly value: unknown } | { readonly error: Error };
export type CreateCheck = (route: { readonly schema: unknown; readonly httpPart?: string }) => RequestCheck;

/**
 * Loads what validates the requests of all routes: one Ajv, which compiles each schema at its first use. Only texts of
 * a path or a query are coerced: to whole numbers, booleans and lists.
 */
export async function loadChecks(): Promise<CreateCheck> {
  const { Ajv } = await import("ajv");
  // A test checks our own schemas against the standard.
  const trusted = { meta: false, validateSchema: false } as const;
  const known = { allowUnionTypes: true, discriminator: true, formats: { "date-time": isTime } };
  const ajv = new Ajv({ ...trusted, ...known, allErrors: true, verbose: true });
  return ({ schema, httpPart }) => {
    let validate: ValidateFunction | undefined;
    return (data) => {
      validate ??= ajv.compile(schema as Schema);
      const isText = httpPart === "querystring" || httpPart === "params";
      const value = isText ? readTexts(data, schema as ObjectSchema) : (data ?? {});
      if (validate(value)) return { value };
      return { error: problemIn(validate.errors ?? [], PARTS[httpPart ?? ""] ?? "request") };
    };
  };
}

const PARTS: Readonly<Record<string, string>> = { querystring: "query", params: "address", body: "body" };

/** Times are in UTC, as in events. */
const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z$/.test(text) && !Number.isNaN(Date.parse(text));

/** Converts texts by the type in the schema. Other texts stay unchanged, and the schema rejects them. */
function readTexts(data: unknown, { properties }: ObjectSchema): unknown {
  const entries = Object.entries(data ?? {}).map(([name, value]) => {
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    if (type === "integer" && /^(?:\d|-[1-9])\d*$/.test(value)) return [name, Number(value)];
    if (type === "boolean" && /^(?:true|false)$/.test(value)) return [name, value === "true"];
    if (type === "array") return [name, [value].flat()];
    return [name, value];
  });
  return Object.fromEntries(entries);
}

const MAX_PROBLEMS = 5;

/** The error names members and never quotes values, which may be secrets. */
function problemIn(errors: readonly ErrorObject[], part: string): GoaldError {
  const problems = errors.slice(0, MAX_PROBLEMS).map((error) => `${placeOf(error, part)} ${describeProblem(error)}`);
  return new GoaldError("GOALD_USAGE", `${[...new Set(problems)].join("; ")}.`, { hint: "See GET /v1/openapi.json." });
}

const placeOf = ({ instancePath }: ErrorObject, part: string): string =>
  `${part}${instancePath.replaceAll("/", ".").replace(/\.(\d+)/g, "[$1]")}`;

function describeProblem({ keyword, params, message, parentSchema }: ErrorObject): string {
  if (keyword === "additionalProperties") return `has an unknown member ${nameOf(params.additionalProperty)}`;
  if (keyword === "required") return `has no ${params.missingProperty}`;
  if (keyword === "enum") return `must be one of ${params.allowedValues.join(", ")}`;
  if (keyword === "pattern") return PATTERNS[params.pattern] ?? `must match ${params.pattern}`;
  if (keyword === "discriminator")
    return `must have the member ${params.tag}, one of ${valuesOf(params.tag, parentSchema)}`;
  if (keyword === "format") return "must be a time in UTC, such as 2026-01-31T12:00:00Z";
  if (keyword === "type") return `must be ${[params.type].flat().map(typeInWords).join(" or ")}`;
  return message ?? "is not as it should be";
}

/** `union`: of the helper `tagged`. */
const valuesOf = (tag: string, union: ErrorObject["parentSchema"]): string =>
  union?.oneOf.flatMap(({ properties }: ObjectSchema) => properties[tag]?.enum).join(", ");

const WORDS: Readonly<Record<string, string>> = {
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};
const typeInWords = (type: string): string => WORDS[type] ?? `a ${type}`;

const nameOf = (name: unknown): string => JSON.stringify(String(name).slice(0, 40).toWellFormed());
