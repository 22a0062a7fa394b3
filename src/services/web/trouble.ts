/** trouble.ts -- why an exchange with the web came to nothing, in words that a model or a person can act on. */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { listCauses } from "#util/causes.ts";
import { clean } from "#util/clean.ts";

/** A refusal or a limit of our own as it is; what the network did as GOALD_WEB. `whom`: an origin. */
export function webTrouble(whom: string, thrown: unknown): GoaldError {
  if (isGoaldError(thrown)) return thrown;
  return new GoaldError("GOALD_WEB", `${whom} could not be read: ${reasonOf(thrown)}.`, { cause: thrown });
}

/** Without a full stop. */
export function reasonOf(thrown: unknown): string {
  const chain = listCauses(thrown);
  const late = chain.find(({ name }) => name === "TimeoutError");
  if (late) return shown(late.message);
  const codes = chain.map(({ code }) => String(code ?? "")).join(" ");
  for (const [pattern, words] of REASONS) if (pattern.test(codes)) return words;
  return shown(chain.at(-1)?.message ?? "");
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_NODATA/, "there is no server of that name"],
  [/EAI_/, "its name could not be looked up"],
  [/ECONNREFUSED/, "nobody answers there"],
  [/ENETUNREACH|EHOSTUNREACH/, "there is no way to it from this machine"],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET/, "it broke the connection"],
  [/ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, "it did not answer in time"],
  [/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/, "its certificate is not to be trusted"],
];

const shown = (text: string): string => oneLine(clean(text), 200).replace(/\.$/, "");
