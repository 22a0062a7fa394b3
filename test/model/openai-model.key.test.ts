import { afterEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createOpenAIModel } from "#model/openai-model.ts";
import { answerTo, ask, closeServers, KEY, start } from "../helpers/ask-model.ts";

afterEach(closeServers);

describe("the key", () => {
  const pieces = [KEY, KEY.slice(3), KEY.slice(0, 14), KEY.slice(-12), Buffer.from(`Bearer ${KEY}`).toString("base64")];
  const echoes = [
    ...pieces,
    `Bearer ${KEY}`,
    `${KEY.slice(0, 8)}*****${KEY.slice(-4)}`,
    `${KEY.slice(0, 7)}...${KEY.slice(-4)}`,
    JSON.stringify({ headers: { authorization: `Bearer ${KEY}` } }),
    encodeURIComponent(KEY),
    [...KEY].join("\u200b"),
    `${"x".repeat(190)} ${KEY}`,
  ];
  const ends = [KEY.slice(0, 8), KEY.slice(-4)];

  it.each(echoes)("is never in a message, even if the server echoes it: %j", async (echo) => {
    for (const status of [200, 400, 401, 403, 404, 429, 500]) {
      for (const body of [echo, { error: { message: `Bad key ${echo}.` } }, { error: echo }, { detail: [echo] }]) {
        const failure = await answerTo({ status, body });
        const text = JSON.stringify(failure).replaceAll("\u200b", "");
        expect(failure.kind).toBe("failed");
        for (const piece of [...pieces, ...ends]) expect(text).not.toContain(piece);
      }
    }
  });

  it("that was rejected hides the server's words, which may contain parts of it", async () => {
    const failure = await answerTo({ status: 401, body: { error: { message: "The key that ends in Lm2 is wrong" } } });
    expect(failure).toMatchObject({ message: expect.not.stringContaining("Lm2") });
  });

  it.each(["sk-with\nbreak-123", " sk-with-space", "sk-zażółć", "“sk-quoted”"])(
    "that cannot stand in a header is refused before anything is sent: %j",
    async (apiKey) => {
      const server = await start({ reply: "unheard" });
      const failure = await ask(server.baseUrl, { apiKey });
      expect(failure).toMatchObject({
        code: "unauthorized",
        retry: null,
        message: expect.stringContaining("OPENAI_API_KEY"),
      });
      expect(JSON.stringify(failure)).not.toContain(apiKey.slice(4));
      expect(server.requests).toEqual([]);
    },
  );

  it("is not sent to another origin", async () => {
    const thief = await start({ reply: "mine" });
    const location = `${thief.baseUrl}/chat/completions`;
    expect(await answerTo({ status: 308, headers: { location } })).toMatchObject({ code: "http-refused" });
    expect(thief.requests).toEqual([]);
  });

  it("in a base URL is refused, and messages show no query", async () => {
    const create = (baseUrl: string) => () =>
      createOpenAIModel({ baseUrl, apiKey: KEY, http: createHttp(), timeoutMs: 1 });
    for (const baseUrl of ["http://user:pass@127.0.0.1/v1", "127.0.0.1:1234", "", "ws://127.0.0.1/v1"])
      expect(create(baseUrl)).toThrow(expect.objectContaining({ code: "GOALD_CONFIG" }));
    const { baseUrl } = await start({ reply: [{ status: 500 }] });
    expect(JSON.stringify(await ask(`${baseUrl}?code=hidden`))).not.toContain("hidden");
  });
});
