/**
 * demo-server.ts -- plays the server side of a recording, over real HTTP on loopback.
 *
 * Each new request gets the next recorded response for its path. A repeated request gets the same response again.
 * Requests may differ from the recorded ones, since the run happens at another time. An exchange may list texts that
 * the request must contain, so that a recording that no longer fits the agent fails.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { decodeBody } from "./body.ts";
import { asStream, isCompletion } from "./demo-stream.ts";
import type { ExchangeLine, ExchangeResponse } from "./format.ts";

export interface ReplayServer extends AsyncDisposable {
  /** Base URL of the model server. */
  readonly baseUrl: string;
  /** Origin for all other requests: configured servers use their own paths, web pages use `webPath`. */
  readonly origin: string;
}

/** Path of the recorded response for a web address. */
export const webPath = (url: string): string => `/web/${encodeURIComponent(url)}`;

const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

export async function startReplayServer(exchanges: readonly ExchangeLine[]): Promise<ReplayServer> {
  const answered = new Map<string, ExchangeLine>();
  const waiting = new Map<string, ExchangeLine[]>();
  for (const exchange of exchanges) {
    const path = pathOf(exchange.request.url);
    waiting.set(path, [...(waiting.get(path) ?? []), exchange]);
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => refuse(response, 500, String(error)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { method = "", url = "" } = request;
    const exchange = exchangeFor(method, new URL(url, "http://localhost").pathname, body);
    if (exchange === "unknown") return refuse(response, 404, `The recording has nothing for ${method} ${url}.`);
    if (exchange === undefined) return refuse(response, 400, `The recording ends before this request for ${url}.`);
    const missing = (exchange.shown ?? []).filter((text) => !body.includes(JSON.stringify(text).slice(1, -1)));
    if (missing.length > 0)
      return refuse(response, 400, `The recording does not fit: the request does not show ${JSON.stringify(missing)}.`);
    if ("status" in exchange.response) send(response, exchange.response, body);
    else response.destroy();
  }

  function exchangeFor(method: string, path: string, body: string): ExchangeLine | "unknown" | undefined {
    const ahead = waiting.get(path);
    if (!ahead) return "unknown";
    const hash = createHash("sha256").update(`${method} ${path}\n${body}`).digest("hex");
    const exchange = answered.get(hash) ?? ahead.shift();
    if (exchange) answered.set(hash, exchange);
    return exchange;
  }
}

/** Local servers keep their own paths; other addresses use `webPath`. */
function pathOf(recorded: string): string {
  const { hostname, pathname, href } = new URL(recorded);
  return hostname === "127.0.0.1" ? pathname : webPath(href);
}

/** Streams a completion if this request asks for a stream, even if the recorded request did not. */
function send(response: ServerResponse, { status, headers, body, error }: ExchangeResponse, request: string): void {
  const recorded = "json" in body ? body.json : undefined;
  if (isCompletion(recorded) && asksForStream(request)) {
    response.writeHead(status, { "content-type": "text/event-stream" });
    for (const piece of asStream(recorded)) response.write(piece);
    response.end();
    return;
  }
  response.writeHead(status, headers);
  if (error === undefined) response.end(decodeBody(body));
  else response.write(decodeBody(body), () => response.destroy());
}

function asksForStream(request: string): boolean {
  try {
    return (JSON.parse(request) as { readonly stream?: unknown } | null)?.stream === true;
  } catch {
    return false;
  }
}

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

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message } }));
}
