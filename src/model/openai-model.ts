/**
 * openai-model.ts -- a language model behind any server with chat completions. One request per call and no retries: the
 * loop decides when to retry, and records it. Any error outside is an answer of kind `failed`; only an aborted signal
 * rejects. capabilities.ts learns which parts of a request a server rejects or ignores. The failure then says that the
 * next request differs.
 */
import type OpenAI from "openai";
import { writeCalls } from "#core/call.ts";
import type { Usage } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LanguageModel, ModelAnswer, ModelRequest, PromptMessage } from "#core/ports/model.ts";
import type { JsonFile } from "#util/json.ts";
import { listCauses, quoteWithout } from "#util/outside-errors.ts";
import { createTermsKeeper, type OptionalPart, type SentParts, type ServerCapabilities } from "./capabilities.ts";
import { type CapName, describeExcess, leastTokens, noteExcess, type OverCapError, withMargin } from "./chat-stream.ts";
import {
  type AskedModel,
  type AskedServer,
  collectErrorWords,
  createFailure,
  explainFailure,
  findStatusError,
  type ModelFailure,
} from "./failure.ts";
import {
  createSender,
  describeContext,
  formatBaseUrl,
  listModels,
  listNames,
  type ModelServer,
  readLoadedContext,
} from "./model-server.ts";
import { readChatReply, readModelAnswer } from "./read-answer.ts";

export interface OpenAIModelSettings extends ModelServer {
  /** Defaults to the server's choice: some models accept no other. */
  readonly temperature?: number;
  /** Maximum silence within a reply. Defaults to a minute. `timeoutMs` limits the wait for its beginning. */
  readonly idleTimeoutMs?: number;
  readonly reasoningEffort?: "minimal" | "low" | "medium" | "high";
  /** Stores what was learned about servers. */
  readonly termsFile: JsonFile;
  readonly clock: Clock;
}

const LIST_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;
/** A stream may last as long as output comes. */
const TOTAL_TIMEOUT_MS = 24 * 3_600_000;
const MAX_DOCUMENT_CHARS = 8 * 1024 * 1024;
/** Codes of failures that a rejected part of the request can cause. */
const LEARNABLE_CODES: ReadonlySet<string> = new Set([
  "bad-request",
  "model-not-found",
  "not-implemented",
  "server-error",
]);

/** Throws GOALD_CONFIG for an invalid base URL. */
export function createOpenAIModel(settings: OpenAIModelSettings): LanguageModel {
  const send = createSender({ ...settings, totalTimeoutMs: TOTAL_TIMEOUT_MS });
  const server = formatBaseUrl(settings.baseUrl);
  const quote = quoteWithout(settings.apiKey);
  const { idleTimeoutMs = IDLE_TIMEOUT_MS, timeoutMs } = settings;
  const idleMs = Math.min(idleTimeoutMs, timeoutMs);
  const reading = { firstMs: timeoutMs, idleMs, maxChars: settings.maxBytes ?? MAX_DOCUMENT_CHARS };
  const terms = createTermsKeeper(server, settings.clock, settings.termsFile);
  let mayBeOllama = true;

  return {
    async terms(model) {
      const { mode, without, contextTokens, replyTokens } = await terms.of(model);
      return { mode, takesTools: !without.includes("tools"), contextTokens, replyTokens };
    },

    noteReply: terms.noteReply,
    noteContext: terms.noteContext,

    async complete(request, signal, onText) {
      signal.throwIfAborted();
      const { model } = request;
      const asked: AskedModel = { server, model: quote(model), quote };
      let sent: SentParts | undefined;
      try {
        const current = await terms.of(model);
        sent = chooseParts(request, current, settings);
        const body = buildRequestBody(request, sent, settings);
        const response = await send("/chat/completions", body, signal);
        const maxTokens = withMargin(request.maxTokens ?? Number.POSITIVE_INFINITY);
        const received = await readModelAnswer(response, { ...reading, maxTokens, onText });
        signal.throwIfAborted();
        const whole = readChatReply(received, asked);
        if (whole.kind === "failed") return whole;
        await terms.taken(model);
        const usage = noteExcess(whole.usage, sent.cap);
        const least = usage && mayBeOllama ? leastTokensOf(request) : 0;
        if (usage && isCountedShort(usage, least)) {
          const limitTokens = await readLoadedContext(settings, model, LIST_TIMEOUT_MS, signal);
          signal.throwIfAborted();
          mayBeOllama = limitTokens !== undefined;
          if (limitTokens && limitTokens < least * MOST_OF_LEAST) return failCut(limitTokens, usage, asked);
        }
        const answer = { ...cutAtStop(whole, request.stop), usage };
        const tokens = usage?.outputTokens ?? Math.ceil(leastTokens(whole.text));
        if (tokens <= maxTokens) return answer;
        const isChanged = await terms.noteIgnoredCap(model, sent.cap);
        const capIgnored = describeExcess(tokens, usage, { ...request, ...sent }, asked);
        return isChanged ? answer : { ...answer, capIgnored };
      } catch (error) {
        signal.throwIfAborted();
        const over = listCauses(error).find((each) => each.name === "OverCapError") as OverCapError | undefined;
        if (over && sent) {
          const isChanged = await terms.noteIgnoredCap(model, sent.cap);
          const words = describeExcess(over.outputTokens, over.usage, { ...request, ...sent }, asked);
          const failure = createFailure("cap-ignored", words, isChanged ? { afterMs: 0, isChanged } : null);
          const usage = noteExcess(over.usage, sent.cap) ?? { ...NO_USAGE, outputTokens: over.outputTokens };
          return { ...failure, usage };
        }
        const answer = await explainAndLearn(error, asked, sent && { ...sent, model }, terms);
        if (answer.kind === "replied" || answer.code !== "model-not-found") return answer;
        const helpful = await addOfferedModels(answer, asked, settings, signal);
        signal.throwIfAborted();
        return helpful;
      }
    },
  };
}

