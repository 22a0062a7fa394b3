/**
 * replay-server.ts -- the model's side of the demo: recorded replies over real HTTP on loopback.
 *
 * It speaks chat completions and answers each new request with the next reply of the
 * recording; the same request again gets the same reply. A reply may name what the request must
 * contain, so that a recording which no longer fits the agent says so instead of playing on.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface RecordedReply {
  /** Texts that the request must show; they are what the model went by. */
  readonly shown?: readonly string[];
  /** An object is sent as JSON text; a string as it is, also when it is no JSON at all. */
  readonly reply: unknown;
}
export interface ReplayServer extends AsyncDisposable {
  readonly baseUrl: string;
}

const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

export async function startReplayServer(replies: readonly RecordedReply[]): Promise<ReplayServer> {
  const answered = new Map<string, RecordedReply>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 500, { error: { message: String(error) } }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (request.method !== "POST" || request.url !== "/v1/chat/completions")
      return send(response, 404, {
        error: { message: `The recording has only chat completions, not ${request.url}.` },
      });
    const recorded = replyFor(body);
    if (!recorded)
      return send(response, 400, { error: { message: `The recording ends after ${replies.length} replies.` } });
    const missing = (recorded.shown ?? []).filter((text) => !body.includes(JSON.stringify(text).slice(1, -1)));
    if (missing.length > 0)
      return send(response, 400, {
        error: { message: `The recording does not fit: the request does not show ${JSON.stringify(missing)}.` },
      });
    const content = typeof recorded.reply === "string" ? recorded.reply : JSON.stringify(recorded.reply, null, 2);
    const usage = {
      prompt_tokens: tokens(body),
      completion_tokens: tokens(content),
      total_tokens: tokens(body) + tokens(content),
    };
    send(response, 200, {
      id: `recorded-${answered.size}`,
      object: "chat.completion",
      created: 0,
      model: "recorded",
      choices: [
        { index: 0, finish_reason: "stop", logprobs: null, message: { role: "assistant", content, refusal: null } },
      ],
      usage,
    });
  }

  function replyFor(body: string): RecordedReply | undefined {
    const hash = createHash("sha256").update(body).digest("hex");
    const reply = answered.get(hash) ?? replies[answered.size];
    if (reply) answered.set(hash, reply);
    return reply;
  }
}

/** The usual rule of thumb; a recording has no tokenizer. */
const tokens = (text: string): number => Math.ceil(text.length / 4);

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) throw new Error("The request is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
