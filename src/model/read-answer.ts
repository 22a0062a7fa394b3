/**
 * read-answer.ts -- the body of an answer as it arrives: a stream of events put together, or a document read whole.
 *
 * Its first characters tell which, not its content type and not what was asked for: a server that does not stream
 * answers with one document, and that is as good. A stream in which the model has begun to speak and then falls silent
 * is given up: data counts, pings do not. What is whole stays whole, however the connection ends afterwards.
 */
import { GoaldError } from "#core/errors.ts";
import { createEventStreamParser, isEventStream, type ServerSentEvent } from "#util/event-stream.ts";
import { type ChatStream, createChatStream } from "./chat-stream.ts";

export interface ReadAnswerOptions {
  /** Silence allowed between two pieces of data, after the first. */
  readonly idleMs: number;
  /** Characters of a document. */
  readonly maxChars: number;
  onText?: ((piece: string) => void) | undefined;
}

/** How long to wait for usage and the end of the stream when the reply is whole. */
const USAGE_GRACE_MS = 5_000;
const END_GRACE_MS = 1_000;

/** A completion, or the text of a document. Rejects as the body does, with a SyntaxError, or with a TimeoutError. */
export async function readAnswer({ body }: Response, options: ReadAnswerOptions): Promise<unknown> {
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
    if (isEventStream(head) === true) return await readStream(head, next, reader, options);
    return await readDocument(head, next, options.maxChars);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

type Next = () => Promise<string | undefined>;

async function readDocument(head: string, next: Next, maxChars: number): Promise<string> {
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

async function readStream(
  head: string,
  next: Next,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { idleMs, onText }: ReadAnswerOptions,
): Promise<unknown> {
  const stream = createChatStream(onText);
  const silence = watchSilence(stream, idleMs, () => void reader.cancel().catch(() => undefined));
  const parser = createEventStreamParser();
  const takeEvents = (events: readonly ServerSentEvent[]): void => {
    for (const data of events.flatMap(splitUnseparated)) {
      stream.take(data);
      silence.broken();
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

interface Silence {
  /** It lasted too long; the stream was given up. */
  readonly isOver: boolean;
  broken(): void;
  stop(): void;
}

function watchSilence(stream: ChatStream, idleMs: number, giveUp: () => void): Silence {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let allowedMs = Number.POSITIVE_INFINITY;
  const end = (): void => {
    isOver = true;
    giveUp();
  };
  const allowed = (): number => {
    if (stream.isDone) return END_GRACE_MS;
    if (stream.isFinished) return Math.min(idleMs, USAGE_GRACE_MS);
    return stream.hasBegun ? idleMs : Number.POSITIVE_INFINITY;
  };
  return {
    get isOver() {
      return isOver;
    },
    broken: () => {
      if (allowed() === allowedMs) {
        timer?.refresh();
        return;
      }
      allowedMs = allowed();
      clearTimeout(timer);
      timer = setTimeout(end, allowedMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Told from other errors by its name. */
class SilenceError extends Error {
  override readonly name = "TimeoutError";
  constructor(idleMs: number) {
    super(
      `The reply had begun, and then no more of it came for ${idleMs < 1000 ? `${idleMs} ms` : `${idleMs / 1000} s`}.`,
    );
  }
}
