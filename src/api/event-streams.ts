/**
 * event-stream.ts -- an agent's committed events as server-sent events: what was, then what comes.
 *
 * Each reader pulls: a page of the log after the last event that it was sent, written as fast as it
 * takes it, and at the end of the log a wait for more. So there is no queue, a reader costs one page
 * of memory however far behind it is, and no agent ever waits for one. Ids are numbers of committed events and
 * nothing else has one: a reader that comes back with the last id misses nothing and gets nothing twice. Who asks for it
 * is also sent the reply that is arriving, when nothing else is to be sent: pieces without an id, which may be missed.
 */
import type { FastifyReply } from "fastify";
import { isGoaldError, toError } from "#core/errors.ts";
import { createTurns } from "#util/turns.ts";
import type { Control } from "./control.ts";
import type { ToJson } from "./json.ts";
import { createLiveReader } from "./live-reader.ts";

export interface StreamLimits {
  /** Readers at once; one more is told so. Fewer than connections: who only follows keeps nobody from steering. */
  readonly followers: number;
  /** A reader that takes nothing of what lies ready for so long is let go. */
  readonly slowReaderMs: number;
  /** So is one that the log has outrun by so many events while nothing was taken. */
  readonly behindEvents: number;
  /** Between two comments that keep a silent stream alive. */
  readonly aliveMs: number;
  /** How long the last words to a reader may take; then it is cut off. */
  readonly flushMs: number;
  /** Read from the log at a time. */
  readonly pageEvents: number;
}

export interface StreamParts {
  readonly control: Pick<Control, "page" | "whenLonger" | "live">;
  readonly toJson: ToJson;
  readonly redact: (text: string) => string;
  readonly onProblem: (problem: string) => void;
  readonly limits: StreamLimits;
}

type Response = FastifyReply["raw"];

export interface EventStreams {
  readonly count: number;
  readonly isFull: boolean;
  /** `agent` is an id, never a name: a name may pass on to a newer agent. */
  open(agent: string, from: { readonly after: number; readonly live: boolean }, response: Response): void;
  /** What is committed is still sent, then `bye`; who does not take it in `flushMs` is cut off. */
  close(reason: string): Promise<void>;
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  connection: "close",
};
const REMOVED = "The agent was removed.";

export function createEventStreams(parts: StreamParts): EventStreams {
  const streams = new Set<Stream>();
  let farewell: string | undefined;

  return {
    get count() {
      return streams.size;
    },
    get isFull() {
      return streams.size >= parts.limits.followers;
    },
    open: (agent, from, response) => {
      if (response.destroyed) return;
      const stream = openStream(agent, from, response, parts);
      streams.add(stream);
      void stream.closed.then(() => streams.delete(stream));
      if (farewell !== undefined) stream.sayBye(farewell);
    },
    close: async (reason) => {
      farewell = reason;
      for (const stream of streams) stream.sayBye(reason);
      const late = setTimeout(() => {
        for (const stream of streams) stream.cutOff();
      }, parts.limits.flushMs);
      await Promise.all([...streams].map(({ closed }) => closed));
      clearTimeout(late);
    },
  };
}

interface Stream {
  readonly closed: Promise<void>;
  sayBye(reason: string): void;
  cutOff(): void;
}

