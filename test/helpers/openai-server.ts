/** openai-server.ts -- an OpenAI server on loopback that is as strict as the real one, with scripted answers. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ModelAnswer } from "#core/ports/model.ts";
import { isRecord, parseJson } from "#util/json.ts";
import {
  amount,
  anyOf,
  closed,
  createAjv,
  flag,
  listOf,
  oneOf,
  ordinal,
  recordOf,
  type Static,
  text,
  typed,
} from "#util/schema.ts";
import { listenOnLoopback } from "./loopback.ts";
import { askModel, createOpenAIModel, type OpenAIModelSettings } from "./openai-model.ts";

// A schema of what OpenAI accepts as `response_format`: in strict mode every object is closed, every key is required,
// and only known keywords are allowed.

const anySchema = { $ref: "#/properties/response_format/$defs/any" } as const;
const someSchema = { required: ["type"], properties: { type: { const: "object" } } } as const;
const name = { ...text, pattern: "^[A-Za-z0-9_-]{1,64}$" };

export const RESPONSE_FORMAT = {
  $defs: {
    any: {
      type: "object",
      additionalProperties: false,
      properties: {
        type: {
          anyOf: [
            { $ref: "#/properties/response_format/$defs/type" },
            listOf({ $ref: "#/properties/response_format/$defs/type" }),
          ],
        },
        description: text,
        enum: { type: "array", minItems: 1 },
        items: anySchema,
        properties: recordOf(anySchema),
        required: listOf(text),
        additionalProperties: { const: false },
        anyOf: listOf(anySchema, { minItems: 1 }),
      },
      if: { required: ["type"], properties: { type: { const: "object" } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ["properties", "required", "additionalProperties"] },
    },
    type: { enum: ["object", "array", "string", "integer", "number", "boolean", "null"] },
  },
  type: "object",
  required: ["type"],
  oneOf: [
    closed({ type: { enum: ["json_object", "text"] } }),
    closed({
      type: { const: "json_schema" },
      json_schema: {
        ...closed({ name, strict: flag, schema: someSchema }),
        if: { properties: { strict: { const: true } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: { properties: { schema: anySchema } },
      },
    }),
  ],
} as const;

/** What OpenAI accepts as `tools`, in a request whose schema has `RESPONSE_FORMAT` too. */
const TOOLS = listOf(
  closed({
    type: { const: "function" },
    function: {
      ...closed({ name, description: text, strict: flag, parameters: someSchema }, "description", "strict"),
      if: { required: ["strict"], properties: { strict: { const: true } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { parameters: anySchema } },
    },
  }),
  { minItems: 1, maxItems: 128 },
);

// An OpenAI-compatible server on loopback: strict in its input, scripted in its answers.
//
// It has chat completions, embeddings and the model list. A chat request that violates the schema below gets 400 and is
// noted in `violations`, so that a misspelt parameter fails a test. A reply function receives the request, so that a
// test's model can decide by the prompt alone.

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
  /** Models in Ollama's list of running ones. Absent: no such endpoint. */
  readonly running?: readonly object[];
}

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}
export type OpenAIServer = Awaited<ReturnType<typeof startOpenAIServer>>;

