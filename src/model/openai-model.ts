/**
 * openai-model.ts -- a language model behind any server that speaks chat completions.
 *
 * One request per call and no retries: the loop decides when to ask again and writes that down.
 * Whatever goes wrong outside is an answer of kind `failed`; only an aborted signal rejects.
 */
import type { LanguageModel } from "#core/ports.ts";
import { readChatReply } from "./chat-reply.ts";
import { type Asked, explainFailure, type Failure } from "./failure.ts";
import { listModels } from "./model-list.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";
import { quoteWithout } from "./quote.ts";

export interface OpenAIModelSettings extends ModelServer {
  /** Left to the server when absent: some models take only their own. */
  readonly temperature?: number;
}

const OFFERED_NAMES = 10;
const LIST_TIMEOUT_MS = 5_000;

/** Throws GOALD_CONFIG for a base URL that is none. */
export function createOpenAIModel(settings: OpenAIModelSettings): LanguageModel {
  const client = lazyClient(settings);
  const server = shownUrl(settings.baseUrl);
  const quote = quoteWithout(settings.apiKey);
  const sampling = settings.temperature === undefined ? {} : { temperature: settings.temperature };

  return {
    async complete({ model, messages }, signal) {
      signal.throwIfAborted();
      const asked: Asked = { server, model: quote(model), quote };
      try {
        const openai = await client();
        const body = { model, messages: messages.map(({ role, content }) => ({ role, content })), ...sampling };
        const completion: unknown = await openai.chat.completions.create(body, { signal });
        return readChatReply(completion, asked);
      } catch (error) {
        signal.throwIfAborted();
        const failure = explainFailure(error, asked);
        if (failure.code !== "model-not-found") return failure;
        const helpful = await withOfferedNames(failure, asked, settings, signal);
        signal.throwIfAborted();
        return helpful;
      }
    },
  };
}

/** A wrong name and a wrong address both answer 404; whether the server can list its models tells them apart. */
async function withOfferedNames(
  failure: Failure,
  { quote }: Asked,
  server: ModelServer,
  signal: AbortSignal,
): Promise<Failure> {
  const listed = await listModels(server, LIST_TIMEOUT_MS, signal);
  const advice = listed
    ? `Set SMART_LLM to a model that it offers: ${quote(namesOf(listed.names), 1_000)}.`
    : `It lists no models either: does OPENAI_BASE_URL end in /v1? Else set SMART_LLM to a model that it has.`;
  return { ...failure, message: `${failure.message} ${advice}` };
}

function namesOf(names: readonly string[]): string {
  if (names.length === 0) return "(none yet)";
  const more = names.length > OFFERED_NAMES ? ` and ${names.length - OFFERED_NAMES} more` : "";
  return names.slice(0, OFFERED_NAMES).join(", ") + more;
}
