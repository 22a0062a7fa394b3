/**
 * openai-images.ts -- generates images with a server that has the OpenAI images API.
 *
 * Accepts an answer only if its bytes are an image. A server may send an address instead of bytes. Its own address is
 * fetched without the key, any other through the public web client.
 */

import { GoaldError } from "#core/errors.ts";
import type { GeneratedImage, Images } from "#core/services.ts";
import { isRecord } from "#util/json.ts";
import { readImageFacts } from "#util/media-format.ts";
import { type Quote, quoteWithout } from "#util/outside-errors.ts";
import { explainMediaError } from "./media-failure.ts";
import { readMediaUsage } from "./media-usage.ts";
import { type ConfiguredHttp, type ModelServer, parseBaseUrl } from "./model-server.ts";
import { openClient } from "./openai-client.ts";

type FetchImage = (url: URL, init: { readonly signal: AbortSignal }) => Promise<Response>;

export interface OpenAIImagesSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes" | "http"> {
  readonly model: string;
  readonly http: ConfiguredHttp & {
    public(limits: { readonly maxBytes: number; readonly totalTimeoutMs: number }): FetchImage;
  };
  /** Timeout of one image. Defaults to 3 minutes. */
  readonly timeoutMs?: number;
}

const IMAGE_TIMEOUT_MS = 180_000;
const MAX_IMAGE_BYTES = 32 * 1024 * 1024;
/** The same in base64, with the JSON around it. */
const MAX_IMAGE_ANSWER_BYTES = 48 * 1024 * 1024;
const MAX_SIDE = 16_384;

/** Sends nothing and checks no setting before the first image. */
export function createOpenAIImages(settings: OpenAIImagesSettings): Images {
  const { model, http, timeoutMs = IMAGE_TIMEOUT_MS } = settings;
  const quote = quoteWithout(settings.apiKey);
  return {
    async generate(prompt, size, signal, listener) {
      const client = await openClient({ ...settings, timeoutMs, maxBytes: MAX_IMAGE_ANSWER_BYTES });
      const body = { model, prompt, size, n: 1, ...requestBytes(model) };
      try {
        listener?.sent();
        const answer: unknown = await client.images.generate(body, { signal });
        listener?.took(readMediaUsage(answer));
        const { bytes, revisedPrompt } = await readImage(answer, (url) => fetchImage(url, signal));
        return requireImage(bytes, revisedPrompt === null ? null : quote(revisedPrompt, 2_000));
      } catch (error) {
        signal.throwIfAborted();
        throw explainMediaError(error, "No picture was made.", settings, listener);
      }
    },
  };

  async function fetchImage(address: string, signal: AbortSignal): Promise<Uint8Array> {
    const url = URL.parse(address);
    if (!url) throw unusableImage(`an address that cannot be read: “${quote(address)}”`);
    const { origin } = parseBaseUrl(settings.baseUrl);
    const limits = { maxBytes: MAX_IMAGE_BYTES, totalTimeoutMs: timeoutMs };
    const ask: FetchImage = url.origin === origin ? http.to(origin, limits) : http.public(limits);
    const response = await ask(url, { signal });
    if (!response.ok) throw unusableImage(`an address that answers ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  function requireImage(bytes: Uint8Array, revisedPrompt: string | null): GeneratedImage {
    const facts = bytes.length <= MAX_IMAGE_BYTES ? readImageFacts(bytes) : undefined;
    if (!facts || facts.format === "gif" || Math.max(facts.width, facts.height) > MAX_SIDE)
      throw unusableImage(
        `${bytes.length} bytes that are no PNG, JPEG or WebP of a usual size: “${quoteStart(bytes, quote)}”`,
      );
    return { bytes, ...facts, format: facts.format, revisedPrompt };
  }
}

/** OpenAI's gpt models always send bytes and reject this option. Other models send an address without it. */
const requestBytes = (model: string): { readonly response_format?: "b64_json" } =>
  /^(?:chat)?gpt-/i.test(model) ? {} : { response_format: "b64_json" };

async function readImage(
  answer: unknown,
  fetchImage: (url: string) => Promise<Uint8Array>,
): Promise<{ readonly bytes: Uint8Array; readonly revisedPrompt: string | null }> {
  const { data } = isRecord(answer) ? answer : {};
  const [first] = (Array.isArray(data) ? data : []) as readonly (Record<string, unknown> | null)[];
  const { b64_json: base64, url, revised_prompt: revised } = first ?? {};
  const revisedPrompt = typeof revised === "string" ? revised : null;
  if (typeof base64 === "string") return { bytes: decodeBase64(base64), revisedPrompt };
  if (typeof url === "string" && url.startsWith("data:image/")) return { bytes: decodeBase64(url), revisedPrompt };
  if (typeof url === "string") return { bytes: await fetchImage(url), revisedPrompt };
  throw unusableImage("neither bytes nor an address");
}

function decodeBase64(text: string): Uint8Array {
  const base64 = text.replace(/^data:image\/[\w.+-]{1,20};base64,/, "").trim();
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw unusableImage("bytes that are no base64");
  return new Uint8Array(Buffer.from(base64, "base64"));
}

const quoteStart = (bytes: Uint8Array, quote: Quote): string =>
  quote(Buffer.from(bytes.subarray(0, 200)).toString("latin1"), 60);

const unusableImage = (what: string): GoaldError =>
  new GoaldError("GOALD_MEDIA", `The model server answered, but sent ${what}. It may have charged for it.`, {
    hint: "Does this server make pictures with that model? See GOALD_IMAGES_MODEL.",
  });