export async function startOpenAIServer(options: OpenAIServerOptions = {}) {
  const requests: RecordedRequest[] = [];
  const chats: ChatRequest[] = [];
  /** Violations of the schemas, each a sentence. */
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
      case "GET /api/ps":
        return [options.running ? { status: 200, body: { models: options.running } } : notFound()];
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
const someText = { ...text, minLength: 1 };
const toolCall = typed<ToolCall>(
  closed({
    // Mistral's servers take no other ids.
    id: { ...text, pattern: "^[a-zA-Z0-9]{9}$" },
    type: { const: "function" },
    function: closed({ name: { ...text, pattern: "^[\\w-]{1,64}$" }, arguments: someText }),
  }),
);
const message = {
  ...closed(
    {
      role: oneOf("system", "user", "assistant", "tool"),
      content: text,
      tool_calls: listOf(toolCall, { minItems: 1 }),
      tool_call_id: someText,
    },
    "tool_calls",
    "tool_call_id",
  ),
  if: { properties: { role: { const: "assistant" } }, required: ["tool_calls"] },
  else: { properties: { content: someText, tool_calls: false } },
};
const OPTIONAL_PARTS = {
  temperature: { ...amount, maximum: 2 },
  top_p: { ...amount, maximum: 1 },
  max_tokens: ordinal,
  max_completion_tokens: ordinal,
  reasoning_effort: oneOf("minimal", "low", "medium", "high"),
  stop: anyOf(someText, listOf(someText, { minItems: 1, maxItems: 4 })),
  seed: { type: "integer" },
  n: { const: 1 },
  stream: flag,
  stream_options: closed({ include_usage: { const: true } }),
  response_format: typed<{ readonly type: string; readonly json_schema?: { readonly schema: object } }>(
    RESPONSE_FORMAT,
  ),
  tools: typed<readonly { readonly function: { readonly name: string; readonly parameters: object } }[]>(TOOLS),
  tool_choice: oneOf("auto", "required", "none"),
  user: someText,
  prompt_cache_key: someText,
};
const CHAT_REQUEST = {
  ...closed(
    { model: someText, messages: listOf(message, { minItems: 1 }), ...OPTIONAL_PARTS },
    ...(Object.keys(OPTIONAL_PARTS) as (keyof typeof OPTIONAL_PARTS)[]),
  ),
  // OpenAI rejects stream_options without a stream.
  dependentSchemas: {
    tool_choice: { required: ["tools"] },
    stream_options: { required: ["stream"], properties: { stream: { const: true } } },
  },
};
const isChatRequest = ajv.compile<ChatRequest>(CHAT_REQUEST);
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

const EMBEDDING_REQUEST = closed(
  {
    model: someText,
    input: anyOf(someText, listOf(someText, { minItems: 1, maxItems: 2048 })),
    encoding_format: oneOf("float", "base64"),
    dimensions: ordinal,
    user: someText,
  },
  ...(["encoding_format", "dimensions", "user"] as const),
);
const isEmbeddingRequest = ajv.compile<EmbeddingRequest>(EMBEDDING_REQUEST);
const problemsOf = ({ errors }: { errors?: Parameters<typeof ajv.errorsText>[0] }): string =>
  `${ajv.errorsText(errors ?? [])} ${JSON.stringify(errors?.map(({ params }) => params))}`;

// Answers of the OpenAI-compatible test server: completions, vectors, lists, errors and faults.

interface ToolCall {
  readonly type?: string;
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
export type ChatRequest = Static<typeof CHAT_REQUEST>;
export type EmbeddingRequest = Static<typeof EMBEDDING_REQUEST>;

/** A chat completion, streamed when the request asks for it. Members that are null are left out. */
interface Completion {
  readonly text?: string | null;
  readonly finishReason?: string | null;
  readonly refusal?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly usage?: object | null;
  readonly delayMs?: number;
  /** How it is streamed; "document": always sent whole. */
  readonly streamed?: Streaming | "document";
}
export interface RawAnswer {
  readonly status: number;
  /** An object is sent as JSON. */
  readonly body?: string | Uint8Array | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}
/**
 * stall: no answer. stall-body: half an answer, then silence. close: the connection
 * breaks before the answer. cut: it breaks in the middle of the answer.
 */
interface Fault {
  readonly fault: "stall" | "stall-body" | "close" | "cut";
}
export type Answer = string | Completion | RawAnswer | Fault;

/** Returns a client's timeout for this answer: short for silence, else longer than a busy machine needs. */
export const timeoutMsFor = (answer: Answer | undefined): number =>
  typeof answer === "object" && "fault" in answer && answer.fault.startsWith("stall") ? 250 : 30_000;

export const failure = (status: number, message: string, code: string | null = null): RawAnswer => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: null, code } },
});
const notFound = (): RawAnswer => failure(404, "Unknown request URL.", "unknown_url");

/** Echoes the ends of the key, as the real server does. */
export function unauthorized(header: string | undefined): RawAnswer {
  const key = header?.replace("Bearer ", "") ?? "";
  return failure(401, `Incorrect API key provided: ${key.slice(0, 7)}*****${key.slice(-4)}.`, "invalid_api_key");
}

const modelList = (names: readonly string[]): RawAnswer => ({
  status: 200,
  body: { object: "list", data: names.map((id) => ({ id, object: "model", created: 0, owned_by: "test" })) },
});

