/** media-failure.ts -- explains why generating an image or transcribing a recording failed. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { mayHaveBeenCharged } from "#core/limits.ts";
import type { UseListener } from "#core/services.ts";
import { quoteWithout } from "#util/outside-errors.ts";
import { explainFailure } from "./failure.ts";
import { formatBaseUrl, type ModelServer } from "./model-server.ts";

/** `what`: the sentence that says what did not happen. Calls `listener.refused` if the server cannot have charged for it. */
export function explainMediaError(
  thrown: unknown,
  what: string,
  { baseUrl, apiKey, model }: Pick<ModelServer, "baseUrl" | "apiKey"> & { readonly model: string },
  listener: UseListener | undefined,
): GoaldError {
  if (isGoaldError(thrown, "GOALD_MEDIA")) return thrown;
  const quote = quoteWithout(apiKey);
  const { code, message } = explainFailure(thrown, { server: formatBaseUrl(baseUrl), model: quote(model), quote });
  if (!mayHaveBeenCharged(code)) listener?.refused();
  return new GoaldError("GOALD_MEDIA", `${what} ${message}`, { cause: thrown });
}
