/** service-server.ts -- a web service on loopback that records requests and sends scripted answers. */
import type { IncomingHttpHeaders } from "node:http";
import { listArrivals, listenOnLoopback } from "./loopback.ts";
import { type Answer, sendAnswer } from "./openai-answers.ts";

export interface ServiceRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export interface ServiceServer extends AsyncDisposable {
  /** For example http://127.0.0.1:4000 */
  readonly origin: string;
  readonly requests: readonly ServiceRequest[];
  /** Number of connections, with or without a request. */
  readonly connections: number;
  /** Resolves after `count` requests. */
  asked(count: number): Promise<void>;
}

export async function startServiceServer(
  reply: (request: ServiceRequest, index: number) => Answer | Promise<Answer>,
): Promise<ServiceServer> {
  const requests = listArrivals<ServiceRequest>();
  const listening = await listenOnLoopback(async (incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming).catch(() => []));
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body };
    const index = requests.add(request);
    sendAnswer(await reply(request, index), outgoing);
  });
  return {
    origin: listening.origin,
    requests: requests.all,
    get connections() {
      return listening.connections;
    },
    asked: requests.reach,
    [Symbol.asyncDispose]: listening.close,
  };
}
