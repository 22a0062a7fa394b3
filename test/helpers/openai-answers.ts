/** openai-answers.ts -- answers of the OpenAI-compatible test server: completions, vectors, lists, errors and faults. */
import type { ServerResponse } from "node:http";
import { type Streaming, streamCompletion } from "./openai-stream.ts";

interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly reasoning_effort?: string;
  readonly stop?: string | readonly string[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: true };
  readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema: object } };
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: object } }[];
  readonly tool_choice?: string;
}
export interface EmbeddingRequest {
  readonly model: string;
  readonly input: string | readonly string[];
  readonly encoding_format?: "float" | "base64";
  readonly dimensions?: number;
}

/** A chat completion, streamed when the request asks for it. Members that are null are left out. */
interface Completion {
  readonly text?: string | null;
  readonly finishReason?: string | null;
  readonly refusal?: string;
  readonly toolCalls?: readonly unknown[];
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
export const notFound = (): RawAnswer => failure(404, "Unknown request URL.", "unknown_url");

/** Echoes the ends of the key, as the real server does. */
export function unauthorized(header: string | undefined): RawAnswer {
  const key = header?.replace("Bearer ", "") ?? "";
  return failure(401, `Incorrect API key provided: ${key.slice(0, 7)}*****${key.slice(-4)}.`, "invalid_api_key");
}

export const modelList = (names: readonly string[]): RawAnswer => ({
  status: 200,
  body: { object: "list", data: names.map((id) => ({ id, object: "model", created: 0, owned_by: "test" })) },
});

function completionBody(completion: Completion): object {
  const { text: content = "", finishReason = "stop", refusal = null, toolCalls, usage } = completion;
  const message = { role: "assistant", content, refusal, ...(toolCalls ? { tool_calls: toolCalls } : {}) };
  const counted = { prompt_tokens: 100, completion_tokens: Math.ceil((content?.length ?? 0) / 4), total_tokens: 0 };
  const ending = finishReason === null ? {} : { finish_reason: finishReason };
  return {
    id: "chatcmpl-test",
    object: "chat.completion",
    created: 0,
    model: "test-model",
    choices: [{ index: 0, message, logprobs: null, ...ending }],
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
