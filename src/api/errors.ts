/** errors.ts -- whatever was thrown, as a status and a body that says what to do. */
import { type ErrorCode, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { type Refusal, usage } from "./guard.ts";

const STATUS_OF: Partial<Readonly<Record<ErrorCode, number>>> = {
  GOALD_USAGE: 400,
  GOALD_CONFIG: 400,
  GOALD_COMMAND_INVALID: 400,
  GOALD_TEMPLATE: 400,
  GOALD_PROMPT_TOO_LONG: 400,
  GOALD_NOT_FOUND: 404,
  GOALD_CONFLICT: 409,
  GOALD_ALREADY_RUNNING: 409,
  GOALD_FENCED: 409,
  GOALD_DAEMON: 503,
  GOALD_STORE_FULL: 507,
};
const MAX_MESSAGE_CHARS = 4_000;

/** Of a status of 500 the host should hear too: something is wrong with it, not with the request. */
export function refusalOf(thrown: unknown): Refusal {
  if (isGoaldError(thrown)) {
    const { code, message, hint } = thrown;
    return { status: STATUS_OF[code] ?? 500, code, message: clip(message, MAX_MESSAGE_CHARS), hint };
  }
  const status = frameworkStatus(thrown);
  if (status !== undefined) return usage(status, wordsFor(status));
  return {
    status: 500,
    code: "GOALD_INTERNAL",
    message: clip(toError(thrown).message, MAX_MESSAGE_CHARS),
    hint: "This is a fault of goald. What it was doing stands in .goald/log/goald.log.",
  };
}

/** Fastify's errors are no errors to `Error.isError`: they are made without its constructor. */
function frameworkStatus(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown) || !("statusCode" in thrown))
    return undefined;
  const { code, statusCode } = thrown;
  const isFramework = typeof code === "string" && code.startsWith("FST_ERR_");
  return isFramework && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined;
}

/** The framework's own messages may quote the request. */
function wordsFor(status: number): string {
  if (status === 413) return "The body is longer than this server reads.";
  if (status === 414) return "The address is longer than any that this server knows.";
  if (status === 415) return "The body must be JSON, with `content-type: application/json`.";
  return "The request is no HTTP with a JSON body that can be read.";
}

export const bodyOf = ({ code, message, hint }: Refusal) => ({ error: { code, message, hint } });

export const noRoute = (method: string, known: readonly string[]): Refusal =>
  known.length > 0
    ? { ...usage(405, `This address knows ${known.join(", ")}, not ${method}.`), headers: { allow: known.join(", ") } }
    : usage(
        404,
        "There is nothing at this address.",
        "See GET /v1/openapi.json. A daemon of another version may know other addresses: goald restart",
      );

/** As it is thrown by what prepares the socket. */
export const cannotListen = (message: string, hint: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", message, cause === undefined ? { hint } : { hint, cause });
