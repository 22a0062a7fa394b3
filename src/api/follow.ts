/**
 * follow.ts -- follows an agent's events as they are committed, and reconnects whenever the connection is lost.
 *
 * Yields each event once and in order: a new connection starts after the last number. The host may be restarted meanwhile.
 * Throws GOALD_DAEMON when no host replies for `patienceMs`, and the error of a run that has failed in front.
 */
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { systemClock } from "#util/clock.ts";
import { createEventStreamParser, type ServerSentEvent } from "#util/event-stream.ts";
import { errorIn, openStream } from "./socket.ts";

export type Followed =
  | { readonly kind: "event"; readonly event: RecordedEvent }
  /** A piece of the reply that is arriving, after `from` characters. The reply may restart, and may never be completed. */
  | { readonly kind: "delta"; readonly seq: number; readonly from: number; readonly text: string }
  /** The client was too slow (`dropped`), or the host shuts down (`bye`). A new connection follows. */
  | { readonly kind: "dropped" | "bye"; readonly reason: string; readonly after: number };

export interface FollowOptions {
  /** Number of the last known event. */
  readonly after: number;
  /** True to also yield pieces of replies. */
  readonly live?: boolean;
  /** True for the terminal that holds the agent in front (`Control.addFollower`). */
  readonly hold?: boolean;
  /** Ends without an error when aborted. */
  readonly signal?: AbortSignal;
  /** Maximum wait for a host that replies. */
  readonly patienceMs?: number;
  /** Time of silence after which a connection counts as lost. */
  readonly idleMs?: number;
}

const PATIENCE_MS = 15_000;
/** The host sends a comment each 15 s. */
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
        path: `${path}?after=${after}${options.live ? "&live=true" : ""}${options.hold ? "&hold=true" : ""}`,
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
          // Restarts the wait, so that the consumer's time does not count.
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

/** Ends with the connection, or after `dropped` or `bye`. */
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

/** Returns undefined for a known event, and for unknown kinds of a newer host. */
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
    case "failed":
      throw errorIn(parse(data)) ?? unreadable(data);
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

/** True for an error of the connection, not of its content. */
const isLost = (thrown: unknown): boolean => !isGoaldError(thrown) || thrown.code === "GOALD_DAEMON";

const lostFor = (patienceMs: number, cause: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", `No daemon has replied for ${patienceMs / 1000} s: ${toError(cause).message}.`, {
    hint: "See whether it is running: goald status",
    cause,
  });
