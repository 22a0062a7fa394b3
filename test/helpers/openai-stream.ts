/** openai-stream.ts -- a streamed chat completion of the test server, with every way in which a stream can end. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";

export interface Streaming {
  /** The text in pieces; by default of some characters each. */
  readonly pieces?: readonly string[];
  /** Waits for `until` after the first `after` pieces. */
  readonly pause?: { readonly after: number; readonly until: Promise<unknown> };
  /**
   * `no-done`: without the mark after the last piece. `no-finish`: without finish_reason and mark. `cut`: the
   * connection breaks. `silence`: nothing more, without an end. `pings`: comments only, without an end. `error`: an
   * error in the stream. `garbage`: data that is not JSON. All but the first come after half of the pieces.
   */
  readonly ending?: "no-done" | "no-finish" | "cut" | "silence" | "pings" | "error" | "garbage";
  /** Replaces the server's own error. */
  readonly error?: object;
  /** Uses CRLF line ends, and comments between the events. */
  readonly fussy?: boolean;
  /** Writes every event byte by byte. */
  readonly bytewise?: boolean;
}

const PIECE_CHARS = 12;
const MAX_PIECES = 2_000;
const PING_EVERY_MS = 20;

/** `completion` is the body of an answer that is not streamed. */
export async function streamCompletion(
  completion: object,
  streaming: Streaming,
  wantsUsage: boolean,
  outgoing: ServerResponse,
): Promise<void> {
  const { pause, ending, fussy, bytewise } = streaming;
  const body = completion as Body;
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
    case "pings": {
      const timer = setInterval(() => outgoing.write(": ping\n\n"), PING_EVERY_MS);
      outgoing.on("close", () => clearInterval(timer));
      return;
    }
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

const cut = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, index) => text.slice(index * chars, (index + 1) * chars));

interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Body {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly finish_reason?: string;
      readonly message: {
        readonly content: string | null;
        readonly refusal: string | null;
        readonly tool_calls?: readonly ToolCall[];
      };
    },
  ];
  readonly usage?: object;
}

const head = ({ id, model }: Body): object => ({ id, object: "chat.completion.chunk", created: 0, model });
