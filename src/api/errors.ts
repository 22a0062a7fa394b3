/** errors.ts -- turns thrown errors into refusals: a status and a body with a hint. */
import { type ErrorCode, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { type Refusal, usageRefusal } from "./guard.ts";

const STATUS_OF: Partial<Readonly<Record<ErrorCode, number>>> = {
  GOALD_USAGE: 400,
  GOALD_CONFIG: 400,
  GOALD_COMMAND_INVALID: 400,
  GOALD_TEMPLATE: 400,
  GOALD_PROMPT_TOO_LONG: 400,
  GOALD_PATH_REFUSED: 400,
  GOALD_NOT_FOUND: 404,
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
    hint: "This is a fault of goald. See its log: .goald/log/goald.log.",
  };
}

/** `Error.isError` does not recognize fastify's errors, which are created without the Error constructor. */
function frameworkStatus(thrown: unknown): number | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown) || !("statusCode" in thrown))
    return undefined;
  const { code, statusCode } = thrown;
  const isFramework = typeof code === "string" && code.startsWith("FST_ERR_");
  return isFramework && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined;
}

/** Replaces the framework's messages, which may quote the request. */
function wordsFor(status: number): string {
  if (status === 413) return "The body is too large.";
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

/** Creates the error for a socket that cannot be prepared or opened. */
export const cannotListen = (message: string, hint: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", message, cause === undefined ? { hint } : { hint, cause });
