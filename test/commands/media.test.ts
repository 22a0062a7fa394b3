import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { Services } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { createOpenAIImages, createOpenAISpeech } from "#model/openai-media.ts";
import { createXPosts } from "#services/x/x-posts.ts";
import { systemClock } from "#util/clock.ts";
import generate_image from "../../commands/generate_image.ts";
import read_audio_from_file from "../../commands/read_audio_from_file.ts";
import send_tweet from "../../commands/send_tweet.ts";
import { refusalOf } from "../helpers/folder.ts";
import { type Answer, failure, timeoutMsFor } from "../helpers/openai-server.ts";
import {
  jpeg,
  MEDIA_KEY,
  type MediaServer,
  pictureAnswer,
  png,
  problemAnswer,
  startMediaServer,
  startXServer,
  wav,
  webp,
  X_KEYS,
  type XServer,
} from "../helpers/service-servers.ts";
import { call, contextOf, REFUSED_PATHS } from "./context.ts";
import { useDesk } from "./use-desk.ts";

const desk = useDesk();

/** How a test calls a command; by default with the right key and enough time. */
interface Way {
  readonly args?: object;
  readonly model?: string;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}
const partsFor = ({ baseUrl }: MediaServer, { apiKey = MEDIA_KEY, timeoutMs = timeoutMsFor(undefined) }: Way) => {
  return { baseUrl, apiKey, http: createHttp(), timeoutMs };
};
const contextWith = (services: Partial<Services>, { signal }: Way) => ({
  ...contextOf(desk.workspace, services),
  ...(signal ? { signal } : {}),
});
const imagesOf = (server: MediaServer, way: Way = {}) =>
  contextWith({ images: createOpenAIImages({ ...partsFor(server, way), model: way.model ?? "gpt-image-1" }) }, way);
const paint = (server: MediaServer, way: Way = {}) =>
  call(generate_image, { prompt: "a red tennis ball", ...way.args }, imagesOf(server, way));
const answering = (image: Answer): Promise<MediaServer> => startMediaServer({ image: () => image });

/** A problem of a media server, in words without control characters. */
async function expectProblem(run: Promise<unknown>, words: RegExp): Promise<void> {
  const { code, message } = await refusalOf(run);
  expect([code, message]).toEqual(["GOALD_MEDIA", expect.stringMatching(words)]);
  expect(message).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
}

/** The command ends with its signal, once the server was asked. */
async function expectAbort(
  server: { asked(count: number): Promise<unknown> },
  run: (signal: AbortSignal) => Promise<unknown>,
) {
  const controller = new AbortController();
  const running = run(controller.signal);
  await server.asked(1);
  controller.abort(new Error("the host goes down"));
  await expect(running).rejects.toThrow("the host goes down");
}

