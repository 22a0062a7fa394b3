/**
 * openai-speech.ts -- transcribes recordings with a server that has the OpenAI transcriptions API.
 *
 * Sends only files whose bytes are audio, under a name that reveals only the format. The transcript is untrusted text
 * and is cleaned.
 */

import { GoaldError } from "#core/errors.ts";
import type { Speech } from "#core/services.ts";
import { isRecord } from "#util/json.ts";
import { readAudioFormat } from "#util/media-format.ts";
import { quoteWithout } from "#util/outside-errors.ts";
import { clean } from "#util/outside-text.ts";
import { explainMediaError } from "./media-failure.ts";
import { readMediaUsage } from "./media-usage.ts";
import type { ModelServer } from "./model-server.ts";
import { openClient } from "./openai-client.ts";

export interface OpenAISpeechSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes"> {
  readonly model: string;
  /** Defaults to 5 minutes. */
  readonly timeoutMs?: number;
}

const SPEECH_TIMEOUT_MS = 300_000;
/** Limit of OpenAI's service. */
const MAX_AUDIO_BYTES = 25 * 1024 * 1024;
/** More than the transcript of hours of speech. */
const MAX_TRANSCRIPT_BYTES = 4 * 1024 * 1024;

/** Sends nothing and checks no setting before the first recording. */
export function createOpenAISpeech(settings: OpenAISpeechSettings): Speech {
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
        throw explainMediaError(error, `${file} was not read.`, settings, listener);
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
    {
      hint: "Name an audio file; for text there is read_file.",
    },
  );
}

function readTranscript(answer: unknown, shown: string): string {
  const text = isRecord(answer) ? answer.text : undefined;
  if (typeof text === "string") return clean(text).toWellFormed().trim();
  throw new GoaldError("GOALD_MEDIA", `The model server answered, but not with the text of a recording: “${shown}”.`, {
    hint: "Does this server turn speech into text with that model? See GOALD_SPEECH_MODEL.",
  });
}
