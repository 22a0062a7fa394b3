/**
 * event-stream.ts -- reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Accepts
 * bytes or text, cut at any place. Takes linear time. Can limit the size of an event.
 */
import { createParser } from "eventsource-parser";
import { GoaldError } from "#core/errors.ts";

export interface ServerSentEvent {
  /** `message` when the stream does not name it. */
  readonly event: string;
  readonly data: string;
  /** The id that this event itself carries. An earlier event's id is not repeated. */
  readonly id: string | undefined;
}

export function createEventStreamParser(maxEventChars = Number.POSITIVE_INFINITY) {
  const decoder = new TextDecoder();
  let complete: ServerSentEvent[] = [];
  const tooLarge = (): GoaldError =>
    new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected an event of at most ${maxEventChars} characters; more came.`);
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event = "message", data, id }) => {
      // The parser does not measure an event that one piece completes.
      if (data.length > maxEventChars) throw tooLarge();
      complete.push({ event, data, id });
    },
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") throw tooLarge();
    },
  });
  /** Returns the events that this piece completes. Throws GOALD_HTTP_TOO_LARGE for an event over the limit. */
  function push(piece: Uint8Array | string): readonly ServerSentEvent[] {
    parser.feed(typeof piece === "string" ? piece : decoder.decode(piece, { stream: true }));
    const events = complete;
    complete = [];
    return events;
  }
  /** Returns the last event if the stream ended without the blank line after it. */
  const end = (): readonly ServerSentEvent[] => push("\n\n");
  return { push, end };
}

/** Returns whether a body begins like an event stream; undefined if `head` is too short to tell. */
export function isEventStream(head: string): boolean | undefined {
  const begin = head.replace(/^[\s\ufeff]+/, "").slice(0, 6);
  if (/^(?::|data:|event:|id:|retry:)/.test(begin)) return true;
  const canBecomeField = ["data:", "event:", "id:", "retry:"].some((field) => field.startsWith(begin));
  return canBecomeField ? undefined : false;
}