describe("generate_image", () => {
  it("saves the picture under a name that follows from the call", async () => {
    const picture = png(64, 32);
    await using server = await answering(pictureAnswer(picture));
    const path = "images/c1.png";
    expect(await paint(server)).toEqual({
      status: "ok",
      source: "model",
      artifacts: [path],
      value: path,
      text: `Saved to images/c1.png (PNG, 64 x 32 pixels, ${picture.length} bytes).`,
    });
    expect(new Uint8Array(await readFile(join(desk.folder, "images/c1.png")))).toEqual(picture);
    expect(server.images).toEqual([{ model: "gpt-image-1", prompt: "a red tennis ball", size: "1024x1024", n: 1 }]);
    expect(server.violations).toEqual([]);
    expect(desk.changes.map(({ path, operation }) => [path, operation])).toEqual([["images/c1.png", "write"]]);
  });

  it("asks older models and other servers for bytes", async () => {
    // Encoders of mail break base64 into lines.
    const lines = Buffer.from(png(8, 8)).toString("base64").replace(/.{76}/g, "$&\r\n");
    const picture = { b64_json: lines, revised_prompt: "a ball, \u001b[31mred" };
    await using server = await answering({ status: 200, body: { data: [picture] } });
    expect((await paint(server, { model: "dall-e-3", args: { size: "512x512" } })).text).toContain(
      "drawn from: a ball, red",
    );
    expect(server.images).toEqual([
      { model: "dall-e-3", prompt: "a red tennis ball", size: "512x512", n: 1, response_format: "b64_json" },
    ]);
    expect(server.violations).toEqual([]);
  });

  it.each([
    ["art/ball.png", jpeg(20, 10), "art/ball.jpg"],
    ["art/ball", webp("VP8L", 20, 10), "art/ball.webp"],
    ["art/", png(20, 10), "art/c1.png"],
    ["art/ball.v2.jpeg", png(20, 10), "art/ball.v2.png"],
  ])("saves %s under the file ending of its real type", async (file, picture, path) => {
    await using server = await answering(pictureAnswer(picture));
    expect(await paint(server, { args: { file } })).toMatchObject({ status: "ok", artifacts: [path] });
  });

  it("replaces no file, and then sends no paid request", async () => {
    await using server = await startMediaServer();
    await desk.workspace.write("ball.jpg", "mine");
    expect(await paint(server, { args: { file: "ball.png" } })).toMatchObject({
      status: "failed",
      code: "file-exists",
    });
    expect(server.requests).toHaveLength(0);
    expect(await readFile(join(desk.folder, "ball.jpg"), "utf8")).toBe("mine");
  });

  it.each(REFUSED_PATHS)("refuses the path %j outside the workspace, and then sends no paid request", async (file) => {
    await using server = await startMediaServer();
    await expect(paint(server, { args: { file } })).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(server.requests).toHaveLength(0);
  });

  it("fetches a picture by address from the same server without the key", async () => {
    const picture = png(9, 9);
    await using server = await startMediaServer({
      image: (_request, origin) => ({ status: 200, body: { data: [{ b64_json: "", url: `${origin}/files/1.png` }] } }),
      other: () => ({ status: 200, body: picture, headers: { "content-type": "image/png" } }),
    });
    expect(await paint(server, { model: "local" })).toMatchObject({ status: "ok", artifacts: ["images/c1.png"] });
    const seen = server.requests.map(({ path, headers }) => `${path} ${headers.authorization !== undefined}`);
    expect(seen).toEqual(["/v1/images/generations true", "/files/1.png false"]);
  });

  it("opens no private address of another server, and says that the picture may have been charged for", async () => {
    await using inside = await startMediaServer();
    await using server = await answering({ status: 200, body: { data: [{ url: `${inside.origin}/secret.png` }] } });
    const message = expect.stringMatching(/sent an address that cannot be read.* It may have charged for it\.$/);
    for (const url of [`${inside.origin}/secret.png`, "file:///etc/passwd", "not an address"]) {
      await using other = await answering({ status: 200, body: { data: [{ url }] } });
      await expect(paint(other, { model: "local" })).rejects.toMatchObject({ code: "GOALD_MEDIA", message });
    }
    expect(server.connections).toBe(0);
    expect(inside.connections).toBe(0);
  });

  it.each<[title: string, answer: Answer, message: RegExp]>([
    ["a refusal of its filter", failure(400, "It was rejected.", "content_policy_violation"), /took offence|rejected/],
    ["a model that it does not know", failure(404, "The model does not exist.", "model_not_found"), /404/],
    ["too many requests", failure(429, "Rate limit reached"), /429.*fewer requests/],
    ["an empty account", failure(429, "You exceeded your current quota", "insufficient_quota"), /money or quota/],
    ["a fault", failure(500, "The server had an error"), /500/],
    ["a web page", { status: 200, body: "<html>\u001b[2JLog in</html>" }, /neither bytes nor an address|JSON/],
    ["no data", { status: 200, body: { created: 1 } }, /neither bytes/],
    ["data of another type", { status: 200, body: { data: "x" } }, /neither bytes/],
    ["bytes of another type", { status: 200, body: { data: [{ b64_json: 5 }] } }, /neither bytes/],
    ["invalid bytes", { status: 200, body: { data: [{ b64_json: "%%%%" }] } }, /0 bytes that are no PNG/],
    ["a page as a picture", pictureAnswer(Buffer.from("<html>\u001b[2Jno picture</html>")), /no PNG.*no picture/],
    ["a picture that is too large", pictureAnswer(webp("VP8X", 70_000, 70_000)), /usual size/],
    ["silence", { fault: "stall" }, /250 ms/],
    ["half an answer", { fault: "cut" }, /./],
  ])("reports the problem after %s, sends one request and leaves no file", async (_title, answer, message) => {
    await using server = await answering(answer);
    await expectProblem(paint(server, { timeoutMs: timeoutMsFor(answer) }), message);
    expect(server.images).toHaveLength(1);
    expect(await Array.fromAsync(desk.workspace.list(""))).toEqual([]);
  });

  it("is done after a crash if its file exists, else unknown, so it is never paid for twice", async () => {
    await using server = await startMediaServer();
    const context = imagesOf(server);
    const prepared = await generate_image.prepare?.({ prompt: "p" }, context);
    expect(await generate_image.probe?.({ prompt: "p" }, context, prepared)).toBe("unknown");
    await paint(server);
    expect(await generate_image.probe?.({ prompt: "p" }, context, prepared)).toBe("done");
    const later = await generate_image.prepare?.({ prompt: "p" }, context);
    expect(await generate_image.probe?.({ prompt: "p" }, context, later)).toBe("unknown");
  });
});

