/** bounded.ts -- limits the decompressed size of a response body and the silence between its pieces. */
import { GoaldError } from "#core/errors.ts";
import type { HttpLimits, RequestWatch } from "./watch.ts";

/** Returns the same response with a body that enforces `limits`. */
export function limitResponse(response: Response, watch: RequestWatch, origin: string, limits: HttpLimits): Response {
  if (!response.body) {
    watch.stop();
    return response;
  }
  const reader = response.body.getReader();
  const isEventStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const maxBytes = isEventStream ? Math.max(limits.maxBytes, limits.maxStreamBytes) : limits.maxBytes;
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          watch.expect("Silence", limits.idleTimeoutMs);
          const { done, value } = await reader.read();
          watch.expect("", Number.POSITIVE_INFINITY);
          if (done) {
            watch.stop();
            controller.close();
            return;
          }
          bytes += value.byteLength;
          if (bytes > maxBytes) throw bodyTooLarge(origin, maxBytes);
          controller.enqueue(value);
        } catch (error) {
          watch.abort(error);
          throw error;
        }
      },
      async cancel(reason) {
        watch.stop();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText } = response;
  return new Response(body, { status, statusText, headers: removeEncodingHeaders(response.headers) });
}

const bodyTooLarge = (origin: string, maxBytes: number): GoaldError =>
  new GoaldError(
    "GOALD_HTTP_TOO_LARGE",
    `Expected at most ${maxBytes} bytes from ${origin}; more came, and were not read.`,
  );

/** fetch has decompressed the body, so its encoding and length headers no longer hold. */
function removeEncodingHeaders(received: Headers): Headers {
  const headers = new Headers(received);
  if (!headers.has("content-encoding")) return headers;
  headers.delete("content-encoding");
  headers.delete("content-length");
  return headers;
}
