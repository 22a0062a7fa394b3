/**
 * chat-stream.ts -- assembles the pieces of a streamed completion into the completion that the server would have sent
 * at once.
 *
 * Servers differ: a message in place of a delta, content in parts, usage in the last piece or in each, an error in the
 * middle with status 200. chat-reply.ts validates the result like any other body. Only a finish_reason makes it a
 * reply; the end of the stream does not.
 */
import { GoaldError } from "#core/errors.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import { createReplyMeter } from "./reply-cap.ts";

export interface ChatStream {
  /**
   * Adds the data of one event. Returns whether it brought anything of a reply. Throws a SyntaxError for text that is not
   * JSON, GOALD_HTTP_TOO_LARGE, and an OverCapError once an unfinished reply has more than `maxTokens`.
   */
  take(data: string): boolean;
  /** True once the model has produced output. */
  readonly hasBegun: boolean;
  /** True once a finish_reason or an error has come. */
  readonly isFinished: boolean;
  /** True once the server has sent `[DONE]`. */
  readonly isDone: boolean;
  /** Returns the result in the shape of a completion that was not streamed. */
  completion(): unknown;
}

/** Maximum of text and arguments together. */
const MAX_REPLY_CHARS = 8 * 1024 * 1024;
/** No model produces a longer list. */
const MAX_TOOL_CALLS = 64;

interface ToolCall {
  readonly id: unknown;
  readonly type: "function";
  readonly function: { name: string; arguments: string };
}

export function createChatStream(
  onText?: (piece: string) => void,
  maxTokens: number = Number.POSITIVE_INFINITY,
): ChatStream {
  let content: string | null = null;
  let refusal = "";
  let finishReason: unknown = null;
  let usage: unknown;
  let error: unknown;
  let hasChoice = false;
  let hasBegun = false;
  let isDone = false;
  const limitChars = createCharLimit();
  const meter = createReplyMeter(maxTokens);
  const calls = createCallCollector(limitChars);

  function take(data: string): boolean {
    if (data === "[DONE]") {
      isDone = true;
      return true;
    }
    const chunk: unknown = JSON.parse(data);
    if (!isRecord(chunk)) return false;
    if (isRecord(chunk.usage)) ({ usage } = chunk);
    error ??= chunk.error ?? (chunk.object === "error" || chunk.type === "error" ? chunk : undefined);
    const choice = Array.isArray(chunk.choices) ? findFirstChoice(chunk.choices) : undefined;
    if (!choice) return isFinished();
    hasChoice = true;
    error ??= choice.error ?? undefined;
    if (choice.finish_reason) finishReason = choice.finish_reason;
    const delta = choice.delta ?? choice.message;
    const isOutput = isRecord(delta) && takeDelta(delta);
    if (!isFinished()) meter.check(usage);
    return isOutput || isFinished();
  }

  const isFinished = (): boolean => finishReason !== null || error !== undefined;

  function takeDelta(delta: JsonRecord): boolean {
    const { content: given, refusal: words } = delta;
    const piece = Array.isArray(given) ? joinParts(given) : given;
    if (typeof piece === "string") {
      content = (content ?? "") + limitChars(piece);
      if (piece !== "") onText?.(piece);
    }
    if (typeof words === "string") refusal += limitChars(words);
    calls.take(delta);
    const isOutput = hasOutput(delta);
    meter.add(delta, isOutput);
    hasBegun ||= isOutput;
    return isOutput;
  }

  function completion(): unknown {
    if (error !== undefined) return { error };
    if (!hasChoice) return { choices: [] };
    const message = { content, refusal: refusal || null, ...calls.read() };
    return { choices: [{ finish_reason: finishReason, message }], usage };
  }

  return {
    take,
    completion,
    get hasBegun() {
      return hasBegun;
    },
    get isFinished() {
      return isFinished();
    },
    get isDone() {
      return isDone;
    },
  };
}

/** Members that a server sets. Some servers send a first piece with only the role at once, and then need minutes. */
const LABELS: ReadonlySet<string> = new Set(["role", "id", "index", "type", "format"]);

/** True for text that is more than white space: a model that fails may send blanks without end. */
function hasOutput(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, each]) => !LABELS.has(name) && hasOutput(each));
}

interface CallCollector {
  /** Adds the pieces of tool calls in a delta. */
  take(delta: JsonRecord): void;
  /** Returns the members of a message that hold calls. */
  read(): { readonly tool_calls?: readonly ToolCall[]; readonly function_call?: ToolCall["function"] };
}

function createCallCollector(limitChars: (piece: string) => string): CallCollector {
  const toolCalls: ToolCall[] = [];
  let functionCall: ToolCall["function"] | undefined;

  function takeToolCall(piece: JsonRecord): void {
    const last = Math.max(0, toolCalls.length - 1);
    const isNew = typeof piece.id === "string" && piece.id !== "" && toolCalls[last] && toolCalls[last].id !== piece.id;
    const index = typeof piece.index === "number" ? piece.index : isNew ? toolCalls.length : last;
    if (!(index >= 0 && index < MAX_TOOL_CALLS)) return;
    toolCalls[index] ??= { id: piece.id, type: "function", function: { name: "", arguments: "" } };
    if (isRecord(piece.function)) extendCall(toolCalls[index].function, piece.function);
  }

  function extendCall(call: ToolCall["function"], { name, arguments: text }: JsonRecord): void {
    if (typeof name === "string") call.name += limitChars(name);
    if (typeof text === "string") call.arguments += limitChars(text);
    else if (isRecord(text)) call.arguments += limitChars(JSON.stringify(text));
  }

  return {
    take: ({ tool_calls: pieces, function_call: call }) => {
      if (Array.isArray(pieces)) for (const piece of pieces) if (isRecord(piece)) takeToolCall(piece);
      if (!isRecord(call)) return;
      functionCall ??= { name: "", arguments: "" };
      extendCall(functionCall, call);
    },
    read: () => {
      // A list can have gaps: a piece names its own index.
      const calls = toolCalls.filter((call) => call !== undefined);
      return {
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
        ...(functionCall ? { function_call: functionCall } : {}),
      };
    },
  };
}

/** Returns a function that passes pieces through, and throws once they exceed the limit together. */
function createCharLimit(): (piece: string) => string {
  let chars = 0;
  return (piece) => {
    chars += piece.length;
    if (chars <= MAX_REPLY_CHARS) return piece;
    throw new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected at most ${MAX_REPLY_CHARS} characters; more came.`);
  };
}

/** Of several choices only the first counts: the one with index 0, or without an index. */
export const findFirstChoice = (choices: readonly unknown[]): JsonRecord | undefined =>
  choices.find((choice): choice is JsonRecord => isRecord(choice) && (choice.index ?? 0) === 0);

/** Joins the text parts of a content that is a list. */
export const joinParts = (parts: readonly unknown[]): string =>
  parts
    .map((part) => (isRecord(part) && part.type === "text" && typeof part.text === "string" ? part.text : ""))
    .join("");
