/** openai-media.ts -- images and speech of a server of OpenAI's API, by the openai package. */
import type OpenAI from "openai";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Usage } from "#core/event.ts";
import { mayHaveBeenCharged } from "#core/limits.ts";
import type { GeneratedImage, Images, Speech, UseListener } from "#core/services.ts";
import type { Http } from "#http/http.ts";
import { asRecord } from "#util/json.ts";
import { readAudioFormat, readImageFacts } from "#util/media-format.ts";
import { listCauses, quoteWithout } from "#util/outside-errors.ts";
import { clean } from "#util/outside-text.ts";
import { isCount } from "./chat-stream.ts";
import { explainFailure } from "./failure.ts";
import { formatBaseUrl, type ModelServer, openFetch, parseBaseUrl, requireUsableKey } from "./model-server.ts";

export interface OpenAIMediaSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes" | "http"> {
  readonly model: string;
  readonly http: Http;
  /** Timeout of one image or recording. Defaults to 3 and to 5 minutes. */
  readonly timeoutMs?: number;
}

const IMAGE_TIMEOUT_MS = 180_000;
const MAX_IMAGE_BYTES = 32 * 1024 * 1024;
/** The same in base64, with the JSON around it. */
const MAX_IMAGE_ANSWER_BYTES = 48 * 1024 * 1024;
const MAX_SIDE = 16_384;

/**
 * Makes images. Accepts an answer only if its bytes are an image. A server may send an address instead of bytes. Its
 * own address is fetched without the key, any other through the public web client. Sends nothing and checks no setting
 * before the first image.
 */
export function createOpenAIImages(settings: OpenAIMediaSettings): Images {
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
        throw explainMediaError(error, "No picture was made.", "IMAGES", settings, listener);
      }
    },
  };

  async function fetchImage(address: string, signal: AbortSignal): Promise<Uint8Array> {
    const url = URL.parse(address);
    if (!url) throw unusableImage(`an address that cannot be read: “${quote(address)}”`);
    const { origin } = parseBaseUrl(settings.baseUrl);
    const limits = { maxBytes: MAX_IMAGE_BYTES, totalTimeoutMs: timeoutMs };
    const refuse = (thrown: unknown): never => {
      throw unusableImage(`an address that cannot be read (${quote(listCauses(thrown).at(-1)?.message)})`);
    };
    const fetchFrom = url.origin === origin ? http.to(origin, limits) : http.public(limits);
    const response = await fetchFrom(url, { signal }).catch(refuse);
    if (!response.ok) throw unusableImage(`an address that answers ${response.status}`);
    return new Uint8Array(await response.arrayBuffer().catch(refuse));
  }

  function requireImage(bytes: Uint8Array, revisedPrompt: string | null): GeneratedImage {
    const facts = bytes.length <= MAX_IMAGE_BYTES ? readImageFacts(bytes) : undefined;
    if (!facts || facts.format === "gif" || Math.max(facts.width, facts.height) > MAX_SIDE) {
      const start = quote(Buffer.from(bytes.subarray(0, 200)).toString("latin1"), 60);
      throw unusableImage(`${bytes.length} bytes that are no PNG, JPEG or WebP of a usual size: “${start}”`);
    }
    return { bytes, ...facts, format: facts.format, revisedPrompt };
  }
}

/** OpenAI's gpt models always send bytes and reject this option. Other models send an address without it. */
const requestBytes = (model: string): { readonly response_format?: "b64_json" } =>
  /^(?:chat)?gpt-/i.test(model) ? {} : { response_format: "b64_json" };

async function readImage(answer: unknown, fetchImage: (url: string) => Promise<Uint8Array>) {
  const { data } = asRecord(answer);
  const { b64_json: base64, url, revised_prompt: revised } = asRecord(Array.isArray(data) ? data[0] : undefined);
  const revisedPrompt = typeof revised === "string" ? revised : null;
  if (base64 && typeof base64 === "string") return { bytes: decodeBase64(base64), revisedPrompt };
  if (typeof url === "string" && url.startsWith("data:image/")) return { bytes: decodeBase64(url), revisedPrompt };
  if (typeof url === "string") return { bytes: await fetchImage(url), revisedPrompt };
  throw unusableImage("neither bytes nor an address");
}

/** Skips line breaks and all else that is not base64. */
const decodeBase64 = (text: string): Uint8Array =>
  new Uint8Array(Buffer.from(text.replace(/^data:image\/[\w.+-]{1,20};base64,/, ""), "base64"));

const unusableImage = (what: string): GoaldError =>
  new GoaldError("GOALD_MEDIA", `The model server answered, but sent ${what}. It may have charged for it.`, {
    hint: "Does this server make pictures with that model? See GOALD_IMAGES_MODEL.",
  });

