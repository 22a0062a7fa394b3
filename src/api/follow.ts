/**
 * follow.ts -- an agent's events as they are committed, through every loss of the connection.
 *
 * Each event comes once and in its order: a new connection begins behind the last number that was seen, and
 * what was seen already is passed over. The host may be killed and started again meanwhile; only
 * when none answers for as long as the follower is patient does it end with GOALD_DAEMON.
 */
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { systemClock } from "#util/clock.ts";
import { createEventStreamParser, type ServerSentEvent } from "#util/event-stream.ts";
import { openStream } from "./socket.ts";

export type Followed =
  | { readonly kind: "event"; readonly event: RecordedEvent }
  /** More of the reply that is arriving: `from` characters of it came before. It may begin anew, and may never come to its end. */
  | { readonly kind: "delta"; readonly seq: number; readonly from: number; readonly text: string }
  /** Let go as too slow (`dropped`), or the host goes down (`bye`). The follower connects again, unless it is left. */
  | { readonly kind: "dropped" | "bye"; readonly reason: string; readonly after: number };

export interface FollowOptions {
  /** Number of the last event that is known. */
  readonly after: number;
  /** Pieces of replies, too. */
  readonly live?: boolean;
  /** Ends it quietly. */
  readonly signal?: AbortSignal;
  /** How long to look for a host that answers. */
  readonly patienceMs?: number;
  /** How long a connection may be silent before it counts as lost. */
  readonly idleMs?: number;
}

const PATIENCE_MS = 15_000;
/** The host gives a sign of life each 15 s. */
const IDLE_MS = 45_000;
const MAX_EVENT_CHARS = 32 * 1024 * 1024;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export async function* followAgent(socket: string, path: string, options: FollowOptions): AsyncGenerator<Followed> {
  const { signal, patienceMs = PATIENCE_MS, idleMs = IDLE_MS } = options;
  let { after } = options;
  let lastAnswerAt = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal?.aborted) {
    try {
      const leftMs = Math.max(1, lastAnswerAt + patienceMs - performance.now());
      const stream = await openStream(socket, {
        method: "GET",
        path: `${path}?after=${after}${options.live ? "&live=true" : ""}`,
        lastEventId: after,
        answerMs: leftMs,
        idleMs,
        ...(signal ? { signal } : {}),
      });
      lastAnswerAt = performance.now();
      try {
        for await (const followed of readStream(stream.chunks, after)) {
          if (followed.kind === "event") after = followed.event.seq;
          pauseMs = FIRST_PAUSE_MS;
          yield followed;
          // However long the reader took, the host was there when it sent this.
          lastAnswerAt = performance.now();
        }
      } finally {
        stream.close();
      }
    } catch (thrown) {
      if (signal?.aborted) return;
      if (!isLost(thrown)) throw thrown;
      if (performance.now() - lastAnswerAt >= patienceMs)
        throw isGoaldError(thrown) ? thrown : lostFor(patienceMs, thrown);
    }
    await systemClock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Ends with the connection, or with the host's last word. */
async function* readStream(chunks: AsyncIterable<Uint8Array>, known: number): AsyncGenerator<Followed> {
  const parser = createEventStreamParser(MAX_EVENT_CHARS);
  let after = known;
  for await (const chunk of chunks)
    for (const sent of parser.push(chunk)) {
      const followed = toFollowed(sent, after);
      if (followed === undefined) continue;
      if (followed.kind === "event") after = followed.event.seq;
      yield followed;
      if (followed.kind === "dropped" || followed.kind === "bye") return;
    }
}

/** undefined for what was seen already, and for kinds of a newer host. */
function toFollowed({ event, data }: ServerSentEvent, after: number): Followed | undefined {
  switch (event) {
    case "message": {
      const recorded = parse(data) as RecordedEvent;
      if (!Number.isInteger(recorded.seq)) throw unreadable(data);
      if (recorded.seq <= after) return undefined;
      if (recorded.seq === after + 1) return { kind: "event", event: recorded };
      throw new GoaldError(
        "GOALD_INTERNAL",
        `Expected event ${after + 1} of the agent, the daemon sent event ${recorded.seq}.`,
      );
    }
    case "delta": {
      const { seq, from, text } = parse(data);
      return typeof seq === "number" && typeof from === "number" && typeof text === "string"
        ? { kind: "delta", seq, from, text }
        : undefined;
    }
    case "dropped":
    case "bye": {
      const { reason } = parse(data);
      return { kind: event, reason: typeof reason === "string" ? reason : "", after };
    }
    default:
      return undefined;
  }
}

function parse(data: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw unreadable(data);
  }
  if (typeof value !== "object" || value === null) throw unreadable(data);
  return value as Readonly<Record<string, unknown>>;
}

const unreadable = (data: string): GoaldError =>
  new GoaldError(
    "GOALD_INTERNAL",
    `The daemon sent an event that cannot be read: ${JSON.stringify(data.slice(0, 80))}`,
  );

/** The connection, not what came over it. */
const isLost = (thrown: unknown): boolean => !isGoaldError(thrown) || thrown.code === "GOALD_DAEMON";

const lostFor = (patienceMs: number, cause: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", `No daemon has answered for ${patienceMs / 1000} s: ${toError(cause).message}.`, {
    hint: "See whether it runs: goald status",
    cause,
  });