function openStream(
  agent: string,
  from: Parameters<EventStreams["open"]>[1],
  response: Response,
  parts: StreamParts,
): Stream {
  const { control, toJson, limits } = parts;
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const waiting = new AbortController();
  const turn = createTurns();
  let after = from.after;
  let farewell: string | undefined;
  let hasEnded = false;
  const live = from.live ? openLive(agent, response, parts) : undefined;

  response.once("close", () => {
    hasEnded = true;
    live?.close();
    clearInterval(alive);
    waiting.abort();
    close();
  });
  response.on("error", () => undefined);
  response.writeHead(200, HEADERS).flushHeaders();
  const alive = setInterval(() => {
    if (!hasEnded && !response.writableNeedDrain) response.write(": alive\n\n");
  }, limits.aliveMs).unref();

  async function follow(): Promise<void> {
    let isSecondLook = false;
    while (!hasEnded) {
      const page = await control.page(agent, after, limits.pageEvents);
      // An agent with the same id, made after this one was removed.
      if (page.head < after) return end("bye", { reason: REMOVED });
      if (page.head > after && page.events[0]?.seq !== after + 1) {
        if (isSecondLook) throw new Error(`it has no event ${after + 1}, and its last is ${page.head}.`);
        // It may just have been removed; then there is nobody at the second look.
        isSecondLook = true;
        continue;
      }
      isSecondLook = false;
      for (const event of page.events) {
        if (hasEnded) return;
        const isTaken = response.write(`id: ${event.seq}\ndata: ${toJson(event)}\n\n`);
        after = event.seq;
        if (!isTaken && !(await isTakenInTime(page.head))) return;
        await turn();
      }
      if (page.events.length > 0) continue;
      if (farewell !== undefined) return end("bye", { reason: farewell });
      live?.setCaughtUp(true);
      await control.whenLonger(agent, after, waiting.signal);
      live?.setCaughtUp(false);
    }
  }

  /** Waits until the reader has taken what was written; lets it go, and resolves to false, when it does not. */
  async function isTakenInTime(head: number): Promise<boolean> {
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<string>();
    const onDrain = (): void => resolve("");
    const slow = setTimeout(() => resolve(`Nothing was read for ${limits.slowReaderMs} ms.`), limits.slowReaderMs);
    response.once("drain", onDrain);
    void hasOutrun(head, over.signal).then((is) => {
      if (is) resolve(`More than ${limits.behindEvents} events came while nothing was read.`);
    });
    const reason = await Promise.race([promise, closed]);
    clearTimeout(slow);
    response.off("drain", onDrain);
    over.abort();
    if (reason) end("dropped", { reason, after });
    return !hasEnded;
  }

  async function hasOutrun(head: number, signal: AbortSignal): Promise<boolean> {
    try {
      await control.whenLonger(agent, head + limits.behindEvents, signal);
      return !signal.aborted && (await control.page(agent, after, 1)).head > head + limits.behindEvents;
    } catch {
      // Whatever is wrong shows when the next page is read.
      return false;
    }
  }

  function end(event: "bye" | "dropped", data: unknown): void {
    if (hasEnded) return;
    hasEnded = true;
    live?.close();
    response.end(`event: ${event}\ndata: ${toJson(data)}\n\n`);
    const late = setTimeout(cutOff, limits.flushMs);
    response.once("close", () => clearTimeout(late));
  }

  function cutOff(): void {
    response.destroy();
  }

  void follow().catch((thrown: unknown) => {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) return end("bye", { reason: REMOVED });
    const reason = `The events of ${agent} could not be read: ${toError(thrown).message}`;
    parts.onProblem(reason);
    end("dropped", { reason, after });
  });

  return {
    closed,
    cutOff,
    sayBye: (reason) => {
      farewell = reason;
      waiting.abort();
    },
  };
}

interface Live {
  /** Only then is anything sent. */
  setCaughtUp(isCaughtUp: boolean): void;
  close(): void;
}

const LIVE_EVERY_MS = 50;

/** What arrives of replies, for a reader that has nothing else to read and takes what it is sent. */
function openLive(agent: string, response: Response, { control, toJson, redact }: StreamParts): Live {
  const nextPiece = createLiveReader(redact);
  let isCaughtUp = false;
  let timer: NodeJS.Timeout | undefined;

  function send(): void {
    timer = undefined;
    const reply = isCaughtUp && !response.writableNeedDrain ? control.live.of(agent) : undefined;
    const piece = reply && nextPiece(reply);
    if (piece) response.write(`event: delta\ndata: ${toJson(piece)}\n\n`);
  }

  const hear = (): void => {
    timer ??= setTimeout(send, LIVE_EVERY_MS);
  };
  const leave = control.live.listen(agent, hear);
  return {
    setCaughtUp: (is) => {
      isCaughtUp = is;
      if (is) hear();
    },
    close: () => {
      leave();
      clearTimeout(timer);
      isCaughtUp = false;
    },
  };
}
