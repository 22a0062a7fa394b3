/**
 * chat-stream.ts -- assembles the pieces of a streamed completion into the completion that the server would have sent
 * at once.
 *
 * Servers differ: a message in place of a delta, content in parts, usage in the last piece or in each, an error in the
 * middle with status 200. read-answer.ts validates the result like any other body. Only a finish_reason makes it a
 * reply; the end of the stream does not.
 */
import type OpenAI from "openai";
import { GoaldError } from "#core/errors.ts";
import type { Usage } from "#core/event.ts";
import { asRecord, isRecord, parseJson } from "#util/json.ts";
import type { AskedModel } from "./failure.ts";
import type { Received } from "./model-server.ts";

// Members beside those of the schema are sent by compatible servers: an error in place of a reply, names of reasoning,
// counts of cached tokens.
type ReceivedChunk = Received<OpenAI.ChatCompletionChunk & Record<"error" | "type", unknown>>;
/** A choice of a whole completion has a message in place of the delta. */
type ReceivedChoice = Received<OpenAI.ChatCompletionChunk.Choice & Record<"message" | "error", unknown>>;
type ReceivedDelta = Received<OpenAI.ChatCompletionChunk.Choice.Delta & Record<Reasoning, unknown>>;
type ReceivedUsage = Received<OpenAI.CompletionUsage & Record<CachedTokens, unknown>>;

/** Maximum of text and arguments together. */
const MAX_REPLY_CHARS = 8 * 1024 * 1024;
/** No model produces a longer list. */
const MAX_TOOL_CALLS = 64;

interface ToolCall {
  readonly id: unknown;
  readonly type: "function";
  readonly function: OpenAI.ChatCompletionMessageFunctionToolCall.Function;
}

export class ChatStream {
  /** The model has produced output. */
  hasBegun = false;
  /** A finish_reason or an error has come. */
  isFinished = false;
  /** The server has sent `[DONE]`. */
  isDone = false;
  readonly #onText: ((piece: string) => void) | undefined;
  readonly #maxTokens: number;
  #content: string | null = null;
  #refusal = "";
  readonly #toolCalls: ToolCall[] = [];
  /** The newest call of each number. */
  readonly #numbered = new Map<number, ToolCall>();
  #finishReason: unknown = null;
  #usage: unknown;
  #error: unknown;
  #hasChoice = false;
  #chars = 0;
  #pieces = 0;
  #tokens = 0;

  constructor(onText: ((piece: string) => void) | undefined, maxTokens: number) {
    this.#onText = onText;
    this.#maxTokens = maxTokens;
  }

  /**
   * Adds the data of one event. Returns whether it brought anything of a reply. Throws a SyntaxError for text that is not
   * JSON, GOALD_HTTP_TOO_LARGE, and an OverCapError once an unfinished reply has more than `maxTokens`.
   */
  take(data: string): boolean {
    if (data === "[DONE]") {
      this.isDone = true;
      return true;
    }
    // An event without data only keeps the connection open.
    const chunk: unknown = data.trim() === "" ? undefined : JSON.parse(data);
    const isOutput = isRecord(chunk) && this.#takeChunk(chunk);
    return isOutput || this.isFinished;
  }

