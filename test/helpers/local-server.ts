/** local-server.ts -- the local API on a real unix socket, with plain, streaming and byte-wise clients. */
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Control, Reading } from "#api/control.ts";
import { type LocalServer, type LocalServerOptions, startServer } from "#api/server.ts";
import type { RecordedEvent } from "#core/event.ts";
import { parseJson } from "#util/json.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text; undefined when it is not JSON. */
  readonly body: unknown;
}
export interface AskOptions {
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One message of an event stream. */
export interface Message {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}
export interface Follower extends AsyncDisposable {
  readonly messages: readonly Message[];
  /** Numbers of the committed events, in the order of arrival. */
  readonly numbers: readonly number[];
  /** All received text, comments included. */
  readonly text: string;
  /** Resolves when `isSo` holds; rejects when the stream ends before. */
  until(isSo: () => boolean): Promise<void>;
  /** Resolves when the server has ended the stream or the connection broke. */
  readonly ended: Promise<void>;
}

export interface TestServer extends AsyncDisposable {
  readonly server: LocalServer;
  readonly folder: string;
  readonly problems: readonly string[];
  ask(method: string, path: string, options?: AskOptions): Promise<Reply>;
  /** Opens an event stream; resolves when the server has answered. */
  follow(path: string, headers?: Readonly<Record<string, string>>): Promise<Follower>;
  /** Opens a connection and sends `text`; nothing is read before the test reads it. */
  open(text: string): Socket;
  /** Sends `text`, and returns everything received until the server closes the connection. */
  send(text: string): Promise<string>;
}

export type ServerOptions = Partial<Omit<LocalServerOptions, "control">>;

/** `reading`: by default the control itself, for one that is both. */
export async function serve(
  control: Control,
  { reading = control as Control & Reading, ...options }: ServerOptions = {},
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "goald-api-"));
  const problems: string[] = [];
  const server = await startServer({
    control,
    reading,
    socket: join(folder, "daemon.sock"),
    redact: (text) => text,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  const open = (text: string): Socket => {
    const socket = connect(server.socket);
    socket.on("error", () => undefined);
    socket.write(text);
    return socket;
  };
  return {
    server,
    folder,
    problems,
    ask: (method, path, given) => ask(server.socket, method, path, given),
    follow: (path, headers) => follow(server.socket, path, headers),
    open,
    send: async (text) => {
      let answer = "";
      for await (const piece of open(text).setEncoding("utf8")) answer += piece;
      return answer;
    },
    [Symbol.asyncDispose]: async () => {
      await server.close("The test is over.");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function ask(socketPath: string, method: string, path: string, options: AskOptions = {}): Promise<Reply> {
  const { body } = options;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const type = text === undefined ? {} : { "content-type": "application/json" };
  const headers = { host: "goald", ...type, ...options.headers };
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, headers, agent: false }, (response) => {
      let came = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        came += piece;
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: came,
          body: parseJson(came),
        }),
      );
    });
    asked.on("error", reject);
    asked.end(text);
  });
}

function follow(socketPath: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Follower> {
  const messages: Message[] = [];
  const numbers: number[] = [];
  let text = "";
  let rest = "";
  let look = (): void => undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
    look();
  });
  const asked = request({
    socketPath,
    path,
    headers: { host: "goald", accept: "text/event-stream", ...headers },
    agent: false,
  });
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      if (hasEnded) throw new Error(`The stream ended before that. It was: ${text.slice(-2_000)}`);
      await new Promise<void>((resolve) => {
        look = resolve;
      });
    }
  };
  const follower: Follower = {
    messages,
    numbers,
    get text() {
      return text;
    },
    until,
    ended,
    [Symbol.asyncDispose]: async () => {
      asked.destroy();
      await ended;
    },
  };
  return new Promise((resolve, reject) => {
    asked.on("error", reject);
    asked.on("response", (response) => {
      response.on("close", end);
      response.on("error", () => end());
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        const parts = (rest + piece).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const message = messageIn(part);
          if (!message) continue;
          messages.push(message);
          if (message.event === "message") numbers.push((message.data as RecordedEvent).seq);
        }
        look();
      });
      if (response.statusCode === 200) resolve(follower);
      else response.on("end", () => reject(new Error(`${response.statusCode} ${text}`)));
    });
    asked.end();
  });
}

/** Returns the messages in an HTTP/1.0 response, which is not chunked. */
export const messagesIn = (text: string): readonly Message[] =>
  text
    .slice(text.indexOf("\r\n\r\n") + 4)
    .split("\n\n")
    .map(messageIn)
    .filter((message) => message !== undefined);

/** Polls until `isSo` holds, for state that has no event. */
export async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Parses a message as the standard says: unknown fields and comments are ignored. */
function messageIn(part: string): Message | undefined {
  const fields = new Map<string, string>();
  for (const line of part.split(/\r\n|\r|\n/)) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name !== "") fields.set(name, value);
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  return { event: fields.get("event") ?? "message", id: fields.get("id") ?? null, data: JSON.parse(data) };
}
