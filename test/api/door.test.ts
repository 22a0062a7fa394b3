/** The door of the page: tickets, sessions, the page's files, streams, and what it costs while nobody asks for it. */
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { createDoor } from "#api/door.ts";
import { openJsonCache } from "#config/private-file.ts";
import { fakeClock, until } from "../helpers/fake-clock.ts";
import { refusalOf, useFolder } from "../helpers/folder.ts";
import { ask, enterDoor, greet, linkIn, makeFakeControl, type ServerOptions, serve } from "../helpers/local-server.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { createMemoryFile } from "../helpers/openai-model.ts";

const PAGE = {
  "index.html": "<!doctype html><title>goald</title>",
  "app.ts": 'import { one } from "./store.ts";\nconst two: number = one;\n',
  "store.ts": "export const one: number = 1;\n",
  "style.css": "body { margin: 0 }\n",
  "icon.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "vendor.d.ts": "export {};",
  "tsconfig.json": "{}",
} as const;

const at = useFolder();
let pages = 0;

/** `file`: outlives the server. */
async function openDoor(options: ServerOptions = {}, file = createMemoryFile()) {
  const folder = at(`page ${++pages}`);
  await mkdir(folder);
  await Promise.all(Object.entries(PAGE).map(([name, text]) => writeFile(join(folder, name), text)));
  const control = makeFakeControl();
  control.add("t", 3);
  const clock = fakeClock();
  const createIt = () => createDoor({ file, clock, folder: urlOf(folder) });
  const api = await serve(control, { createDoor: createIt, ...options });
  return {
    folder,
    control,
    clock,
    api,
    file,
    invite: async () => linkIn((await api.server.openDashboard()).url),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

const urlOf = (folder: string): URL => pathToFileURL(`${folder}/`);
const signIn = (port: number, ticket: string) => ask({ port }, "POST", "/session", { body: { ticket } });
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

describe("a ticket", () => {
  it("becomes a secret of 256 bits once, and each address has another ticket", async () => {
    await using world = await openDoor();
    const [first, second] = [await world.invite(), await world.invite()];
    expect(second).toMatchObject({ port: first.port, ticket: expect.not.stringContaining(first.ticket) });
    const reply = await signIn(first.port, first.ticket);
    expect([reply.status, reply.body]).toEqual([200, { secret: expect.stringMatching(/^[\da-f]{64}$/) }]);
    expect((await signIn(first.port, first.ticket)).status).toBe(401);
    expect((await signIn(first.port, second.ticket)).status).toBe(200);
  });

  it("works for a minute, and the address says until when", async () => {
    await using world = await openDoor();
    const { url, expiresAt } = await world.api.server.openDashboard();
    const { port, ticket } = linkIn(url);
    const late = await world.invite();
    expect(Date.parse(expiresAt) - world.clock.now().getTime()).toBe(60_000);
    await world.clock.advance(59_999);
    expect((await signIn(port, ticket)).status).toBe(200);
    await world.clock.advance(1);
    expect((await signIn(port, late.ticket)).status).toBe(401);
  });

  it.each([
    ["no ticket", {}, 400],
    ["a number", { ticket: 1 }, 400],
    ["another member", { ticket: "x", more: 1 }, 400],
    ["a megabyte", { ticket: "x".repeat(1024 * 1024) }, 413],
    ["a ticket that never was", { ticket: "0".repeat(64) }, 401],
    ["an empty ticket", { ticket: "" }, 401],
  ])("is refused when the body has %s", async (_what, body, status) => {
    await using world = await openDoor();
    const { port } = await world.invite();
    const reply = await ask({ port }, "POST", "/session", { body });
    expect(reply).toMatchObject({ status, body: { error: { hint: expect.any(String) } } });
  });
});

describe("a session", () => {
  it("lasts twelve hours, and ends what it follows", async () => {
    await using world = await openDoor();
    const page = await enterDoor(world.api);
    await using stream = await page.follow("/v1/agents/t/events");
    await stream.until(() => stream.numbers.length === 3);
    await world.clock.advance(12 * 3_600_000 - 1);
    expect((await page.ask("GET", "/v1/agents")).status).toBe(200);
    world.control.append("t", 1);
    await stream.until(() => stream.numbers.length === 4);
    await world.clock.advance(1);
    await stream.ended;
    const { status, body } = await page.ask("GET", "/v1/agents");
    expect([status, body]).toMatchObject([401, { error: { hint: "Get a new address: goald dashboard" } }]);
  });

  it("goes on at the next door when the daemon has died, at the same port and with another key", async () => {
    await using before = await openDoor();
    const page = await enterDoor(before.api);
    await before.api.server.close("Frees the port.");
    await using after = await openDoor({ doorPort: page.port }, before.file);
    expect((await after.invite()).port).toBe(page.port);
    expect((await ask(page, "GET", "/v1/agents", bearer(page.key))).status).toBe(401);
    const key = await greet(page.port, page.secret);
    expect((await ask(page, "GET", "/v1/agents", bearer(key))).status).toBe(200);
    // Its twelve hours began at the first door.
    await after.clock.advance(12 * 3_600_000);
    expect((await ask(page, "GET", "/v1/agents", bearer(key))).status).toBe(401);
  });

  it("ends when the daemon ends in order, and the next server opens no door by itself", async () => {
    await using world = await openDoor({ createDoor: (file) => createDoor({ file }) });
    const page = await enterDoor(world.api);
    const file = openJsonCache(world.api.folder, "page.json");
    expect(await file.read()).toMatchObject({ port: page.port, sessions: [{ secret: page.secret }] });
    await world.api.server.close("A person ends it.");
    expect(await file.read()).toBe(null);
  });

  it("has its door opened again by a server after a death; one that is over has not", async () => {
    await using before = await openDoor();
    const page = await enterDoor(before.api);
    await before.api.server.close("Frees the port.");
    const folder = at("private");
    await mkdir(folder, { mode: 0o700 });
    const file = openJsonCache(folder, "page.json");
    const left = await before.file.read();
    const begin = async () => {
      await file.write(left);
      const createIt = () => createDoor({ file: before.file, clock: before.clock });
      return (await serve(makeFakeControl(), { socket: join(folder, "daemon.sock"), createDoor: createIt })).server;
    };
    const again = await begin();
    expect(again.page).toBe(`http://127.0.0.1:${page.port}/`);
    await again.close("Over.");
    // Another program has the port: a new address is at another one.
    const other = await listenOnLoopback(() => undefined, page.port);
    const elsewhere = await begin();
    expect(elsewhere.page).toBe(null);
    expect(linkIn((await elsewhere.openDashboard()).url).port).not.toBe(page.port);
    await elsewhere.close("Over.");
    await other.close();
    await before.clock.advance(12 * 3_600_000);
    const late = await begin();
    expect(late.page).toBe(null);
    await late.close("Over.");
  });

  it.each([
    ["no file", undefined],
    ["a file of another shape", { port: "8080", sessions: [{}] }],
    ["a damaged file", "{"],
  ])("is none with %s", async (_what, content) => {
    const file = { read: async () => content, write: async () => undefined };
    const { keptPort, prove } = await createDoor({ file, clock: fakeClock() });
    expect([keptPort, prove("0".repeat(32), 1).proofs]).toEqual([null, []]);
  });

  it("says bye to its streams when the daemon goes down, and refuses what comes later", async () => {
    await using world = await openDoor();
    const page = await enterDoor(world.api);
    await using stream = await page.follow("/v1/agents/t/events");
    await world.api.server.close("It goes down.");
    await stream.ended;
    expect(stream.messages.at(-1)).toMatchObject({ event: "bye", data: { reason: "It goes down." } });
    await expect(page.ask("GET", "/v1/agents")).rejects.toThrow("ECONNREFUSED");
  });

  it("counts as use when it asks, unlike requests without a key, and as a follower while it follows events", async () => {
    await using world = await openDoor();
    const page = await enterDoor(world.api);
    const { server } = world.api;
    const before = server.usedAt;
    for (const path of ["/", "/page/app.ts", "/v1/agents", "/nowhere"]) await ask(page, "GET", path);
    expect(server.usedAt).toBe(before);
    await page.ask("GET", "/v1/agents");
    expect(server.usedAt).toBeGreaterThan(before);
    expect(server.followers).toBe(0);
    const stream = await page.follow("/v1/agents/t/events?live=true");
    await stream.until(() => stream.numbers.length === 3);
    expect(server.followers).toBe(1);
    await stream[Symbol.asyncDispose]();
    await until(() => server.followers === 0);
  });
});

describe("the files of the page", () => {
  const SCRIPT = "text/javascript; charset=utf-8";
  it.each<[path: string, type: string, text: string | RegExp]>([
    ["/", "text/html; charset=utf-8", PAGE["index.html"]],
    ["/page/style.css", "text/css; charset=utf-8", PAGE["style.css"]],
    ["/page/icon.svg", "image/svg+xml", PAGE["icon.svg"]],
    ["/page/store.ts", SCRIPT, "export const one         = 1;\n"],
    ["/page/app.ts", SCRIPT, 'import { one } from "./store.ts";\nconst two         = one;\n'],
    ["/vendor/preact.js", SCRIPT, /export\s*\{[^}]*\bcreateContext\b/],
    ["/vendor/hooks.js", SCRIPT, /^import\{options as \w+\}from"\/vendor\/preact\.js";.*\buseState\b/s],
    ["/vendor/htm.js", SCRIPT, /export default function/],
    ["/vendor/marked.js", SCRIPT, /export\s*\{[^}]*\bLexer\b/],
  ])("%s is %s, without its types, or the module of a package", async (path, type, text) => {
    await using world = await openDoor();
    const { port } = await world.invite();
    const reply = await ask({ port }, "GET", path);
    expect([reply.status, reply.headers["content-type"]]).toEqual([200, type]);
    expect(reply.text).toEqual(text instanceof RegExp ? expect.stringMatching(text) : text);
  });

  it("are compiled ones at the same paths in the package", async () => {
    await writeFile(at("app.js"), 'import "./store.ts";\n');
    const door = await createDoor({ file: createMemoryFile(), clock: fakeClock(), folder: urlOf(at()) });
    expect(await door.files.get("/page/app.ts")?.()).toMatchObject({ content: 'import "./store.ts";\n' });
  });

  it("are read again when they have changed", async () => {
    await using world = await openDoor();
    const { port } = await world.invite();
    const { text } = await ask({ port }, "GET", "/page/style.css");
    expect(text).toBe(PAGE["style.css"]);
    const file = join(world.folder, "style.css");
    await writeFile(file, "body { margin: 1px }");
    await utimes(file, new Date(), new Date(2_000_000_000_000));
    expect((await ask({ port }, "GET", "/page/style.css")).text).toBe("body { margin: 1px }");
  });

  it.each([
    "/page/vendor.d.ts",
    "/page/tsconfig.json",
    "/page/index.html",
    "/page/app.js",
    "/page/",
    "/page",
    "/favicon.ico",
  ])("do not include %s", async (path) => {
    await using world = await openDoor();
    const { port } = await world.invite();
    expect((await ask({ port }, "GET", path)).status).toBe(404);
  });
});

describe("the door", () => {
  it("is closed, and its code is not loaded, until somebody asks for it; then it stays", async () => {
    let loads = 0;
    await using world = await openDoor({
      createDoor: (file) => {
        loads++;
        return createDoor({ file });
      },
    });
    await world.api.ask("GET", "/v1/agents");
    expect(loads).toBe(0);
    const [first, second] = await Promise.all([world.invite(), world.invite()]);
    expect([loads, first.port]).toEqual([1, second.port]);
  });

  it("listens on 127.0.0.1 alone", async () => {
    await using world = await openDoor();
    const { port } = await world.invite();
    for (const host of ["127.0.0.2", "::1"])
      await expect(fetch(`http://${host.includes(":") ? `[${host}]` : host}:${port}/`)).rejects.toThrow("fetch failed");
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
    expect((await ask({ port }, "GET", "/", { headers: { host: `localhost:${port}` } })).status).toBe(421);
  });

  it("says which port it cannot have, and opens when that is free", async () => {
    const other = await listenOnLoopback(() => undefined);
    await using world = await openDoor({ doorPort: other.port });
    const { server } = world.api;
    expect(await refusalOf(server.openDashboard())).toMatchObject({
      code: "GOALD_DAEMON",
      message: expect.stringContaining(`The port ${other.port} of 127.0.0.1 cannot be opened`),
      hint: "Choose another port: goald config daemon.port NUMBER",
    });
    await other.close();
    expect((await world.invite()).port).toBe(other.port);
  });
});
