/**
 * openai-speech.ts -- recordings into text, by a server that speaks the OpenAI transcriptions API.
 *
 * Only what its own bytes say to be a recording leaves the machine, and under a name that tells the format and
 * nothing else. What was heard is text from outside, and cleaned as such.
 */
import { GoaldError } from "#core/errors.ts";
import type { Speech } from "#core/services.ts";
import { clean } from "#util/clean.ts";
import { readAudioFormat } from "#util/media-format.ts";
import { quoteWithout } from "#util/quote.ts";
import { mediaError } from "./media-failure.ts";
import { usageIn } from "./media-usage.ts";
import { lazyClient, type ModelServer } from "./openai-client.ts";

export interface OpenAISpeechSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes"> {
  readonly model: string;
  /** 5 minutes by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 300_000;
/** What the service takes. */
const MAX_AUDIO_BYTES = 25 * 1024 * 1024;
/** Hours of speech are less. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Nothing is reached, and no setting is judged, before the first recording. */
export function createOpenAISpeech(settings: OpenAISpeechSettings): Speech {
  const { model, timeoutMs = TIMEOUT_MS } = settings;
  const quote = quoteWithout(settings.apiKey);
  return {
    async transcribe(file, bytes, signal, language, listener) {
      const format = requireAudio(file, bytes);
      const client = await lazyClient({ ...settings, timeoutMs, maxBytes: MAX_ANSWER_BYTES })();
      const { toFile } = await import("openai");
      try {
        const upload = await toFile(bytes, `audio.${format}`);
        const body = { file: upload, model, response_format: "json" as const, ...(language ? { language } : {}) };
        listener?.sent();
        const answer: unknown = await client.audio.transcriptions.create(body, { signal });
        listener?.took(usageIn(answer));
        return textIn(answer, quote(answer));
      } catch (error) {
        signal.throwIfAborted();
        throw mediaError(error, `${file} was not read.`, settings, listener);
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
    `${file} is no recording: its bytes are none of mp3, m4a, wav, webm, ogg, flac.`,
    {
      hint: "Name an audio file; for text there is read_file.",
    },
  );
}

function textIn(answer: unknown, shown: string): string {
  const text = typeof answer === "object" && answer !== null ? (answer as { readonly text?: unknown }).text : undefined;
  if (typeof text === "string") return clean(text).toWellFormed().trim();
  throw new GoaldError("GOALD_MEDIA", `The model server answered, but not with the text of a recording: “${shown}”.`, {
    hint: "Does this server turn speech into text with that model? See GOALD_SPEECH_MODEL.",
  });
}
