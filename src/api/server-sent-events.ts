/** server-sent-events.ts -- one client's stream of server-sent events: its head, its comments and its end. */
import type { FastifyReply } from "fastify";
import type { Control } from "./control.ts";
import { bodyOf, refusalOf } from "./refusals.ts";

/** Returns redacted JSON that is safe to print on a terminal. */
export type ToJson = (value: unknown) => string;

export interface StreamLimits {
  /** Maximum clients at once. Fewer than connections, so that followers cannot block control requests. */
  readonly followers: number;
  /** A client that reads nothing for this time is dropped. */
  readonly slowReaderMs: number;
  /** Time between two comments that keep a silent stream alive. */
  readonly aliveMs: number;
  /** Maximum time to deliver the last event of a stream before the connection is cut. */
  readonly flushMs: number;
  /** Events read from the log at a time. */
  readonly pageEvents: number;
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  connection: "close",
};

export interface StreamParts {
  readonly control: Pick<Control, "agent" | "page" | "whenLonger" | "live" | "addFollower" | "agents" | "whenChanged">;
  readonly toJson: ToJson;
  readonly redact: (text: string) => string;
  readonly onProblem: (problem: string) => void;
  readonly limits: StreamLimits;
}

export class ServerSentEvents {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly response: FastifyReply["raw"];
  readonly #parts: Pick<StreamParts, "toJson" | "limits">;
  /** Aborted by `sayBye` and when the connection is closed. */
  readonly waiting = new AbortController();
  /** The reason of `bye`, which its follower sends when it has sent what is committed. */
  farewell: string | undefined;
  /** Nothing more may be written. */
  hasEnded = false;

  constructor(response: FastifyReply["raw"], parts: Pick<StreamParts, "toJson" | "limits">) {
    this.response = response;
    this.#parts = parts;
    this.closed = new Promise((resolve) => response.once("close", resolve));
    response.on("error", () => undefined);
    response.writeHead(200, { ...response.getHeaders(), ...HEADERS }).flushHeaders();
    const alive = setInterval(() => this.#sendComment(), parts.limits.aliveMs).unref();
    response.once("close", () => {
      this.hasEnded = true;
      clearInterval(alive);
      this.waiting.abort();
    });
  }

  /** Sends what is committed, then `bye`. */
  sayBye(reason: string): void {
    this.farewell = reason;
    this.waiting.abort();
  }

  fail(error: Error): void {
    this.end("failed", bodyOf(refusalOf(error)).error);
  }

  /** Waits until the client has read the written data. Drops a client that is too slow. `after`: the last event sent, if any. */
  async waitForDrain(after?: number): Promise<void> {
    if (this.hasEnded) return;
    const { slowReaderMs } = this.#parts.limits;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const goOn = (): void => resolve(false);
    const slow = setTimeout(() => resolve(true), slowReaderMs);
    // A race with `closed` would keep each wait.
    this.response.once("drain", goOn).once("close", goOn);
    const isTooSlow = await promise;
    clearTimeout(slow);
    this.response.off("drain", goOn).off("close", goOn);
    if (isTooSlow) this.end("dropped", { reason: `Nothing was read for ${slowReaderMs} ms.`, after });
  }

  end(event: "bye" | "dropped" | "failed", data: unknown): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.response.end(`event: ${event}\ndata: ${this.#parts.toJson(data)}\n\n`);
    const late = setTimeout(() => this.response.destroy(), this.#parts.limits.flushMs);
    this.response.once("close", () => clearTimeout(late));
  }

  #sendComment(): void {
    if (!this.hasEnded && !this.response.writableNeedDrain) this.response.write(": alive\n\n");
  }
}
