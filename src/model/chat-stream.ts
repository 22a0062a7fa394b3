/**
 * chat-stream.ts -- the pieces of a streamed completion, put together to what the server would have sent at once.
 *
 * Servers differ in everything but the gist: a message in place of a delta, content in parts, usage in the last piece or
 * in each, an error in the middle with status 200. What comes out is read by chat-reply.ts like any other body, and is a
 * reply only when a finish_reason came: the end of a stream says nothing.
 */
import { GoaldError } from "#core/errors.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";

export interface ChatStream {
  /** One event's data. Throws a SyntaxError for what is no JSON, and GOALD_HTTP_TOO_LARGE. */
  take(data: string): void;
  /** The model has begun to say something. */
  readonly hasBegun: boolean;
  /** The reply is whole: a finish_reason came, or an error. */
  readonly isFinished: boolean;
  /** The server said that nothing more comes. */
  readonly isDone: boolean;
  /** In the shape of a completion that was not streamed. */
  completion(): unknown;
}

/** Of text and of arguments, together. */
const MAX_CHARS = 8 * 1024 * 1024;
/** A list that is longer was not made by a model. */
const MAX_TOOL_CALLS = 64;

interface ToolCall {
  readonly id: unknown;
  readonly type: "function";
  readonly function: { name: string; arguments: string };
}

export function createChatStream(onText?: (piece: string) => void): ChatStream {
  let content: string | null = null;
  let refusal = "";
  let finishReason: unknown = null;
  let usage: unknown;
  let error: unknown;
  let chars = 0;
  let hasChoice = false;
  let hasBegun = false;
  let isDone = false;
  const toolCalls: ToolCall[] = [];
  let functionCall: ToolCall["function"] | undefined;

  function take(data: string): void {
    if (data === "[DONE]") {
      isDone = true;
      return;
    }
    const chunk: unknown = JSON.parse(data);
    if (!isRecord(chunk)) return;
    if (isRecord(chunk.usage)) ({ usage } = chunk);
    error ??= chunk.error ?? (chunk.object === "error" || chunk.type === "error" ? chunk : undefined);
    if (!Array.isArray(chunk.choices)) return;
    const choice: unknown = chunk.choices[0];
    if (!isRecord(choice)) return;
    hasChoice = true;
    error ??= choice.error ?? undefined;
    if (choice.finish_reason) finishReason = choice.finish_reason;
    const delta = choice.delta ?? choice.message;
    if (isRecord(delta)) takeDelta(delta);
  }

  function takeDelta(delta: JsonRecord): void {
    const { content: given, refusal: words, tool_calls: calls, function_call: call } = delta;
    const piece = Array.isArray(given) ? joinParts(given) : given;
    if (typeof piece === "string") {
      content = (content ?? "") + counted(piece);
      if (piece !== "") onText?.(piece);
    }
    if (typeof words === "string") refusal += counted(words);
    if (Array.isArray(calls)) for (const each of calls) if (isRecord(each)) takeToolCall(each);
    if (isRecord(call)) {
      functionCall ??= { name: "", arguments: "" };
      extend(functionCall, call);
    }
    // A first piece that only names the role comes at once from servers that then think for minutes.
    hasBegun ||= Object.entries(delta).some(([key, value]) => key !== "role" && value !== null && value !== "");
  }

  function takeToolCall(piece: JsonRecord): void {
    const last = Math.max(0, toolCalls.length - 1);
    const isNew = typeof piece.id === "string" && piece.id !== "" && toolCalls[last] && toolCalls[last].id !== piece.id;
    const place = typeof piece.index === "number" ? piece.index : isNew ? toolCalls.length : last;
    if (!(place >= 0 && place < MAX_TOOL_CALLS)) return;
    toolCalls[place] ??= { id: piece.id, type: "function", function: { name: "", arguments: "" } };
    if (isRecord(piece.function)) extend(toolCalls[place].function, piece.function);
  }

  function extend(call: ToolCall["function"], { name, arguments: text }: JsonRecord): void {
    if (typeof name === "string") call.name += counted(name);
    if (typeof text === "string") call.arguments += counted(text);
    else if (isRecord(text)) call.arguments += counted(JSON.stringify(text));
  }

  function counted(piece: string): string {
    chars += piece.length;
    if (chars <= MAX_CHARS) return piece;
    throw new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected at most ${MAX_CHARS} characters; more came.`);
  }

  function completion(): unknown {
    if (error !== undefined) return { error };
    if (!hasChoice) return { choices: [] };
    const calls = toolCalls.filter((call) => call !== undefined);
    const message = {
      content,
      refusal: refusal || null,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(functionCall ? { function_call: functionCall } : {}),
    };
    return { choices: [{ finish_reason: finishReason, message }], usage };
  }

  return {
    take,
    completion,
    get hasBegun() {
      return hasBegun;
    },
    get isFinished() {
      return finishReason !== null || error !== undefined;
    },
    get isDone() {
      return isDone;
    },
  };
}

/** The text among the parts of a content that is a list. */
export const joinParts = (parts: readonly unknown[]): string =>
  parts
    .map((part) => (isRecord(part) && part.type === "text" && typeof part.text === "string" ? part.text : ""))
    .join("");
