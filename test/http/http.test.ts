import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { isGoaldError } from "#core/errors.ts";
import { createHttp } from "#http/http.ts";
import { openTunnel, type TunnelTarget } from "#http/tunnel.ts";
import { failureOf, useOpened, useShared } from "../helpers/folder.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";

const keep = useOpened();
const listen = async (listener: RequestListener) => keep(await listenOnLoopback(listener));
const serve = async (listener: RequestListener): Promise<string> => (await listen(listener)).origin;
async function runScript(script: string, env = process.env): Promise<string> {
  const args = ["--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname, env });
  return stdout;
}

describe("Http.to", () => {
  it("sends method, headers and body to its origin and returns the response", async () => {
    const origin = await serve(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync<Buffer>(request)).toString();
      const seen = `${request.method} ${request.url} ${request.headers["x-own"]}`;
      response.writeHead(201, { "x-seen": seen }).end(`got ${body}`);
    });
    const fetch = createHttp().to(`${origin}/v1`);
    const response = await fetch(`${origin}/v1/x?y=1`, { method: "POST", headers: { "x-own": "z" }, body: "żółw" });
    expect([response.status, response.headers.get("x-seen")]).toEqual([201, "POST /v1/x?y=1 z"]);
    expect(await response.text()).toBe("got żółw");
  });

  it("accepts a Request object and a response without a body", async () => {
    const origin = await serve((_request, response) => response.writeHead(204).end());
    const fetch = createHttp().to(origin);
    expect((await fetch(new Request(`${origin}/a`))).status).toBe(204);
    expect((await fetch(new URL(`${origin}/a`))).status).toBe(204);
  });

  it.each([
    ["another port", (origin: string) => origin.replace(/\d+$/, "1")],
    ["another host for the same machine", (origin: string) => origin.replace("127.0.0.1", "localhost")],
    ["another scheme", (origin: string) => origin.replace("http:", "https:")],
    ["a host that begins alike", (origin: string) => origin.replace("127.0.0.1", "127.0.0.1.example.com")],
    ["the origin as a user name", (origin: string) => `${origin}@example.com/`],
    ["a data address", () => "data:text/plain,hello"],
    ["a Request for elsewhere", () => new Request("http://example.com/")],
  ])("refuses %s before anything is sent", async (_title, elsewhere) => {
    let asked = 0;
    const origin = await serve((_request, response) => {
      asked += 1;
      response.end();
    });
    const error = await failureOf(createHttp().to(origin)(elsewhere(origin)));
    expect(isGoaldError(error, "GOALD_HTTP_REFUSED")).toBe(true);
    expect(String(error)).toContain(origin);
    expect(asked).toBe(0);
  });

  it.each(["", "api.openai.com/v1", "ftp://example.com", "file:///etc/passwd", "http://"])(
    "does not open for %j, which is no http address",
    (origin) => {
      expect(() => createHttp().to(origin)).toThrow(expect.objectContaining({ code: "GOALD_CONFIG" }));
    },
  );
});

describe("redirects", () => {
  it.each([301, 302, 303, 307, 308])("to another origin are not followed with the key (%i)", async (status) => {
    const stolen: (string | undefined)[] = [];
    const thief = await serve((request, response) => {
      stolen.push(request.headers["x-api-key"]?.toString());
      response.end("mine now");
    });
    const origin = await serve((_request, response) => {
      response.writeHead(status, { location: `${thief}/v1/chat?token=secret` }).end();
    });
    const init = { method: "POST", headers: { "x-api-key": "planted" }, body: "{}" };
    const error = await failureOf(createHttp().to(origin)(`${origin}/v1/chat`, init));
    expect(isGoaldError(error, "GOALD_HTTP_REFUSED")).toBe(true);
    expect(String(error)).toContain(`${origin}/v1/chat redirects to ${thief}/v1/chat;`);
    expect(String(error)).not.toContain("secret");
    expect(stolen).toEqual([]);

    await (await fetch(`${origin}/v1/chat`, init)).text(); // the check can fail: plain fetch hands the key over
    expect(stolen).toEqual(["planted"]);
  });

  it("within the origin or to an unreadable target are not followed", async () => {
    const origin = await serve((request, response) => {
      response.writeHead(308, { location: request.url === "/same" ? "/other" : "http://:::" }).end();
    });
    const fetch = createHttp().to(origin);
    expect(String(await failureOf(fetch(`${origin}/same`)))).toContain(`redirects to ${origin}/other;`);
    expect(String(await failureOf(fetch(`${origin}/odd`)))).toContain("an address that cannot be read");
  });
});