function completionBody(completion: Completion) {
  const { text: content = "", finishReason = "stop", refusal = null, toolCalls, usage } = completion;
  const message = { role: "assistant", content, refusal, ...(toolCalls ? { tool_calls: toolCalls } : {}) };
  const counted = { prompt_tokens: 100, completion_tokens: Math.ceil((content?.length ?? 0) / 4), total_tokens: 0 };
  const ending: { finish_reason?: string } = finishReason === null ? {} : { finish_reason: finishReason };
  return {
    id: "chatcmpl-test",
    object: "chat.completion",
    created: 0,
    model: "test-model",
    choices: [{ index: 0, message, logprobs: null, ...ending }] as const,
    ...(usage === null ? {} : { usage: usage ?? { ...counted, total_tokens: 100 + counted.completion_tokens } }),
  };
}

export function embeddingList(
  { model, input, encoding_format: encoding }: EmbeddingRequest,
  dimensions: number,
): object {
  const texts = typeof input === "string" ? [input] : input;
  const data = texts.map((one, index) => {
    const vector = wordVector(one, dimensions);
    const embedding = encoding === "base64" ? base64Of(vector) : [...vector];
    return { object: "embedding", index, embedding };
  });
  return { object: "list", model, data, usage: { prompt_tokens: texts.length, total_tokens: texts.length } };
}

export const base64Of = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");

/** Counts each word at a place given by FNV-1a, so that texts with common words are near. Not of unit length. */
function wordVector(words: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions).fill(0.001);
  for (const word of words.toLowerCase().match(/\p{L}+|\d+/gu) ?? []) {
    let hash = 0x811c9dc5;
    for (const byte of Buffer.from(word)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  return vector;
}

/** `request` is the chat request that this answers; undefined for other requests. */
export function sendAnswer(answer: Answer, outgoing: ServerResponse, request?: ChatRequest): void {
  if (typeof answer === "object" && "fault" in answer) {
    sendFault(answer.fault, outgoing);
    return;
  }
  const completion = typeof answer === "string" ? { text: answer } : answer;
  if (!("status" in completion) && request?.stream && completion.streamed !== "document") {
    const { streamed = {}, delayMs = 0 } = completion;
    const wantsUsage = request.stream_options !== undefined;
    setTimeout(() => void streamCompletion(completionBody(completion), streamed, wantsUsage, outgoing), delayMs);
    return;
  }
  const raw = "status" in completion ? completion : { status: 200, body: completionBody(completion) };
  setTimeout(() => sendRaw(raw, outgoing), completion.delayMs ?? 0);
}

function sendRaw({ status, body = "", headers = {} }: RawAnswer, outgoing: ServerResponse): void {
  const isBytes = typeof body === "string" || body instanceof Uint8Array;
  const type = isBytes ? "text/html; charset=utf-8" : "application/json";
  outgoing.writeHead(status, { "content-type": type, ...headers });
  outgoing.end(isBytes ? body : JSON.stringify(body));
}

function sendFault(fault: Fault["fault"], outgoing: ServerResponse): void {
  if (fault === "stall") return;
  if (fault === "close") {
    outgoing.socket?.destroy();
    return;
  }
  const body = JSON.stringify(completionBody({ text: "never to be seen whole" }));
  outgoing.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  outgoing.write(body.slice(0, body.length / 2), () => {
    if (fault === "cut") outgoing.socket?.destroy();
  });
}

// A streamed chat completion of the test server, with every way in which a stream can end.

export interface Streaming {
  /** The text in pieces; by default of some characters each. */
  readonly pieces?: readonly string[];
  /** Waits for `until` after the first `after` pieces. */
  readonly pause?: { readonly after: number; readonly until: Promise<unknown> };
  /**
   * `no-done`: without the mark after the last piece. `no-finish`: without finish_reason and mark. `cut`: the
   * connection breaks. `silence`: nothing more, without an end. `error`: an error in the stream.
   * `garbage`: data that is not JSON. All but the first come after half of the pieces.
   */
  readonly ending?: "no-done" | "no-finish" | "cut" | "silence" | "error" | "garbage";
  /** Replaces the server's own error. */
  readonly error?: object;
  /** Uses CRLF line ends, and comments between the events. */
  readonly fussy?: boolean;
  /** Writes every event byte by byte. */
  readonly bytewise?: boolean;
}

const PIECE_CHARS = 12;
const MAX_PIECES = 2_000;

type Body = ReturnType<typeof completionBody>;

/** `body`: that of an answer that is not streamed. */
async function streamCompletion(
  body: Body,
  streaming: Streaming,
  wantsUsage: boolean,
  outgoing: ServerResponse,
): Promise<void> {
  const { pause, ending, fussy, bytewise } = streaming;
  const { finish_reason: finishReason = null } = body.choices[0];
  const { content, refusal, tool_calls: toolCalls } = body.choices[0].message;
  const text = content ?? "";
  const pieces = streaming.pieces ?? cut(text, Math.max(PIECE_CHARS, Math.ceil(text.length / MAX_PIECES)));
  const end = fussy ? "\r\n\r\n" : "\n\n";
  const write = async (event: string): Promise<void> => {
    if (outgoing.destroyed) return;
    if (!bytewise) {
      if (!outgoing.write(event) && !outgoing.destroyed) await waitForDrain(outgoing);
      return;
    }
    for (const byte of Buffer.from(event)) {
      outgoing.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const send = (data: object): Promise<void> =>
    write(`${fussy ? ": PROCESSING\r\n\r\nevent: message\r\n" : ""}data: ${JSON.stringify(data)}${end}`);
  const chunk = (delta: object, reason: string | null = null): object => ({
    ...head(body),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    ...(wantsUsage ? { usage: null } : {}),
  });

  outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  await send(chunk({ role: "assistant", content: content === null ? null : "" }));
  const shown = ending && ending !== "no-done" ? pieces.slice(0, Math.ceil(pieces.length / 2)) : pieces;
  for (const [index, piece] of shown.entries()) {
    if (pause && index === pause.after) await pause.until;
    await send(chunk({ content: piece }));
  }
  if (refusal) await send(chunk({ refusal }));
  for (const [index, call] of (toolCalls ?? []).entries()) await sendToolCall(call, index);
  switch (ending) {
    case "cut":
      outgoing.socket?.destroy();
      return;
    case "silence":
      return;
    case "error":
      await send({ error: streaming.error ?? { message: "The engine fell over.", type: "server_error", code: null } });
      outgoing.end();
      return;
    case "garbage":
      await write(`data: {"choices": [{"delta"${end}`);
      outgoing.end();
      return;
    case "no-finish":
      outgoing.end();
      return;
    case "no-done":
    case undefined:
  }
  if (finishReason !== null) await send(chunk({}, finishReason));
  if (wantsUsage && body.usage) await send({ ...head(body), choices: [], usage: body.usage });
  if (ending !== "no-done") await write(`data: [DONE]${end}`);
  outgoing.end();

  async function sendToolCall({ id, function: called }: ToolCall, index: number): Promise<void> {
    const { name, arguments: text } = called;
    await send(chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }));
    for (const piece of cut(text, PIECE_CHARS))
      await send(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
}

/** Resolves when the buffer is empty or the connection closed. */
async function waitForDrain(outgoing: ServerResponse): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  await Promise.race([once(outgoing, "drain", { signal }), once(outgoing, "close", { signal })]);
  over.abort();
}

export const cut = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, index) => text.slice(index * chars, (index + 1) * chars));

