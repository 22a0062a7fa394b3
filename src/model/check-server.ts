/**
 * check-server.ts -- checks with one free `GET <base>/models` whether a server answers, accepts the key and offers
 * models.
 */
import type { LanguageModel } from "#core/ports/model.ts";
import { quoteWithout } from "#util/outside-errors.ts";
import { explainFailure, findStatusError } from "./failure.ts";
import {
  createSender,
  describeContext,
  formatBaseUrl,
  type ListedServer,
  listModels,
  MAX_LIST_BYTES,
  type ModelServer,
  readLoadedContext,
  readModelList,
} from "./model-server.ts";

/** Statuses of servers without a model list. */
const WITHOUT_LIST: readonly number[] = [404, 405, 501];

/** `names`: the models, undefined if the server has no list. `problem`: a sentence. */
export type ServerCheck = { readonly names: readonly string[] | undefined } | { readonly problem: string };

/** Never rejects. Resolves within the server's `timeoutMs`. */
export async function checkServer(server: ModelServer): Promise<ServerCheck> {
  const quote = quoteWithout(server.apiKey);
  try {
    const response = await createSender({ ...server, maxBytes: MAX_LIST_BYTES })("/models");
    const body: unknown = await response.json().catch(() => undefined);
    return { names: readModelList(body)?.names.map((name) => quote(name)) };
  } catch (thrown) {
    if (WITHOUT_LIST.includes(findStatusError(thrown)?.status ?? 0)) return { names: undefined };
    return { problem: explainFailure(thrown, { server: formatBaseUrl(server.baseUrl), quote }).message };
  }
}

/** Names of models that make vectors, ranks, pictures or speech. Servers list them beside those for chat. */
const NOT_FOR_CHAT =
  /embed|rerank|moderation|whisper|transcribe|dall-e|image|minilm|(?:^|[-_/])(?:bge|e5|gte|tts|sora|realtime|audio)(?:[-_.:]|$)/i;

export const isChatModel = (name: string): boolean => !NOT_FOR_CHAT.test(name);

/** A sentence about the answer, or why there is none. */
export type Trial = string | { readonly problem: string };

const TRIAL_TOKENS = 2_000;
/** Some servers count a few tokens around a reply. */
const FRAME_TOKENS = 40;

/** Prompts of agents grow beyond a smaller context. */
const SMALL_CONTEXT_TOKENS = 16_000;
const CONTEXT_TIMEOUT_MS = 2_000;

/** Sends one short request, and asks Ollama for the context that it has loaded then. Never rejects. */
export async function askForWord(model: LanguageModel, name: string, server: ListedServer): Promise<Trial> {
  const messages = [{ role: "user", content: "Hello" }] as const;
  const startedAt = performance.now();
  for (;;) {
    const answer = await model.complete(
      { model: name, messages, maxTokens: TRIAL_TOKENS },
      new AbortController().signal,
    );
    if (answer.kind === "failed" && answer.retry?.isChanged) continue;
    if (answer.kind === "failed") return { problem: answer.message };
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const tokens = answer.usage?.outputTokens ?? 0;
    // A token has a character or more. Some servers count reasoning only in the sum.
    const isReasoning = (answer.reasoningTokens ?? tokens - answer.text.length - FRAME_TOKENS) > 0;
    const reasons = isReasoning
      ? ` It reasons before it answers (${tokens} tokens here): steps take longer, and reasoning counts in every limit.`
      : "";
    const context = await readLoadedContext(server, name, CONTEXT_TIMEOUT_MS);
    const isSmall = context !== undefined && context < SMALL_CONTEXT_TOKENS;
    const advice = isSmall ? ` Ollama has loaded it ${describeContext(context)}` : "";
    return `${name} answered in ${seconds} s.${reasons}${advice}`;
  }
}

export interface LocalServer {
  readonly name: string;
  readonly baseUrl: string;
  /** Names as the server sends them, not sanitized. */
  readonly models: readonly string[];
}

export const USUAL_PORTS = [
  { name: "Ollama", port: 11434 },
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
];
const PROBE_TIMEOUT_MS = 400;

/**
 * Finds OpenAI-compatible servers on this machine. Never uses one: the person decides. Accepts only an OpenAI model
 * list, because other programs use the same ports. Sends no key. Returns servers in the order of `ports`. Resolves
 * within the time of one probe, never rejects.
 */
export async function findLocalServers(
  http: ModelServer["http"],
  ports = USUAL_PORTS,
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
