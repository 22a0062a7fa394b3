/**
 * model-server.ts -- a model server in a process of its own that answers at once.
 *
 * Each run has its own path, `/<run>/v1`, and gets the replies of the scenario that its name begins with.
 * The server records when a run's first request came, and the sizes of its requests.
 */
import { sendReply, serveParent, streamReply } from "../shared/model-server.ts";
import { replyOf, type Scenario } from "./scenarios.ts";

/** Measured by the server for one run. */
export interface Seen {
  readonly run: string;
  readonly requests: number;
  /** Milliseconds since 1970. */
  readonly firstAt: number;
  /** Sizes of the first and the last message of the newest request. */
  readonly systemChars: number;
  readonly lastMessageChars: number;
  readonly replyFormat: object | undefined;
  readonly requestBytes: number;
}

interface ChatRequest {
  readonly messages: readonly { readonly content: string }[];
  readonly stream?: boolean;
  readonly response_format?: object;
}

/** About one token. */
const PIECE_CHARS = 4;
const runs = new Map<string, Seen>();

process.on("message", (run: string) => process.send?.(runs.get(run)));
await serveParent((request, response, body) => {
  const run = request.url?.split("/")[1] ?? "";
  const { messages, stream, response_format } = JSON.parse(body) as ChatRequest;
  const { requests = 0, firstAt = Date.now() } = runs.get(run) ?? {};
  runs.set(run, {
    run,
    requests: requests + 1,
    firstAt,
    systemChars: messages[0]?.content.length ?? 0,
    lastMessageChars: messages.at(-1)?.content.length ?? 0,
    replyFormat: response_format,
    requestBytes: Buffer.byteLength(body),
  });
  const content = replyOf(run.split("-")[0] as Scenario, requests + 1);
  if (stream) streamReply(response, content, PIECE_CHARS);
  else sendReply(response, content);
});
