/**
 * openai-images.ts -- pictures from a server that speaks the OpenAI images API.
 *
 * What comes back is a picture only if its bytes say so. A server may answer with an address in place of the
 * bytes: its own is asked without the key, any other by the door to the public web.
 */
import { GoaldError } from "#core/errors.ts";
import type { GeneratedImage, Images } from "#core/services.ts";
import { readImageFacts } from "#util/media-format.ts";
import { type Quote, quoteWithout } from "#util/quote.ts";
import { mediaError } from "./media-failure.ts";
import { usageIn } from "./media-usage.ts";
import { baseUrlOf, type ConfiguredHttp, lazyClient, type ModelServer } from "./openai-client.ts";

type Ask = (url: URL, init: { readonly signal: AbortSignal }) => Promise<Response>;

export interface OpenAIImagesSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes" | "http"> {
  readonly model: string;
  readonly http: ConfiguredHttp & {
    public(limits: { readonly maxBytes: number; readonly totalTimeoutMs: number }): Ask;
  };
  /** For the picture; 3 minutes by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 180_000;
const MAX_IMAGE_BYTES = 32 * 1024 * 1024;
/** In base64, with what stands around it. */
const MAX_ANSWER_BYTES = 48 * 1024 * 1024;
const MAX_SIDE = 16_384;

/** Nothing is reached, and no setting is judged, before the first picture. */
export function createOpenAIImages(settings: OpenAIImagesSettings): Images {
  const { model, http, timeoutMs = TIMEOUT_MS } = settings;
  const quote = quoteWithout(settings.apiKey);
  return {
    async generate(prompt, size, signal, listener) {
      const client = await lazyClient({ ...settings, timeoutMs, maxBytes: MAX_ANSWER_BYTES })();
      const body = { model, prompt, size, n: 1, ...asBytes(model) };
      try {
        listener?.sent();
        const answer: unknown = await client.images.generate(body, { signal });
        listener?.took(usageIn(answer));
        const { bytes, revisedPrompt } = await pictureIn(answer, (url) => fetchPicture(url, signal));
        return checked(bytes, revisedPrompt === null ? null : quote(revisedPrompt, 2_000));
      } catch (error) {
        signal.throwIfAborted();
        throw mediaError(error, "No picture was made.", settings, listener);
      }
    },
  };

  async function fetchPicture(address: string, signal: AbortSignal): Promise<Uint8Array> {
    const url = URL.parse(address);
    if (!url) throw unusable(`an address that cannot be read: “${quote(address)}”`);
    const { origin } = baseUrlOf(settings.baseUrl);
    const limits = { maxBytes: MAX_IMAGE_BYTES, totalTimeoutMs: timeoutMs };
    const ask: Ask = url.origin === origin ? http.to(origin, limits) : http.public(limits);
    const response = await ask(url, { signal });
    if (!response.ok) throw unusable(`an address that answers ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  function checked(bytes: Uint8Array, revisedPrompt: string | null): GeneratedImage {
    const facts = bytes.length <= MAX_IMAGE_BYTES ? readImageFacts(bytes) : undefined;
    if (!facts || Math.max(facts.width, facts.height) > MAX_SIDE)
      throw unusable(`${bytes.length} bytes that are no PNG, JPEG or WebP of a usual size: “${startOf(bytes, quote)}”`);
    return { bytes, ...facts, revisedPrompt };
  }
}

/** Models of OpenAI's present kind always send bytes and take no such wish; others send an address unless asked. */
const asBytes = (model: string): { readonly response_format?: "b64_json" } =>
  /^(?:chat)?gpt-/i.test(model) ? {} : { response_format: "b64_json" };

async function pictureIn(
  answer: unknown,
  fetchPicture: (url: string) => Promise<Uint8Array>,
): Promise<{ readonly bytes: Uint8Array; readonly revisedPrompt: string | null }> {
  const { data } = (typeof answer === "object" && answer !== null ? answer : {}) as { readonly data?: unknown };
  const [first] = (Array.isArray(data) ? data : []) as readonly (Record<string, unknown> | null)[];
  const { b64_json: base64, url, revised_prompt: revised } = first ?? {};
  const revisedPrompt = typeof revised === "string" ? revised : null;
  if (typeof base64 === "string") return { bytes: fromBase64(base64), revisedPrompt };
  if (typeof url === "string" && url.startsWith("data:image/")) return { bytes: fromBase64(url), revisedPrompt };
  if (typeof url === "string") return { bytes: await fetchPicture(url), revisedPrompt };
  throw unusable("neither bytes nor an address");
}

function fromBase64(text: string): Uint8Array {
  const base64 = text.replace(/^data:image\/[\w.+-]{1,20};base64,/, "").trim();
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw unusable("bytes that are no base64");
  return new Uint8Array(Buffer.from(base64, "base64"));
}

const startOf = (bytes: Uint8Array, quote: Quote): string =>
  quote(Buffer.from(bytes.subarray(0, 200)).toString("latin1"), 60);

const unusable = (what: string): GoaldError =>
  new GoaldError("GOALD_MEDIA", `The model server answered, but sent ${what}. It may have charged for it.`, {
    hint: "Does this server make pictures with that model? See GOALD_IMAGE_MODEL.",
  });
