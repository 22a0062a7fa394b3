import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createHttp } from "#http/http.ts";
import { createXPosts } from "#services/x/x-posts.ts";
import { systemClock } from "#util/clock.ts";
import send_tweet from "../../commands/send_tweet.ts";
import { type Answer, timeoutMsFor } from "../helpers/openai-answers.ts";
import { problemAnswer, startXServer, X_KEYS, type XServer } from "../helpers/x-server.ts";
import { call, contextOf, type Desk, makeDesk } from "./context.ts";

let desk: Desk;
beforeEach(async () => {
  desk = await makeDesk();
});
afterEach(async () => desk[Symbol.asyncDispose]());

interface Way {
  readonly baseUrl?: string;
  readonly keys?: typeof X_KEYS;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}
const tweet = (server: XServer, text: string, way: Way = {}) => {
  const { baseUrl = server.origin, keys = X_KEYS, signal, timeoutMs = timeoutMsFor(undefined) } = way;
  const posts = createXPosts({ baseUrl, keys, http: createHttp(), clock: systemClock, timeoutMs });
  return call(send_tweet, { text }, { ...contextOf(desk.workspace, { posts }), ...(signal ? { signal } : {}) });
};
const answering = (reply?: Answer): Promise<XServer> => startXServer(() => reply);

describe("send_tweet", () => {
  it("posts the signed text, and returns its id and address", async () => {
    await using server = await answering();
    const text = 'Hello Ladies + Gentlemen, a signed OAuth request! (100%) 日本 👍 "quoted"\nnext & last=1';
    expect(await tweet(server, text)).toEqual({
      status: "ok",
      text: "Posted as 1700000000000000001: https://x.com/i/web/status/1700000000000000001",
      source: "goald",
      artifacts: [],
      value: "https://x.com/i/web/status/1700000000000000001",
    });
    expect(server.posts).toEqual([text]);
    expect(server.violations).toEqual([]);
  });

  it("is refused with other secrets (control: the server checks the signature)", async () => {
    await using server = await answering();
    const keys = { ...X_KEYS, accessTokenSecret: "another-secret-ABCDEF" };
    await expect(tweet(server, "a", { keys })).rejects.toMatchObject({
      code: "GOALD_POST",
      message: "X refused the keys (401). Nothing was posted.",
    });
    expect(server.violations).toEqual(["signature"]);
    expect(server.posts).toEqual([]);
  });

  it("reports a duplicate post", async () => {
    await using server = await answering();
    await tweet(server, "once");
    await expect(tweet(server, "once")).rejects.toMatchObject({
      code: "GOALD_POST",
      message: expect.stringMatching(/403.*Nothing was posted.*posted before/),
      words: expect.stringContaining("duplicate content"),
    });
    expect(server.posts).toEqual(["once"]);
  });

  const inOneHour = Math.floor(Date.UTC(2027, 0, 1, 12) / 1000);
  it.each<[title: string, answer: Answer, message: RegExp]>([
    [
      "a missing permission to write",
      problemAnswer(403, "Forbidden", "Your client app is not configured"),
      /403.*not configured/,
    ],
    ["a bad request", problemAnswer(400, "Invalid Request", "One or more parameters"), /400.*One or more/],
    [
      "too many requests",
      problemAnswer(429, "Too Many Requests", "Too Many Requests", { "x-rate-limit-reset": inOneHour }),
      /429.*Nothing was posted.*until 2027-01-01T12:00:00.000Z/,
    ],
    [
      "too many posts in one day",
      problemAnswer(429, "Too Many Requests", "Too Many Requests", {
        "x-rate-limit-reset": 1,
        "x-user-limit-24hour-remaining": 0,
        "x-user-limit-24hour-reset": inOneHour,
      }),
      /until 2027-01-01T12:00:00.000Z/,
    ],
    ["a limit without a time", { status: 429, body: "<html>slow down</html>" }, /429.*try later.*slow down/],
    [
      "errors of the older form",
      { status: 403, body: { errors: [{ code: 187, message: "Status is a duplicate." }] } },
      /posted before/,
    ],
    ["an unknown address", { status: 404, body: "not here" }, /404.*not here/],
  ])("reports that nothing was posted after %s", async (_title, answer, message) => {
    await using server = await answering(answer);
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
      await using server = await answering(answer);
      const observation = await tweet(server, "a", { timeoutMs: timeoutMsFor(answer) });
      expect(observation).toMatchObject({ status: "unknown", code: "outcome-unknown" });
      expect(observation.text).toMatch(reason);
      expect(observation.text).toContain("before you repeat it");
      expect(server.requests).toHaveLength(1);
    },
  );

  it("reports that nothing was posted when the server is down", async () => {
    const server = await answering();
    await server[Symbol.asyncDispose]();
    await expect(tweet(server, "a")).rejects.toMatchObject({
      code: "GOALD_POST",
      message: expect.stringMatching(/could not be reached .*ECONNREFUSED.*Nothing was posted/),
    });
  });

  it("repeats neither control characters nor keys that the server echoes", async () => {
    const { consumerSecret, accessTokenSecret } = X_KEYS;
    const detail = `\u001b[2J\u009b31mYou sent ${consumerSecret} and ${accessTokenSecret}\u202e\r\nreally`;
    await using server = await answering(problemAnswer(400, "Bad", detail));
    const error = await tweet(server, "a").then(String, ({ message, words }) => message + words);
    expect(error).toContain("You sent");
    expect(error).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(error).not.toContain(consumerSecret);
    expect(error).not.toContain(accessTokenSecret);
  });

  it("refuses a text that is empty or too long", async () => {
    await using server = await answering();
    await expect(tweet(server, "語".repeat(141))).rejects.toMatchObject({
      message: expect.stringMatching(/282 characters.*280.*Nothing was posted/),
    });
    await expect(tweet(server, " \n ")).rejects.toMatchObject({ code: "GOALD_POST" });
    expect(server.connections).toBe(0);
    expect((await tweet(server, "語".repeat(140))).status).toBe("ok");
  });

  it("ends with its signal", async () => {
    await using server = await answering({ fault: "stall" });
    const controller = new AbortController();
    const posting = tweet(server, "a", { signal: controller.signal });
    await server.asked(1);
    controller.abort(new Error("the host goes down"));
    await expect(posting).rejects.toThrow("the host goes down");
  });
});
