/**
 * record-http.ts -- the HTTP layer of a recorded run: writes each exchange when its response has ended.
 *
 * The caller receives the response as it arrives. The recording receives a redacted copy.
 */
import type { Http, PublicInit } from "#http/http.ts";
import { encodeBody, encodeError, encodeHeaders, encodeUrl } from "./body.ts";
import type { ExchangeKey, ExchangeLine, ExchangeResponse } from "./format.ts";
import { redactReply } from "./redact-stream.ts";
import { describeRequest } from "./request.ts";

/** Limit for responses that people read and that no replay requests. */
const MAX_SHOWN_BYTES = 256 * 1024;

export interface RecordHttpParts {
  redact(text: string): string;
  /** Returns the key of the next exchange. */
  nextKey(): ExchangeKey & { readonly agent: string };
  write(line: ExchangeLine): void;
}

export class RecordingHttp implements Http {
  readonly #real: Http;
  readonly #parts: RecordHttpParts;
  /** Functions that write the responses that have not ended. */
  readonly #open = new Set<() => void>();

  constructor(real: Http, parts: RecordHttpParts) {
    this.#real = real;
    this.#parts = parts;
  }

  to(...given: Parameters<Http["to"]>): ReturnType<Http["to"]> {
    return this.#recording(this.#real.to(...given));
  }

  public(...given: Parameters<Http["public"]>): ReturnType<Http["public"]> {
    return this.#recording(this.#real.public(...given));
  }

  /** Writes responses that nobody has read to their end. */
  flush(): void {
    for (const write of this.#open) write();
  }

  #recording<I extends string | URL | Request, O extends RequestInit | PublicInit>(
    send: (input: I, init?: O) => Promise<Response>,
  ): (input: I, init?: O) => Promise<Response> {
    const { redact, nextKey, write } = this.#parts;
    return async (input, init) => {
      const key = nextKey();
      const request = await describeRequest(input, init, redact);
      const end = (response: ExchangeLine["response"]): void => write({ type: "exchange", ...key, request, response });
      try {
        const response = await send(input, init);
        const url = response.url === "" ? request.url : encodeUrl(response.url, redact);
        const from = url === request.url ? {} : { url };
        const maxBytes = key.within === undefined ? Number.POSITIVE_INFINITY : MAX_SHOWN_BYTES;
        return this.#copied(response, maxBytes, (answer) => end({ ...answer, ...from }));
      } catch (error) {
        end({ error: encodeError(error, redact) });
        throw error;
      }
    };
  }

  /** Calls `end` once: when the body has ended, failed or was cancelled. */
  #copied(response: Response, maxBytes: number, end: (response: ExchangeResponse) => void): Response {
    const { redact } = this.#parts;
    const { status, statusText, headers, body } = response;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const finish = (error?: unknown): void => {
      if (!this.#open.delete(finish)) return;
      const cut = error === undefined ? {} : { error: encodeError(error, redact) };
      const leftOut = bytes > maxBytes ? { leftOut: bytes } : {};
      const whole = encodeBody(Buffer.concat(bytes > maxBytes ? [] : pieces), (text) => redactReply(text, redact));
      end({ status, headers: encodeHeaders(headers, redact), body: whole, ...leftOut, ...cut });
    };
    this.#open.add(finish);
    if (!body) {
      finish();
      return response;
    }
    const take = (piece: Uint8Array): void => {
      bytes += piece.byteLength;
      if (bytes <= maxBytes) pieces.push(piece);
    };
    const copy = watched(body, take, finish);
    return Object.defineProperty(new Response(copy, { status, statusText, headers }), "url", { value: response.url });
  }
}

/** Returns the same body; calls `take` for each piece and `finish` at the end. */
function watched(
  body: ReadableStream<Uint8Array>,
  take: (piece: Uint8Array) => void,
  finish: (error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      try {
        const { done, value } = await reader.read();
        if (value) take(value);
        if (!done) return controller.enqueue(value);
        finish();
        controller.close();
      } catch (error) {
        finish(error);
        throw error;
      }
    },
    async cancel(reason: unknown) {
      finish();
      await reader.cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
