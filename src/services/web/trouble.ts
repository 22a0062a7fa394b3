/** trouble.ts -- explains why a request to the web failed, in words that a model or a person can act on. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { listCauses } from "#util/outside-errors.ts";
import { clean } from "#util/outside-text.ts";

/** Returns a GoaldError unchanged and any other error as GOALD_WEB. `origin`: the server. */
export function explainWebError(origin: string, thrown: unknown): GoaldError {
  if (isGoaldError(thrown)) return thrown;
  return new GoaldError("GOALD_WEB", `${origin} could not be read: ${explainReason(thrown)}.`, { cause: thrown });
}

/** Returns the reason without a full stop. */
export function explainReason(thrown: unknown): string {
  const chain = listCauses(thrown);
  const late = chain.find(({ name }) => name === "TimeoutError");
  if (late) return toShownLine(late.message);
  const codes = chain.map(({ code }) => String(code ?? "")).join(" ");
  for (const [pattern, words] of REASON_BY_CODE) if (pattern.test(codes)) return words;
  return toShownLine(chain.at(-1)?.message ?? "");
}

const REASON_BY_CODE: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_NODATA/, "there is no server of that name"],
  [/EAI_/, "its name could not be looked up"],
  [/ECONNREFUSED/, "nobody answers there"],
  [/ENETUNREACH|EHOSTUNREACH/, "there is no way to it from this machine"],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET/, "it broke the connection"],
  [/ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, "it did not answer in time"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/, "its certificate is not to be trusted"],
];

const toShownLine = (text: string): string => oneLine(clean(text), 200).replace(/\.$/, "");
