/** model-server.ts -- a model server of the benches, in this process or in one of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface BenchServer extends Disposable {
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly port: number;
}

/** `answer` gets each request with its body. */
export async function startServer(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => unknown,
): Promise<BenchServer> {
  const server = createServer(async (request, response) => {
    answer(request, response, Buffer.concat(await request.toArray()).toString());
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", 1_024, resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Starts the server of a child process, sends its port to the parent, and ends with the parent. */
export async function serveParent(answer: Parameters<typeof startServer>[0]): Promise<void> {
  process.on("disconnect", () => process.exit());
  const { port } = await startServer(answer);
  process.send?.(port);
}

const HEAD = { id: "reply", created: 0, model: "gpt-4.1" };
const USAGE = { prompt_tokens: 3_000, completion_tokens: 150, total_tokens: 3_150 };

/** Sends a whole reply. */
export function sendReply(response: ServerResponse, content: string): void {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const reply = { ...HEAD, object: "chat.completion", choices, usage: USAGE };
  response.setHeader("content-type", "application/json").end(JSON.stringify(reply));
}

/** Streams a reply in pieces without a pause, so that a step's cost includes the cost of its pieces. The usage is in the last one. */
export function streamReply(response: ServerResponse, content: string, pieceChars = content.length): void {
  response.setHeader("content-type", "text/event-stream");
  for (let at = 0; at < content.length; at += pieceChars) {
    const isLast = at + pieceChars >= content.length;
    const delta = { content: content.slice(at, at + pieceChars) };
    const choices = [{ index: 0, delta, finish_reason: isLast ? "stop" : null }];
    const usage = isLast ? USAGE : null;
    response.write(`data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices, usage })}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

const THOUGHTS = {
  text: "I go on with what I was told.",
  reasoning: "The goal asks for it.",
  plan: "- do it\n- go on",
  criticism: "None so far.",
  speak: "I go on.",
};

/** Writes the content of a reply: a command after thoughts. */
export const writeReply = (command: object, text = THOUGHTS.text): string =>
  JSON.stringify({ thoughts: { ...THOUGHTS, text }, command });