  #takeChunk(chunk: ReceivedChunk): boolean {
    if (isRecord(chunk.usage)) this.#usage = chunk.usage;
    const isError = chunk.object === "error" || chunk.type === "error";
    const choice = findFirstChoice(chunk.choices);
    this.#error ??= chunk.error ?? (isError ? chunk : choice?.error) ?? undefined;
    if (choice?.finish_reason) this.#finishReason = choice.finish_reason;
    this.isFinished = this.#finishReason !== null || this.#error !== undefined;
    if (!choice) return false;
    this.#hasChoice = true;
    const delta = choice.delta ?? choice.message;
    const isOutput = isRecord(delta) && this.#takeDelta(delta);
    if (!this.isFinished) this.#limitTokens();
    return isOutput;
  }

  #takeDelta(delta: ReceivedDelta): boolean {
    const { content, refusal, tool_calls: toolCalls, function_call: call } = delta;
    const piece = joinParts(content);
    if (typeof piece === "string") {
      this.#content = (this.#content ?? "") + this.#limitChars(piece);
      if (piece !== "") this.#onText?.(piece);
    }
    if (typeof refusal === "string") this.#refusal += this.#limitChars(refusal);
    for (const each of asList(toolCalls)) this.#takeToolCall(each);
    if (isRecord(call)) this.#takeToolCall({ function: call });
    const isOutput = hasOutput(delta);
    const added = leastTokensOf(delta);
    this.#tokens += added;
    // Output without a known text counts as one token.
    if (added > 0 || isOutput) this.#pieces++;
    this.hasBegun ||= isOutput;
    return isOutput;
  }

  #takeToolCall(piece: Received<OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall>): void {
    const { id, index } = piece;
    const { name, arguments: args } = asRecord(piece.function);
    const known = typeof index === "number" ? this.#numbered.get(index) : this.#toolCalls.at(-1);
    // Some servers number no call, or all 0 without an id, or send another id or the name with each piece.
    const isNext = () => `${args}`.startsWith("{") && isRecord(parseJson(known?.function.arguments ?? ""));
    const isNew = !known || (name && (id ? known.id !== id : isNext()));
    if (isNew && this.#toolCalls.length >= MAX_TOOL_CALLS) return;
    const call: ToolCall = isNew ? { id, type: "function", function: { name: "", arguments: "" } } : known;
    if (typeof index === "number") this.#numbered.set(index, call);
    if (isNew) this.#toolCalls.push(call);
    this.#extendCall(call.function, { name, arguments: args });
  }

  #extendCall(call: ToolCall["function"], { name, arguments: text }: Received<ToolCall["function"]>): void {
    if (typeof name === "string" && name !== call.name) call.name += this.#limitChars(name);
    const written = isRecord(text) ? JSON.stringify(text) : text;
    if (typeof written === "string") call.arguments += this.#limitChars(written);
  }

  /** Returns the piece, unless it and those before exceed the limit together. */
  #limitChars(piece: string): string {
    this.#chars += piece.length;
    if (this.#chars <= MAX_REPLY_CHARS) return piece;
    throw new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected at most ${MAX_REPLY_CHARS} characters; more came.`);
  }

  /**
   * Compares the estimate and the reported usage with the maximum. A piece with text is at least one token. Every piece
   * that ends a silence is counted, so that no stream lasts for ever.
   */
  #limitTokens(): void {
    const reported = readUsage(this.#usage);
    const least = Math.ceil(Math.max(reported?.outputTokens ?? 0, this.#tokens, this.#pieces));
    if (least > this.#maxTokens) throw new OverCapError(least, reported);
  }

  /** Returns the result in the shape of a completion that was not streamed. */
  completion(): unknown {
    if (this.#error !== undefined) return { error: this.#error };
    if (!this.#hasChoice) return { choices: [] };
    // Reasoning without an answer is an empty reply.
    const content = this.#content ?? (this.hasBegun ? "" : null);
    // Some servers end the list with an empty call.
    const calls = this.#toolCalls.filter((call) => call.function.name || call.function.arguments);
    const message = { content, refusal: this.#refusal || null, tool_calls: calls };
    return { choices: [{ finish_reason: this.#finishReason, message }], usage: this.#usage };
  }
}

/** Members that a server sets. Some servers send a first piece with only the role at once, and then need minutes. */
const LABELS: ReadonlySet<string> = new Set(["role", "id", "index", "type", "format"]);

/** True for text that is more than white space: a model that fails may send blanks without end. */
function hasOutput(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, each]) => !LABELS.has(name) && hasOutput(each));
}

/** Of several choices only the first counts: the one with index 0, or without an index. */
export const findFirstChoice = (choices: unknown): ReceivedChoice | undefined =>
  asList(choices).find(({ index }: ReceivedChoice) => (index ?? 0) === 0);

/** Joins the text parts of a content that is a list. Returns any other content as it is. */
export function joinParts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = asList(content).filter(({ type, text }) => type === "text" && typeof text === "string");
  return texts.map(({ text }) => text).join("");
}

const asList = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);

/** The name under which a server takes the cap. Older servers know only the second. */
export type CapName = "max_completion_tokens" | "max_tokens";

const LEAST_MARGIN = 256;

/** Tokens from which a reply exceeds the cap for certain, and is cut: a quarter more, at least 256. */
export const withMargin = (cap: number): number => cap + Math.max(LEAST_MARGIN, Math.ceil(cap / 4));

/**
 * The maximum size of a reply that a request carried, against which the reply is checked; null when the server accepts
 * none. A server that ignores it is noticed by its stream, reasoning included, or by the usage that it reports.
 */
type SentCap = { readonly name: CapName; readonly tokens: number } | null;

/** Adds the maximum of the request to a usage that exceeds it. */
export const noteExcess = (usage: Usage | null, cap: SentCap): Usage | null =>
  usage && cap && usage.outputTokens > cap.tokens ? { ...usage, allowedTokens: cap.tokens } : usage;

/** The sentence about more tokens than `maxTokens`. A report of the server need not be true. */
export function describeExcess(
  tokens: number,
  reported: Usage | null,
  { cap, maxTokens }: { readonly cap: SentCap; readonly maxTokens?: number },
  { server, model }: AskedModel,
): string {
  const told = cap
    ? `was told to send at most ${cap.tokens} tokens (${cap.name})`
    : `does not accept a maximum, which is ${maxTokens} tokens for this reply`;
  const came = reported?.outputTokens === tokens ? `, and reports ${tokens}` : `, and sent at least ${tokens}`;
  return `The model server at ${server} (model ${model}) ${told}${came}. They count as spent.`;
}

/** Thrown once a stream has exceeded the cap. `usage` has the server's own counts as far as they came. */
export class OverCapError extends Error {
  override readonly name = "OverCapError";
  readonly outputTokens: number;
  readonly usage: Usage | null;
  constructor(outputTokens: number, usage: Usage | null) {
    super(`The reply has more than ${outputTokens} tokens.`);
    this.outputTokens = outputTokens;
    this.usage = usage;
  }
}

/** Names under which servers send reasoning. Some send the same text under two names. */
export const REASONING = ["reasoning_content", "reasoning", "thinking", "reasoning_text"] as const;
type Reasoning = (typeof REASONING)[number];

function leastTokensOf(delta: ReceivedDelta): number {
  const reasoning = REASONING.map((name) => leastTokensIn(delta[name]));
  const others = [delta.content, delta.refusal, delta.tool_calls, delta.function_call];
  return Math.max(...reasoning) + leastTokensIn(others);
}

/** Members that hold text of the model. Ids, types and names of tools are left out. */
const TEXTS: ReadonlySet<string> = new Set(["text", "arguments", "function", "content", "summary"]);

function leastTokensIn(value: unknown): number {
  if (typeof value === "string") return leastTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + leastTokensIn(each), 0);
  if (!isRecord(value)) return 0;
  return Object.entries(value).reduce((sum, [name, each]) => sum + (TEXTS.has(name) ? leastTokensIn(each) : 0), 0);
}

/** White space that is longer than the gap between two words. */
const BLANKS = /\s{2,}/g;
const IDEOGRAPHS = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g;

/**
 * Counts the tokens of a text from below, because a reply that obeys its maximum must never be cut off: a token has at
 * most eight Latin characters or 2.5 ideographs on average, or 128 characters of white space (the longest tokens of
 * cl100k_base and o200k_base). Pure.
 */
export function leastTokens(text: string): number {
  const ideographs = text.match(IDEOGRAPHS)?.length ?? 0;
  const blanks = text.match(BLANKS)?.join("").length ?? 0;
  return (text.length - ideographs - blanks) / 8 + ideographs / 2.5 + blanks / 128;
}

/** Returns the usage that the server reports. Null if it reports none or not in numbers. */
export function readUsage(usage: unknown): Usage | null {
  if (!isRecord(usage)) return null;
  const { prompt_tokens: inputTokens, completion_tokens: completion }: ReceivedUsage = usage;
  if (!isCount(inputTokens) || !isCount(completion)) return null;
  const outputTokens = Math.max(completion, withReasoning(usage, inputTokens, completion));
  return { inputTokens, outputTokens, cachedTokens: Math.min(inputTokens, readCachedTokens(usage)), estimated: false };
}

/** Some servers count reasoning only in the total, or only in the details. */
function withReasoning(usage: ReceivedUsage, inputTokens: number, completion: number): number {
  const { reasoningTokens = 0 } = readReasoning(usage);
  if (isCount(usage.total_tokens) && usage.total_tokens > inputTokens) return usage.total_tokens - inputTokens;
  return reasoningTokens > completion ? completion + reasoningTokens : completion;
}

/** Empty when the server does not report how many tokens went into reasoning. */
export function readReasoning(usage: unknown): { readonly reasoningTokens?: number } {
  const { completion_tokens_details: given }: ReceivedUsage = asRecord(usage);
  const { reasoning_tokens: tokens }: Received<OpenAI.CompletionUsage.CompletionTokensDetails> = asRecord(given);
  return isCount(tokens) ? { reasoningTokens: tokens } : {};
}

/** Names of DeepSeek, of Moonshot, and of a gateway to Anthropic. */
type CachedTokens = "prompt_cache_hit_tokens" | "cached_tokens" | "cache_read_input_tokens";

/** Reads the field of OpenAI, else those of other servers. */
function readCachedTokens(usage: ReceivedUsage): number {
  const { prompt_cache_hit_tokens: hit, cached_tokens: cached, cache_read_input_tokens: read } = usage;
  const details: Received<OpenAI.CompletionUsage.PromptTokensDetails> = asRecord(usage.prompt_tokens_details);
  return [details.cached_tokens, hit, cached, read].find(isCount) ?? 0;
}

export const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
