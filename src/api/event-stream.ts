/**
 * event-stream.ts -- sends an agent's committed events to one client as server-sent events.
 *
 * The stream pulls: it writes a page of the log as fast as the client reads, then waits for more. So there is no queue:
 * each client costs one page of memory, and no agent waits for a client. Each committed event has its number as its id.
 * A client that reconnects with its last id gets every event once.
 */
import type { FastifyReply } from "fastify";
import { isGoaldError, toError } from "#core/errors.ts";
import { createTurns } from "#util/turns.ts";
import type { Control } from "./control.ts";
import type { ToJson } from "./json.ts";
import { type LiveSender, openLiveSender } from "./live-sender.ts";
import type { EventPage } from "./schemas.ts";

export interface StreamLimits {
  /** Maximum clients at once. Fewer than connections, so that followers cannot block control requests. */
  readonly followers: number;
  /** A client that reads nothing for this time is dropped. */
  readonly slowReaderMs: number;
  /** A client that reads nothing and falls this many events behind is dropped. */
  readonly behindEvents: number;
  /** Time between two comments that keep a silent stream alive. */
  readonly aliveMs: number;
  /** Maximum time to deliver the last event of a stream before the connection is cut. */
  readonly flushMs: number;
  /** Events read from the log at a time. */
  readonly pageEvents: number;
}

export interface StreamParts {
  readonly control: Pick<Control, "page" | "whenLonger" | "live" | "addFollower">;
  readonly toJson: ToJson;
  readonly redact: (text: string) => string;
  readonly onProblem: (problem: string) => void;
  readonly limits: StreamLimits;
}

export type Response = FastifyReply["raw"];

export interface StreamStart {
  readonly after: number;
  /** True to also send pieces of the reply that is arriving. */
  readonly live: boolean;
  /** True for the terminal that holds the agent in front. */
  readonly hold: boolean;
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  connection: "close",
};
const REMOVED = "The agent was removed.";

export class EventStream {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly #agent: string;
  readonly #response: Response;
  readonly #parts: StreamParts;
  readonly #live: LiveSender | undefined;
  readonly #waiting = new AbortController();
  readonly #turn = createTurns();
  #after: number;
  #farewell: string | undefined;
  #hasEnded = false;

  /** `agent`: an id, because a newer agent may take the name. */
  constructor(agent: string, { after, live }: StreamStart, response: Response, parts: StreamParts) {
    this.#agent = agent;
    this.#after = after;
    this.#response = response;
    this.#parts = parts;
    this.#live = live ? openLiveSender(agent, response, parts) : undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    response.on("error", () => undefined);
    response.writeHead(200, HEADERS).flushHeaders();
    const alive = setInterval(() => this.#sendComment(), parts.limits.aliveMs).unref();
    response.once("close", () => {
      this.#hasEnded = true;
      this.#live?.close();
      clearInterval(alive);
      this.#waiting.abort();
      resolve();
    });
    void this.#follow().catch((thrown: unknown) => this.#endWith(thrown));
  }

  /** Sends the committed events, then `bye`. */
  sayBye(reason: string): void {
    this.#farewell = reason;
    this.#waiting.abort();
  }

  /** The run of the agent has failed. */
  fail(error: Error): void {
    const { code, message, hint } = isGoaldError(error)
      ? error
      : { code: "GOALD_INTERNAL", message: error.message, hint: "" };
    this.#end("failed", { code, message, hint });
  }

  cutOff(): void {
    this.#response.destroy();
  }

  #sendComment(): void {
    if (!this.#hasEnded && !this.#response.writableNeedDrain) this.#response.write(": alive\n\n");
  }

  async #follow(): Promise<void> {
    const { control, limits } = this.#parts;
    let isSecondRead = false;
    while (!this.#hasEnded) {
      const page = await control.page(this.#agent, this.#after, limits.pageEvents);
      // The log is shorter than before, so it belongs to another agent with this id.
      if (page.head < this.#after) return this.#end("bye", { reason: REMOVED });
      if (page.head > this.#after && page.events[0]?.seq !== this.#after + 1) {
        if (isSecondRead) throw new Error(`event ${this.#after + 1} is missing, and the last one is ${page.head}.`);
        // The agent may just have been removed: then the second read throws GOALD_NOT_FOUND.
        isSecondRead = true;
        continue;
      }
      isSecondRead = false;
      if (!(await this.#writePage(page))) return;
      if (page.events.length > 0) continue;
      if (this.#farewell !== undefined) return this.#end("bye", { reason: this.#farewell });
      this.#live?.setCaughtUp(true);
      await control.whenLonger(this.#agent, this.#after, this.#waiting.signal);
      this.#live?.setCaughtUp(false);
    }
  }

  /** Resolves to false when the stream has ended. */
  async #writePage({ events, head }: EventPage): Promise<boolean> {
    for (const event of events) {
      if (this.#hasEnded) return false;
      const isTaken = this.#response.write(`id: ${event.seq}\ndata: ${this.#parts.toJson(event)}\n\n`);
      this.#after = event.seq;
      if (!isTaken && !(await this.#waitForDrain(head))) return false;
      await this.#turn();
    }
    return true;
  }

  /** Waits until the client has read the written data. Drops a client that is too slow, and resolves to false. */
  async #waitForDrain(head: number): Promise<boolean> {
    const { slowReaderMs, behindEvents } = this.#parts.limits;
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<string>();
    const onDrain = (): void => resolve("");
    const slow = setTimeout(() => resolve(`Nothing was read for ${slowReaderMs} ms.`), slowReaderMs);
    this.#response.once("drain", onDrain);
    void this.#isOutrun(head, over.signal).then((is) => {
      if (is) resolve(`More than ${behindEvents} events came while nothing was read.`);
    });
    const reason = await Promise.race([promise, this.closed]);
    clearTimeout(slow);
    this.#response.off("drain", onDrain);
    over.abort();
    if (reason) this.#end("dropped", { reason, after: this.#after });
    return !this.#hasEnded;
  }

  async #isOutrun(head: number, signal: AbortSignal): Promise<boolean> {
    const { control, limits } = this.#parts;
    const limit = head + limits.behindEvents;
    try {
      await control.whenLonger(this.#agent, limit, signal);
      return !signal.aborted && (await control.page(this.#agent, this.#after, 1)).head > limit;
    } catch {
      // The next page will throw the same.
      return false;
    }
  }

  #end(event: "bye" | "dropped" | "failed", data: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#live?.close();
    this.#response.end(`event: ${event}\ndata: ${this.#parts.toJson(data)}\n\n`);
    const late = setTimeout(() => this.cutOff(), this.#parts.limits.flushMs);
    this.#response.once("close", () => clearTimeout(late));
  }

  #endWith(thrown: unknown): void {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) {
      this.#end("bye", { reason: REMOVED });
      return;
    }
    const reason = `The events of ${this.#agent} could not be read: ${toError(thrown).message}`;
    this.#parts.onProblem(reason);
    this.#end("dropped", { reason, after: this.#after });
  }
}
