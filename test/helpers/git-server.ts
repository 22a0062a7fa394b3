/** git-server.ts -- git's http-backend on loopback, which a test can make hostile or slow. */
import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listArrivals, listenOnLoopback } from "./loopback.ts";

export interface GitServerOptions {
  /** Folder with the repositories. */
  readonly root: string;
  /** Required in the Authorization header; other requests get 401. */
  readonly authorization?: string;
  /** Answers instead of git; returns false to let git answer. */
  readonly instead?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;
}
export interface GitServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly connections: number;
  /** Path and Authorization header of each request. */
  readonly requests: readonly { readonly path: string; readonly authorization: string | undefined }[];
  asked(count: number): Promise<void>;
  dropConnections(): void;
}

export async function startGitServer({ root, authorization, instead }: GitServerOptions): Promise<GitServer> {
  const requests = listArrivals<GitServer["requests"][number]>();
  const listening = await listenOnLoopback((incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    requests.add({ path: incoming.url ?? "", authorization: incoming.headers.authorization });
    if (instead?.(incoming, outgoing)) return;
    if (authorization !== undefined && incoming.headers.authorization !== authorization) {
      outgoing.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end("who are you?");
      return;
    }
    runBackend(root, incoming, outgoing);
  });
  return {
    origin: listening.origin,
    port: listening.port,
    requests: requests.all,
    get connections() {
      return listening.connections;
    },
    asked: requests.reach,
    dropConnections: () => listening.server.closeAllConnections(),
    [Symbol.asyncDispose]: listening.close,
  };
}

/** Implements the part of CGI that git needs. */
function runBackend(root: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const [path = "", query = ""] = (incoming.url ?? "").split("?");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: incoming.method,
      CONTENT_TYPE: incoming.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: String(incoming.headers["content-encoding"] ?? ""),
      GIT_PROTOCOL: String(incoming.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  outgoing.on("close", () => child.kill("SIGKILL"));
  child.stdin.on("error", () => undefined);
  incoming.pipe(child.stdin);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on("data", (piece: Buffer) => {
    if (isBody) {
      outgoing.write(piece);
      return;
    }
    head = Buffer.concat([head, piece]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    isBody = true;
    const fields = head.toString("latin1", 0, end).split("\r\n");
    const headers = new Map(fields.map((line) => line.split(": ", 2) as [string, string]));
    const status = Number.parseInt(headers.get("Status") ?? "200", 10);
    headers.delete("Status");
    outgoing.writeHead(status, Object.fromEntries(headers));
    outgoing.write(head.subarray(end + 4));
  });
  child.on("close", () => outgoing.end());
}
