/** unix-server.ts -- a small HTTP server on a unix socket in place of a daemon; each test sets its answers. */
import { mkdtempSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { PROTOCOL_VERSION } from "#api/control.ts";
import { type HostInfo, holdHostLock } from "#store/sqlite/host-lock.ts";
import { useSharedFolder } from "../helpers/folder.ts";
import { homeOf } from "../helpers/goald.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
export type Answer = (request: Request, response: ServerResponse) => void;

const folders = useSharedFolder();

export async function startUnixServer(answer: Answer) {
  const folder = mkdtempSync(join(folders, "socket-"));
  const socket = join(folder, "daemon.sock");
  const requests: Request[] = [];
  let server = createServer();
  let connections = 0;

  /** Listens again at the same path. */
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
  /** Closes every connection and stops listening. */
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
    /** Counts the open connections. */
    get connections() {
      return connections;
    },
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Answers every request so. */
export const says =
  (status: number, body: unknown): Answer =>
  (_request, response) =>
    sendJson(response, status, body);

export const STARTED_AT = "2026-11-20T10:00:00.000Z";

/** Makes a home whose host is this process and answers `status` with `told`. */
export async function fakeHost(told: Record<string, unknown> = {}) {
  const status = { pid: 4711, version: "1.2.3", protocol: PROTOCOL_VERSION, stopping: false, ...told };
  let isSilent = false;
  const server = await startUnixServer((_request, response) => {
    if (!isSilent) sendJson(response, 200, status);
  });
  const home = await homeOf({ home: server.folder, cwd: "/", userHome: server.folder });
  await mkdir(home.privateFolder, { mode: 0o700 });
  return {
    home,
    server,
    said: [] as string[],
    /** Sets the answer for the next calls. */
    tell: (more: Record<string, unknown>) => void Object.assign(status, more),
    /** Answers no more calls. */
    hang: () => {
      isSilent = true;
    },
    hold: (more: Partial<HostInfo> = {}) =>
      holdHostLock(home.lock, { pid: process.pid, version: "1.2.3", startedAt: STARTED_AT, ...more }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
