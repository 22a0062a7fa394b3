/** read_audio_from_file -- transcribes a recording of the workspace. */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "read_audio_from_file",
  label: "Convert Audio to text",
  group: "media",
  summary: "writes down what is said in a recording (mp3, m4a, wav, webm, ogg, flac; up to 25 MB).",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
      language: {
        type: "string",
        description: "of the speech, such as en",
        pattern: "^[a-z]{2,3}$",
      },
    },
    required: ["file"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  effect: "pure",
  needs: ["speech"],
  timeoutMs: 360_000,

  async run({ file, language }, { workspace, signal, use }) {
    const text = await use("speech").transcribe(file, await workspace.read(file), signal, language);
    // The speaker is unknown, so the text counts as text from the web.
    const words = text === "" ? "No words could be heard in it." : `The audio says: ${text}`;
    return succeed(words, { source: "web", value: text });
  },
});