const leastTokensOf = ({ messages }: ModelRequest): number =>
  messages.reduce((sum, { content }) => sum + leastTokens(content), 0);
/** A token of a prompt has three characters or more, and `leastTokens` allows for eight. */
const MOST_OF_LEAST = 8 / 3;

/**
 * True when the server counted one token for six characters or more, while prompts have three to five: Ollama drops what is
 * beyond its context without an error. A count without what the server's cache had says nothing.
 */
const isCountedShort = ({ inputTokens, cachedTokens }: Usage, least: number): boolean =>
  cachedTokens < inputTokens && inputTokens < (least * 8) / 6;

function failCut(limitTokens: number, usage: Usage, { server, model }: AskedModel): ModelAnswer {
  const message = `Ollama at ${server} has loaded ${model} ${describeContext(limitTokens)}`;
  return { ...createFailure("context-overflow", message, null), limitTokens, usage };
}

/** Usage of a server that reported none. */
const NO_USAGE = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: true } as const;

/** OpenAI rejects a request instead of sending a cut reply when the model used up the maximum before it answered. */
const USED_UP = /could not finish the message because max_tokens/i;

/** Explains an error, and learns from it how the next request can avoid it. */
async function explainAndLearn(
  thrown: unknown,
  asked: AskedServer,
  sent: (SentParts & { readonly model: string }) | undefined,
  terms: ReturnType<typeof createTermsKeeper>,
): Promise<ModelAnswer> {
  const failure = explainFailure(thrown, asked);
  const refusal = findStatusError(thrown);
  if (!refusal || !sent) return failure;
  if (USED_UP.test(collectErrorWords(refusal.body)))
    return { kind: "replied", text: "", finishReason: "length", usage: null };
  if (failure.code === "broken-reply") await terms.noteReply(sent.model, sent.mode, false);
  if (!LEARNABLE_CODES.has(failure.code)) return failure;
  if (refusal.status === 400 && failure.code === "model-not-found") return failure;
  if (!(await terms.learnFromRejection(sent.model, sent, refusal))) return failure;
  const message = `${failure.message} It is asked again without what it may not take.`;
  return { ...failure, code: "unsupported", message, retry: { afterMs: 0, isChanged: true } };
}

/** Chooses the optional parts of a request that the server accepts. */
function chooseParts(
  { mode: wanted = "plain", replySchema, tools = [], maxTokens, stop = [] }: ModelRequest,
  { mode: known, without, turns }: ServerCapabilities,
  settings: OpenAIModelSettings,
): SentParts {
  const mode = wanted === "json_schema" && !replySchema ? "json_object" : wanted;
  const areTools = mode === "tools";
  const wishes: readonly (readonly [OptionalPart, boolean])[] = [
    ["stream", true],
    ["stream_options", !without.includes("stream")],
    ["temperature", settings.temperature !== undefined],
    ["reasoning_effort", settings.reasoningEffort !== undefined],
    ["json_object", mode === "plan" && known !== "plain"],
    ["stop", stop.length > 0],
    ["tool_choice", areTools],
    ["strict", areTools && tools.some(({ isStrict }) => isStrict)],
  ];
  const chosen = wishes.flatMap(([part, isWanted]) => (isWanted && !without.includes(part) ? [part] : []));
  const parts = new Set<OptionalPart>(areTools ? [...chosen, "tools"] : chosen);
  const name = CAP_NAMES.find((each) => !without.includes(each));
  const cap = maxTokens !== undefined && name ? { name, tokens: maxTokens } : null;
  const isJson = mode === "json_schema" || mode === "json_object";
  return { mode, parts, turns, cap, isBare: parts.size === 0 && !isJson && cap?.name !== CAP_NAMES[0] };
}

