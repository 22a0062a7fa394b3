/**
 * check-server.ts -- checks with one free `GET <base>/models` whether a server answers, accepts the key and offers
 * models.
 */
import { quoteWithout } from "#util/outside-errors.ts";
import { explainFailure, findStatusError } from "./failure.ts";
import {
  type ConfiguredHttp,
  createSender,
  formatBaseUrl,
  listModels,
  listNames,
  MAX_LIST_BYTES,
  type ModelServer,
  readModelList,
} from "./model-server.ts";

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

// Finds OpenAI-compatible servers on this machine. Never uses one.
//
// Accepts only an OpenAI model list: other programs use the same ports. Sends no key. The person decides whether to use
// a server.

export interface LocalServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names as the server sends them, not sanitized. */
  readonly models: readonly string[];
}
interface LocalPort {
  readonly name: string;
  readonly port: number;
}

/** Default ports of common servers. */
export const USUAL_PORTS: readonly LocalPort[] = [
  { name: "Ollama", port: 11434 },
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
];
const PROBE_TIMEOUT_MS = 400;

/** Returns servers in the order of `ports`. Resolves within the time of one probe, never rejects. */
export async function findLocalServers(
  http: ConfiguredHttp,
  ports: readonly LocalPort[] = USUAL_PORTS,
): Promise<readonly LocalServer[]> {
  const found = await Promise.all(
    ports.map(async ({ name, port }) => {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const listed = await listModels({ baseUrl, apiKey: "", http }, PROBE_TIMEOUT_MS);
      return listed?.isOpenAIList ? [{ name, baseUrl, models: listed.names }] : [];
    }),
  );
  return found.flat();
}
