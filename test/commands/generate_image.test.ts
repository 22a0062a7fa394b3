import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createOpenAIImages } from "#model/openai-images.ts";
import generate_image from "../../commands/generate_image.ts";
import {
  jpeg,
  MEDIA_KEY,
  type MediaServer,
  pictureAnswer,
  png,
  startMediaServer,
  webp,
} from "../helpers/media-server.ts";
import { type Answer, failure, timeoutMsFor } from "../helpers/openai-answers.ts";
import { call, contextOf, type Desk, makeDesk, REFUSED_PATHS } from "./context.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(async () => desk[Symbol.asyncDispose]());

interface Way {
  readonly model?: string;
  readonly apiKey?: string;
  readonly file?: string;
  readonly size?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}
const contextFor = (server: MediaServer, way: Way = {}) => {
  const { model = "gpt-image-1", apiKey = MEDIA_KEY, signal, timeoutMs = timeoutMsFor(undefined) } = way;
  const images = createOpenAIImages({ baseUrl: server.baseUrl, apiKey, model, http: createHttp(), timeoutMs });
  return { ...contextOf(desk.workspace, { images }), ...(signal ? { signal } : {}) };
};
const paint = (server: MediaServer, way: Way = {}, prompt = "a red tennis ball") => {
  const { file, size } = way;
  const args = { prompt, ...(file === undefined ? {} : { file }), ...(size === undefined ? {} : { size }) };
  return call(generate_image, args, contextFor(server, way));
};
const answering = (image: Answer | ((origin: string) => Answer)): Promise<MediaServer> =>
  startMediaServer({ image: (_request, origin) => (typeof image === "function" ? image(origin) : image) });

