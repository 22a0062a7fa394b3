/** stop-text.ts -- ends a reply before the first stop text, for servers that reject or ignore the parameter `stop`. */
import type { ModelAnswer } from "#core/ports/model.ts";

type Reply = Extract<ModelAnswer, { readonly kind: "replied" }>;

/** Reasoning before the reply proper may quote a stop text, also reasoning that was cut off. */
const REASONING_END = "</think>";

/** The text before the stop text is whole, so the finish reason becomes `stop`. The usage stays: all of it was charged. */
export function cutAtStop(reply: Reply, stop: readonly string[] = []): Reply {
  const { text } = reply;
  const from = text.trimStart().startsWith("<think>") ? text.indexOf(REASONING_END) : 0;
  if (from < 0) return reply;
  const places = stop.map((words) => text.indexOf(words, from)).filter((place) => place >= 0);
  return places.length === 0 ? reply : { ...reply, text: text.slice(0, Math.min(...places)), finishReason: "stop" };
}
