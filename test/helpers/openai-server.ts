/**
 * openai-server.ts -- an OpenAI-compatible server on loopback: strict in its input, scripted in its answers.
 *
 * It has chat completions, embeddings and the model list. A chat request that violates the schema below
 * gets 400 and is noted in `violations`, so that a misspelt parameter fails a test.
 * A reply function receives the request, so that a test's model can decide by the prompt alone.
 */
import type { IncomingMessage } from "node:http";
import { isRecord, parseJson } from "#util/json.ts";
import { createAjv } from "#util/schema.ts";
import { listenOnLoopback } from "./loopback.ts";
import {
  type Answer,
  type ChatRequest,
  type EmbeddingRequest,
  embeddingList,
  failure,
  modelList,
  notFound,
  type RawAnswer,
  sendAnswer,
  unauthorized,
} from "./openai-answers.ts";
import { RESPONSE_FORMAT, TOOLS } from "./strict-schema.ts";

export type { Answer, EmbeddingRequest } from "./openai-answers.ts";

export interface OpenAIServerOptions {
  /** One text for every request, a script in order, or a model that reads the prompt. */
  readonly reply?: string | readonly Answer[] | ((request: ChatRequest, index: number) => Answer | Promise<Answer>);
  /** null: no such endpoint. */
  readonly models?: readonly string[] | null;
  /** null: no such endpoint. A function may replace the deterministic vectors. */
  readonly embeddings?: null | ((request: EmbeddingRequest, index: number) => Answer | undefined);
  readonly dimensions?: number;
  /** Requests with any other key get 401. */
  readonly apiKey?: string;
}

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}
export interface OpenAIServer extends AsyncDisposable {
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  readonly chats: readonly ChatRequest[];
  /** Violations of the schemas, each a sentence. */
  readonly violations: readonly string[];
  close(): Promise<void>;
}

export async function startOpenAIServer(options: OpenAIServerOptions = {}): Promise<OpenAIServer> {
  const requests: RecordedRequest[] = [];
  const chats: ChatRequest[] = [];
  const violations: string[] = [];
  let embeddingCount = 0;
  const { port, origin, close } = await listenOnLoopback((incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    answer(incoming).then(
      ([given, chat]) => sendAnswer(given, outgoing, chat),
      (error: unknown) => {
        violations.push(`The reply function threw: ${String(error)}`);
        sendAnswer(failure(500, "the test's reply function threw"), outgoing);
      },
    );
  });
  const baseUrl = `${origin}/v1`;
  return { baseUrl, port, requests, chats, violations, close, [Symbol.asyncDispose]: close };

  async function answer(incoming: IncomingMessage): Promise<readonly [Answer, ChatRequest?]> {
    const { method = "", url = "", headers } = incoming;
    const text = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString("utf8");
    const body = parseJson(text);
    requests.push({ method, path: url, headers, body });
    if (options.apiKey !== undefined && headers.authorization !== `Bearer ${options.apiKey}`)
      return [unauthorized(headers.authorization)];
    switch (`${method} ${url}`) {
      case "POST /v1/chat/completions":
        return [await answerChat(body, headers["content-type"]), body as ChatRequest];
      case "POST /v1/embeddings":
        return [answerEmbeddings(body)];
      case "GET /v1/models":
        return [options.models === null ? notFound() : modelList(options.models ?? ["test-model"])];
      default:
        return [notFound()];
    }
  }

  async function answerChat(body: unknown, contentType: string | undefined): Promise<Answer> {
    if (contentType !== "application/json") violations.push(`Content type of a chat request: ${contentType}`);
    if (!isChatRequest(body)) return violation(problemsOf(isChatRequest));
    const unpaired = findUnpaired(body.messages);
    if (unpaired !== undefined) return violation(unpaired);
    const index = chats.push(body) - 1;
    const { reply = "" } = options;
    if (typeof reply === "string") return reply;
    if (typeof reply === "function") return await reply(body, index);
    return reply[index] ?? violation(`the script has ${reply.length} answers, and this is request ${index + 1}`, 500);
  }

  function answerEmbeddings(body: unknown): Answer {
    if (options.embeddings === null) return notFound();
    if (!isEmbeddingRequest(body)) return violation(problemsOf(isEmbeddingRequest));
    const given = options.embeddings?.(body, embeddingCount++);
    return given ?? { status: 200, body: embeddingList(body, body.dimensions ?? options.dimensions ?? 64) };
  }

  function violation(problem: string, status = 400): RawAnswer {
    violations.push(problem);
    return failure(status, problem);
  }
}

