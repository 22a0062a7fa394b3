/**
 * model-server.ts -- a model server in a process of its own that answers at once.
 *
 * Each run has its own path, `/<run>/v1`, and gets the replies of the scenario that its name begins with.
 * The server records when a run's first request came, and the sizes of its requests.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { replyOf, type Scenario } from "./scenarios.ts";

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
    const content = replyOf(run.split("-")[0] as Scenario, seen.requests);
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

const completion = (content: string, step: number): string =>
  JSON.stringify({
    id: `reply-${step}`,
    object: "chat.completion",
    created: 0,
    model: "gpt-4.1",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: USAGE,
  });
