/** check-server.ts -- whether a model server answers, takes the key and knows the models: one `GET <base>/models`, which costs nothing. */
import { quoteWithout } from "#util/quote.ts";
import { explainFailure, statusErrorIn } from "./failure.ts";
import { readModelList } from "./model-list.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";

const MAX_LIST_BYTES = 2 * 1024 * 1024;
/** How a server says that it has no such list. */
const WITHOUT_LIST: readonly number[] = [404, 405, 501];

/** What it offers, fit to be shown; undefined when it answers but lists nothing. Or what is wrong, in words. */
export type ServerCheck = { readonly names: readonly string[] | undefined } | { readonly problem: string };

/** Never rejects; answers within the server's `timeoutMs`. */
export async function checkServer(server: ModelServer): Promise<ServerCheck> {
  const quote = quoteWithout(server.apiKey);
  try {
    const openai = await lazyClient({ ...server, maxBytes: MAX_LIST_BYTES })();
    const response = await openai.models.list().asResponse();
    const body: unknown = await response.json().catch(() => undefined);
    return { names: readModelList(body)?.names.map((name) => quote(name)) };
  } catch (thrown) {
    if (WITHOUT_LIST.includes(statusErrorIn(thrown)?.status ?? 0)) return { names: undefined };
    return { problem: explainFailure(thrown, { server: shownUrl(server.baseUrl), quote }).message };
  }
}
