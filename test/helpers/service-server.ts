/** service-server.ts -- a web service on loopback for tests: it keeps what was asked, and answers as the test says. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, give } from "./openai-answers.ts";

export interface ServiceRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export interface ServiceServer extends AsyncDisposable {
  /** Such as http://127.0.0.1:4000 */
  readonly origin: string;
  readonly requests: readonly ServiceRequest[];
  /** Connections, whatever came on them. */
  readonly connections: number;
  /** Resolves when so many requests have come. */
  asked(count: number): Promise<void>;
}

export async function startServiceServer(
  reply: (request: ServiceRequest, index: number) => Answer | Promise<Answer>,
): Promise<ServiceServer> {
  const requests: ServiceRequest[] = [];
  let connections = 0;
  let wake = (): void => undefined;
  const server = createServer(async (incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming).catch(() => []));
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body };
    const index = requests.push(request) - 1;
    wake();
    give(await reply(request, index), outgoing);
  });
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get connections() {
      return connections;
    },
    asked: async (count) => {
      while (requests.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