describe("generate_image", () => {
  it("saves the picture under a name that follows from the call", async () => {
    const picture = png(64, 32);
    await using server = await answering(pictureAnswer(picture));
    expect(await paint(server)).toEqual({
      status: "ok",
      text: `Saved to images/c1.png (PNG, 64 x 32 pixels, ${picture.length} bytes).`,
      source: "model",
      artifacts: ["images/c1.png"],
      value: "images/c1.png",
    });
    expect(new Uint8Array(await readFile(join(desk.folder, "images/c1.png")))).toEqual(picture);
    expect(server.images).toEqual([{ model: "gpt-image-1", prompt: "a red tennis ball", size: "1024x1024", n: 1 }]);
    expect(server.violations).toEqual([]);
    expect(desk.changes.map(({ path, operation }) => [path, operation])).toEqual([["images/c1.png", "write"]]);
  });

  it("asks older models and other servers for bytes", async () => {
    await using server = await answering(pictureAnswer(png(8, 8), { revised_prompt: "a ball, \u001b[31mred" }));
    expect((await paint(server, { model: "dall-e-3", size: "512x512" })).text).toContain("drawn from: a ball, red");
    expect(server.images).toEqual([
      { model: "dall-e-3", prompt: "a red tennis ball", size: "512x512", n: 1, response_format: "b64_json" },
    ]);
    expect(server.violations).toEqual([]);
  });

  it.each([
    ["art/ball.png", jpeg(20, 10), "art/ball.jpg"],
    ["art/ball", webp("VP8L", 20, 10), "art/ball.webp"],
    ["art/ball.v2.jpeg", png(20, 10), "art/ball.v2.png"],
  ])("saves %s under the file ending of its real type", async (file, picture, path) => {
    await using server = await answering(pictureAnswer(picture));
    expect(await paint(server, { file })).toMatchObject({ status: "ok", artifacts: [path] });
  });

  it("replaces no file, and then sends no paid request", async () => {
    await using server = await startMediaServer();
    await desk.workspace.write("ball.jpg", "mine");
    expect(await paint(server, { file: "ball.png" })).toMatchObject({ status: "failed", code: "file-exists" });
    expect(server.requests).toHaveLength(0);
    expect(await readFile(join(desk.folder, "ball.jpg"), "utf8")).toBe("mine");
  });

  it.each(REFUSED_PATHS)("refuses the path %j outside the workspace, and then sends no paid request", async (file) => {
    await using server = await startMediaServer();
    await expect(paint(server, { file })).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(server.requests).toHaveLength(0);
  });

  it("fetches a picture by address from the same server without the key", async () => {
    const picture = png(9, 9);
    await using server = await startMediaServer({
      image: (_request, origin) => ({ status: 200, body: { data: [{ url: `${origin}/files/1.png` }] } }),
      other: () => ({ status: 200, body: picture, headers: { "content-type": "image/png" } }),
    });
    expect(await paint(server, { model: "local" })).toMatchObject({ status: "ok", artifacts: ["images/c1.png"] });
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization !== undefined])).toEqual([
      ["/v1/images/generations", true],
      ["/files/1.png", false],
    ]);
  });

  it("opens no private address of another server", async () => {
    await using inside = await startMediaServer();
    await using server = await answering({ status: 200, body: { data: [{ url: `${inside.origin}/secret.png` }] } });
    for (const url of [`${inside.origin}/secret.png`, "file:///etc/passwd", "not an address"]) {
      await using other = await answering({ status: 200, body: { data: [{ url }] } });
      await expect(paint(other, { model: "local" })).rejects.toMatchObject({ code: "GOALD_MEDIA" });
    }
    expect(server.connections).toBe(0);
    expect(inside.connections).toBe(0);
  });

  it.each<[title: string, answer: Answer, message: RegExp]>([
    [
      "a refusal of its filter",
      failure(400, "Your request was rejected.", "content_policy_violation"),
      /took offence|rejected/,
    ],
    ["a model that it does not know", failure(404, "The model does not exist.", "model_not_found"), /404/],
    ["too many requests", failure(429, "Rate limit reached"), /429.*fewer requests/],
    ["an empty account", failure(429, "You exceeded your current quota", "insufficient_quota"), /money or quota/],
    ["a fault", failure(500, "The server had an error"), /500/],
    ["a web page", { status: 200, body: "<html>\u001b[2JLog in</html>" }, /neither bytes nor an address|JSON/],
    ["no data", { status: 200, body: { created: 1 } }, /neither bytes/],
    ["data of another type", { status: 200, body: { data: "x" } }, /neither bytes/],
    ["bytes of another type", { status: 200, body: { data: [{ b64_json: 5 }] } }, /neither bytes/],
    ["invalid bytes", { status: 200, body: { data: [{ b64_json: "%%%%" }] } }, /no base64/],
    ["a page as a picture", pictureAnswer(Buffer.from("<html>\u001b[2Jno picture</html>")), /no PNG.*no picture/],
    ["a picture that is too large", pictureAnswer(webp("VP8X", 70_000, 70_000)), /usual size/],
    ["silence", { fault: "stall" }, /250 ms/],
    ["half an answer", { fault: "cut" }, /./],
  ])("reports the problem after %s, sends one request and leaves no file", async (_title, answer, message) => {
    await using server = await answering(answer);
    const error = await paint(server, { timeoutMs: timeoutMsFor(answer) }).then(
      () => "it was made",
      (thrown: { code: string; message: string }) => `${thrown.code} ${thrown.message}`,
    );
    expect(error).toMatch(/^GOALD_MEDIA /);
    expect(error).toMatch(message);
    expect(error).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(server.images).toHaveLength(1);
    expect(await Array.fromAsync(desk.workspace.list(""))).toEqual([]);
  });

  it("shows no key in a refusal", async () => {
    await using server = await startMediaServer();
    const apiKey = "sk-wrong-9876543210zyxwvu";
    const error = await paint(server, { apiKey }).then(String, String);
    expect(error).toMatch(/401.*refused the key/);
    expect(error).not.toMatch(/sk-wrong|zyxwvu/);
  });

  it("ends with its signal", async () => {
    await using server = await answering({ fault: "stall" });
    const controller = new AbortController();
    const painting = paint(server, { signal: controller.signal });
    await server.asked(1);
    controller.abort(new Error("the host goes down"));
    await expect(painting).rejects.toThrow("the host goes down");
  });

  it("is done after a crash if its file exists, else unknown, so it is never paid for twice", async () => {
    await using server = await startMediaServer();
    const context = contextFor(server);
    const prepared = await generate_image.prepare?.({ prompt: "p" }, context);
    expect(await generate_image.probe?.({ prompt: "p" }, context, prepared)).toBe("unknown");
    await paint(server);
    expect(await generate_image.probe?.({ prompt: "p" }, context, prepared)).toBe("done");
    const later = await generate_image.prepare?.({ prompt: "p" }, context);
    expect(await generate_image.probe?.({ prompt: "p" }, context, later)).toBe("unknown");
  });
});