describe("the size limit of a response", () => {
  it("allows exactly the limit, and not one byte more", async () => {
    const origin = await serve((request, response) => response.end("x".repeat(Number(request.url?.slice(1)))));
    const fetch = createHttp({ maxBytes: 1000 }).to(origin);
    expect(await (await fetch(`${origin}/1000`)).text()).toHaveLength(1000);
    expect(await failureOf((await fetch(`${origin}/1001`)).text())).toMatchObject({ code: "GOALD_HTTP_TOO_LARGE" });
  });

  it("removes the length and encoding headers of a compressed response", async () => {
    const packed = gzipSync("hello ".repeat(100));
    const origin = await serve((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length }).end(packed),
    );
    const response = await createHttp().to(origin)(origin);
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("content-length")).toBeNull();
    expect(await response.text()).toBe("hello ".repeat(100));
  });
});

describe("time", () => {
  const timeout = expect.objectContaining({ name: "TimeoutError" });

  it("ends a request without response headers", async () => {
    const origin = await serve(() => undefined);
    const error = await failureOf(createHttp({ firstByteTimeoutMs: 60 }).to(origin)(origin));
    expect(error).toEqual(timeout);
    expect(String(error)).toContain(`No answer from ${origin} for 60 ms.`);
  });

  it("ends a silent body", async () => {
    const origin = await serve((_request, response) => response.write("half"));
    const response = await createHttp().to(origin, { idleTimeoutMs: 60 })(origin);
    expect(await failureOf(response.text())).toEqual(timeout);
  });

  it("allows a slow body until its total timeout", async () => {
    const origin = await serve(async (_request, response) => {
      for (let piece = 0; piece < 12 && !response.destroyed; piece += 1) {
        response.write("x");
        await sleep(40);
      }
      response.end();
    });
    const http = createHttp({ idleTimeoutMs: 5_000 });
    expect(await (await http.to(origin)(origin)).text()).toBe("x".repeat(12));
    const hurried = http.to(origin, { totalTimeoutMs: 150 })(origin);
    expect(await failureOf(hurried.then((response) => response.text()))).toEqual(timeout);
  });

  it("does not count while nobody reads", async () => {
    const origin = await serve((_request, response) => response.end("patient"));
    const response = await createHttp({ idleTimeoutMs: 30 }).to(origin)(origin);
    await sleep(90);
    expect(await response.text()).toBe("patient");
  });

  it("to the first byte may exceed the limit of Node's fetch, and an idle connection keeps no process alive", async () => {
    const origin = await serve(async (_request, response) => {
      await sleep(2_500);
      response.end("at last");
    });
    // Node's limit is five minutes; here it is lowered to half a second for everything but the door.
    const script = `
      void globalThis.Response;
      const key = Symbol.for("undici.globalDispatcher.1");
      globalThis[key] = new globalThis[key].constructor({ headersTimeout: 500 });
      const { createHttp } = await import("#http/http.ts");
      const read = (send) => send("${origin}").then((response) => response.text()).catch((error) => error.cause.code);
      console.log(JSON.stringify(await Promise.all([read(createHttp().to("${origin}")), read(fetch)])));
    `;
    expect(JSON.parse(await runScript(script))).toEqual(["at last", "UND_ERR_HEADERS_TIMEOUT"]);
  });

  it("is limited in the same way after public() has loaded its own agent", async () => {
    const origin = await serve((_request, response) => response.end("yes"));
    const script = `
      const key = Symbol.for("undici.globalDispatcher.1");
      void globalThis.Response;
      const before = globalThis[key];
      // Where newer ones of Node and undici meet; without it they share the older place.
      globalThis[Symbol.for("undici.globalDispatcher.2")] = undefined;
      const { createHttp } = await import("#http/http.ts");
      const read = async (send) => (await send("${origin}")).text();
      const open = await read(createHttp({}, { allow: ["${origin}"] }).public());
      console.log(JSON.stringify([open, globalThis[key] === before, await read(createHttp().to("${origin}"))]));
    `;
    expect(JSON.parse(await runScript(script))).toEqual(["yes", true, "yes"]);
  });
});

it("a proxy of the environment is not used by public(), which could not check the connected address", async () => {
  let asked = 0;
  const { origin: proxy, server: listening } = await listen((_request, response) => response.end());
  listening.on("connect", (_request, socket) => {
    asked += 1;
    socket.end("HTTP/1.1 502 No\r\n\r\n");
  });
  const origin = await serve((_request, response) => response.end("site"));
  const script = `
    const { createHttp } = await import("#http/http.ts");
    const open = createHttp({}, { allow: ["${origin}"] }).public();
    console.log(await (await open("${origin}")).text());
    await fetch("${origin}").catch(() => console.log("proxy"));
  `;
  const env = { ...process.env, HTTP_PROXY: proxy, http_proxy: proxy, NO_PROXY: "", NODE_USE_ENV_PROXY: "1" };
  const stdout = await runScript(script, env);
  // Node's own fetch would use it: the proxy is there.
  expect([stdout.trim().split("\n"), asked]).toEqual([["site", "proxy"], 1]);
});

