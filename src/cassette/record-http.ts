/**
 * record-http.ts -- the seam with a listener: each exchange is written down when its end has come.
 *
 * The answer is handed on as it arrives, piece by piece; what is written is a redacted copy.
 */
import type { Http, PublicInit } from "#http/http.ts";
import { encodeBody, encodeError, encodeHeaders, encodeUrl } from "./body.ts";
import type { ExchangeKey, ExchangeLine, ExchangeResponse } from "./format.ts";
import { describeRequest } from "./request.ts";

/** Of an answer that is shown for people and never asked for again. */
const MAX_SHOWN_BYTES = 256 * 1024;

type Redact = (text: string) => string;

export interface RecordHttpParts {
  readonly redact: Redact;
  /** Where the next request belongs. */
  nextKey(): ExchangeKey & { readonly agent: string };
  write(line: ExchangeLine): void;
}

export interface RecordingHttp extends Http {
  /** Writes down what nobody has read to its end. */
  flush(): void;
}

export function recordHttp(real: Http, { redact, nextKey, write }: RecordHttpParts): RecordingHttp {
  const open = new Set<() => void>();
  return {
    to: (origin, limits) => listening(real.to(origin, limits)),
    public: (limits) => listening(real.public(limits)),
    flush: () => {
      for (const write of open) write();
    },
  };

  function listening<I extends string | URL | Request, O extends RequestInit | PublicInit>(
    send: (input: I, init?: O) => Promise<Response>,
  ): (input: I, init?: O) => Promise<Response> {
    return async (input, init) => {
      const key = nextKey();
      const request = await describeRequest(input, init, redact);
      const end = (response: ExchangeLine["response"]): void => write({ type: "exchange", ...key, request, response });
      try {
        const response = await send(input, init);
        const url = response.url === "" ? request.url : encodeUrl(response.url, redact);
        const from = url === request.url ? {} : { url };
        return heard(response, key.within === undefined ? Number.POSITIVE_INFINITY : MAX_SHOWN_BYTES, (answer) =>
          end({ ...answer, ...from }),
        );
      } catch (error) {
        end({ error: encodeError(error, redact) });
        throw error;
      }
    };
  }

  function heard(response: Response, maxBytes: number, end: (response: ExchangeResponse) => void): Response {
    const { status, statusText, headers, body } = response;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const finish = (error?: unknown): void => {
      if (!open.delete(finish)) return;
      const cut = error === undefined ? {} : { error: encodeError(error, redact) };
      const leftOut = bytes > maxBytes ? { leftOut: bytes } : {};
      const whole = encodeBody(Buffer.concat(bytes > maxBytes ? [] : pieces), redact);
      end({ status, headers: encodeHeaders(headers, redact), body: whole, ...leftOut, ...cut });
    };
    open.add(finish);
    if (!body) {
      finish();
      return response;
    }
    const reader = body.getReader();
    const copy = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            bytes += value?.byteLength ?? 0;
            if (value && bytes <= maxBytes) pieces.push(value);
            if (!done) return controller.enqueue(value);
            finish();
            controller.close();
          } catch (error) {
            finish(error);
            throw error;
          }
        },
        async cancel(reason) {
          finish();
          await reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return Object.defineProperty(new Response(copy, { status, statusText, headers }), "url", { value: response.url });
  }
}
