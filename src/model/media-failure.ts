/** media-failure.ts -- why there is no picture and no text of a recording, in words. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { mayHaveBeenCharged } from "#core/limits.ts";
import type { UseListener } from "#core/services.ts";
import { quoteWithout } from "#util/quote.ts";
import { explainFailure } from "./failure.ts";
import { type ModelServer, shownUrl } from "./openai-client.ts";

/** `what` did not happen. Tells the listener when it was turned down before any work. */
export function mediaError(
  thrown: unknown,
  what: string,
  { baseUrl, apiKey, model }: Pick<ModelServer, "baseUrl" | "apiKey"> & { readonly model: string },
  listener: UseListener | undefined,
): GoaldError {
  if (isGoaldError(thrown, "GOALD_MEDIA")) return thrown;
  const quote = quoteWithout(apiKey);
  const { code, message } = explainFailure(thrown, { server: shownUrl(baseUrl), model: quote(model), quote });
  if (!mayHaveBeenCharged(code)) listener?.refused();
  return new GoaldError("GOALD_MEDIA", `${what} ${message}`, { cause: thrown });
}
