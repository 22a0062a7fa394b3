/**
 * event-stream.ts -- sends clients server-sent events: an agent's committed events, or the views of all agents. The
 * stream of an agent pulls: it writes a page of the log as fast as the client reads, then waits for more. So there is
 * no queue: each client costs one page of memory, and no agent waits for a client. Each committed event has its number
 * as its id. A client that reconnects with its last id gets every event once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { daemonError, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { cutToWholeWords } from "#util/outside-text.ts";
import type { Static } from "#util/schema.ts";
import { createTurns } from "#util/turns.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { LiveReply } from "./control.ts";
import { DEFAULT_PAGE, type Given } from "./route.ts";
import type { EventPage, EventsQuery } from "./schemas.ts";
import { ServerSentEvents, type StreamParts, type ToJson } from "./server-sent-events.ts";

export type EventStreams = ReturnType<typeof createEventStreams>;

export function createEventStreams(parts: StreamParts) {
  const streams = new Set<ServerSentEvents>();
  let farewell: string | undefined;
  let endedAt = 0;

  /** Undefined for a client that has gone. Throws GOALD_DAEMON when too many clients follow. */
  function openStream(reply: FastifyReply): ServerSentEvents | undefined {
    if (streams.size >= parts.limits.followers)
      throw daemonError(`Too many clients follow agents: ${streams.size}.`, "Close some of them and retry.");
    const response = reply.hijack().raw;
    if (response.destroyed) return undefined;
    const stream = new ServerSentEvents(response, parts);
    streams.add(stream);
    void stream.closed.then(() => {
      streams.delete(stream);
      endedAt = performance.now();
    });
    if (farewell !== undefined) stream.sayBye(farewell);
    return stream;
  }

  return {
    get count() {
      return streams.size;
    },
    /** When the last of them ended, as `performance.now()`; 0 if none has. */
    get endedAt() {
      return endedAt;
    },
    /** `agent`: an id, because a newer agent may take the name. Throws as `openStream`. */
    open: (agent: string, start: StreamStart, reply: FastifyReply): void => {
      const stream = openStream(reply);
      if (!stream) return;
      void followAgent(agent, start, stream, parts);
      void stream.closed.then(parts.control.addFollower(agent, start.hold, (error) => stream.fail(error)));
    },
    /** Follows all agents of the host. Throws as `openStream`. */
    openChanges: (reply: FastifyReply): void => {
      const stream = openStream(reply);
      if (stream) void followChanges(stream, parts);
    },
    /** Sends committed events, then `bye`. Cuts off clients that do not read it within `flushMs`. */
    close: async (reason: string): Promise<void> => {
      farewell = reason;
      for (const stream of streams) stream.sayBye(reason);
      const late = setTimeout(() => {
        for (const stream of streams) stream.response.destroy();
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

/** `agent`: an id, because a newer agent may take the name. Never rejects. */
async function followAgent(agent: string, start: StreamStart, stream: ServerSentEvents, parts: StreamParts) {
  const { control, limits, toJson, onProblem } = parts;
  const turn = createTurns();
  const live = start.live ? openLiveSender(agent, stream, parts) : undefined;
  let { after } = start;
  let isSecondRead = false;
  try {
    while (!stream.hasEnded) {
      const { events, head } = await control.page(agent, after, limits.pageEvents);
      // The log is shorter than before, so it belongs to another agent with this id.
      if (head < after) return stream.end("bye", { reason: REMOVED });
      if (head > after && events[0]?.seq !== after + 1) {
        if (isSecondRead) throw new Error(`event ${after + 1} is missing, and the last one is ${head}.`);
        // The agent may just have been removed: then the second read throws GOALD_NOT_FOUND.
        isSecondRead = true;
        continue;
      }
      isSecondRead = false;
      for (const event of events) {
        if (stream.hasEnded) return;
        const isTaken = stream.response.write(`id: ${event.seq}\ndata: ${toJson(event)}\n\n`);
        after = event.seq;
        if (!isTaken) await stream.waitForDrain(after);
        await turn();
      }
      if (events.length > 0) continue;
      if (stream.farewell !== undefined) return stream.end("bye", { reason: stream.farewell });
      live?.setCaughtUp(true);
      await control.whenLonger(agent, after, stream.waiting.signal);
      live?.setCaughtUp(false);
    }
  } catch (thrown) {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) return stream.end("bye", { reason: REMOVED });
    const reason = `The events of ${agent} could not be read: ${toError(thrown).message}`;
    onProblem(reason);
    stream.end("dropped", { reason, after });
  } finally {
    live?.close();
  }
}

const EVERY_MS = 250;
/** A client sees a stalled agent and a failure of the host, which are no events, after at most this time. */
const LOOK_MS = 5_000;

/**
 * Sends one client the views of all agents of the host, and then those that have changed: at most four messages a
 * second, and none while the client has not read the one before. So a client costs the views that it has seen, and no
 * agent waits for it. There are no numbers: a client that connects again gets all views. Never rejects.
 */
async function followChanges(stream: ServerSentEvents, { control, toJson, onProblem }: StreamParts): Promise<void> {
  const { response } = stream;
  const { signal } = stream.waiting;
  /** Each view that was sent with its JSON, by the id of the agent. The host keeps the view of an agent at rest. */
  let sent: ReadonlyMap<string, { readonly view: AgentView; readonly json: string }> = new Map();

  async function look(isFirst: boolean): Promise<void> {
    if (response.writableNeedDrain) await stream.waitForDrain();
    const before = sent;
    const now = new Map(
      (await control.agents()).map((view) => {
        const known = before.get(view.id);
        return [view.id, known?.view === view ? known : { view, json: toJson(view) }];
      }),
    );
    const changed = [...now].flatMap(([id, { json }]) => (before.get(id)?.json === json ? [] : [json]));
    const removed = [...before.keys()].filter((id) => !now.has(id));
    sent = now;
    if (stream.hasEnded || (!isFirst && changed.length === 0 && removed.length === 0)) return;
    response.write(`data: {"agents":[${changed.join(",")}],"removed":${toJson(removed)}}\n\n`);
  }

  try {
    for (let isFirst = true; !stream.hasEnded; isFirst = false) {
      // Listens before it looks, so that no change is missed.
      const changed = control.whenChanged(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
      await look(isFirst);
      if (stream.farewell !== undefined) return stream.end("bye", { reason: stream.farewell });
      await Promise.all([changed, sleep(EVERY_MS, undefined, { signal }).catch(() => undefined)]);
    }
  } catch (thrown) {
    const reason = `The agents could not be read: ${toError(thrown).message}`;
    onProblem(reason);
    stream.end("dropped", { reason });
  }
}

/** Resolves to the JSON of a page, or to undefined after it has started a stream. */
export async function answerWithEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { control, streams, toJson }: StreamParts & { readonly streams: EventStreams },
): Promise<string | undefined> {
  const { params, query } = request as unknown as Given<{ readonly agent: string }, Static<typeof EventsQuery>>;
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

const LIVE_EVERY_MS = 50;

/**
 * Sends a following client the reply that is arriving, as pieces without an id, and the last line that a cell has
 * printed: at most twenty times a second, only while the client is caught up and reading.
 */
function openLiveSender(
  agent: string,
  stream: ServerSentEvents,
  { control, toJson, redact }: Pick<StreamParts, "control" | "toJson" | "redact">,
) {
  const nextPiece = createLiveReader(redact);
  let shownLine: string | undefined;
  let isCaughtUp = false;
  let timer: NodeJS.Timeout | undefined;

  function send(): void {
    timer = undefined;
    const { response, hasEnded } = stream;
    const reply = isCaughtUp && !hasEnded && !response.writableNeedDrain ? control.live.of(agent) : undefined;
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
    },
  };
}

export interface LivePiece {
  /** Number of the event that requested the reply. */
  readonly seq: number;
  /** Characters of the reply before this piece. */
  readonly from: number;
  readonly text: string;
}

const OPENS_JSON = /^\s*(?:```json\s*)?\{/;
const NOTHING = { seq: 0, sent: "", isLost: false };

/**
 * The returned function returns the next piece to send, or undefined. Pieces are whole words. Secrets are redacted from
 * the text so far; when that changes text that was returned before, no more of this reply is returned.
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
