/** server-sent-events.ts -- one client's stream of server-sent events: its head, its comments and its end. */
import type { FastifyReply } from "fastify";
import type { Control } from "./control.ts";
import { bodyOf, refusalOf } from "./refusals.ts";

export type Response = FastifyReply["raw"];
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

export abstract class ServerSentEvents {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  protected readonly response: Response;
  protected readonly parts: StreamParts;
  /** Aborted by `sayBye` and when the connection is closed. */
  protected readonly waiting = new AbortController();
  protected farewell: string | undefined;
  protected hasEnded = false;

  constructor(response: Response, parts: StreamParts) {
    this.response = response;
    this.parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    response.on("error", () => undefined);
    response.writeHead(200, { ...response.getHeaders(), ...HEADERS }).flushHeaders();
    const alive = setInterval(() => this.#sendComment(), parts.limits.aliveMs).unref();
    response.once("close", () => {
      this.hasEnded = true;
      this.onEnd();
      clearInterval(alive);
      this.waiting.abort();
      resolve();
    });
  }

  /** Called once or twice when no more events can be sent. */
  protected onEnd(): void {}

  /** Sends what is committed, then `bye`. */
  sayBye(reason: string): void {
    this.farewell = reason;
    this.waiting.abort();
  }

  /** The work that is followed has failed. */
  fail(error: Error): void {
    this.end("failed", bodyOf(refusalOf(error)).error);
  }

  cutOff(): void {
    this.response.destroy();
  }

  protected end(event: "bye" | "dropped" | "failed", data: unknown): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.onEnd();
    this.response.end(`event: ${event}\ndata: ${this.parts.toJson(data)}\n\n`);
    const late = setTimeout(() => this.cutOff(), this.parts.limits.flushMs);
    this.response.once("close", () => clearTimeout(late));
  }

  #sendComment(): void {
    if (!this.hasEnded && !this.response.writableNeedDrain) this.response.write(": alive\n\n");
  }
}
