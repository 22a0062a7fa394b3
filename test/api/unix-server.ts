/** unix-server.ts -- a small HTTP server on a unix socket in place of a daemon; each test sets its answers. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
export type Answer = (request: Request, response: ServerResponse) => void;

export interface UnixServer extends AsyncDisposable {
  readonly socket: string;
  readonly folder: string;
  readonly requests: readonly Request[];
  /** Counts the open connections. */
  readonly connections: number;
  /** Closes every connection and stops listening. */
  stop(): Promise<void>;
  /** Listens again at the same path. */
  start(): Promise<void>;
}

export async function startUnixServer(answer: Answer): Promise<UnixServer> {
  const folder = await mkdtemp(join(tmpdir(), "goald-socket-"));
  const socket = join(folder, "daemon.sock");
  const requests: Request[] = [];
  let server = createServer();
  let connections = 0;

  async function start(): Promise<void> {
    server = createServer(async (incoming, response) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of incoming as AsyncIterable<Uint8Array>) chunks.push(chunk);
      const { method = "", url = "", headers } = incoming;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(request);
      answer(request, response);
    });
    server.on("connection", (connection) => {
      connections++;
      connection.on("close", () => connections--);
    });
    await rm(socket, { force: true });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
  }
  async function stop(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
  await start();
  return {
    socket,
    folder,
    requests,
    get connections() {
      return connections;
    },
    start,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
