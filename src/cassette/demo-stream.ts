/** demo-stream.ts -- converts a whole chat completion into the event stream that a server would have sent. */

export interface Completion {
  readonly choices: readonly [
    { readonly message: { readonly content: string }; readonly finish_reason: string | null },
    ...unknown[],
  ];
  readonly usage?: unknown;
  readonly [more: string]: unknown;
}

/** Rejects replies with tool calls, because only text can be split into pieces. */
export function isCompletion(value: unknown): value is Completion {
  const { choices } = (value ?? {}) as { readonly choices?: readonly { readonly message?: { content?: unknown } }[] };
  return Array.isArray(choices) && typeof choices[0]?.message?.content === "string";
}

const PIECE_CHARS = 40;

/** Yields pieces of text, the finish reason, the usage and the end mark of the stream. */
export function* asStream({ choices, usage, ...common }: Completion): Generator<string> {
  const { message, finish_reason: finishReason } = choices[0];
  const event = (choices: readonly unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices, ...more })}\n\n`;
  const choice = (delta: object, reason: string | null): readonly unknown[] => [
    { index: 0, delta, logprobs: null, finish_reason: reason },
  ];
  yield event(choice({ role: "assistant", content: "" }, null));
  const letters = [...message.content];
  for (let at = 0; at < letters.length; at += PIECE_CHARS)
    yield event(choice({ content: letters.slice(at, at + PIECE_CHARS).join("") }, null));
  yield event(choice({}, finishReason));
  if (usage !== undefined) yield event([], { usage });
  yield "data: [DONE]\n\n";
}