const hear = (server: MediaServer, way: Way = {}) => {
  const speech = createOpenAISpeech({ ...partsFor(server, way), model: "whisper-1" });
  return call(read_audio_from_file, { file: "memo.mp3", ...way.args }, contextWith({ speech }, way));
};
const hearingOf = (speech: Answer): Promise<MediaServer> => startMediaServer({ speech: () => speech });

describe("read_audio_from_file", () => {
  beforeEach(() => desk.workspace.write("memo.mp3", wav()));

  it("returns the text; the server gets the format and the language but no file name", async () => {
    await using server = await startMediaServer();
    expect(await hear(server)).toEqual({
      status: "ok",
      text: "The audio says: hello world",
      source: "web",
      artifacts: [],
      value: "hello world",
    });
    expect(server.recordings).toEqual([{ model: "whisper-1", name: "audio.wav", bytes: wav(), language: null }]);
    await hear(server, { args: { language: "de" } });
    expect(server.recordings[1]?.language).toBe("de");
    expect(server.violations).toEqual([]);
  });

  it("removes control characters, and reports an empty transcript", async () => {
    await using server = await hearingOf({ status: 200, body: { text: "one\u001b[2J\u202etwo\ud800\nthree " } });
    expect((await hear(server)).text).toBe("The audio says: onetwo\ufffd\nthree");
    await using silent = await hearingOf({ status: 200, body: { text: "  " } });
    expect((await hear(silent)).text).toBe("No words could be heard in it.");
  });

  it("sends nothing for files that are not recordings, too large, missing or outside", async () => {
    await using server = await startMediaServer();
    await desk.workspace.write("notes.mp3", "just text");
    await desk.workspace.write("picture.wav", png(2, 2));
    const large = new Uint8Array(25 * 1024 * 1024 + 1);
    large.set(wav());
    await desk.workspace.write("large.wav", large);
    const refusal = (file: string) => refusalOf(hear(server, { args: { file } }));
    expect(await refusal("notes.mp3")).toMatchObject({ code: "GOALD_MEDIA" });
    expect(await refusal("picture.wav")).toMatchObject({ code: "GOALD_MEDIA" });
    expect(await refusal("large.wav")).toMatchObject({ message: expect.stringMatching(/26214401 bytes/) });
    expect(await refusal("none.mp3")).toMatchObject({ code: "GOALD_FILE_MISSING" });
    for (const path of REFUSED_PATHS) expect(await refusal(path)).toMatchObject({ code: "GOALD_PATH_REFUSED" });
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
    await using server = await hearingOf(answer);
    await expectProblem(hear(server, { timeoutMs: timeoutMsFor(answer) }), message);
    expect(server.recordings).toHaveLength(1);
  });

  it.each([
    [paint, /check OPENAI_API_KEY or GOALD_IMAGES_API_KEY,/],
    [hear, /check OPENAI_API_KEY or GOALD_SPEECH_API_KEY,/],
  ])("and generate_image end with their signal, and show no key in a refusal: %p", async (run, advice) => {
    const stalled = (): Answer => ({ fault: "stall" });
    await using silent = await startMediaServer({ image: stalled, speech: stalled });
    await expectAbort(silent, (signal) => run(silent, { signal }));
    await using server = await startMediaServer();
    const { message } = await refusalOf(run(server, { apiKey: "sk-wrong-9876543210zyxwvu" }));
    expect(message).toMatch(/401.*refused the key/);
    expect(message).toMatch(advice);
    expect(message).not.toMatch(/sk-wrong|zyxwvu/);
  });
});

