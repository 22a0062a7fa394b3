/**
 * read-answer.ts -- reads a response body as it arrives: an event stream or one document. The first characters decide
 * which, not the content type: a server that does not stream answers with one document. A stream may last as long as it
 * likes, but is aborted when it falls silent. Only output ends a silence: comments, empty pieces, white space and
 * unfinished lines do not. A complete reply stays complete, however the connection ends.
 */
import type OpenAI from "openai";
import { writeCalls } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import { createEventStreamParser, isEventStream, type ServerSentEvent } from "#util/event-stream.ts";
import { asRecord, isRecord, parseJson } from "#util/json.ts";
import { ChatStream, findFirstChoice, joinParts, REASONING, readReasoning, readUsage } from "./chat-stream.ts";
import { type AskedModel, createFailure, type ModelFailure } from "./failure.ts";
import { type Received, StatusError } from "./model-server.ts";

interface ReadAnswerOptions {
  /** Maximum wait for the first output of a stream, and for the whole of a document. */
  readonly firstMs: number;
  /** Maximum silence after the first output. */
  readonly idleMs: number;
  /** Maximum tokens of an unfinished stream. */
  readonly maxTokens: number;
  /** Maximum characters of a document. */
  readonly maxChars: number;
  onText?: ((piece: string) => void) | undefined;
}

/** Time to wait for the usage, and for the end of the stream, after a complete reply. */
const USAGE_GRACE_MS = 5_000;
const END_GRACE_MS = 1_000;

/** Returns a completion or the text of a document. Rejects with the body's errors, a SyntaxError or a TimeoutError. */
export async function readModelAnswer({ body }: Response, options: ReadAnswerOptions): Promise<unknown> {
  if (!body) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read();
    return done ? undefined : decoder.decode(value, { stream: true });
  };
  let head = "";
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel().catch(() => undefined);
  }, options.firstMs);
  try {
    for (let kind: boolean | undefined; kind === undefined; kind = isEventStream(head)) {
      const text = await next();
      if (text === undefined) break;
      head += text;
    }
    if (isEventStream(head) === true) {
      clearTimeout(timer);
      return await readEventStream(head, next, reader, options);
    }
    const document = await readDocument(head, next, options.maxChars);
    if (isLate) throw silenceError("The answer was not complete after", options.firstMs);
    return document;
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined);
  }
}

type ReadNext = () => Promise<string | undefined>;

