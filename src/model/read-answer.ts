/**
 * read-answer.ts -- reads a response body as it arrives: an event stream or one document.
 *
 * The first characters decide which, not the content type: a server that does not stream answers with one document. A
 * stream may last as long as it likes, but is aborted when it falls silent. Only output ends a silence: comments, empty
 * pieces, white space and unfinished lines do not. A complete reply stays complete, however the connection ends.
 */
import { GoaldError } from "#core/errors.ts";
import { createEventStreamParser, isEventStream, type ServerSentEvent } from "#util/event-stream.ts";
import { type ChatStream, createChatStream } from "./chat-stream.ts";

interface ReadAnswerOptions {
  /** Maximum wait for the first output of a stream, and for the whole of a document. */
  readonly firstMs: number;
  /** Maximum silence after the first output. */
  readonly idleMs: number;
  /** Maximum tokens of an unfinished stream. */
  readonly maxTokens?: number;
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
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel().catch(() => undefined);
  }, options.firstMs);
  try {
    for (let kind: boolean | undefined; kind === undefined; kind = isEventStream(head)) {
      const text = await next();
      if (text === undefined) break;
      head += text;
    }
    if (isEventStream(head) === true) {
      clearTimeout(timer);
      return await readEventStream(head, next, reader, options);
    }
    const document = await readDocument(head, next, options.maxChars);
    if (isLate) throw new SilenceError("The answer was not complete after", options.firstMs);
    return document;
  } finally {
    clearTimeout(timer);
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
  { firstMs, idleMs, maxTokens, onText }: ReadAnswerOptions,
): Promise<unknown> {
  const stream = createChatStream(onText, maxTokens);
  const silence = watchSilence(stream, { firstMs, idleMs }, () => void reader.cancel().catch(() => undefined));
  const parser = createEventStreamParser();
  const takeEvents = (events: readonly ServerSentEvent[]): void => {
    for (const data of events.flatMap(splitUnseparated)) if (stream.take(data)) silence.restart();
  };
  try {
    for (let text: string | undefined = head; text !== undefined; text = await next()) takeEvents(parser.push(text));
    if (!silence.isOver) takeEvents(parser.end());
  } catch (thrown) {
    if (!stream.isFinished) throw thrown;
  } finally {
    silence.stop();
  }
  if (silence.isOver && !stream.isFinished && !stream.isDone)
    throw stream.hasBegun
      ? new SilenceError("The reply had begun, and then nothing, or only white space, came for", idleMs)
      : new SilenceError("The server accepted the request, and no reply had begun after", firstMs);
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

function watchSilence(
  stream: ChatStream,
  { firstMs, idleMs }: Pick<ReadAnswerOptions, "firstMs" | "idleMs">,
  giveUp: () => void,
): SilenceWatch {
  let isOver = false;
  let allowedMs = firstMs;
  const end = (): void => {
    isOver = true;
    giveUp();
  };
  const chooseLimit = (): number => {
    if (stream.isDone) return END_GRACE_MS;
    if (stream.isFinished) return Math.min(idleMs, USAGE_GRACE_MS);
    return stream.hasBegun ? idleMs : firstMs;
  };
  let timer = setTimeout(end, allowedMs);
  return {
    get isOver() {
      return isOver;
    },
    restart: () => {
      if (chooseLimit() === allowedMs) {
        // After a complete reply, further events do not prolong the wait.
        if (!stream.isFinished) timer.refresh();
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
  constructor(words: string, ms: number) {
    super(`${words} ${ms < 1000 ? `${ms} ms` : `${ms / 1000} s`}.`);
  }
}