const SPEECH_TIMEOUT_MS = 300_000;
/** Limit of OpenAI's service. */
const MAX_AUDIO_BYTES = 25 * 1024 * 1024;
/** More than the transcript of hours of speech. */
const MAX_TRANSCRIPT_BYTES = 4 * 1024 * 1024;

/**
 * Sends only files whose bytes are audio, under a name that reveals only the format. The transcript is untrusted text
 * and is cleaned. Sends nothing and checks no setting before the first recording.
 */
export function createOpenAISpeech(settings: OpenAIMediaSettings): Speech {
  const { model, timeoutMs = SPEECH_TIMEOUT_MS } = settings;
  const quote = quoteWithout(settings.apiKey);
  return {
    async transcribe(file, bytes, signal, language, listener) {
      const format = requireAudio(file, bytes);
      const client = await openClient({ ...settings, timeoutMs, maxBytes: MAX_TRANSCRIPT_BYTES });
      const { toFile } = await import("openai");
      try {
        const upload = await toFile(bytes, `audio.${format}`);
        const body = { file: upload, model, response_format: "json" as const, ...(language ? { language } : {}) };
        listener?.sent();
        const answer: unknown = await client.audio.transcriptions.create(body, { signal });
        listener?.took(readMediaUsage(answer));
        return readTranscript(answer, quote(answer));
      } catch (error) {
        signal.throwIfAborted();
        throw explainMediaError(error, `${file} was not read.`, "SPEECH", settings, listener);
      }
    },
  };
}

function requireAudio(file: string, bytes: Uint8Array) {
  if (bytes.length > MAX_AUDIO_BYTES)
    throw new GoaldError(
      "GOALD_MEDIA",
      `${file} has ${bytes.length} bytes; speech is read from up to ${MAX_AUDIO_BYTES}. Nothing was sent.`,
      { hint: "Cut the recording into shorter ones." },
    );
  const format = readAudioFormat(bytes);
  if (format) return format;
  throw new GoaldError(
    "GOALD_MEDIA",
    `${file} is not a recording: its bytes are none of mp3, m4a, wav, webm, ogg, flac.`,
    { hint: "Name an audio file; for text there is read_file." },
  );
}

function readTranscript(answer: unknown, shown: string): string {
  const { text } = asRecord(answer);
  if (typeof text === "string") return clean(text).toWellFormed().trim();
  throw new GoaldError("GOALD_MEDIA", `The model server answered, but not with the text of a recording: “${shown}”.`, {
    hint: "Does this server turn speech into text with that model? See GOALD_SPEECH_MODEL.",
  });
}

/**
 * Loads the openai package, which takes over 100 ms of CPU, on first use. Its own retries, logs and environment
 * variables are off, so that only the settings decide what is sent. Throws GOALD_CONFIG for an invalid base URL.
 */
async function openClient(server: ModelServer): Promise<OpenAI> {
  const { baseUrl, apiKey, timeoutMs } = server;
  const fetch = openFetch(server);
  requireUsableKey(apiKey);
  const { OpenAI } = await import("openai");
  return new OpenAI({
    baseURL: parseBaseUrl(baseUrl).href,
    apiKey: apiKey || "none",
    ...(apiKey ? {} : { defaultHeaders: { Authorization: null } }),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: timeoutMs + 10_000, // longer than the HTTP timeout, whose error says more
    logLevel: "off",
    fetch,
  });
}

/**
 * `what`: the sentence that says what did not happen. `own`: the service in the names of its settings. Calls
 * `listener.refused` if the server cannot have charged for it.
 */
function explainMediaError(
  thrown: unknown,
  what: string,
  own: "IMAGES" | "SPEECH",
  { baseUrl, apiKey, model }: OpenAIMediaSettings,
  listener: UseListener | undefined,
): GoaldError {
  if (isGoaldError(thrown, "GOALD_MEDIA")) return thrown;
  const quote = quoteWithout(apiKey);
  const { code, message } = explainFailure(thrown, { server: formatBaseUrl(baseUrl), model: quote(model), quote });
  if (!mayHaveBeenCharged(code)) listener?.refused();
  const advice = message.replace(/OPENAI_(API_KEY|BASE_URL)/, `$& or GOALD_${own}_$1`);
  return new GoaldError("GOALD_MEDIA", `${what} ${advice}`, { cause: thrown });
}

/** Some models are billed per image or per minute and report no tokens. The usage is then null, never an estimate. */
function readMediaUsage(answer: unknown): Usage | null {
  const { usage } = asRecord(answer);
  const { input_tokens: inputTokens, output_tokens: outputTokens, input_tokens_details: details } = asRecord(usage);
  if (!isCount(inputTokens) || !isCount(outputTokens)) return null;
  const { cached_tokens: cached } = asRecord(details);
  const cachedTokens = isCount(cached) ? Math.min(inputTokens, cached) : 0;
  return { inputTokens, outputTokens, cachedTokens, estimated: false };
}
