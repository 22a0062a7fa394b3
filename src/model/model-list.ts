/** model-list.ts -- the names that `GET <base>/models` offers: for a person who must choose one, never needed for work. */
import { baseUrlOf, type ConfiguredHttp } from "./openai-client.ts";

export const MAX_LIST_BYTES = 2 * 1024 * 1024;
const MAX_NAME_CHARS = 200;
const OFFERED_NAMES = 10;

interface Listed {
  /** Says of itself that it is an OpenAI list; cloud servers often leave that out. */
  readonly isOpenAIList: boolean;
  readonly names: readonly string[];
}

/** undefined when there is no such list within the time; never rejects. */
export async function listModels(
  server: { readonly baseUrl: string; readonly apiKey: string; readonly http: ConfiguredHttp },
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Listed | undefined> {
  try {
    const url = baseUrlOf(server.baseUrl);
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

/** undefined for what is no list of models; Ollama's is null before the first model is there. */
export function readModelList(body: unknown): Listed | undefined {
  if (typeof body !== "object" || body === null || !("data" in body)) return undefined;
  const isOpenAIList = "object" in body && body.object === "list";
  const models: unknown = body.data ?? (isOpenAIList ? [] : undefined);
  if (!Array.isArray(models)) return undefined;
  const names = models.map((model: { readonly id?: unknown } | null) => model?.id).filter(isName);
  return names.length === models.length ? { isOpenAIList, names } : undefined;
}

const isName = (name: unknown): name is string =>
  typeof name === "string" && name !== "" && name.length <= MAX_NAME_CHARS;

/** The first of them, for a sentence. */
export function namesOf(names: readonly string[]): string {
  if (names.length === 0) return "(none yet)";
  const more = names.length > OFFERED_NAMES ? ` and ${names.length - OFFERED_NAMES} more` : "";
  return names.slice(0, OFFERED_NAMES).join(", ") + more;
}
