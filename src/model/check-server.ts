/** check-server.ts -- whether a model server answers, takes the key and knows the models: one `GET <base>/models`, which costs nothing. */
import { quoteWithout } from "#util/quote.ts";
import { explainFailure, statusErrorIn } from "./failure.ts";
import { MAX_LIST_BYTES, namesOf, readModelList } from "./model-list.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";

/** How a server says that it has no such list. */
const WITHOUT_LIST: readonly number[] = [404, 405, 501];

/** What it offers, fit to be shown, and the first of it in words; undefined when it answers but lists nothing. Or what is wrong, in words. */
export type ServerCheck =
  | { readonly names: readonly string[]; readonly offer: string }
  | { readonly names: undefined }
  | { readonly problem: string };

/** Never rejects; answers within the server's `timeoutMs`. */
export async function checkServer(server: ModelServer): Promise<ServerCheck> {
  const quote = quoteWithout(server.apiKey);
  try {
    const openai = await lazyClient({ ...server, maxBytes: MAX_LIST_BYTES })();
    const response = await openai.models.list().asResponse();
    const body: unknown = await response.json().catch(() => undefined);
    const names = readModelList(body)?.names.map((name) => quote(name));
    return names ? { names, offer: namesOf(names) } : { names };
  } catch (thrown) {
    if (WITHOUT_LIST.includes(statusErrorIn(thrown)?.status ?? 0)) return { names: undefined };
    return { problem: explainFailure(thrown, { server: shownUrl(server.baseUrl), quote }).message };
  }
}
