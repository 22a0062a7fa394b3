/**
 * read-event-stream.ts -- parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * Chunks may end anywhere: inside a character, between CR and LF, inside a field name. Limits the size of one event.
 */
import { GoaldError } from "#core/errors.ts";

export interface ServerSentEvent {
  /** `message` when the stream names no event. */
  readonly event: string;
  readonly data: string;
  /** The id of this event, not of an earlier one. */
  readonly id: string | undefined;
}

export interface EventStreamParser {
  /** Returns the events that these bytes complete. Throws GOALD_HTTP_TOO_LARGE for an event above the limit. */
  push(bytes: Uint8Array): readonly ServerSentEvent[];
}

const MAX_EVENT_CHARS = 32 * 1024 * 1024;

export function createEventStreamParser(maxChars: number = MAX_EVENT_CHARS): EventStreamParser {
  const decoder = new TextDecoder();
  let line = "";
  let endedWithReturn = false;
  let event = "";
  let data: string[] = [];
  let id: string | undefined;
  let chars = 0;

  function push(bytes: Uint8Array): readonly ServerSentEvent[] {
    const complete: ServerSentEvent[] = [];
    let text = decoder.decode(bytes, { stream: true });
    if (text === "") return complete;
    if (endedWithReturn && text.startsWith("\n")) text = text.slice(1);
    endedWithReturn = text === "" ? false : text.endsWith("\r");
    let start = 0;
    for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) {
      takeLine(line + text.slice(start, index), complete);
      line = "";
      start = index + end.length;
    }
    line += text.slice(start);
    if (chars + line.length > maxChars) throw tooLarge(maxChars);
    return complete;
  }

  function takeLine(text: string, complete: ServerSentEvent[]): void {
    if (text === "") {
      if (data.length > 0) complete.push({ event: event || "message", data: data.join("\n"), id });
      event = "";
      data = [];
      id = undefined;
      chars = 0;
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    chars += text.length;
    if (chars > maxChars) throw tooLarge(maxChars);
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\u0000")) id = value;
  }

  return { push };
}

const tooLarge = (maxChars: number): GoaldError =>
  new GoaldError("GOALD_HTTP_TOO_LARGE", `The daemon sent an event of more than ${maxChars} characters.`);
