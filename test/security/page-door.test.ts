/**
 * What a stranger's page, name, file or program can do to the door of the page.
 *
 * Each attack is made twice: against the door as it is, and against one whose guard is off (control), where it succeeds.
 */
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { createDoor, type PageDoor } from "#api/door.ts";
import { ALL_ROUTES } from "#api/routes.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { useFolder } from "../helpers/folder.ts";
import {
  type AskOptions,
  ask,
  enterDoor,
  keyOf,
  linkIn,
  makeFakeControl,
  type Reply,
  serve,
} from "../helpers/local-server.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";

const HOSTILE_FILES = {
  "evil.html": "<!doctype html><script>fetch('/v1/agents')</script>",
  "evil.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("/v1/agents")</script></svg>',
} as const;
const HOSTILE_NAMES = [
  '"><img src=x onerror=alert(1)>.html',
  "a\r\nSet-Cookie: key=1\r\n\r\n<script>alert(1)</script>",
  "..\\..\\etc\\passwd",
  "../../../../etc/passwd",
  "‮gpj.lmth",
  "a\u2028b</script><script>alert(1)</script>.svg",
  "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
] as const;
const AGENT = { name: "Chef", role: "a cook", goals: ["cook"], settings: { approve: "never", stepLimit: 9 } };

const at = useFolder();
type Change = (door: PageDoor) => Partial<PageDoor>;

