import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createOpenAISpeech } from "#model/openai-speech.ts";
import read_audio_from_file from "../../commands/read_audio_from_file.ts";
import { MEDIA_KEY, type MediaServer, png, startMediaServer, wav } from "../helpers/media-server.ts";
import { type Answer, failure, timeoutMsFor } from "../helpers/openai-answers.ts";
import { call, contextOf, type Desk, makeDesk, REFUSED_PATHS } from "./context.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
  await desk.workspace.write("memo.mp3", wav());
});
afterEach(async () => desk[Symbol.asyncDispose]());

interface Way {
  readonly apiKey?: string;
  readonly language?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}
const hear = (server: MediaServer, file = "memo.mp3", way: Way = {}) => {
  const { apiKey = MEDIA_KEY, language, signal, timeoutMs = timeoutMsFor(undefined) } = way;
  const { baseUrl } = server;
  const speech = createOpenAISpeech({ baseUrl, apiKey, model: "whisper-1", http: createHttp(), timeoutMs });
  const context = { ...contextOf(desk.workspace, { speech }), ...(signal ? { signal } : {}) };
  return call(read_audio_from_file, { file, ...(language ? { language } : {}) }, context);
};
const answering = (speech: Answer): Promise<MediaServer> => startMediaServer({ speech: () => speech });

describe("read_audio_from_file", () => {
  it("returns the text; the server gets the format but no file name", async () => {
    await using server = await startMediaServer();
    expect(await hear(server)).toEqual({
      status: "ok",
      text: "The audio says: hello world",
      source: "web",
      artifacts: [],
      value: "hello world",
    });
    expect(server.recordings).toEqual([{ model: "whisper-1", name: "audio.wav", bytes: wav(), language: null }]);
    expect(server.violations).toEqual([]);
  });

  it("sends the language if given", async () => {
    await using server = await startMediaServer();
    await hear(server, "memo.mp3", { language: "de" });
    expect(server.recordings[0]?.language).toBe("de");
  });

  it("removes control characters, and reports an empty transcript", async () => {
    await using server = await answering({ status: 200, body: { text: "one\u001b[2J\u202etwo\ud800\nthree " } });
    expect((await hear(server)).text).toBe("The audio says: onetwo\ufffd\nthree");
    await using silent = await answering({ status: 200, body: { text: "  " } });
    expect((await hear(silent)).text).toBe("No words could be heard in it.");
  });

  it("sends nothing for files that are not recordings, too large, missing or outside", async () => {
    await using server = await startMediaServer();
    await desk.workspace.write("notes.mp3", "just text");
    await desk.workspace.write("picture.wav", png(2, 2));
    const large = new Uint8Array(25 * 1024 * 1024 + 1);
    large.set(wav());
    await desk.workspace.write("large.wav", large);
    await expect(hear(server, "notes.mp3")).rejects.toMatchObject({ code: "GOALD_MEDIA" });
    await expect(hear(server, "picture.wav")).rejects.toMatchObject({ code: "GOALD_MEDIA" });
    await expect(hear(server, "large.wav")).rejects.toMatchObject({ message: expect.stringMatching(/26214401 bytes/) });
    await expect(hear(server, "none.mp3")).rejects.toMatchObject({ code: "GOALD_FILE_MISSING" });
    for (const path of REFUSED_PATHS)
      await expect(hear(server, path)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(server.connections).toBe(0);
  });

  it.each<[title: string, answer: Answer, message: RegExp]>([
    ["a refusal", failure(400, "Audio file might be corrupted or unsupported"), /400.*corrupted/],
    ["too many requests", failure(429, "Rate limit reached"), /429/],
    ["a fault", failure(503, "overloaded"), /503/],
    ["a web page", { status: 200, body: "<html>\u001b[2JLog in</html>" }, /not with the text/],
    ["text of another type", { status: 200, body: { text: ["a"] } }, /not with the text/],
    ["JSON of another kind", { status: 200, body: [1] }, /not with the text/],
    ["a flood", { status: 200, body: { text: "x".repeat(5 * 1024 * 1024) } }, /bytes/],
    ["silence", { fault: "stall" }, /250 ms/],
    ["a broken connection", { fault: "close" }, /./],
  ])("reports the problem after %s", async (_title, answer, message) => {
    await using server = await answering(answer);
    const error = await hear(server, "memo.mp3", { timeoutMs: timeoutMsFor(answer) }).then(
      () => "it was heard",
      (thrown: { code: string; message: string }) => `${thrown.code} ${thrown.message}`,
    );
    expect(error).toMatch(/^GOALD_MEDIA /);
    expect(error).toMatch(message);
    expect(error).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(server.recordings).toHaveLength(1);
  });

  it("shows no key in a refusal", async () => {
    await using server = await startMediaServer();
    const error = await hear(server, "memo.mp3", { apiKey: "sk-wrong-9876543210zyxwvu" }).then(String, String);
    expect(error).toMatch(/401.*refused the key/);
    expect(error).not.toMatch(/sk-wrong|zyxwvu/);
  });

  it("ends with its signal", async () => {
    await using server = await answering({ fault: "stall" });
    const controller = new AbortController();
    const hearing = hear(server, "memo.mp3", { signal: controller.signal });
    await server.asked(1);
    controller.abort(new Error("the host goes down"));
    await expect(hearing).rejects.toThrow("the host goes down");
  });
});
