/**
 * model-server.ts -- a model server in a process of its own that answers at once.
 *
 * Each run has its own path, `/<run>/v1`, and gets replies with thoughts of about 400 characters and one
 * append of 60. The words differ from step to step and are the same in every
 * run. The server records when a run's first request came, and the sizes of its requests.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Measured by the server for one run. */
export interface Seen {
  readonly run: string;
  requests: number;
  /** Milliseconds since 1970. */
  firstAt: number;
  /** Sizes of the first and the last message of the newest request. */
  systemChars: number;
  lastMessageChars: number;
  replyFormat?: object | undefined;
  requestBytes: number;
}

const WORDS = (
  "harbour ledger copper violin meadow signal lantern budget garden orbit canvas pepper ladder mirror winter engine " +
  "letter market needle oyster pencil quarry ribbon saddle temple turbine valley window yellow zipper anchor basket " +
  "candle dragon ember forest glacier hammer island jacket kernel lemon magnet novel onion pocket river silver tunnel"
).split(" ");

interface ChatRequest {
  readonly messages: readonly { readonly content: string }[];
  readonly stream?: boolean;
  readonly response_format?: object;
}

const runs = new Map<string, Seen>();
const server = createServer((incoming, outgoing) => {
  const run = incoming.url?.split("/")[1] ?? "";
  const seen = runs.get(run) ?? {
    run,
    requests: 0,
    firstAt: Date.now(),
    systemChars: 0,
    lastMessageChars: 0,
    requestBytes: 0,
  };
  runs.set(run, seen);
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const body = Buffer.concat(chunks);
    seen.requests++;
    seen.requestBytes = body.length;
    const { messages, stream, response_format } = JSON.parse(body.toString()) as ChatRequest;
    seen.replyFormat = response_format;
    seen.systemChars = messages[0]?.content.length ?? 0;
    seen.lastMessageChars = messages.at(-1)?.content.length ?? 0;
    const content = reply(seen.requests);
    if (stream) sendStream(content, seen.requests, outgoing);
    else outgoing.setHeader("content-type", "application/json").end(completion(content, seen.requests));
  });
});

process.on("message", (run: string) => process.send?.(runs.get(run)));
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));

const USAGE = { prompt_tokens: 3000, completion_tokens: 150, total_tokens: 3150 };
/** About one token. */
const PIECE_CHARS = 4;

/** Streams token by token without a pause, so that a step's cost includes the cost of its pieces. */
function sendStream(content: string, step: number, outgoing: ServerResponse): void {
  outgoing.setHeader("content-type", "text/event-stream");
  const head = { id: `reply-${step}`, object: "chat.completion.chunk", created: 0, model: "gpt-4.1" };
  const send = (choices: readonly object[], usage: object | null): void =>
    void outgoing.write(`data: ${JSON.stringify({ ...head, choices, usage })}\n\n`);
  for (let at = 0; at < content.length; at += PIECE_CHARS)
    send([{ index: 0, delta: { content: content.slice(at, at + PIECE_CHARS) }, finish_reason: null }], null);
  send([{ index: 0, delta: {}, finish_reason: "stop" }], null);
  send([], USAGE);
  outgoing.end("data: [DONE]\n\n");
}

function reply(step: number): string {
  const say = wordsFrom(step);
  return JSON.stringify({
    thoughts: {
      text: `Step ${step}: ${say(14)}.`,
      reasoning: `${say(13)}.`,
      plan: `- ${say(6)}\n- ${say(6)}`,
      criticism: `${say(6)}.`,
      speak: `${say(7)}.`,
    },
    command: { name: "append_to_file", args: { file: "log.txt", text: `${step} ${say(9)}`.slice(0, 59).concat("\n") } },
  });
}

const completion = (content: string, step: number): string =>
  JSON.stringify({
    id: `reply-${step}`,
    object: "chat.completion",
    created: 0,
    model: "gpt-4.1",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: USAGE,
  });

/** Returns the same words for the same seed: a linear congruential generator (Numerical Recipes). */
function wordsFrom(seed: number): (count: number) => string {
  let value = seed;
  return (count) =>
    Array.from({ length: count }, () => {
      value = (Math.imul(value, 1664525) + 1013904223) >>> 0;
      return WORDS[Math.floor((value / 2 ** 32) * WORDS.length)];
    }).join(" ");
}