/** A door whose page is one file. Workspaces hold the hostile files, under any name that is asked for. */
async function openWorld(change: Change = () => ({})) {
  await writeFile(at("index.html"), "<!doctype html><title>goald</title>");
  const control = makeFakeControl();
  control.add("t", 3);
  Object.assign(control, {
    file: async (agent: string, path: string, step: number | null) => {
      const content = Object.entries(HOSTILE_FILES).find(([name]) => path.endsWith(name))?.[1] ?? "text";
      return { agent, path, step, bytes: content.length, encoding: "utf8", content };
    },
  });
  const api = await serve(control, {
    createDoor: async (file) => {
      const door = await createDoor({ file, clock: fakeClock(), folder: pathToFileURL(`${at()}/`) });
      return { ...door, ...change(door) };
    },
  });
  const page = await enterDoor(api);
  return {
    control,
    api,
    page,
    /** The agents that were created. */
    created: () => control.calls.filter(({ method }) => method === "create").length,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

// The guards, off.
const ANY = Object.assign(["any"], { includes: () => true });
const ANY_HOST: Change = () => ({ hosts: () => ANY });
const ANY_ORIGIN: Change = () => ({ origins: () => ANY });
const ANY_PAGE: Change = () => ({ hosts: () => ANY, origins: () => ANY });
const ANYBODY: Change = () => ({ authenticate: () => undefined });
const NO_POLICY: Change = () => ({ headers: {} });
describe("a page of somebody else", () => {
  type Headers = (port: number) => Readonly<Record<string, string>>;
  /** What a browser adds to the request of that page, and the guard that is off in the control. */
  const PAGES: readonly [what: string, status: number, headers: Headers, off: Change][] = [
    ["a page on another port", 403, (port) => ({ origin: `http://127.0.0.1:${port + 1}` }), ANY_ORIGIN],
    ["a page of another site", 403, () => ({ origin: "https://evil.example" }), ANY_ORIGIN],
    ["a sandboxed frame", 403, () => ({ origin: "null" }), ANY_ORIGIN],
    ["a page over https at our port", 403, (port) => ({ origin: `https://127.0.0.1:${port}` }), ANY_ORIGIN],
    ["a page with our origin and one more", 403, (port) => ({ origin: `http://127.0.0.1:${port}, null` }), ANY_ORIGIN],
    ["DNS rebinding", 421, (port) => ({ host: `evil.example:${port}` }), ANY_HOST],
    [
      "DNS rebinding with an Origin",
      421,
      (port) => ({ host: `evil.example:${port}`, origin: `http://evil.example:${port}` }),
      ANY_PAGE,
    ],
    ["a Host that begins like ours", 421, (port) => ({ host: `127.0.0.1:${port}.evil.example` }), ANY_HOST],
    ["a Host with a user", 421, (port) => ({ host: `127.0.0.1:${port}@evil.example` }), ANY_HOST],
    ["a Host without a port", 421, () => ({ host: "127.0.0.1" }), ANY_HOST],
    ["a Host with another port", 421, (port) => ({ host: `127.0.0.1:${port + 1}` }), ANY_HOST],
    ["the Host of the socket", 421, () => ({ host: "goald" }), ANY_HOST],
  ];

  it.each(PAGES)("%s is refused with %i, even with a key", async (_what, status, headers) => {
    await using world = await openWorld();
    const { page } = world;
    for (const [method, path, body] of [
      ["POST", "/v1/agents", AGENT],
      ["GET", "/v1/agents", undefined],
      ["GET", "/v1/agents/t/events", undefined],
      ["GET", "/", undefined],
      ["POST", "/session", { ticket: linkIn((await world.api.server.openDashboard()).url).ticket }],
    ] as const) {
      const reply = await page.ask(method, path, { ...(body ? { body } : {}), headers: headers(page.port) });
      expect([path, reply.status]).toEqual([path, status]);
    }
    expect(world.control.calls).toEqual([]);
  });

  it.each(PAGES)(
    "%s is let in when that guard is off and it has a key, and creates nothing without one (control, not %i)",
    async (_what, _status, headers, off) => {
      await using world = await openWorld(off);
      const options = { body: AGENT, headers: headers(world.page.port) };
      expect((await ask(world.page, "POST", "/v1/agents", options)).status).toBe(401);
      expect(world.created()).toBe(0);
      expect((await world.page.ask("POST", "/v1/agents", options)).status).toBe(201);
      expect(world.created()).toBe(1);
    },
  );

  it.each(["cross-site", "same-site", "anything"])("that a browser marks as %s is refused with 403", async (site) => {
    await using world = await openWorld(ANY_PAGE);
    for (const path of ["/", "/v1/agents", "/v1/agents/t/events"])
      expect((await world.page.ask("GET", path, { headers: { "sec-fetch-site": site } })).status).toBe(403);
    expect(world.control.calls).toEqual([]);
  });

  it.each(["same-origin", "none"])("is not what a browser marks as %s (control)", async (site) => {
    await using world = await openWorld();
    const origin = `http://127.0.0.1:${world.page.port}`;
    const headers = { "sec-fetch-site": site, origin };
    expect((await world.page.ask("POST", "/v1/agents", { body: AGENT, headers })).status).toBe(201);
  });

  it("gets no permission by a preflight", async () => {
    await using world = await openWorld();
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const reply = await world.page.ask("OPTIONS", "/v1/agents", { headers });
    const granted = Object.keys(reply.headers).filter((name) => name.startsWith("access-control"));
    expect([reply.status, granted]).toEqual([403, []]);
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json, text/plain",
    "",
  ])(
    "cannot post a form: the type %j is refused with 415, and the same body as JSON is taken (control)",
    async (type) => {
      await using world = await openWorld();
      const body = JSON.stringify(AGENT);
      const posted = await world.page.ask("POST", "/v1/agents", { body, headers: { "content-type": type } });
      expect([posted.status, world.created()]).toEqual([415, 0]);
      expect((await world.page.ask("POST", "/v1/agents", { body })).status).toBe(201);
      expect(world.created()).toBe(1);
    },
  );
});

describe("a request without the key of a session", () => {
  const addressOf = (path: string): string =>
    `${path.replace(":agent", "t").replace(/:\w+/g, "1")}${path.endsWith("/search") ? "?query=x" : ""}`;

  it.each(ALL_ROUTES.map(({ method, path }) => [method, path] as const))(
    "%s %s is refused with 401",
    async (method, path) => {
      await using world = await openWorld();
      const reply = await ask(world.page, method, addressOf(path), /GET|DELETE/.test(method) ? {} : { body: {} });
      expect([reply.status, world.control.calls]).toEqual([401, []]);
    },
  );

  it("is let in when nobody asks for a key (control)", async () => {
    await using world = await openWorld(ANYBODY);
    // The stream of changes has no end to wait for.
    const routes = ALL_ROUTES.filter(({ method, operation }) => method === "GET" && operation !== "changes");
    const replies = await Promise.all(routes.map(({ path }) => ask(world.page, "GET", addressOf(path))));
    expect(new Set(replies.map(({ status }) => status)).has(401)).toBe(false);
    expect(world.control.calls.length).toBeGreaterThan(20);
  });

  it.each<[what: string, options: (key: string) => AskOptions & { readonly query?: string }]>([
    ["in a cookie", (key) => ({ headers: { cookie: `key=${key}; authorization=Bearer ${key}` } })],
    ["in the address", (key) => ({ query: `?key=${key}&authorization=Bearer%20${key}` })],
    ["of another scheme", (key) => ({ headers: { authorization: `Basic ${key}` } })],
    ["without a scheme", (key) => ({ headers: { authorization: key } })],
    ["with more behind it", (key) => ({ headers: { authorization: `Bearer ${key}0` } })],
    ["cut off", (key) => ({ headers: { authorization: `Bearer ${key.slice(0, -1)}` } })],
    ["in capitals", (key) => ({ headers: { authorization: `Bearer ${key.toUpperCase()}` } })],
    ["of zeros", () => ({ headers: { authorization: `Bearer ${"0".repeat(64)}` } })],
    ["that is empty", () => ({ headers: { authorization: "Bearer " } })],
    ["named __proto__", () => ({ headers: { authorization: "Bearer __proto__" } })],
  ])("is refused with a key %s", async (_what, options) => {
    await using world = await openWorld();
    const { query = "", ...given } = options(world.page.key);
    expect((await ask(world.page, "GET", `/v1/agents${query}`, given)).status).toBe(401);
    expect((await world.page.ask("GET", "/v1/agents")).status).toBe(200);
  });

  it("is refused with a ticket in place of the key, and no answer sets a cookie", async () => {
    await using world = await openWorld();
    const { ticket } = linkIn((await world.api.server.openDashboard()).url);
    const headers = { authorization: `Bearer ${ticket}` };
    expect((await ask(world.page, "GET", "/v1/agents", { headers })).status).toBe(401);
    const signedIn = await ask(world.page, "POST", "/session", { body: { ticket } });
    expect([signedIn.status, signedIn.headers["set-cookie"]]).toEqual([200, undefined]);
  });

  it.each([
    "/%761/agents",
    "/v1%2Fagents",
    "/v1/./agents",
    "//v1/agents",
    "/page/../v1/agents",
    "/session/../v1/agents",
  ])("reads nothing by the spelling %s", async (path) => {
    await using world = await openWorld();
    expect([401, 404, 421]).toContain((await ask(world.page, "GET", path)).status);
    expect(world.control.calls).toEqual([]);
  });

  it("begins no second session with a used ticket; a door that forgets to use it up does (control)", async () => {
    const forgetful: Change = (door) => {
      let known: Promise<string | undefined> | undefined;
      return {
        exchange: (ticket, port) => {
          known ??= door.exchange(ticket, port);
          return known;
        },
      };
    };
    for (const [change, status] of [
      [() => ({}), 401],
      [forgetful, 200],
    ] as const) {
      await using world = await openWorld(change);
      const { ticket } = linkIn((await world.api.server.openDashboard()).url);
      await ask(world.page, "POST", "/session", { body: { ticket } });
      expect((await ask(world.page, "POST", "/session", { body: { ticket } })).status).toBe(status);
    }
  });
});

it("a program in the daemon's place gets no key by passing on an answer; who asked there does (control)", async () => {
  await using world = await openWorld();
  const { port, secret, key } = world.page;
  const [nonce, earlier] = ["1".repeat(64), "2".repeat(64)];
  const { body } = await ask(world.page, "POST", "/session/proof", { body: { nonce } });
  // The daemon's answer from another port, and one to an earlier question.
  expect(keyOf(body, { secret, port: port + 1, nonce })).toBeUndefined();
  expect(keyOf(body, { secret, port, nonce: earlier })).toBeUndefined();
  expect(keyOf(body, { secret, port, nonce })).toBe(key);
});

/** True when a browser that is led to the reply would take it for a document. */
const isDocument = ({ headers }: Reply): boolean =>
  !/^application\/json\b/.test(headers["content-type"] ?? "") || headers["x-content-type-options"] !== "nosniff";

/** True when a script in the reply itself would run, were it a document. */
const runsScripts = ({ headers }: Reply): boolean => {
  const policy = (headers["content-security-policy"] as string | undefined)?.split("; ") ?? [];
  return !(policy.includes("default-src 'none'") && policy.includes("script-src 'self'"));
};

describe("a file of an agent", () => {
  const serveAsDocument: Change = (door) => ({
    headers: {},
    files: new Map([
      ...door.files,
      ...Object.entries(HOSTILE_FILES).map(
        ([name, content]) => [`/${name}`, async () => ({ type: "text/html", content })] as const,
      ),
    ]),
  });
  const addressesOf = (name: string): readonly string[] => [
    ...[
      `/v1/agents/t/files/${name}`,
      `/v1/agents/t/files/${name}/story`,
      `/${name}`,
      `/page/${name}`,
      `/vendor/${name}`,
    ],
    ...[`/workspace/t/${name}`, `/t/${name}`, `/files/t/${name}`],
  ];

  it.each(Object.keys(HOSTILE_FILES))(
    "with a script, %s, is a document at no address, and would run nothing",
    async (name) => {
      await using world = await openWorld();
      const paths = addressesOf(name);
      const replies = await Promise.all(
        paths.flatMap((path) => [ask(world.page, "GET", path), world.page.ask("GET", path)]),
      );
      expect(replies.filter(isDocument)).toEqual([]);
      expect(replies.filter(runsScripts)).toEqual([]);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(2);
      expect(replies.find(({ text }) => text.includes("<script"))?.body).toMatchObject({ content: expect.any(String) });
    },
  );

  it.each(Object.keys(HOSTILE_FILES))(
    "with a script, %s, would run at a door that serves it without a policy (control)",
    async (name) => {
      await using world = await openWorld(serveAsDocument);
      const reply = await ask(world.page, "GET", `/${name}`);
      expect([isDocument(reply), runsScripts(reply), reply.text.includes("<script")]).toEqual([true, true, true]);
      // JSON alone does not stop the script that a policy stops.
      expect(runsScripts(await world.page.ask("GET", `/v1/agents/t/files/${name}`))).toBe(true);
    },
  );

  it.each(HOSTILE_NAMES)("of the name %j is in JSON alone: in no header, and whole when it is parsed", async (name) => {
    await using world = await openWorld();
    const reply = await world.page.ask("GET", `/v1/agents/t/files/${encodeURIComponent(name)}`);
    expect([reply.status, isDocument(reply)]).toEqual([200, false]);
    expect(reply.body).toMatchObject({ path: name });
    const plain = await world.page.ask("GET", "/v1/agents/t/files/a.txt");
    const named = ({ headers }: Reply) => ({ ...headers, "content-length": "", date: "" });
    expect(named(reply)).toEqual(named(plain));
    expect(reply.text).not.toMatch(/[\u202e\u2028\r\n]/);
  });
});

describe("a path", () => {
  const SPELLINGS = [
    ...["/../secret.txt", "/page/../../secret.txt", "/page/..%2f..%2fsecret.txt", "/%2e%2e/secret.txt"],
    ...["/page/%2e%2e%2f%2e%2e%2fsecret.txt", "/..%5csecret.txt", "/page/..\\..\\secret.txt", "/.%2e/secret.txt"],
    ...["/page/....//secret.txt", "/secret.txt%00.css", "//etc/passwd", "/etc/passwd", "/page//etc/passwd"],
    ...[
      "/vendor/../package.json",
      "/vendor/../../package.json",
      "/page/app.ts/../../../secret.txt",
      "/.env",
      "/page/.env",
    ],
    ...["/%252e%252e/secret.txt", "/page/%c0%ae%c0%ae/secret.txt", "/secret.txt"],
  ];

  it("leads to no file but those of the table, however it is spelled", async () => {
    await using world = await openWorld();
    // `ask` sends an address as it is.
    for (const path of SPELLINGS) expect(`${path} ${(await ask(world.page, "GET", path)).status}`).toMatch(/ 4\d\d$/);
    expect((await ask(world.page, "GET", "/")).status).toBe(200);
  });

  it("leads to a secret at a server that joins paths (control)", async () => {
    await writeFile(at("secret.txt"), "the secret");
    await using naive = await listenOnLoopback(({ url = "/" }, response) => {
      const read = async () => readFile(at("public", "page", decodeURIComponent(url.replace("/page", ""))));
      read().then(
        (content) => response.end(content),
        () => response.writeHead(404).end(),
      );
    });
    const replies = await Promise.all(SPELLINGS.map((path) => ask(naive, "GET", path)));
    expect(replies.filter(({ text }) => text.includes("the secret")).length).toBeGreaterThan(1);
  });
});

describe("every answer of the door", () => {
  const POLICY = {
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
  };
  const REQUESTS: readonly [what: string, status: number, head: string][] = [
    ["the page", 200, "GET / HTTP/1.1\r\nHost: OWN"],
    ["a script", 200, "GET /vendor/marked.js HTTP/1.1\r\nHost: OWN"],
    ["a call", 200, "GET /v1/agents HTTP/1.1\r\nHost: OWN\r\nAuthorization: Bearer KEY"],
    [
      "a stream",
      200,
      "GET /v1/agents/t/events HTTP/1.1\r\nHost: OWN\r\nAccept: text/event-stream\r\nAuthorization: Bearer KEY",
    ],
    ["a call without a key", 401, "GET /v1/agents HTTP/1.1\r\nHost: OWN"],
    ["a foreign page", 403, "GET /v1/agents HTTP/1.1\r\nHost: OWN\r\nOrigin: null"],
    ["an unknown path", 404, "GET /nowhere HTTP/1.1\r\nHost: OWN"],
    ["another method", 405, "PUT /v1/agents HTTP/1.1\r\nHost: OWN\r\nAuthorization: Bearer KEY"],
    ["a frame's HEAD", 405, "HEAD / HTTP/1.1\r\nHost: OWN"],
    ["a form", 415, "POST /session HTTP/1.1\r\nHost: OWN\r\nContent-Length: 3\r\nContent-Type: text/plain"],
    ["a foreign Host", 421, "GET / HTTP/1.1\r\nHost: evil.example"],
    ["an address that is not text", 400, "GET /v1/agents/%zz HTTP/1.1\r\nHost: OWN"],
    ["no HTTP", 400, "hello"],
    ["a head without an end", 431, `GET / HTTP/1.1\r\nHost: OWN\r\nX-Long: ${"x".repeat(20_000)}`],
  ];

  /** Returns the status and the headers. */
  async function headOf({ port, key }: { readonly port: number; readonly key: string }, head: string) {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head.replace("OWN", `127.0.0.1:${port}`).replace("KEY", key)}\r\nConnection: close\r\n\r\n`);
    let text = "";
    for await (const piece of socket.setEncoding("utf8")) {
      text += piece;
      if (text.includes("\r\n\r\n")) break;
    }
    const [status = "", ...lines] = (text.split("\r\n\r\n")[0] ?? "").split("\r\n");
    const headers = lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 2),
    ]);
    return { status: Number(status.split(" ")[1]), headers: Object.fromEntries(headers) };
  }

  it.each(REQUESTS)(
    "may be in no frame, and forbids all that the page does not need: %s (%i)",
    async (_what, status, head) => {
      await using world = await openWorld();
      const reply = await headOf(world.page, head);
      expect(reply.status).toBe(status);
      expect(reply.headers).toMatchObject(POLICY);
      expect(reply.headers).not.toHaveProperty("set-cookie");
    },
  );

  it.each(REQUESTS)("may be in a frame when the policy is off (control): %s (%i)", async (_what, _status, head) => {
    await using world = await openWorld(NO_POLICY);
    expect((await headOf(world.page, head)).headers).not.toHaveProperty("content-security-policy");
  });
});
