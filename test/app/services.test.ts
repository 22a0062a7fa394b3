import { describe, expect, it } from "@jest/globals";
import { serviceStates } from "#app/catalogue.ts";
import { openServices } from "#app/services.ts";
import { loadSettings } from "#config/load-settings.ts";
import type { ServiceName, Services } from "#core/services.ts";
import { createHttp } from "#http/http.ts";
import { systemClock } from "#util/clock.ts";
import { pictureAnswer, png, wav } from "../helpers/media-server.ts";
import { startServiceServer } from "../helpers/service-server.ts";
import { X_ENVIRONMENT } from "../helpers/x-server.ts";

type Environment = Record<string, string>;
const settingsOf = async (env: Environment) => (await loadSettings({ env })).settings;
const KEY = { OPENAI_API_KEY: "sk-0123456789abcdefghij" };

async function servicesOf(env: Environment): Promise<Partial<Services>> {
  const settings = await settingsOf(env);
  return openServices({ settings, http: createHttp(), clock: systemClock, scrub: String });
}

describe("what a home is set up for", () => {
  it.each<[name: ServiceName, env: Environment, isReady: boolean]>([
    ["images", {}, false],
    ["images", KEY, true],
    ["images", { ...KEY, OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" }, false],
    ["images", { GOALD_IMAGES_BASE_URL: "http://127.0.0.1:8080/v1" }, true],
    ["search", {}, true],
    ["search", { GOALD_SEARCH_PROVIDERS: "none" }, false],
    ["search", { GOALD_SEARCH_PROVIDERS: "tavily,brave,searxng" }, false],
    ["search", { GOALD_SEARCH_PROVIDERS: "tavily,brave", BRAVE_API_KEY: "BSA-0123456789abcdef" }, true],
    ["downloads", {}, true],
    ["speech", KEY, true],
    ["speech", { ...KEY, OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" }, false],
    ["speech", { GOALD_SPEECH_BASE_URL: "http://127.0.0.1:8080/v1" }, true],
    ["posts", X_ENVIRONMENT, true],
    ...Object.keys(X_ENVIRONMENT).map((missing): [ServiceName, Environment, boolean] => [
      "posts",
      { ...X_ENVIRONMENT, [missing]: "" },
      false,
    ]),
  ])("%s with %j: %s", async (name, env, isReady) => {
    const state = serviceStates(await settingsOf(env))[name];
    expect(state?.ready).toBe(isReady);
    // What is missing is named by the variable that sets it.
    if (!state?.ready) expect(state?.toDo).toMatch(/^Set .*[A-Z]+_[A-Z_]+/);
    expect(name in (await servicesOf(env))).toBe(isReady);
  });

  it("is git where there is a git, and says to install it where there is none", async () => {
    const settings = await settingsOf({});
    expect(serviceStates(settings).repositories).toEqual({ ready: true });
    const path = process.env.PATH;
    try {
      process.env.PATH = "/nonexistent:relative/bin";
      expect(serviceStates(settings).repositories).toEqual({ ready: false, toDo: "Install git, 2.37 or newer." });
    } finally {
      process.env.PATH = path;
    }
  });
});

describe("the key of the model server", () => {
  const { signal } = new AbortController();
  const paint = async ({ images }: Partial<Services>) => images?.generate("a ball", "64x64", signal);
  const hear = async ({ speech }: Partial<Services>) => speech?.transcribe("a.wav", wav(), signal);

  it("goes to the server that it was set for, and to none beside it", async () => {
    await using server = await startServiceServer(({ path }) =>
      path.endsWith("/transcriptions") ? { status: 200, body: { text: "a" } } : pictureAnswer(png(64, 64)),
    );
    await using other = await startServiceServer(() => ({ status: 200, body: { text: "a" } }));
    const env = {
      ...KEY,
      OPENAI_BASE_URL: `${server.origin}/v1`,
      GOALD_IMAGES_BASE_URL: `${server.origin}/v1`,
      GOALD_SPEECH_BASE_URL: `${other.origin}/v1`,
    };
    const services = await servicesOf(env);
    expect(await paint(services)).toMatchObject({ format: "png", width: 64 });
    expect(await hear(services)).toBe("a");
    const own = await servicesOf({ ...env, GOALD_SPEECH_API_KEY: "sk-speech-0123456789" });
    expect(await hear(own)).toBe("a");
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY.OPENAI_API_KEY}`]);
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      "Bearer sk-speech-0123456789",
    ]);
  });
});
