/**
 * record-http.ts -- the seam with a listener: each exchange is written down when its end has come.
 *
 * The answer is handed on as it arrives, piece by piece; what is written is a redacted copy.
 */
import type { Http } from "#http/http.ts";
import { encodeBody, encodeError, encodeHeaders } from "./body.ts";
import type { ExchangeKey, ExchangeLine, ExchangeResponse } from "./format.ts";
import { describeRequest } from "./request.ts";

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
    ...real,
    to(origin, limits) {
      const send = real.to(origin, limits);
      return async (input, init) => {
        const key = nextKey();
        const request = await describeRequest(input, init, redact);
        const end = (response: ExchangeLine["response"]): void =>
          write({ type: "exchange", ...key, request, response });
        try {
          return heard(await send(input, init), end);
        } catch (error) {
          end({ error: encodeError(error, redact) });
          throw error;
        }
      };
    },
    flush: () => {
      for (const write of open) write();
    },
  };

  function heard(response: Response, end: (response: ExchangeResponse) => void): Response {
    const { status, statusText, headers, body } = response;
    const pieces: Uint8Array[] = [];
    const finish = (error?: unknown): void => {
      if (!open.delete(finish)) return;
      const cut = error === undefined ? {} : { error: encodeError(error, redact) };
      const whole = encodeBody(Buffer.concat(pieces), redact);
      end({ status, headers: encodeHeaders(headers, redact), body: whole, ...cut });
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
            if (value) pieces.push(value);
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
    return new Response(copy, { status, statusText, headers });
  }
}
