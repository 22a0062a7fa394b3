/**
 * failure.ts -- what went wrong between goald and a model's server, in a code and in words.
 *
 * Everything ends in one shape: a code for programs, a message for a person that names the
 * server and the model and says what to do, and whether another try may help. The rules are
 * tables (status-failure.ts, thrown-failure.ts), the first match counts. No key stands in a message: the server's
 * own words pass `quote`, and what it says of a refused key is not repeated at all.
 */
import { listCauses } from "#util/causes.ts";
import type { Asked, Failure } from "./asked.ts";
import type { StatusError } from "./openai-client.ts";
import { explainStatus } from "./status-failure.ts";
import { explainThrown } from "./thrown-failure.ts";

/** Any error on the way to an answer. */
export function explainFailure(thrown: unknown, asked: Asked): Failure {
  const refused = statusErrorIn(thrown);
  return refused ? explainStatus(refused, asked) : explainThrown(listCauses(thrown), asked);
}

/** The answer with an error status, if that is what went wrong. */
export const statusErrorIn = (thrown: unknown): StatusError | undefined =>
  listCauses(thrown).find((error): error is StatusError => error.name === "StatusError");
