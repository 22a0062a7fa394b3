/**
 * event-stream.ts -- sends clients server-sent events: an agent's committed events, or the views of all agents.
 *
 * The stream of an agent pulls: it writes a page of the log as fast as the client reads, then waits for more. So there is
 * no queue: each client costs one page of memory, and no agent waits for a client. Each committed event has its number as
 * its id. A client that reconnects with its last id gets every event once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { cutToWholeWords } from "#util/outside-text.ts";
import type { Static } from "#util/schema.ts";
import { createTurns } from "#util/turns.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { LiveReply } from "./control.ts";
import { DEFAULT_PAGE, type Given } from "./route.ts";
import type { EventPage, EventsQuery } from "./schemas.ts";
import { type Response, ServerSentEvents, type StreamParts, type ToJson } from "./server-sent-events.ts";

// Counts all clients that follow events, and sends them `bye` when the host shuts down.

export type EventStreams = ReturnType<typeof createEventStreams>;

export function createEventStreams(parts: StreamParts) {
  const streams = new Set<ServerSentEvents>();
  let farewell: string | undefined;
  let endedAt = 0;

  function keep(stream: ServerSentEvents, leave: () => void): void {
    streams.add(stream);
    void stream.closed.then(() => {
      streams.delete(stream);
      endedAt = performance.now();
      leave();
    });
    if (farewell !== undefined) stream.sayBye(farewell);
  }

  /** Throws GOALD_DAEMON when too many clients follow. */
  function takeOver(reply: FastifyReply): Response {
    if (streams.size < parts.limits.followers) return reply.hijack().raw;
    throw new GoaldError("GOALD_DAEMON", `Too many clients follow agents: ${streams.size}.`, {
      hint: "Close some of them and retry.",
    });
  }

  return {
    get count() {
      return streams.size;
    },
    /** When the last of them ended, as `performance.now()`; 0 if none has. */
    get endedAt() {
      return endedAt;
    },
    /** `agent`: an id, because a newer agent may take the name. Throws as `takeOver`. */
    open: (agent: string, start: StreamStart, reply: FastifyReply): void => {
      const response = takeOver(reply);
      if (response.destroyed) return;
      const stream = new EventStream(agent, start, response, parts);
      keep(
        stream,
        parts.control.addFollower(agent, start.hold, (error) => stream.fail(error)),
      );
    },
    /** Follows all agents of the host. Throws as `takeOver`. */
    openChanges: (reply: FastifyReply): void => {
      const response = takeOver(reply);
      if (!response.destroyed) keep(new ChangesStream(response, parts), () => {});
    },
    /** Sends committed events, then `bye`. Cuts off clients that do not read it within `flushMs`. */
    close: async (reason: string): Promise<void> => {
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

interface StreamStart {
  readonly after: number;
  /** True to also send pieces of the reply that is arriving. */
  readonly live: boolean;
  /** True for the terminal that holds the agent in front. */
  readonly hold: boolean;
}

const REMOVED = "The agent was removed.";

class EventStream extends ServerSentEvents {
  readonly #agent: string;
  readonly #live: ReturnType<typeof openLiveSender> | undefined;
  readonly #turn = createTurns();
  #after: number;

  /** `agent`: an id, because a newer agent may take the name. */
  constructor(agent: string, { after, live }: StreamStart, response: Response, parts: StreamParts) {
    super(response, parts);
    this.#agent = agent;
    this.#after = after;
    this.#live = live ? openLiveSender(agent, response, parts) : undefined;
    void this.#follow().catch((thrown: unknown) => this.#endWith(thrown));
  }

  protected override onEnd(): void {
    this.#live?.close();
  }

  async #follow(): Promise<void> {
    const { control, limits } = this.parts;
    let isSecondRead = false;
    while (!this.hasEnded) {
      const page = await control.page(this.#agent, this.#after, limits.pageEvents);
      // The log is shorter than before, so it belongs to another agent with this id.
      if (page.head < this.#after) return this.end("bye", { reason: REMOVED });
      if (page.head > this.#after && page.events[0]?.seq !== this.#after + 1) {
        if (isSecondRead) throw new Error(`event ${this.#after + 1} is missing, and the last one is ${page.head}.`);
        // The agent may just have been removed: then the second read throws GOALD_NOT_FOUND.
        isSecondRead = true;
        continue;
      }
      isSecondRead = false;
      if (!(await this.#writePage(page))) return;
      if (page.events.length > 0) continue;
      if (this.farewell !== undefined) return this.end("bye", { reason: this.farewell });
      this.#live?.setCaughtUp(true);
      await control.whenLonger(this.#agent, this.#after, this.waiting.signal);
      this.#live?.setCaughtUp(false);
    }
  }

  /** Resolves to false when the stream has ended. */
  async #writePage({ events }: EventPage): Promise<boolean> {
    for (const event of events) {
      if (this.hasEnded) return false;
      const isTaken = this.response.write(`id: ${event.seq}\ndata: ${this.parts.toJson(event)}\n\n`);
      this.#after = event.seq;
      if (!isTaken && !(await this.#waitForDrain())) return false;
      await this.#turn();
    }
    return true;
  }

  /** Waits until the client has read the written data. Drops a client that is too slow, and resolves to false. */
  async #waitForDrain(): Promise<boolean> {
    const { slowReaderMs } = this.parts.limits;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const onDrain = (): void => resolve(false);
    const slow = setTimeout(() => resolve(true), slowReaderMs);
    this.response.once("drain", onDrain);
    const isTooSlow = await Promise.race([promise, this.closed]);
    clearTimeout(slow);
    this.response.off("drain", onDrain);
    if (isTooSlow) this.end("dropped", { reason: `Nothing was read for ${slowReaderMs} ms.`, after: this.#after });
    return !this.hasEnded;
  }

  #endWith(thrown: unknown): void {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) {
      this.end("bye", { reason: REMOVED });
      return;
    }
    const reason = `The events of ${this.#agent} could not be read: ${toError(thrown).message}`;
    this.parts.onProblem(reason);
    this.end("dropped", { reason, after: this.#after });
  }
}

// Sends one client the views of all agents of the host, and then those that have changed.
//
// At most four messages a second, and none while the client has not read the one before. So a client costs the views that
// it has seen, and no agent waits for it. There are no numbers: a client that connects again gets all views.

const EVERY_MS = 250;
/** A client sees a stalled agent and a failure of the host, which are no events, after at most this time. */
const LOOK_MS = 5_000;

class ChangesStream extends ServerSentEvents {
  /** Each view that was sent with its JSON, by the id of the agent. The host keeps the view of an agent at rest. */
  #sent: ReadonlyMap<string, { readonly view: AgentView; readonly json: string }> = new Map();

  constructor(response: Response, parts: StreamParts) {
    super(response, parts);
    void this.#follow().catch((thrown: unknown) => {
      const reason = `The agents could not be read: ${toError(thrown).message}`;
      parts.onProblem(reason);
      this.end("dropped", { reason });
    });
  }

  async #follow(): Promise<void> {
    const { signal } = this.waiting;
    for (let isFirst = true; !this.hasEnded; isFirst = false) {
      // Listens before it looks, so that no change is missed.
      const changed = this.parts.control.whenChanged(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
      await this.#look(isFirst);
      if (this.farewell !== undefined) return this.end("bye", { reason: this.farewell });
      await Promise.all([changed, sleep(EVERY_MS, undefined, { signal }).catch(() => undefined)]);
    }
  }

  async #look(isFirst: boolean): Promise<void> {
    if (this.response.writableNeedDrain) return;
    const { control, toJson } = this.parts;
    const before = this.#sent;
    const now = new Map(
      (await control.agents()).map((view) => {
        const sent = before.get(view.id);
        return [view.id, sent?.view === view ? sent : { view, json: toJson(view) }];
      }),
    );
    const changed = [...now].flatMap(([id, { json }]) => (before.get(id)?.json === json ? [] : [json]));
    const removed = [...before.keys()].filter((id) => !now.has(id));
    this.#sent = now;
    if (this.hasEnded || (!isFirst && changed.length === 0 && removed.length === 0)) return;
    this.response.write(`data: {"agents":[${changed.join(",")}],"removed":${toJson(removed)}}\n\n`);
  }
}

// GET /v1/agents/:agent/events: replies with a page of the log as JSON, or starts a stream.

export type EventsRequest = Given<{ readonly agent: string }, Static<typeof EventsQuery>>;

/** Resolves to the JSON of a page, or to undefined after it has started a stream. */
export async function answerWithEvents(
  { params, query }: EventsRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  { control, streams, toJson }: StreamParts & { readonly streams: EventStreams },
): Promise<string | undefined> {
  const after = lastEventId(request) ?? query.after ?? 0;
  // Resolves the name once, because a newer agent may take it while the stream is open.
  const { id } = await control.agent(params.agent);
  if (!wantsStream(request)) return pageToJson(await control.page(id, after, query.limit ?? DEFAULT_PAGE), toJson);
  const { head } = await control.page(id, after, 1);
  if (after > head)
    throw new GoaldError("GOALD_CONFLICT", `The log of ${id} ends with event ${head}; there is no event ${after}.`, {
      hint: "The agent may have been removed and created again. Start without Last-Event-ID and `after`.",
    });
  streams.open(id, { after, live: query.live ?? false, hold: query.hold ?? false }, reply);
  return undefined;
}

const wantsStream = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? "").split(",").some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/event-stream");

/** Sent by a reconnecting client; has precedence over `after`. */
function lastEventId({ headers }: FastifyRequest): number | undefined {
  const id = headers["last-event-id"];
  if (id === undefined) return undefined;
  if (typeof id === "string" && /^\d{1,15}$/.test(id)) return Number(id);
  throw new GoaldError("GOALD_USAGE", "Last-Event-ID must be the number of an event.", {
    hint: "Send the id of the last event that was received, or none.",
  });
}

/** Converts event by event, so that a page of long events does not block the agents. */
async function pageToJson({ events, head }: EventPage, toJson: ToJson): Promise<string> {
  const turn = createTurns();
  const texts: string[] = [];
  for (const event of events) {
    texts.push(toJson(event));
    await turn();
  }
  return `{"events":[${texts.join(",")}],"head":${head}}`;
}

// Sends a following client the reply that is arriving, as pieces without an id, and the last line that a cell has printed.
//
// Sends at most twenty times a second, only while the client is caught up and reading.

const LIVE_EVERY_MS = 50;

function openLiveSender(
  agent: string,
  response: Response,
  { control, toJson, redact }: Pick<StreamParts, "control" | "toJson" | "redact">,
) {
  const nextPiece = createLiveReader(redact);
  let shownLine: string | undefined;
  let isCaughtUp = false;
  let timer: NodeJS.Timeout | undefined;

  function send(): void {
    timer = undefined;
    const reply = isCaughtUp && !response.writableNeedDrain ? control.live.of(agent) : undefined;
    const piece = reply && nextPiece(reply);
    if (piece) response.write(`event: delta\ndata: ${toJson(piece)}\n\n`);
    if (!reply?.printed || reply.printed === shownLine) return;
    shownLine = reply.printed;
    response.write(`event: printed\ndata: ${toJson({ line: redact(shownLine) })}\n\n`);
  }

  const sendSoon = (): void => {
    timer ??= setTimeout(send, LIVE_EVERY_MS);
  };
  const stopListening = control.live.listen(agent, sendSoon);
  return {
    /** Pieces are sent only after `setCaughtUp(true)`. */
    setCaughtUp: (is: boolean): void => {
      isCaughtUp = is;
      if (is) sendSoon();
    },
    close: (): void => {
      stopListening();
      clearTimeout(timer);
      isCaughtUp = false;
    },
  };
}

interface LivePiece {
  /** Number of the event that requested the reply. */
  readonly seq: number;
  /** Characters of the reply before this piece. */
  readonly from: number;
  readonly text: string;
}

const OPENS_JSON = /^\s*(?:```json\s*)?\{/;
const NOTHING = { seq: 0, sent: "", isLost: false };

/**
 * The returned function returns the next piece to send, or undefined.
 *
 * Pieces are whole words. Secrets are redacted from the text so far; when that changes text that was returned before, no
 * more of this reply is returned.
 */
export function createLiveReader(redact: (text: string) => string): (reply: LiveReply) => LivePiece | undefined {
  let shown = NOTHING;
  return ({ seq, text }) => {
    if (shown.seq !== seq) shown = { ...NOTHING, seq };
    if (shown.isLost) return undefined;
    const whole = redact(cutToWholeWords(text, OPENS_JSON.test(text)));
    if (!whole.startsWith(shown.sent)) {
      shown = { ...shown, isLost: true };
      return undefined;
    }
    const from = shown.sent.length;
    if (whole.length === from) return undefined;
    shown = { ...shown, sent: whole };
    return { seq, from, text: whole.slice(from) };
  };
}