const head = ({ id, model }: Body): object => ({ id, object: "chat.completion.chunk", created: 0, model });

/** Headers and one event of a stream that a test writes itself. */
export const SSE = { "content-type": "text/event-stream" };
export const chunk = (delta: object, finishReason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;

// Sends one request to the OpenAI model, over real HTTP to a scripted server.

/** A planted key: it may appear only in the Authorization header. */
export const KEY = "sk-planted-4fQ9wZ7xLm2";

let servers: OpenAIServer[] = [];

/** Returns the servers that were started since the last `closeServers`. */
export const openServers = (): readonly OpenAIServer[] => servers;

export async function start(options: OpenAIServerOptions): Promise<OpenAIServer> {
  const server = await startOpenAIServer(options);
  servers.push(server);
  return server;
}

export async function closeServers(): Promise<void> {
  await Promise.all(servers.map(({ close }) => close()));
  servers = [];
}

export const ask = (baseUrl: string, settings: Partial<OpenAIModelSettings> = {}): Promise<ModelAnswer> =>
  askModel(createOpenAIModel({ baseUrl, apiKey: KEY, ...settings }));

export async function answerTo(answer: Answer, settings: Partial<OpenAIModelSettings> = {}): Promise<ModelAnswer> {
  return ask((await start({ reply: [answer] })).baseUrl, settings);
}
