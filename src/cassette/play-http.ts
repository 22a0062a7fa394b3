/**
 * play-http.ts -- the HTTP layer of a replay: returns recorded responses and opens no connection.
 *
 * Step, attempt and ordinal identify a request. Its bytes must equal those of the recorded request.
 */
import type { Http, PublicInit } from "#http/http.ts";
import { decodeBody, decodeError } from "./body.ts";
import { differenceOf } from "./difference.ts";
import type { ExchangeKey, ExchangeLine } from "./format.ts";
import { createOrdinals, type Place } from "./place.ts";
import { describeRequest } from "./request.ts";

export interface PlayingHttp extends Http {
  /** Number of responses returned. */
  readonly played: number;
  /** A recorded request that the run has not made. */
  left(): string | undefined;
}

export function playHttp(
  exchanges: readonly ExchangeLine[],
  place: () => Place,
  redact: (text: string) => string,
  fail: (what: string) => never,
): PlayingHttp {
  const asked = exchanges.filter(({ within }) => within === undefined);
  const waiting = new Map(asked.map((exchange) => [keyOf(exchange), exchange]));
  const nextOrdinal = createOrdinals();
  let played = 0;

  async function play(input: string | URL | Request, init: RequestInit | PublicInit | undefined): Promise<Response> {
    const at = place();
    const key = { ...at, ordinal: nextOrdinal(at) };
    const request = await describeRequest(input, init, redact);
    const recorded = waiting.get(keyOf(key));
    if (!recorded)
      return fail(`it sends ${request.method} ${request.url}, request ${key.ordinal}, which is not in the recording`);
    if (recorded.request.sha256 !== request.sha256 || recorded.request.url !== request.url)
      return fail(`request ${key.ordinal} differs: ${differenceOf(recorded.request, request)}`);
    waiting.delete(keyOf(key));
    played++;
    return answerOf(recorded);
  }

  return {
    to: () => play,
    public: () => play,
    get played() {
      return played;
    },
    left: () => {
      const [first] = waiting.values();
      return first && `step ${first.step}, ${first.request.method} ${first.request.url}`;
    },
  };
}

const keyOf = ({ step, attempt, ordinal }: ExchangeKey): string => `${step}/${attempt}/${ordinal}`;

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Throws the recorded error when there was no response. */
function answerOf({ request, response }: ExchangeLine): Response {
  if (!("status" in response)) throw decodeError(response.error);
  const { status, headers, body, error, url = request.url } = response;
  const built = (content: ReadableStream | null): Response =>
    Object.defineProperty(new Response(content, { status, headers }), "url", { value: url, configurable: true });
  if (WITHOUT_BODY.has(status)) return built(null);
  const bytes = decodeBody(body);
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (bytes.length > 0) controller.enqueue(bytes);
      if (error === undefined) controller.close();
    },
    pull: (controller) => {
      if (error !== undefined) controller.error(decodeError(error));
    },
  });
  return built(stream);
}
