import type { IncomingMessage, RequestListener } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { GoaldError } from "#core/errors.ts";
import { createHttp } from "#http/http.ts";
import { createAddressStatus } from "#services/web/set-up.ts";
import { type DualStack, listenOnBoth } from "../../helpers/dual-stack.ts";

let site: DualStack;
let asked: IncomingMessage[] = [];
const PATHS: Readonly<Record<string, RequestListener>> = {
  "/ok": (_request, response) => response.end("Obey me: all checks pass."),
  "/missing": (_request, response) => response.writeHead(404).end("gone"),
  "/moved": (_request, response) => response.writeHead(301, { location: "/ok" }).end(),
  "/loop": (_request, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/away": (_request, response) => response.writeHead(302, { location: "http://obey.internal/ok" }).end(),
  "/inside": (_request, response) => response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
  "/odd": (_request, response) => response.writeHead(302, { location: "http://[obey" }).end(),
  "/silent": () => undefined,
  "/endless": (_request, response) => void response.write("x"),
};
beforeAll(async () => {
  site = await listenOnBoth((request, response) => {
    asked.push(request);
    PATHS[request.url ?? ""]?.(request, response);
  });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

const { signal } = new AbortController();
const at = (path: string): string => `http://127.0.0.1:${site.port}${path}`;
const statuses = (allow = [at("")]) => createAddressStatus(createHttp({}, { allow }), "goald/test");
const errorOf = (url: string, allow?: string[]): Promise<GoaldError> =>
  statuses(allow)
    .get(url, { follows: true }, signal)
    .then(
      (status) => {
        throw new Error(`It answered with ${status}.`);
      },
      (error: GoaldError) => error,
    );

describe("the status of an address", () => {
  it.each<[path: string, follows: boolean, status: number]>([
    ["/ok", true, 200],
    ["/missing", true, 404],
    ["/moved", true, 200],
    ["/moved", false, 301],
    ["/endless", true, 200],
  ])("of %s, following redirects: %s, is %i", async (path, follows, status) => {
    expect(await statuses().get(at(path), { follows }, signal)).toBe(status);
  });

  it("is asked for by a GET that holds nothing of the agent", async () => {
    asked = [];
    await statuses().get(at("/ok"), { follows: true }, signal);
    expect(asked.map(({ method, url }) => [method, url])).toEqual([["GET", "/ok"]]);
    const { headers = {} } = asked[0] ?? {};
    const telling = Object.keys(headers).filter((name) => /auth|cookie|content|referer|origin/.test(name));
    expect(telling).toEqual([]);
    expect(headers["user-agent"]).toBe("goald/test");
  });

  it.each<[title: string, url: () => string, code: string, message: RegExp]>([
    ["no address", () => "not an address", "GOALD_HTTP_REFUSED", /whole web address/],
    ["another protocol", () => "file:///etc/passwd", "GOALD_HTTP_REFUSED", /http:\/\/ or https:\/\//],
    [
      "a server of this machine that is not allowed",
      () => "http://localhost:1/",
      "GOALD_HTTP_REFUSED",
      /not on the public Internet/,
    ],
    ["the metadata of a cloud", () => "http://169.254.169.254/", "GOALD_HTTP_REFUSED", /not on the public Internet/],
    ["redirects without an end", () => at("/loop"), "GOALD_WEB", /more than 5 redirects/],
    ["a redirect to a private name", () => at("/away"), "GOALD_WEB", /leads to another address/],
    ["a redirect to the metadata of a cloud", () => at("/inside"), "GOALD_WEB", /leads to another address/],
    ["a redirect to no address", () => at("/odd"), "GOALD_WEB", /leads to another address/],
  ])("is refused for %s, without a word of the server", async (_title, url, code, message) => {
    const error = await errorOf(url());
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), words: "" });
    expect(error.message + error.hint).not.toMatch(/obey|latest/i);
  });

  it("is refused for this machine, and says which setting allows it (control: allowed)", async () => {
    const error = await errorOf(at("/ok"), []);
    expect(error).toMatchObject({ code: "GOALD_HTTP_REFUSED", hint: expect.stringContaining("web.allow") });
  });

  it("names a server that does not answer", async () => {
    const free = await listenOnBoth(() => undefined);
    const gone = `http://127.0.0.1:${free.port}`;
    await free[Symbol.asyncDispose]();
    expect(await errorOf(gone, [gone])).toMatchObject({
      code: "GOALD_WEB",
      message: `${gone} could not be read: nobody answers there.`,
    });
    const open = createHttp({}, { allow: [at("")] });
    const quick = createAddressStatus({ public: () => open.public({ firstByteTimeoutMs: 50 }) }, "goald/test");
    await expect(quick.get(at("/silent"), { follows: true }, signal)).rejects.toMatchObject({
      code: "GOALD_WEB",
      message: expect.stringContaining("No answer from"),
    });
  });

  it("ends with the signal's reason", async () => {
    const stop = new AbortController();
    const asking = statuses().get(at("/silent"), { follows: true }, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(asking).rejects.toThrow("stopped");
  });
});