// ---------------------------------------------------------------- what requests may say

const ajv = createAjv({ allErrors: true, strictRequired: false, strictTypes: false });
const text = { type: "string", minLength: 1 } as const;
const isChatRequest = ajv.compile<ChatRequest>({
  type: "object",
  additionalProperties: false,
  required: ["model", "messages"],
  properties: {
    model: text,
    messages: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["role", "content"],
        properties: {
          role: { enum: ["system", "user", "assistant", "tool"] },
          content: { type: "string" },
          tool_calls: {
            type: "array",
            minItems: 1,
            items: {
              type: "object",
              additionalProperties: false,
              required: ["id", "type", "function"],
              properties: {
                // Mistral's servers take no other ids.
                id: { type: "string", pattern: "^[a-zA-Z0-9]{9}$" },
                type: { const: "function" },
                function: {
                  type: "object",
                  additionalProperties: false,
                  required: ["name", "arguments"],
                  properties: { name: { type: "string", pattern: "^[\\w-]{1,64}$" }, arguments: text },
                },
              },
            },
          },
          tool_call_id: text,
        },
        if: { properties: { role: { const: "assistant" } }, required: ["tool_calls"] },
        else: { properties: { content: text, tool_calls: false } },
      },
    },
    temperature: { type: "number", minimum: 0, maximum: 2 },
    top_p: { type: "number", minimum: 0, maximum: 1 },
    max_tokens: { type: "integer", minimum: 1 },
    max_completion_tokens: { type: "integer", minimum: 1 },
    reasoning_effort: { enum: ["minimal", "low", "medium", "high"] },
    stop: { anyOf: [text, { type: "array", minItems: 1, maxItems: 4, items: text }] },
    seed: { type: "integer" },
    n: { const: 1 },
    stream: { type: "boolean" },
    stream_options: {
      type: "object",
      additionalProperties: false,
      required: ["include_usage"],
      properties: { include_usage: { const: true } },
    },
    response_format: RESPONSE_FORMAT,
    tools: TOOLS,
    tool_choice: { enum: ["auto", "required", "none"] },
    user: text,
    prompt_cache_key: text,
  },
  // OpenAI rejects stream_options without a stream.
  dependentSchemas: {
    tool_choice: { required: ["tools"] },
    stream_options: { required: ["stream"], properties: { stream: { const: true } } },
  },
});
/** Each call is followed by its result before any other message, and each result follows its call, with arguments in JSON. */
export function findUnpaired(messages: ChatRequest["messages"]): string | undefined {
  let open: readonly string[] = [];
  for (const { role, tool_calls: calls = [], tool_call_id: id } of messages) {
    if ((role === "tool") !== (id !== undefined)) return "tool_call_id belongs to messages with the role tool";
    if (id === undefined && open.length > 0) return `tool_call_ids without a response: ${open.join(", ")}`;
    if (id !== undefined && !open.includes(id)) return `no tool call before it has the id ${id}`;
    open = id === undefined ? calls.map((call) => call.id) : open.filter((each) => each !== id);
    if (calls.some((call) => !isRecord(parseJson(call.function.arguments)))) return "arguments that are no JSON object";
  }
  return open.length > 0 ? `tool_call_ids without a response: ${open.join(", ")}` : undefined;
}

const isEmbeddingRequest = ajv.compile<EmbeddingRequest>({
  type: "object",
  additionalProperties: false,
  required: ["model", "input"],
  properties: {
    model: text,
    input: { anyOf: [text, { type: "array", minItems: 1, maxItems: 2048, items: text }] },
    encoding_format: { enum: ["float", "base64"] },
    dimensions: { type: "integer", minimum: 1 },
    user: text,
  },
});
const problemsOf = ({ errors }: { errors?: Parameters<typeof ajv.errorsText>[0] }): string =>
  `${ajv.errorsText(errors ?? [])} ${JSON.stringify(errors?.map(({ params }) => params))}`;
