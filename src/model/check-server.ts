/**
 * check-server.ts -- checks with one free `GET <base>/models` whether a server answers, accepts the key and offers
 * models.
 */
import { quoteWithout } from "#util/outside-errors.ts";
import { explainFailure, findStatusError } from "./failure.ts";
import { listNames, MAX_LIST_BYTES, readModelList } from "./model-list.ts";
import { createSender, formatBaseUrl, type ModelServer } from "./model-server.ts";

/** Statuses of servers without a model list. */
const WITHOUT_LIST: readonly number[] = [404, 405, 501];

/** `names`: the models, undefined if the server has no list. `offer`: the first of them as text. `problem`: a sentence. */
export type ServerCheck =
  | { readonly names: readonly string[]; readonly offer: string }
  | { readonly names: undefined }
  | { readonly problem: string };

/** Never rejects. Resolves within the server's `timeoutMs`. */
export async function checkServer(server: ModelServer): Promise<ServerCheck> {
  const quote = quoteWithout(server.apiKey);
  try {
    const response = await createSender({ ...server, maxBytes: MAX_LIST_BYTES })("/models");
    const body: unknown = await response.json().catch(() => undefined);
    const names = readModelList(body)?.names.map((name) => quote(name));
    return names ? { names, offer: listNames(names) } : { names };
  } catch (thrown) {
    if (WITHOUT_LIST.includes(findStatusError(thrown)?.status ?? 0)) return { names: undefined };
    return { problem: explainFailure(thrown, { server: formatBaseUrl(server.baseUrl), quote }).message };
  }
}