describe("an abort", () => {
  const reason = new Error("enough");

  it("before the request sends nothing", async () => {
    let asked = 0;
    const origin = await serve(() => {
      asked += 1;
    });
    const fetch = createHttp().to(origin);
    expect(await failureOf(fetch(origin, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(asked).toBe(0);
  });

  it.each([
    ["while waiting for headers", false],
    ["in the middle of the body", true],
  ])("%s ends the request with the caller's reason and breaks the connection", async (_title, halfway) => {
    const closed = Promise.withResolvers<void>();
    const controller = new AbortController();
    const origin = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      if (halfway) response.write("half");
      else controller.abort(reason);
    });
    const fetch = createHttp().to(origin);
    const whole = fetch(origin, { signal: controller.signal }).then((response) => {
      setTimeout(() => controller.abort(reason), 20);
      return response.text();
    });
    expect(await failureOf(whole)).toBe(reason);
    await closed.promise;
  });

  it("of reading breaks the connection as well", async () => {
    const closed = Promise.withResolvers<void>();
    const origin = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      response.write("half");
    });
    const response = await createHttp().to(origin)(origin);
    await response.body?.cancel();
    await closed.promise;
  });
});

/** Sends 1,000 bytes to whoever connects. */
const site = useShared(() => listenOnLoopback(() => undefined));
let exceeded = 0;
beforeAll(() => {
  site.server.on("connection", (socket) => socket.end(Buffer.alloc(1_000, "x")));
});

const open = (more: Partial<TunnelTarget> = {}) => {
  const target = { host: "judged.test", port: site.port, addresses: ["127.0.0.1"], maxBytes: 10_000 };
  return openTunnel({ ...target, onExceeded: () => void exceeded++, ...more });
};
const portBytes = (port: number): Uint8Array => Uint8Array.of(port >> 8, port & 0xff);
const request = (type: number, host: Uint8Array, port = site.port): Uint8Array =>
  Buffer.concat([Uint8Array.of(5, 1, 0, 5, 1, 0, type), host, portBytes(port)]);
const named = (name: string): Uint8Array => Buffer.concat([Uint8Array.of(name.length), Buffer.from(name)]);

/** Sends the bytes in pieces of one, and returns all that came back. */
async function talk(path: string, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(path);
  for (const byte of bytes) socket.write(Uint8Array.of(byte));
  return await buffer(socket);
}
const [GREETED, CONNECTED] = ["0500", "05000001000000000000"];

it("a tunnel leads to the judged address under the judged name, also when bytes come one by one", async () => {
  await using tunnel = await open({ addresses: ["127.0.0.2", "127.0.0.1"] });
  expect(statSync(dirname(tunnel.path)).mode & 0o777).toBe(0o700);
  const answer = await talk(tunnel.path, request(3, named("judged.test")));
  const greeting = Buffer.from(GREETED + CONNECTED, "hex").toString("latin1");
  expect(answer.toString("latin1")).toBe(`${greeting}${"x".repeat(1_000)}`);
  expect(tunnel.connections).toBe(1);
});

it.each<[title: string, make: () => Uint8Array, answer: string]>([
  ["another name", () => request(3, named("other.test")), "05000502"],
  ["another port", () => request(3, named("judged.test"), 1), "05000502"],
  ["an address", () => request(1, Uint8Array.of(127, 0, 0, 1)), "05000502"],
  ["an IPv6 address", () => request(4, new Uint8Array(16)), "05000502"],
  ["another command", () => request(3, named("judged.test")).with(4, 2), "05000502"],
  ["a method with a password", () => Uint8Array.of(5, 1, 2), "05ff"],
  ["another version", () => Uint8Array.of(4, 1, 0, 80, 127, 0, 0, 1, 0), "05ff"],
  ["an unknown kind of host", () => request(9, Uint8Array.of(1)), "0500"],
])("a tunnel refuses %s", async (_title, make, answer) => {
  const before = site.connections;
  await using tunnel = await open();
  const bytes = make();
  expect((await talk(tunnel.path, bytes)).toString("hex")).toMatch(new RegExp(`^${answer}`));
  expect(site.connections).toBe(before);
});

it("a tunnel to an address takes its other forms", async () => {
  await using tunnel = await open({ host: "[::ffff:7f00:1]" });
  const answer = await talk(tunnel.path, request(1, Uint8Array.of(127, 0, 0, 1)));
  expect(answer.toString("hex")).toMatch(new RegExp(`^${GREETED}${CONNECTED}`));
});

it("a tunnel cuts a server that sends too much, counts all connections, and leaves nothing", async () => {
  const tunnel = await open({ maxBytes: 1_500 });
  for (let at = 0; at < 2; at++) await talk(tunnel.path, request(3, named("judged.test")));
  expect(exceeded).toBe(1);
  const folder = dirname(tunnel.path);
  await tunnel[Symbol.asyncDispose]();
  expect(existsSync(folder)).toBe(false);
});
