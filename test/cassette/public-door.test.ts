import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { ExchangeLine } from "#cassette/format.ts";
import { playHttp } from "#cassette/play-http.ts";
import { recordHttp } from "#cassette/record-http.ts";
import { createHttp, type Http } from "#http/http.ts";
import { type Loopback, listenOnLoopback } from "../helpers/loopback.ts";

const SECRET = "planted-4fK2mQ9x";
const redact = (text: string): string => text.replaceAll(SECRET, "[redacted]");
const at = { step: 2, attempt: 1 };

let site: Loopback;
let origin: string;
beforeAll(async () => {
  site = await listenOnLoopback((request, response) => {
    if (request.url?.startsWith("/from")) response.writeHead(302, { location: `/to?key=${SECRET}` }).end();
    else if (request.url === "/long") response.end(Buffer.alloc(300_000, "x"));
    else {
      const headers = { "content-type": "text/plain", etag: '"1"', "set-cookie": SECRET };
      response.writeHead(200, headers).end(`hello ${SECRET}`);
    }
  });
  origin = site.origin;
});
afterAll(() => site.close());

/** Runs `act`, and returns its result, the recorded lines and a player of them. */
async function record(act: (http: Http) => Promise<unknown>, within?: string) {
  const lines: ExchangeLine[] = [];
  let ordinal = 0;
  const nextKey = () => ({ agent: "t", ...at, ordinal: ++ordinal, ...(within ? { within } : {}) });
  const http = recordHttp(createHttp({}, { allow: [origin] }), { redact, nextKey, write: (line) => lines.push(line) });
  const came = await act(http);
  http.flush();
  const fail = (what: string): never => {
    throw new Error(what);
  };
  return { came, lines, play: () => playHttp(JSON.parse(JSON.stringify(lines)), () => at, redact, fail) };
}

const read = async (http: Http, path: string): Promise<unknown> => {
  const response = await http.public()(`${origin}${path}`, { headers: { authorization: SECRET } });
  return [response.status, response.url, response.headers.get("etag"), await response.text()];
};

describe("requests through the public door", () => {
  it("are recorded with their last address, without secrets, and played without a connection", async () => {
    const { came, lines, play } = await record((http) => read(http, `/from?token=${SECRET}`));
    expect(came).toEqual([200, `${origin}/to?key=${SECRET}`, '"1"', `hello ${SECRET}`]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    expect(lines).toMatchObject([
      {
        ...at,
        ordinal: 1,
        request: { method: "GET", url: `${origin}/from?token=redacted` },
        response: { url: `${origin}/to?key=redacted` },
      },
    ]);
    const player = play();
    expect(await read(player, `/from?token=${SECRET}`)).toEqual([
      200,
      `${origin}/to?key=redacted`,
      '"1"',
      "hello [redacted]",
    ]);
    expect([player.played, player.left()]).toEqual([1, undefined]);
  });

  it("are played with their failure", async () => {
    const attempt = (http: Http) =>
      http
        .public()("http://10.0.0.1/")
        .then(
          () => "no error",
          (error: Error & { code: string }) => [error.name, error.code, error.message],
        );
    const { came, play } = await record(attempt);
    expect(came).toEqual(["GoaldError", "GOALD_HTTP_REFUSED", expect.stringContaining("http://10.0.0.1")]);
    expect(await attempt(play())).toEqual(came);
  });

  it("must be repeated in the same way", async () => {
    const { play } = await record((http) => read(http, "/to"));
    await expect(read(play(), "/other")).rejects.toThrow(/request 1 differs/);
  });

  it("inside a call that is played whole are recorded for people, with the size alone of long bodies, and cannot be played", async () => {
    const { lines, play } = await record(async (http) => {
      await read(http, "/to");
      await read(http, "/long");
    }, "c7");
    expect(lines).toMatchObject([
      { within: "c7", response: { body: { text: "hello [redacted]" } } },
      { within: "c7", response: { body: { text: "" }, leftOut: 300_000 } },
    ]);
    const player = play();
    expect(player.left()).toBeUndefined();
    await expect(read(player, "/to")).rejects.toThrow(/not in the recording/);
  });
});