const tweet = (server: XServer, text: string, { keys = X_KEYS, ...way }: Way & { keys?: typeof X_KEYS } = {}) => {
  const { timeoutMs = timeoutMsFor(undefined) } = way;
  const posts = createXPosts({ baseUrl: server.origin, keys, http: createHttp(), clock: systemClock, timeoutMs });
  return call(send_tweet, { text }, contextWith({ posts }, way));
};
const xAnswering = (reply?: Answer): Promise<XServer> => startXServer(() => reply);

describe("send_tweet", () => {
  it("posts the signed text, and returns its id and address", async () => {
    await using server = await xAnswering();
    const text = 'Hello Ladies + Gentlemen, a signed OAuth request! (100%) 日本 👍 "quoted"\nnext & last=1';
    const value = "https://x.com/i/web/status/1700000000000000001";
    const told = `Posted as 1700000000000000001: ${value}`;
    expect(await tweet(server, text)).toEqual({ status: "ok", text: told, source: "goald", artifacts: [], value });
    expect(server.posts).toEqual([text]);
    expect(server.violations).toEqual([]);
  });

  it("is refused with other secrets (control: the server checks the signature)", async () => {
    await using server = await xAnswering();
    const keys = { ...X_KEYS, accessTokenSecret: "another-secret-ABCDEF" };
    const message = "X refused the keys (401). Nothing was posted.";
    await expect(tweet(server, "a", { keys })).rejects.toMatchObject({ code: "GOALD_POST", message });
    expect(server.violations).toEqual(["signature"]);
    expect(server.posts).toEqual([]);
  });

  it("reports a duplicate post", async () => {
    await using server = await xAnswering();
    await tweet(server, "once");
    await expect(tweet(server, "once")).rejects.toMatchObject({
      code: "GOALD_POST",
      message: expect.stringMatching(/403.*Nothing was posted.*posted before/),
      words: expect.stringContaining("duplicate content"),
    });
    expect(server.posts).toEqual(["once"]);
  });

  const tooMany = (headers: Parameters<typeof problemAnswer>[3]) =>
    problemAnswer(429, "Too Many Requests", "Too Many Requests", headers);
  const inOneHour = Math.floor(Date.UTC(2027, 0, 1, 12) / 1000);
  it.each<[title: string, answer: Answer, message: RegExp]>([
    ["a missing permission", problemAnswer(403, "Forbidden", "The app is not configured"), /403.*not configured/],
    ["a bad request", problemAnswer(400, "Invalid Request", "One or more parameters"), /400.*One or more/],
    [
      "too many requests",
      tooMany({ "x-rate-limit-reset": inOneHour }),
      /429.*Nothing was posted.*until 2027-01-01T12:00:00.000Z/,
    ],
    [
      "too many posts in one day",
      tooMany({ "x-rate-limit-reset": 1, "x-user-limit-24hour-remaining": 0, "x-user-limit-24hour-reset": inOneHour }),
      /until 2027-01-01T12:00:00.000Z/,
    ],
    ["a limit without a time", { status: 429, body: "<html>slow down</html>" }, /429.*try later.*slow down/],
    [
      "errors of the older form",
      { status: 403, body: { errors: [{ code: 187, message: "A duplicate." }] } },
      /posted before/,
    ],
    ["an unknown address", { status: 404, body: "not here" }, /404.*not here/],
  ])("reports that nothing was posted after %s", async (_title, answer, message) => {
    await using server = await xAnswering(answer);
    // goald's own sentence, then what X said.
    const { code, message: own, words } = await tweet(server, "a").then(String, (error) => error);
    expect([code, `${own} ${words}`]).toEqual(["GOALD_POST", expect.stringMatching(message)]);
    expect(server.requests).toHaveLength(1);
  });

  it.each<[title: string, answer: Answer, reason: RegExp]>([
    ["a fault of X", problemAnswer(503, "Service Unavailable", "Over capacity"), /503.*Over capacity/],
    ["a timeout of the server", { status: 408, body: "" }, /408/],
    ["silence", { fault: "stall" }, /250 ms/],
    ["half an answer", { fault: "stall-body" }, /./],
    ["a connection that broke", { fault: "close" }, /./],
    ["a web page", { status: 200, body: "<html><b>Log in</b></html>" }, /200.*Log in/],
    ["an invalid id", { status: 201, body: { data: { id: "../../x", text: "a" } } }, /201/],
    ["an id of the wrong type", { status: 201, body: { data: { id: 17, text: "a" } } }, /201/],
    ["JSON of another kind", { status: 200, body: "null" }, /200/],
    ["a flood", { status: 200, body: "x".repeat(300_000) }, /bytes/],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" }, body: "" }, /redirect/],
  ])(
    "reports an unknown outcome after %s, does not post again, and suggests to look",
    async (_title, answer, reason) => {
      await using server = await xAnswering(answer);
      const observation = await tweet(server, "a", { timeoutMs: timeoutMsFor(answer) });
      expect(observation).toMatchObject({ status: "unknown", code: "outcome-unknown" });
      expect(observation.text).toMatch(reason);
      expect(observation.text).toContain("before you repeat it");
      expect(server.requests).toHaveLength(1);
    },
  );

  it("reports that nothing was posted when the server is down", async () => {
    const server = await xAnswering();
    await server[Symbol.asyncDispose]();
    const message = expect.stringMatching(/could not be reached .*ECONNREFUSED.*Nothing was posted/);
    await expect(tweet(server, "a")).rejects.toMatchObject({ code: "GOALD_POST", message });
  });

  it("repeats neither control characters nor keys that the server echoes", async () => {
    const { consumerSecret, accessTokenSecret } = X_KEYS;
    const detail = `\u001b[2J\u009b31mYou sent ${consumerSecret} and ${accessTokenSecret}\u202e\r\nreally`;
    await using server = await xAnswering(problemAnswer(400, "Bad", detail));
    const error = await tweet(server, "a").then(String, ({ message, words }) => message + words);
    expect(error).toContain("You sent");
    expect(error).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(error).not.toContain(consumerSecret);
    expect(error).not.toContain(accessTokenSecret);
  });

  it("refuses a text that is empty or too long", async () => {
    await using server = await xAnswering();
    const { message } = await refusalOf(tweet(server, "語".repeat(141)));
    expect(message).toMatch(/282 characters.*280.*Nothing was posted/);
    await expect(tweet(server, " \n ")).rejects.toMatchObject({ code: "GOALD_POST" });
    expect(server.connections).toBe(0);
    expect((await tweet(server, "語".repeat(140))).status).toBe("ok");
  });

  it("ends with its signal", async () => {
    await using server = await xAnswering({ fault: "stall" });
    await expectAbort(server, (signal) => tweet(server, "a", { signal }));
  });
});