const CAP_NAMES: readonly CapName[] = ["max_completion_tokens", "max_tokens"];

/** The body of a request. Members are assigned one by one, because the compiler accepts unknown members in a spread. */
type ChatRequest = Omit<OpenAI.ChatCompletionCreateParams, "stream"> & { stream?: true };

function buildRequestBody(
  { model, messages, replySchema, tools = [], stop = [] }: ModelRequest,
  sent: SentParts,
  { temperature, reasoningEffort }: OpenAIModelSettings,
): ChatRequest {
  const { parts } = sent;
  const turns = sent.turns ? mergeIntoTurns(messages) : messages;
  const body: ChatRequest = { model, messages: turns.map(writeMessage) };
  if (parts.has("temperature") && temperature !== undefined) body.temperature = temperature;
  if (parts.has("reasoning_effort") && reasoningEffort) body.reasoning_effort = reasoningEffort;
  if (parts.has("stop")) body.stop = [...stop];
  if (sent.cap) body[sent.cap.name] = sent.cap.tokens;
  if (sent.mode === "json_schema" && replySchema) {
    const { isStrict: strict, schema } = replySchema;
    body.response_format = { type: "json_schema", json_schema: { name: "reply", strict, schema: { ...schema } } };
  } else if (sent.mode === "json_object" || parts.has("json_object")) body.response_format = { type: "json_object" };
  if (sent.mode === "tools")
    body.tools = tools.map(({ name, description, parameters, isStrict }) => {
      const described: OpenAI.FunctionDefinition = { name, description, parameters: { ...parameters } };
      if (isStrict && parts.has("strict")) described.strict = true;
      return { type: "function", function: described };
    });
  if (parts.has("tool_choice")) body.tool_choice = "required";
  if (parts.has("stream")) body.stream = true;
  if (parts.has("stream_options")) body.stream_options = { include_usage: true };
  return body;
}

function writeMessage({ role, content, calls, callId = "" }: PromptMessage): OpenAI.ChatCompletionMessageParam {
  if (role === "tool") return { role, content, tool_call_id: callId };
  if (role !== "assistant" || !calls) return { role, content };
  const called = calls.map(({ id, name, args }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: args },
  }));
  return { role, content, tool_calls: called };
}

/** A wrong model and a wrong address both answer 404. The server's model list tells them apart. */
async function addOfferedModels(
  failure: ModelFailure,
  { quote }: AskedServer,
  server: ModelServer,
  signal: AbortSignal,
): Promise<ModelFailure> {
  const listed = await listModels(server, LIST_TIMEOUT_MS, signal);
  const advice = listed
    ? `Set SMART_LLM, FAST_LLM or --model, whichever named it, to a model that it offers: ${quote(listNames(listed.names), 1_000)}.`
    : `It lists no models either: does OPENAI_BASE_URL end in /v1? Else set SMART_LLM, FAST_LLM or --model to a model that it has.`;
  return { ...failure, message: `${failure.message} ${advice}` };
}

const EARLIER = "(Earlier messages are left out.)";

/**
 * Merges messages for a server that requires user and assistant to alternate, beginning with the user. Neighbours of
 * one role become one message. The system message stays first. If an assistant message would follow it, a user message
 * that says so goes between. Native calls become text in JSON, and their results messages of the user. Pure.
 */
export function mergeIntoTurns(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const joined: PromptMessage[] = [];
  for (const message of messages) {
    const role = message.role === "tool" ? "user" : message.role;
    const content = message.calls ? writeCalls(message.calls) : message.content;
    const last = joined.at(-1);
    if (last?.role === role) joined.splice(-1, 1, { role, content: `${last.content}\n\n${content}` });
    else {
      if (role === "assistant" && (last === undefined || last.role === "system"))
        joined.push({ role: "user", content: EARLIER });
      joined.push({ role, content });
    }
  }
  return joined;
}

type Reply = Extract<ModelAnswer, { readonly kind: "replied" }>;

/** Reasoning before the reply proper may quote a stop text, also reasoning that was cut off. */
const REASONING_END = "</think>";

/**
 * Ends a reply before the first stop text, for servers that reject or ignore the parameter `stop`. The text before it
 * is whole, so the finish reason becomes `stop`. The usage stays: all of it was charged.
 */
function cutAtStop(reply: Reply, stop: readonly string[] = []): Reply {
  const { text } = reply;
  const from = text.trimStart().startsWith("<think>") ? text.indexOf(REASONING_END) : 0;
  if (from < 0) return reply;
  const places = stop.map((words) => text.indexOf(words, from)).filter((place) => place >= 0);
  return places.length === 0 ? reply : { ...reply, text: text.slice(0, Math.min(...places)), finishReason: "stop" };
}