async function readDocument(head: string, next: ReadNext, maxChars: number): Promise<string> {
  const pieces = [head];
  let chars = head.length;
  for (let text = await next(); text !== undefined; text = await next()) {
    chars += text.length;
    if (chars > maxChars)
      throw new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected at most ${maxChars} characters; more came.`);
    pieces.push(text);
  }
  return pieces.join("");
}

async function readEventStream(
  head: string,
  next: ReadNext,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { firstMs, idleMs, maxTokens, onText }: ReadAnswerOptions,
): Promise<unknown> {
  const stream = new ChatStream(onText, maxTokens);
  const silence = watchSilence(stream, { firstMs, idleMs }, () => void reader.cancel().catch(() => undefined));
  const parser = createEventStreamParser();
  const takeEvents = (events: readonly ServerSentEvent[]): void => {
    for (const data of events.flatMap(splitUnseparated)) if (stream.take(data)) silence.restart();
  };
  try {
    for (let text: string | undefined = head; text !== undefined; text = await next()) takeEvents(parser.push(text));
    if (!silence.isOver) takeEvents(parser.end());
  } catch (thrown) {
    if (!stream.isFinished) throw thrown;
  } finally {
    silence.stop();
  }
  if (silence.isOver && !stream.isFinished && !stream.isDone)
    throw stream.hasBegun
      ? silenceError("The reply had begun, and then nothing, or only white space, came for", idleMs)
      : silenceError("The server accepted the request, and no reply had begun after", firstMs);
  return stream.completion();
}

/** Some servers send no blank line between two events: then each data line is one whole JSON text. */
function splitUnseparated({ data }: ServerSentEvent): readonly string[] {
  const lines = data.split("\n");
  return lines.every((line) => line === "[DONE]" || (line.startsWith("{") && line.endsWith("}"))) ? lines : [data];
}

function watchSilence(
  stream: ChatStream,
  { firstMs, idleMs }: Pick<ReadAnswerOptions, "firstMs" | "idleMs">,
  giveUp: () => void,
) {
  let isOver = false;
  let allowedMs = firstMs;
  const end = (): void => {
    isOver = true;
    giveUp();
  };
  const chooseLimit = (): number => {
    if (stream.isDone) return END_GRACE_MS;
    if (stream.isFinished) return Math.min(idleMs, USAGE_GRACE_MS);
    return stream.hasBegun ? idleMs : firstMs;
  };
  let timer = setTimeout(end, allowedMs);
  return {
    /** True if it lasted too long and the stream was aborted. */
    get isOver(): boolean {
      return isOver;
    },
    restart: (): void => {
      if (chooseLimit() === allowedMs) {
        // After a complete reply, further events do not prolong the wait.
        if (!stream.isFinished) timer.refresh();
        return;
      }
      allowedMs = chooseLimit();
      clearTimeout(timer);
      timer = setTimeout(end, allowedMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Callers recognize it by its name. */
const silenceError = (words: string, ms: number): Error =>
  new DOMException(`${words} ${ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}.`, "TimeoutError");

/**
 * Reads a body, which counts as a reply only if it has a finish_reason and text. Compatible servers answer with status
 * 200 and an error, a web page, half a body or nothing. Each of these is a failure with its own code, never an empty
 * reply. A reply may be without text when it was cut off, because the model used up its maximum before an answer began,
 * and when it has reasoning alone. Throws a StatusError for an error in place of a reply.
 */
export function readChatReply(received: unknown, asked: AskedModel): ModelAnswer {
  // Some servers send JSON under another content type, which the client then returns as a string.
  const body = typeof received === "string" ? parseJson(received) : received;
  if (!isRecord(body))
    return unusableReply("broken-reply", "sent something that is no JSON object", received ?? "", asked);
  const choice = findFirstChoice(body.choices);
  const error = body.error || (body.object === "error" && body) || choice?.error;
  if (error) throw toStatusError(error);
  if (!Array.isArray(body.choices))
    return unusableReply("broken-reply", "sent JSON that is not a chat completion", body, asked);
  if (!choice) return unusableReply("incomplete-reply", "sent a reply without a choice", body, asked);
  const { finish_reason: reason } = choice;
  // Routers, vLLM and DeepSeek report these if the server failed, even if the text looks complete.
  if (/^(?:error|abort|insufficient_system_resource)$/.test(`${reason}`))
    throw toStatusError("The reply ended in an error.");
  if (typeof reason !== "string" || !reason)
    return unusableReply("incomplete-reply", "sent a reply without a finish_reason: it may be cut off", body, asked);

  // Names of Mistral, Anthropic and Gemini.
  const finishReason = /^(?:model_length|max_tokens)$/i.test(reason) ? "length" : reason;
  const message: Received<OpenAI.ChatCompletionMessage> = asRecord(choice.message);
  const text = readReplyText(message);
  if (!text?.trim() && typeof message.refusal === "string" && message.refusal !== "")
    return refusedReply(asked.quote(message.refusal, 1_000), asked);
  // Even a command that looks complete is not what the model meant to send.
  if (finishReason === "content_filter") return refusedReply("a content filter stopped the reply", asked);
  const counted = { usage: readUsage(body.usage), ...readReasoning(body.usage) };
  const isOnlyReasoning = REASONING.some((name) => asRecord(choice.message)[name]);
  if (text !== undefined || finishReason === "length" || isOnlyReasoning)
    return { kind: "replied", text: text ?? "", finishReason, ...counted };
  return unusableReply("incomplete-reply", "sent a reply without text", body, asked);
}

/** Routers put the real status into the error's `code`, others a name into `code` or `type`. */
function toStatusError(error: unknown): StatusError {
  const { code, type, status: given } = asRecord(error);
  const names = `${code} ${type}`;
  const named = /rate_limit|insufficient_quota/.test(names) ? 429 : /api_key|authentication/.test(names) ? 401 : 500;
  const sent = Number(code ?? given);
  const status = sent >= 400 && sent <= 599 ? sent : named;
  return new StatusError(status, new Headers(), JSON.stringify({ error }), true);
}

/**
 * Returns the text, joined parts of text, or tool calls in the JSON of a reply, which is kept and shown to any server later. A server that insists
 * on tool calls puts the model's thoughts into the text.
 */
function readReplyText({
  content,
  tool_calls: toolCalls,
  function_call: functionCall,
}: Received<OpenAI.ChatCompletionMessage>): string | undefined {
  const text = joinParts(content);
  const called = isRecord(functionCall) ? [{ type: "function", function: functionCall }] : toolCalls;
  if (!Array.isArray(called) || called.length === 0) return typeof text === "string" ? text : undefined;
  const said = typeof text === "string" && text.trim() !== "" ? text : "";
  // The text may contain a command too. The reply reader reads both, and they must agree.
  if (said.includes("{")) return `${said}\n${JSON.stringify({ tool_calls: called })}`;
  const calls = readCalls(called);
  if (calls) return writeCalls(calls, said && `"thoughts":${JSON.stringify({ text: said })},`);
  return JSON.stringify({ ...(said && { thoughts: { text: said } }), tool_calls: called });
}

/**
 * Returns whole calls with each argument as it was sent: a parsed number could lose digits. Undefined when the
 * arguments of a call are no JSON object.
 */
function readCalls(called: readonly unknown[]) {
  const calls = called.flatMap((call) => {
    const { name, arguments: written = "" } = asRecord(asRecord(call).function);
    const args = typeof written !== "string" ? JSON.stringify(written) : written.trim() === "" ? "{}" : written.trim();
    return typeof name === "string" && isRecord(parseJson(args)) ? [{ name, args }] : [];
  });
  return calls.length === called.length ? calls : undefined;
}

const refusedReply = (words: string, { server, model }: AskedModel): ModelFailure =>
  createFailure("refused", `The model ${model} at ${server} refused to answer: “${words}”.`, null);

function unusableReply(code: string, what: string, body: unknown, { server, model, quote }: AskedModel): ModelFailure {
  const begins = quote(body);
  const shown = begins ? `It begins: “${begins}”.` : "It was empty.";
  return createFailure(code, `The model server at ${server} (model ${model}) ${what}. ${shown}`, { afterMs: null });
}
