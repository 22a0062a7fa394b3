/**
 * failure.ts -- explains an error between goald and a model server as a code and a sentence.
 *
 * Each failure has a code for programs, a message for a person that names server, model and remedy, and whether a retry
 * may help. The rules are in status-failure.ts and thrown-failure.ts; the first match counts. No message contains a
 * key: server text passes `quote`, and text about a rejected key is left out.
 */
import { listCauses } from "#util/outside-errors.ts";
import type { AskedServer, ModelFailure } from "./asked.ts";
import type { StatusError } from "./model-server.ts";
import { explainStatus } from "./status-failure.ts";
import { explainThrown } from "./thrown-failure.ts";

export function explainFailure(thrown: unknown, asked: AskedServer): ModelFailure {
  const statusError = findStatusError(thrown);
  return statusError ? explainStatus(statusError, asked) : explainThrown(listCauses(thrown), asked);
}

/** Returns the StatusError among the causes of an error. */
export const findStatusError = (thrown: unknown): StatusError | undefined =>
  listCauses(thrown).find((error): error is StatusError => error.name === "StatusError");
