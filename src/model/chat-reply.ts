/**
 * chat-reply.ts -- validates a chat completion.
 *
 * A body counts as a reply only if it has a finish_reason and text. Compatible servers answer with status 200 and an
 * error, a web page, half a body or nothing. Each of these is a failure with its own code, never an empty reply. Only a
 * reply that was cut off may be without text: the model used up its maximum before an answer began.
 */
import type { ModelAnswer } from "#core/ports/model.ts";
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";
import { type AskedModel, createFailure, type ModelFailure } from "./asked.ts";
import { findFirstChoice, joinParts } from "./chat-stream.ts";
import { StatusError } from "./model-server.ts";
import { readReasoning, readUsage } from "./usage.ts";

/** Throws a StatusError for an error in place of a reply. */
export function readChatReply(received: unknown, asked: AskedModel): ModelAnswer {
  // Some servers send JSON under another content type, which the client then returns as a string.
  const body = typeof received === "string" ? parseJson(received) : received;
  if (!isRecord(body))
    return unusableReply("broken-reply", "sent something that is no JSON object", received ?? "", asked);
  const choice = Array.isArray(body.choices) ? findFirstChoice(body.choices) : undefined;
  const error = body.error || (body.object === "error" && body) || choice?.error;
  if (error) throw toStatusError(error);
  if (!Array.isArray(body.choices))
    return unusableReply("broken-reply", "sent JSON that is not a chat completion", body, asked);
  if (!choice) return unusableReply("incomplete-reply", "sent a reply without a choice", body, asked);
  const { finish_reason: finishReason } = choice;
  // A router reports this if the server behind it failed, even if the text looks complete.
  if (finishReason === "error") throw toStatusError("The reply ended in an error.");
  if (typeof finishReason !== "string" || finishReason === "")
    return unusableReply("incomplete-reply", "sent a reply without a finish_reason: it may be cut off", body, asked);

  const message = isRecord(choice.message) ? choice.message : {};
  const text = readReplyText(message);
  if (!text?.trim() && typeof message.refusal === "string" && message.refusal !== "")
    return refusedReply(asked.quote(message.refusal, 1_000), asked);
  // Even a command that looks complete is not what the model meant to send.
  if (finishReason === "content_filter") return refusedReply("a content filter stopped the reply", asked);
  const counted = { usage: readUsage(body.usage), ...readReasoning(body.usage) };
  if (text !== undefined || finishReason === "length")
    return { kind: "replied", text: text ?? "", finishReason, ...counted };
  return unusableReply("incomplete-reply", "sent a reply without text", body, asked);
}

/** Routers put the real status into the error's `code`. */
function toStatusError(error: unknown): StatusError {
  const code = isRecord(error) ? Number(error.code ?? error.status) : Number.NaN;
  const status = code >= 400 && code <= 599 ? code : 500;
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
}: JsonRecord): string | undefined {
  const text = Array.isArray(content) ? joinParts(content) : content;
  const called = isRecord(functionCall) ? [{ type: "function", function: functionCall }] : toolCalls;
  if (!Array.isArray(called) || called.length === 0) return typeof text === "string" ? text : undefined;
  const command = formatCalls(called);
  if (command && !(typeof text === "string" && text.includes("{"))) {
    const thoughts = typeof text === "string" && text.trim() !== "" ? `"thoughts":${JSON.stringify({ text })},` : "";
    return `{${thoughts}${command}}`;
  }
  if (typeof text !== "string" || text.trim() === "") return JSON.stringify({ tool_calls: called });
  // The text may contain a command too. The reply reader reads both, and they must agree.
  return text.includes("{")
    ? `${text}\n${JSON.stringify({ tool_calls: called })}`
    : JSON.stringify({ thoughts: { text }, tool_calls: called });
}

/**
 * Writes whole calls as the commands of a reply in JSON, with each argument as it was sent: a parsed number could lose
 * digits. Undefined when the arguments of a call are no JSON object.
 */
function formatCalls(called: readonly unknown[]): string | undefined {
  const commands = called.map((call) => {
    const { name, arguments: written = "" } = isRecord(call) && isRecord(call.function) ? call.function : {};
    const args = typeof written !== "string" ? JSON.stringify(written) : written.trim() === "" ? "{}" : written.trim();
    return typeof name === "string" && isRecord(parseJson(args))
      ? `{"name":${JSON.stringify(name)},"args":${args}}`
      : "";
  });
  if (commands.includes("")) return undefined;
  return commands.length === 1 ? `"command":${commands[0]}` : `"commands":[${commands.join(",")}]`;
}

const refusedReply = (words: string, { server, model }: AskedModel): ModelFailure =>
  createFailure("refused", `The model ${model} at ${server} refused to answer: “${words}”.`, null);

function unusableReply(code: string, what: string, body: unknown, { server, model, quote }: AskedModel): ModelFailure {
  const begins = quote(body);
  const shown = begins ? `It begins: “${begins}”.` : "It was empty.";
  return createFailure(code, `The model server at ${server} (model ${model}) ${what}. ${shown}`, { afterMs: null });
}
