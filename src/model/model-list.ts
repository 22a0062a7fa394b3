/**
 * model-list.ts -- reads the model names that `GET <base>/models` offers. They are for a person to choose from; goald
 * itself needs none.
 */
import { joinNames } from "#core/text.ts";
import { type ConfiguredHttp, parseBaseUrl } from "./model-server.ts";

export const MAX_LIST_BYTES = 2 * 1024 * 1024;
const MAX_MODEL_NAME_CHARS = 200;
const OFFERED_NAMES = 10;

interface ModelList {
  /** True if the answer declares itself an OpenAI list. Cloud servers often leave that out. */
  readonly isOpenAIList: boolean;
  readonly names: readonly string[];
}

/** Returns undefined if there is no list within the time. Never rejects. */
export async function listModels(
  server: { readonly baseUrl: string; readonly apiKey: string; readonly http: ConfiguredHttp },
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<ModelList | undefined> {
  try {
    const url = parseBaseUrl(server.baseUrl);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/models`;
    const send = server.http.to(url.origin, { totalTimeoutMs: timeoutMs, maxBytes: MAX_LIST_BYTES });
    const headers = server.apiKey ? { authorization: `Bearer ${server.apiKey}` } : {};
    const response = await send(url, { headers, ...(signal ? { signal } : {}) });
    const body: unknown = await response.json();
    return response.ok ? readModelList(body) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined for any other body. Ollama's list is null before the first model is installed. */
export function readModelList(body: unknown): ModelList | undefined {
  if (typeof body !== "object" || body === null || !("data" in body)) return undefined;
  const isOpenAIList = "object" in body && body.object === "list";
  const models: unknown = body.data ?? (isOpenAIList ? [] : undefined);
  if (!Array.isArray(models)) return undefined;
  const names = models.map((model: { readonly id?: unknown } | null) => model?.id).filter(isModelName);
  return names.length === models.length ? { isOpenAIList, names } : undefined;
}

const isModelName = (name: unknown): name is string =>
  typeof name === "string" && name !== "" && name.length <= MAX_MODEL_NAME_CHARS;

/** Returns the first names as text for a sentence. */
export const listNames = (names: readonly string[]): string =>
  names.length === 0 ? "(none yet)" : joinNames(names, OFFERED_NAMES);
