/** scripted-model.ts -- a language model with scripted replies that records its requests. */
import type { LanguageModel, ModelAnswer, ModelRequest } from "#core/ports/model.ts";

/** A reply that never comes; only the signal ends the wait. */
export const HANG = Symbol("never answers");

/** A string is a reply with finish reason `stop`. */
export type ScriptedReply = string | ModelAnswer | typeof HANG;
export type Script =
  | readonly ScriptedReply[]
  | ((request: ModelRequest, index: number) => ScriptedReply | Promise<ScriptedReply>);

export interface ScriptedModel extends LanguageModel {
  readonly requests: readonly ModelRequest[];
}

/** After the last reply of an array every request fails with `script-over`. */
export function scriptedModel(script: Script): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    requests,
    async complete(request, signal) {
      signal.throwIfAborted();
      const index = requests.push(structuredClone(request)) - 1;
      const reply = typeof script === "function" ? await script(request, index) : (script[index] ?? scriptOver(index));
      if (reply === HANG) return untilAborted(signal);
      signal.throwIfAborted();
      return typeof reply === "string" ? replied(reply, request) : reply;
    },
  };
}

function replied(text: string, { messages }: ModelRequest): ModelAnswer {
  const promptChars = messages.reduce((sum, { content }) => sum + content.length, 0);
  const inputTokens = Math.ceil(promptChars / 4);
  const usage = { inputTokens, outputTokens: Math.ceil(text.length / 4), cachedTokens: 0, estimated: false };
  return { kind: "replied", text, finishReason: "stop", usage };
}

const scriptOver = (index: number): ModelAnswer => ({
  kind: "failed",
  code: "script-over",
  message: `The script has ${index} replies, and the model was asked once more.`,
  retry: null,
});

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
