/**
 * read-answer.ts -- reads a response body as it arrives: an event stream or one document.
 *
 * The first characters decide which, not the content type: a server that does not stream answers with one document. A
 * stream that falls silent after the model has begun is aborted. Only data ends a silence, pings do not. A complete
 * reply stays complete, however the connection ends.
 */
import { GoaldError } from "#core/errors.ts";
import { createEventStreamParser, isEventStream, type ServerSentEvent } from "#util/event-stream.ts";
import { type ChatStream, createChatStream } from "./chat-stream.ts";

export interface ReadAnswerOptions {
  /** Maximum silence after the first data. */
  readonly idleMs: number;
  /** Maximum characters of a document. */
  readonly maxChars: number;
  onText?: ((piece: string) => void) | undefined;
}

/** Time to wait for the usage, and for the end of the stream, after a complete reply. */
const USAGE_GRACE_MS = 5_000;
const END_GRACE_MS = 1_000;

/** Returns a completion or the text of a document. Rejects with the body's errors, a SyntaxError or a TimeoutError. */
export async function readModelAnswer({ body }: Response, options: ReadAnswerOptions): Promise<unknown> {
  if (!body) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read();
    return done ? undefined : decoder.decode(value, { stream: true });
  };
  let head = "";
  try {
    for (let kind: boolean | undefined; kind === undefined; kind = isEventStream(head)) {
      const text = await next();
      if (text === undefined) return head;
      head += text;
    }
    if (isEventStream(head) === true) return await readEventStream(head, next, reader, options);
    return await readDocument(head, next, options.maxChars);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

type ReadNext = () => Promise<string | undefined>;

async function readDocument(head: string, next: ReadNext, maxChars: number): Promise<string> {
  const pieces = [head];
  let chars = head.length;
  for (let text = await next(); text !== undefined; text = await next()) {
    chars += text.length;
    if (chars > maxChars)
      throw new GoaldError("GOALD_HTTP_TOO_LARGE", `Expected at most ${maxChars} characters; more came.`);
    pieces.push(text);
  }
  return pieces.join("");
}

async function readEventStream(
  head: string,
  next: ReadNext,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { idleMs, onText }: ReadAnswerOptions,
): Promise<unknown> {
  const stream = createChatStream(onText);
  const silence = watchSilence(stream, idleMs, () => void reader.cancel().catch(() => undefined));
  const parser = createEventStreamParser();
  const takeEvents = (events: readonly ServerSentEvent[]): void => {
    for (const data of events.flatMap(splitUnseparated)) {
      stream.take(data);
      silence.restart();
    }
  };
  try {
    for (let text: string | undefined = head; text !== undefined; text = await next()) takeEvents(parser.push(text));
    takeEvents(parser.end());
  } catch (thrown) {
    if (!stream.isFinished) throw thrown;
  } finally {
    silence.stop();
  }
  if (silence.isOver && !stream.isFinished && !stream.isDone) throw new SilenceError(idleMs);
  return stream.completion();
}

/** Some servers send no blank line between two events: then each data line is one whole JSON text. */
function splitUnseparated({ data }: ServerSentEvent): readonly string[] {
  const lines = data.split("\n");
  return lines.every((line) => line === "[DONE]" || (line.startsWith("{") && line.endsWith("}"))) ? lines : [data];
}

interface SilenceWatch {
  /** True if it lasted too long and the stream was aborted. */
  readonly isOver: boolean;
  restart(): void;
  stop(): void;
}

function watchSilence(stream: ChatStream, idleMs: number, giveUp: () => void): SilenceWatch {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let allowedMs = Number.POSITIVE_INFINITY;
  const end = (): void => {
    isOver = true;
    giveUp();
  };
  const chooseLimit = (): number => {
    if (stream.isDone) return END_GRACE_MS;
    if (stream.isFinished) return Math.min(idleMs, USAGE_GRACE_MS);
    return stream.hasBegun ? idleMs : Number.POSITIVE_INFINITY;
  };
  return {
    get isOver() {
      return isOver;
    },
    restart: () => {
      if (chooseLimit() === allowedMs) {
        timer?.refresh();
        return;
      }
      allowedMs = chooseLimit();
      clearTimeout(timer);
      timer = setTimeout(end, allowedMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Callers recognize it by its name. */
class SilenceError extends Error {
  override readonly name = "TimeoutError";
  constructor(idleMs: number) {
    super(
      `The reply had begun, and then no more of it came for ${idleMs < 1000 ? `${idleMs} ms` : `${idleMs / 1000} s`}.`,
    );
  }
}
