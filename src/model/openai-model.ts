/**
 * openai-model.ts -- a language model behind any server that speaks chat completions.
 *
 * One request per call and no retries: the loop decides when to ask again and writes that down. Whatever goes
 * wrong outside is an answer of kind `failed`; only an aborted signal rejects. What a server refuses of a request
 * is learned (terms.ts), and the failure then says that the next request will be another one.
 */
import type { OutputMode } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel, ModelRequest } from "#core/ports/model.ts";
import { systemClock } from "#util/clock.ts";
import { quoteWithout } from "#util/quote.ts";
import type { Asked, AskedModel, Failure } from "./asked.ts";
import { readChatReply } from "./chat-reply.ts";
import { explainFailure, statusErrorIn } from "./failure.ts";
import { inTurns } from "./in-turns.ts";
import { listModels, namesOf } from "./model-list.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";
import { readAnswer } from "./read-answer.ts";
import type { Sent, ServerTerms } from "./step-down.ts";
import { createTermsKeeper, type TermsFile } from "./terms.ts";

export interface OpenAIModelSettings extends ModelServer {
  /** Left to the server when absent: some models take only their own. */
  readonly temperature?: number;
  /** Silence allowed in a reply that has begun; a minute when absent. */
  readonly idleTimeoutMs?: number;
  /** What a reply must be, as a strict JSON schema; without it no schema is asked for. */
  readonly replySchema?: object;
  /** Where terms are kept; absent: for as long as this process lives. */
  readonly termsFile?: TermsFile;
  readonly clock?: Clock;
}

/** Of JSON that is mostly names and brackets. */
const CHARS_PER_TOKEN = 4;
const LIST_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;
const MAX_DOCUMENT_CHARS = 8 * 1024 * 1024;
/** Failures behind which a refused part of the request may stand. */
const HEEDED: ReadonlySet<string> = new Set(["bad-request", "model-not-found", "not-implemented", "server-error"]);

/** Throws GOALD_CONFIG for a base URL that is none. */
export function createOpenAIModel(settings: OpenAIModelSettings): LanguageModel {
  const client = lazyClient(settings);
  const server = shownUrl(settings.baseUrl);
  const quote = quoteWithout(settings.apiKey);
  const { idleTimeoutMs = IDLE_TIMEOUT_MS, timeoutMs } = settings;
  const reading = { idleMs: Math.min(idleTimeoutMs, timeoutMs), maxChars: settings.maxBytes ?? MAX_DOCUMENT_CHARS };
  const terms = createTermsKeeper(server, settings.clock ?? systemClock, settings.termsFile ?? openMemoryFile());

  const formatTokens = Math.ceil(JSON.stringify(settings.replySchema ?? "").length / CHARS_PER_TOKEN);

  /** The failure, and what is learned from it. */
  async function explain(thrown: unknown, sent: Sent | undefined, asked: Asked, model: string): Promise<Failure> {
    const failure = explainFailure(thrown, asked);
    const refusal = statusErrorIn(thrown);
    if (!refusal || !sent || !HEEDED.has(failure.code)) return failure;
    if (refusal.status === 400 && failure.code === "model-not-found") return failure;
    if (!(await terms.heed(model, sent, refusal))) return failure;
    const message = `${failure.message} It is asked again without what it may not take.`;
    return { ...failure, code: "unsupported", message, retry: { afterMs: 0, isChanged: true } };
  }

  return {
    async terms(model) {
      const { mode, contextTokens } = await terms.of(model);
      if (mode !== "json_schema") return { mode, contextTokens };
      return settings.replySchema ? { mode, contextTokens, formatTokens } : { mode: "json_object", contextTokens };
    },

    noteReply: (model, mode, isReadable) => terms.noteReply(model, mode, isReadable),
    noteContext: (model, tokens) => terms.noteContext(model, tokens),

    async complete(request, signal, onText) {
      signal.throwIfAborted();
      const { model } = request;
      const asked: AskedModel = { server, model: quote(model), quote };
      let sent: Sent | undefined;
      try {
        const openai = await client();
        const current = await terms.of(model);
        sent = sentOf(request, current, settings);
        const body = bodyOf(request, sent, settings);
        const response = await openai.chat.completions.create(body as never, { signal }).asResponse();
        const received = await readAnswer(response, { ...reading, onText });
        signal.throwIfAborted();
        const answer = readChatReply(received, asked);
        if (answer.kind === "replied") await terms.taken(model);
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        const failure = await explain(error, sent, asked, model);
        if (failure.code !== "model-not-found") return failure;
        const helpful = await withOfferedNames(failure, asked, settings, signal);
        signal.throwIfAborted();
        return helpful;
      }
    },
  };
}

/** What goes into a request, on these terms. */
function sentOf(
  { mode = "plain" }: ModelRequest,
  { without, turns }: ServerTerms,
  settings: OpenAIModelSettings,
): Sent {
  const stream = !without.includes("stream");
  const temperature = settings.temperature !== undefined && !without.includes("temperature");
  const streamOptions = stream && !without.includes("stream_options");
  return { mode, stream, streamOptions, temperature, turns, isBare: mode === "plain" && !stream && !temperature };
}

function bodyOf(
  { model, messages, schema }: ModelRequest,
  sent: Sent,
  { temperature, replySchema }: OpenAIModelSettings,
) {
  return {
    model,
    messages: sent.turns ? inTurns(messages) : messages.map(({ role, content }) => ({ role, content })),
    ...(sent.temperature ? { temperature } : {}),
    ...formatOf(sent.mode, schema ?? replySchema),
    ...(sent.stream ? { stream: true } : {}),
    ...(sent.streamOptions ? { stream_options: { include_usage: true } } : {}),
  };
}

function formatOf(mode: OutputMode, schema: object | undefined): object {
  if (mode === "json_schema" && schema)
    return { response_format: { type: "json_schema", json_schema: { name: "reply", strict: true, schema } } };
  return mode === "json_object" ? { response_format: { type: "json_object" } } : {};
}

function openMemoryFile(): TermsFile {
  let kept: unknown;
  return {
    read: async () => kept,
    write: async (content) => {
      kept = content;
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
