import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Control, Reading } from "#api/control.ts";
import { ALL_ROUTES, buildOpenApi, NAMED_SCHEMAS } from "#api/routes.ts";
import type { ApprovalAnswer, EventPage, NewAgent, NextTurn, PlanEdits } from "#api/schemas.ts";
import * as words from "#api/schemas.ts";
import { validateAgent } from "#config/agent-spec.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import { GoaldError } from "#core/errors.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { MemoryChange } from "#core/ports/memory.ts";
import { createRedactor } from "#util/redact.ts";
import { describeLocalApi, expectReply, routeOf, validate } from "../contracts/local-api.ts";
import { readingOf, startHost } from "../helpers/host.ts";
import { enterDoor, makeFakeControl, serve, useServers } from "../helpers/local-server.ts";
import { done } from "../helpers/loop.ts";

const serveAgents = useServers();
const ALL_SETTINGS: Required<AgentSettings> = {
  approve: "risky",
  stepLimit: 50,
  tokenLimit: null,
  budgetUsd: 2.5,
  deadline: "2026-02-01T08:00:00Z",
  model: "gpt-4o",
  form: "json",
  plan: "free",
  windowBatch: 18,
  commands: "files,web",
  background: true,
};
const CHECKS: readonly GoalCheck[] = [
  { goal: null, test: { kind: "file", path: "plan.md" } },
  { goal: 1, test: { kind: "contains", path: "plan.md", text: "Ende" } },
  { goal: 0, test: { kind: "length", path: "plan.md", min: 400 } },
  { goal: 0, test: { kind: "schema", path: "a.json", schema: { type: "object" } } },
  { goal: 0, test: { kind: "code", code: "assert True" } },
  { goal: 0, test: { kind: "url", url: "https://example.org", status: 204 } },
  { goal: 0, test: { kind: "judge", question: "Is it done?", paths: ["plan.md"] } },
];
const ANSWER: Required<ApprovalAnswer> = { callId: "c1", verdict: "denied", count: 3, text: "not now", seen: null };

const EDITS: Required<PlanEdits> = {
  edits: [
    { kind: "add", parent: "0.1", goal: "Ask Ünal\nabout 漢字" },
    { kind: "set", id: "0", state: "in_progress" },
  ],
  key: "k-2",
};
const NEXT_TURN: Required<NextTurn> = {
  goals: ["Cook again"],
  checks: [{ goal: 0, test: { kind: "file", path: "plan.md" } }],
  settings: { stepLimit: 9 },
  record: "/home/ünal/foo.ndjson",
  key: "k-3",
};

const MEMORY = { kind: "fact", text: "x", importance: 0.5, trust: "file" } as const;
const CHANGES: readonly MemoryChange[] = [
  { op: "add", ...MEMORY },
  { op: "add", ...MEMORY, supersedes: "t/3", key: "k", source: "a.md" },
  { op: "pin", id: "t/4" },
  { op: "unpin", id: "t/4.1" },
  { op: "forget", id: "t/+1", by: "person" },
];

describe("a route", () => {
  const NEW_AGENT: Required<NewAgent> = {
    name: "Chef Ünal 漢字",
    role: "a cook\nwho writes",
    goals: ["Cook", "Write\tit down"],
    checks: CHECKS,
    settings: ALL_SETTINGS,
    key: "k-1",
    record: "/home/ünal/foo.ndjson",
  };

  const PLACE = { name: "t", shared: false };
  const CALLS: readonly [string, string, keyof Control | keyof Reading, readonly unknown[], unknown?][] = [
    ["GET", "/v1/status", "status", []],
    ["GET", "/v1/agents", "agents", []],
    ["POST", "/v1/agents", "create", [NEW_AGENT], NEW_AGENT],
    ["GET", "/v1/agents/t", "agent", ["t"]],
    ["DELETE", "/v1/agents/t", "remove", ["t", { force: false, files: false }]],
    ["DELETE", "/v1/agents/t?force=true&files=true", "remove", ["t", { force: true, files: true }]],
    ["POST", "/v1/agents/t/messages", "say", ["t", { from: "you", text: "hi" }], { from: "you", text: "hi" }],
    ["PUT", "/v1/agents/t/goals", "setGoals", ["t", ["a", "b"]], { goals: ["a", "b"] }],
    ["PUT", "/v1/agents/t/goals", "setGoals", ["t", ["a"], CHECKS], { goals: ["a"], checks: CHECKS }],
    ["POST", "/v1/agents/t/plan", "editPlan", ["t", EDITS], EDITS],
    ["POST", "/v1/agents/t/turns", "beginTurn", ["t", NEXT_TURN], NEXT_TURN],
    ["PATCH", "/v1/agents/t/settings", "changeSettings", ["t", ALL_SETTINGS], ALL_SETTINGS],
    ["POST", "/v1/agents/t/pause", "pause", ["t", "to look"], { reason: "to look" }],
    ["POST", "/v1/agents/t/resume", "resume", ["t", { stepLimit: 9 }], { settings: { stepLimit: 9 } }],
    ["POST", "/v1/agents/t/resume", "resume", ["t", {}]],
    ["POST", "/v1/agents/t/stop", "stop", ["t", 0], { graceMs: 0 }],
    ["POST", "/v1/agents/t/stop", "stop", ["t", 30_000], {}],
    ["POST", "/v1/agents/t/kill", "kill", ["t"]],
    ["POST", "/v1/agents/t/approval", "answer", ["t", ANSWER], ANSWER],
    ["POST", "/v1/agents/t/trust", "trust", ["t", { what: "files", paths: ["r"] }], { what: "files", paths: ["r"] }],
    ["POST", "/v1/agents/t/fork", "fork", ["t", { step: 1, key: "k" }], { step: 1, key: "k" }],
    ["POST", "/v1/agents/t/restore", "restore", ["t", { step: 0 }], { step: 0 }],
    ["POST", "/v1/agents/t/restore", "restore", ["t", { step: 1, paths: ["a"] }], { step: 1, paths: ["a"] }],
    ["POST", "/v1/agents/t/memory", "changeMemory", ["t", CHANGES, "k"], { changes: CHANGES, key: "k" }],
    ["GET", "/v1/agents/t/details", "details", ["t"]],
    ["GET", "/v1/agents/t/state", "state", ["t"]],
    ["GET", "/v1/agents/t/goals", "goals", ["t"]],
    ["GET", "/v1/agents/t/plan", "plan", ["t"]],
    ["GET", "/v1/agents/t/report", "report", ["t"]],
    ["GET", "/v1/agents/t/verify", "verify", ["t"]],
    ["GET", "/v1/verify", "verify", [null]],
    ["GET", "/v1/waiting", "waiting", []],
    ["GET", "/v1/agents/t/steps", "steps", ["t", { limit: 200 }]],
    ["GET", "/v1/agents/t/steps?after=3&limit=7", "steps", ["t", { after: 3, limit: 7 }]],
    ["GET", "/v1/agents/t/steps/12", "step", ["t", 12]],
    ["GET", "/v1/agents/t/files", "files", ["t", {}]],
    ["GET", "/v1/agents/t/files?versions=false", "files", ["t", { versions: false }]],
    ["GET", "/v1/agents/t/files/a%2Fb%20c.md", "file", ["t", "a/b c.md", null]],
    ["GET", "/v1/agents/t/files/a.md?step=0", "file", ["t", "a.md", 0]],
    ["GET", "/v1/agents/t/files/a%2Fb.md/story", "fileStory", ["t", "a/b.md"]],
    ["GET", "/v1/agents/t/diff", "diff", ["t", { paths: [] }]],
    ["GET", "/v1/agents/t/diff?from=1&to=2&path=a&path=b", "diff", ["t", { from: 1, to: 2, paths: ["a", "b"] }]],
    ["GET", "/v1/agents/t/restore-plan?step=1&path=a", "restorePlan", ["t", 1, ["a"]]],
    ["GET", "/v1/agents/t/restore-plan?step=0", "restorePlan", ["t", 0, []]],
    ["GET", "/v1/agents/t/memory", "memories", [PLACE, { limit: 50 }]],
    [
      "GET",
      "/v1/agents/t/memory?shared=true&all=true&kind=fact&limit=3",
      "memories",
      [
        { name: "t", shared: true },
        { all: true, kind: "fact", limit: 3 },
      ],
    ],
    ["GET", "/v1/agents/t/memory/changes?after=5", "memoryPage", [PLACE, { after: 5, limit: 200 }]],
    ["GET", "/v1/agents/t/memory/search?query=a%20b", "searchMemory", [PLACE, "a b", null]],
    ["GET", "/v1/agents/t/memory/t%2F4.1", "memory", [PLACE, "t/4.1"]],
    ["POST", "/v1/reload", "reload", []],
    ["POST", "/v1/shutdown", "shutdown", [10], { graceMs: 10 }],
    ["POST", "/v1/dashboard", "openDashboard", []],
  ];

  it.each(CALLS)(
    "%s %s makes one call to the host, %s, and answers by its schema; the door does so too, or refuses it with a reason",
    async (...call) => {
      const [method, path, called, given, body] = call;
      const options = body === undefined ? {} : { body };
      const { control, api } = await serveAgents();
      const reply = await api.ask(method, path, options);
      expectReply(reply, method, path);
      expect(control.calls).toEqual([{ method: called, given }]);
      expect(reply.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
      if (method === "GET") {
        const read = control[called] as (...given: readonly unknown[]) => Promise<unknown>;
        // A list is inside an object.
        expect([reply.body, ...Object.values(reply.body as object)]).toContainEqual(await read(...given));
      }

      const other = await serveAgents();
      const { status, text, body: refusal } = await (await enterDoor(other.api)).ask(method, path, options);
      const reason = routeOf(method, path)?.socketOnly;
      if (reason === undefined) expect([status, text]).toEqual([reply.status, reply.text]);
      else expect([status, errorIn(refusal).message]).toEqual([403, expect.stringContaining(reason)]);
      expect(other.control.calls).toEqual(reason === undefined ? [{ method: called, given }] : []);
    },
  );

  it("is missing at the door of the page for three calls alone", () => {
    const missing = ALL_ROUTES.filter(({ socketOnly }) => socketOnly !== undefined);
    expect(missing.map(({ operation }) => operation)).toEqual(["reload", "shutdown", "openDashboard"]);
  });

  it("is covered by the cases above, except the two streams and the document", () => {
    const tried = new Set(CALLS.map(([method, path]) => routeOf(method, path)?.operation));
    const others = ALL_ROUTES.filter(({ operation }) => !tried.has(operation)).map(({ operation }) => operation);
    expect(others).toEqual(["events", "changes", "openapi"]);
  });

  it("returns 200 events per page by default and at most 1,000", async () => {
    const { api } = await serveAgents({ t: 1_500 });
    const sizes = await Promise.all(
      ["", "?limit=1000", "?after=1400", "?after=1500", "?after=9999"].map(async (query) => {
        const { events, head } = (await api.ask("GET", `/v1/agents/t/events${query}`)).body as EventPage;
        return [events.length, events[0]?.seq, head];
      }),
    );
    expect(sizes).toEqual([
      [200, 1, 1_500],
      [1_000, 1, 1_500],
      [100, 1_401, 1_500],
      [0, undefined, 1_500],
      [0, undefined, 1_500],
    ]);
  });
});

describe("the schemas", () => {
  it("accept and reject the same agents as the command line", () => {
    const base = { name: "a", role: "r", goals: ["g"] };
    const drafts = [
      base,
      { ...base, name: "x".repeat(80) },
      { ...base, name: "x".repeat(81) },
      { ...base, name: "" },
      { ...base, name: " " },
      { ...base, name: "😀".repeat(80) },
      { ...base, name: "a\nb" },
      { ...base, name: "a\u202eb" },
      { ...base, name: "a\ud800" },
      { ...base, role: "" },
      { ...base, role: "a\nb\tc\r\nd" },
      { ...base, role: "a\u0007" },
      { ...base, role: "x".repeat(2_001) },
      { ...base, goals: [] },
      { ...base, goals: ["1", "2", "3", "4", "5"] },
      { ...base, goals: ["1", "2", "3", "4", "5", "6"] },
      { ...base, goals: ["a", " "] },
      { ...base, goals: ["a\u2066"] },
    ];
    const byApi = drafts.map((draft) => validate(words.NewAgent, { ...draft, settings: ALL_SETTINGS }).length === 0);
    const byCommandLine = drafts.map((draft) => {
      try {
        return Boolean(validateAgent(draft));
      } catch {
        return false;
      }
    });
    expect(byApi).toEqual(byCommandLine);
    expect(new Set(byApi)).toEqual(new Set([true, false]));
  });

  it("follow the standard that OpenAPI 3.1 names", () => {
    const ajv = new Ajv2020({ allowUnionTypes: true, discriminator: true, formats: { "date-time": true } });
    for (const schema of Object.values(NAMED_SCHEMAS)) expect(() => ajv.compile(schema)).not.toThrow();
    expect(() => ajv.compile({ type: "objekt" })).toThrow();
  });
});

describe("config/openapi.json", () => {
  const read = (): unknown => JSON.parse(readFileSync("config/openapi.json", "utf8"));

  it("is up to date (write it: npm run openapi), and the server returns it", async () => {
    const { api } = await serveAgents({});
    expect(read()).toEqual(buildOpenApi());
    expect((await api.ask("GET", "/v1/openapi.json")).body).toEqual(read());
  });

  it("contains the targets of all its references, and names each operation once", () => {
    const text = JSON.stringify(read());
    const document = read() as { components: { schemas: object } };
    const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(names.filter((name) => !Object.hasOwn(document.components.schemas, name as string))).toEqual([]);
    expect(new Set(names).size).toBeGreaterThan(8);
    const operations = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, name]) => name);
    expect(operations.sort()).toEqual(ALL_ROUTES.map(({ operation }) => operation).sort());
  });
});

const NEW_AGENT = { name: "Chef", role: "a cook", goals: ["cook"], settings: { approve: "risky", stepLimit: 9 } };
const SETTINGS = { approve: "never", stepLimit: null };

const errorIn = (body: unknown) => (body as { error: Pick<GoaldError, "code" | "message" | "hint"> }).error;

it.each([
  '{"name":"Chef","role":"r","goals":["g"],"settings":{"approve":"never","stepLimit":1},"name":"Mole"}',
  '{"name":"Chef","role":"r","goals":["g"],"settings":{"approve":"risky","stepLimit":1,"\\u0061pprove" : "never"}}',
])("a body with one name twice in an object is rejected: %s", async (body) => {
  const { control, api } = await serveAgents();
  const reply = await api.ask("POST", "/v1/agents", { body });
  expect(reply.status).toBe(400);
  expect(errorIn(reply.body).message).toBe("The body has an object with the same name twice.");
  expect(control.calls).toEqual([]);
  // It is told from names in texts and in other objects.
  const role = '{"name": "x", "name": "y"} \\';
  const sound = JSON.stringify({ ...NEW_AGENT, role, goals: ["name", "name"] });
  expect((await api.ask("POST", "/v1/agents", { body: sound })).status).toBe(201);
});

describe("a request that may come from another origin", () => {
  const json = JSON.stringify(NEW_AGENT);
  const FOREIGN: readonly [string, number, Readonly<Record<string, string>>][] = [
    ["CVE-2024-1879: with a foreign Origin", 403, { origin: "https://evil.example" }],
    ["CVE-2024-1879: with the Origin of a sandboxed frame", 403, { origin: "null" }],
    ["CVE-2024-1879: with an Origin that resembles goald's own", 403, { origin: "http://goald" }],
    ["CVE-2024-1879: from the same site", 403, { "sec-fetch-site": "same-site" }],
    ["CVE-2024-1879: with any Sec-Fetch header", 403, { "sec-fetch-mode": "no-cors" }],
    ["CVE-2024-1879: as text/plain", 415, { "content-type": "text/plain" }],
    ["as a form", 415, { "content-type": "application/x-www-form-urlencoded" }],
    ["as a type that starts like application/json", 415, { "content-type": "application/json-patch" }],
    ["as two types", 415, { "content-type": "application/json, text/plain" }],
    ["in another charset", 415, { "content-type": "application/json; charset=utf-16" }],
    ["compressed", 415, { "content-encoding": "gzip" }],
    ["CVE-2024-1879: for the Host evil.example", 421, { host: "evil.example" }],
    ["CVE-2024-1879: for the Host localhost", 421, { host: "localhost" }],
    ["CVE-2025-0454: for a Host with a port", 421, { host: "goald:80" }],
    ["CVE-2025-0454: for a Host with a user", 421, { host: "goald@evil.example" }],
    ["CVE-2025-0454: for a Host with a backslash", 421, { host: "goald\\@evil.example" }],
    ["CVE-2025-0454: for a Host that ends in goald", 421, { host: "evil.goald" }],
    ["CVE-2025-0454: for a Host that starts with goald", 421, { host: "goald.evil.example" }],
  ];

  it.each(FOREIGN)("%s is rejected with %i and has no effect", async (_what, status, headers) => {
    const { control, api } = await serveAgents();
    const reply = await api.ask("POST", "/v1/agents", { body: json, headers });
    expect(reply.status).toBe(status);
    expect(errorIn(reply.body)).toEqual({
      code: status === 415 ? "GOALD_USAGE" : "GOALD_HTTP_REFUSED",
      message: expect.stringMatching(/\.$/),
      hint: expect.stringMatching(/./),
    });
    expect(control.calls).toEqual([]);
    expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it.each([
    ["as goald's own client sends it", {}],
    ["with a charset", { "content-type": "application/json; charset=UTF-8" }],
  ])("the same request %s creates the agent", async (_what, headers) => {
    const { control, api } = await serveAgents();
    const reply = await api.ask("POST", "/v1/agents", { body: json, headers });
    expect(reply.status).toBe(201);
    expect(control.calls).toEqual([{ method: "create", given: [NEW_AGENT] }]);
  });

  it.each([
    ["with an Origin", { origin: "https://evil.example" }, 403],
    ["for another Host", { host: "evil.example" }, 421],
  ])("reading and following are rejected too, %s", async (_what, headers, status) => {
    const { control, api } = await serveAgents();
    for (const path of ["/v1/status", "/v1/agents/t", "/v1/agents/t/events", "/v1/openapi.json", "/nowhere"])
      for (const accept of ["*/*", "text/event-stream"])
        expect((await api.ask("GET", path, { headers: { ...headers, accept } })).status).toBe(status);
    expect([control.calls, [...control.pagesRead]]).toEqual([[], []]);
  });

  const RAW: readonly [string, number, string][] = [
    ["two Hosts", 421, "GET /v1/status HTTP/1.1\r\nHost: goald\r\nHost: evil.example"],
    ["CVE-2025-0454: another server in the address", 421, "GET http://evil.example/v1/status HTTP/1.1\r\nHost: goald"],
    ["CVE-2025-0454: our name as a user in the address", 421, "GET http://goald@evil.example/ HTTP/1.1\r\nHost: goald"],
    ["an address without a scheme", 421, "GET //evil.example/v1/status HTTP/1.1\r\nHost: goald"],
    ["no Host at all", 421, "GET /v1/status HTTP/1.0"],
    ["no Host where there must be one", 421, "GET /v1/status HTTP/1.1"],
    ["a tunnel", 0, "CONNECT evil.example:443 HTTP/1.1\r\nHost: goald"],
    ["two lengths", 400, "POST /v1/reload HTTP/1.1\r\nHost: goald\r\nContent-Length: 2\r\nTransfer-Encoding: chunked"],
    ["a body where none is read", 400, "GET /v1/agents HTTP/1.1\r\nHost: goald\r\nContent-Length: 2"],
    ["no HTTP", 400, "hello"],
    ["a head without an end", 431, `GET /v1/status HTTP/1.1\r\nHost: goald\r\nX-Long: ${"x".repeat(20_000)}`],
  ];

  it.each(RAW)("%s is rejected with %i before it has any effect", async (_what, status, head) => {
    const { control, api } = await serveAgents();
    const answer = await api.send(`${head}\r\nConnection: close\r\n\r\n`);
    expect(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1] ?? "0").toBe(String(status));
    expect(control.calls).toEqual([]);
  });

  it("the same bytes without the fault are answered", async () => {
    const { control, api } = await serveAgents();
    const answer = await api.send("GET /v1/status HTTP/1.1\r\nHost: goald\r\nConnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(control.calls).toHaveLength(1);
  });
});

describe("an invalid request", () => {
  const DEEP = `{"goals":["g"],"checks":[{"goal":0,"test":{"kind":"schema","path":"a","schema":${'{"not":'.repeat(99)}{}${"}".repeat(99)}}}]}`;
  const WRONG: readonly [string, number, string, string, unknown][] = [
    ["an unknown member", 400, "POST", "/v1/agents", { ...NEW_AGENT, budget: 1 }],
    ["an unknown setting", 400, "POST", "/v1/agents", { ...NEW_AGENT, settings: { ...SETTINGS, sudo: true } }],
    ["a goal that is not text", 400, "POST", "/v1/agents", { ...NEW_AGENT, goals: [1] }],
    ["a text in place of a number", 400, "PATCH", "/v1/agents/t/settings", { stepLimit: "9" }],
    ["an invalid deadline", 400, "PATCH", "/v1/agents/t/settings", { deadline: "2026-13-41T00:00:00Z" }],
    ["nothing to change", 400, "PATCH", "/v1/agents/t/settings", {}],
    ["no text", 400, "POST", "/v1/agents/t/messages", { from: "you" }],
    ["a list", 400, "POST", "/v1/agents/t/kill", []],
    ["broken JSON", 400, "POST", "/v1/agents/t/kill", "{"],
    ["a schema of too many levels", 400, "PUT", "/v1/agents/t/goals", DEEP],
    [
      "a text in Latin-1",
      400,
      "POST",
      "/v1/agents/t/messages",
      Buffer.from('{"from":"you","text":"Gr\xfc\xdfe"}', "latin1"),
    ],
    ["a poisoned prototype", 400, "POST", "/v1/agents/t/kill", '{"__proto__":{"isAdmin":true}}'],
    ["an unknown verdict", 400, "POST", "/v1/agents/t/approval", { verdict: "perhaps" }],
    ["a negative grace time", 400, "POST", "/v1/shutdown", { graceMs: -1 }],
    ["half a millisecond", 400, "POST", "/v1/agents/t/stop", { graceMs: 0.5 }],
    ["more than a megabyte", 413, "POST", "/v1/agents/t/messages", { from: "you", text: "x".repeat(1024 * 1024) }],
    ["an unknown query parameter", 400, "GET", "/v1/agents?all=true", undefined],
    ["an invalid boolean", 400, "DELETE", "/v1/agents/t?force=1", undefined],
    ["a number in hexadecimal", 400, "GET", "/v1/agents/t/events?after=0x1", undefined],
    ["a number given twice", 400, "GET", "/v1/agents/t/events?after=1&after=2", undefined],
    ["a negative number", 400, "GET", "/v1/agents/t/events?after=-1", undefined],
    ["a restoration to no step", 400, "GET", "/v1/agents/t/restore-plan", undefined],
    ["a restoration of files without a step", 400, "POST", "/v1/agents/t/restore", { paths: ["a.md"] }],
    ["a page size of zero", 400, "GET", "/v1/agents/t/events?limit=0", undefined],
    ["a page size that is too large", 400, "GET", "/v1/agents/t/events?limit=1001", undefined],
    ["a name that is too long", 400, "GET", `/v1/agents/${"x".repeat(81)}`, undefined],
    ["an address that is too long", 414, "GET", `/v1/agents/${"x".repeat(4_097)}`, undefined],
    ["an address that is not text", 400, "GET", "/v1/agents/%zz", undefined],
    ["an unknown address", 404, "GET", "/v2/agents", undefined],
    ["a method that the address does not support", 405, "PUT", "/v1/agents", {}],
    ["HEAD", 405, "HEAD", "/v1/status", undefined],
    ["OPTIONS", 405, "OPTIONS", "/v1/agents", undefined],
    ["TRACE", 405, "TRACE", "/v1/agents", undefined],
    ["PROPFIND", 405, "PROPFIND", "/v1/agents", undefined],
  ];

  it.each(WRONG)(
    "%s is rejected with %i and a message, and has no effect",
    async (_what, status, method, path, body) => {
      const { control, api } = await serveAgents();
      const reply = await api.ask(method, path, body === undefined ? {} : { body });
      expect([reply.status, reply.headers["cache-control"]]).toEqual([status, "no-store"]);
      expect(reply.headers["x-content-type-options"]).toBe("nosniff");
      if (method !== "HEAD")
        expect(errorIn(reply.body)).toEqual({
          code: "GOALD_USAGE",
          message: expect.stringMatching(/\.$/),
          hint: expect.stringContaining("/v1/openapi.json"),
        });
      expect(control.calls).toEqual([]);
      expect(api.problems).toEqual([]);
    },
  );

  it("gets all problems with their places, and the allowed methods", async () => {
    const { api } = await serveAgents();
    const wrong = { ...NEW_AGENT, goals: [""], settings: { ...SETTINGS, approve: "maybe", stepLimit: "5" }, x: 1 };
    const { body } = await api.ask("POST", "/v1/agents", { body: wrong });
    const { message } = errorIn(body);
    expect(message).toContain('body has an unknown member "x"');
    expect(message).toContain("body.goals[0] must");
    expect(message).toContain("body.settings.approve must be one of always, risky, never");
    expect(message).toContain("body.settings.stepLimit must be a whole number or null");
    expect((await api.ask("PUT", "/v1/agents/t", { body: {} })).headers.allow).toBe("GET, DELETE");
  });

  it.each<[string, object, string]>([
    ["messages", { from: "ada", text: " \n" }, "body.text must not be blank."],
    ["messages", { from: "a\nb", text: "x" }, "body.from must be one line without control characters, and not blank."],
    ["resume", { record: "run.ndjson" }, "body.record must match ^/[^\\p{Cc}]+$."],
    [
      "memory",
      { changes: [{ op: "drop" }], key: "k" },
      "body.changes[0] must have the member op, one of add, pin, unpin, forget.",
    ],
    ["plan", { edits: [{ kind: "add", goal: "x" }] }, "body.edits[0] has no parent."],
  ])("to %s says what was expected: %j", async (place, body, expected) => {
    const { api } = await serveAgents();
    const reply = await api.ask("POST", `/v1/agents/t/${place}`, { body });
    expect([reply.status, errorIn(reply.body).message]).toEqual([400, expected]);
  });

  it("takes the numbers of an address from the whole range of their schema, and names its ends", async () => {
    const { api } = await serveAgents();
    const ask = (after: string) => api.ask("GET", `/v1/agents/t/events?after=${after}`);
    expect((await ask("9007199254740991")).status).toBe(200);
    expect(errorIn((await ask("9007199254740992")).body).message).toBe("query.after must be <= 9007199254740991.");
    expect(errorIn((await ask("-1")).body).message).toBe("query.after must be >= 0.");
  });

  it.each(["__proto__", "constructor", "..%2F..%2Fetc", "a%00b", "%E2%80%AEt", "t%2F"])(
    "the name %s is only a name, and no such agent exists",
    async (name) => {
      const { control, api } = await serveAgents();
      expect((await api.ask("GET", `/v1/agents/${name}`)).status).toBe(404);
      expect(control.calls).toEqual([{ method: "agent", given: [decodeURIComponent(name)] }]);
    },
  );
});

describe("errors of the host", () => {
  it("do not include a client that hangs up in the middle of its body", async () => {
    const { api } = await serveAgents();
    const head =
      "POST /v1/reload HTTP/1.1\r\nHost: goald\r\nContent-Length: 9\r\nContent-Type: application/json\r\n\r\n{";
    const received = await api.open(head).end().toArray();
    expect(String(received[0])).toMatch(/^HTTP\/1\.1 400 /);
    await api.server.close("The test is over.");
    expect(api.problems).toEqual([]);
  });

  it.each([
    ["GOALD_NOT_FOUND", 404],
    ["GOALD_CONFLICT", 409],
    ["GOALD_ALREADY_RUNNING", 409],
    ["GOALD_FENCED", 409],
    ["GOALD_FILE", 400],
    ["GOALD_FILE_MISSING", 404],
    ["GOALD_FILE_TOO_LARGE", 400],
    ["GOALD_USAGE", 400],
    ["GOALD_CONFIG", 400],
    ["GOALD_PATH_REFUSED", 400],
    ["GOALD_STORE_FULL", 507],
    ["GOALD_STORE_DAMAGED", 500],
    ["GOALD_DAEMON", 503],
  ] as const)("%s is sent as %i, unchanged", async (code, status) => {
    const { control, api } = await serveAgents();
    control.fail("pause", new GoaldError(code, "It is so.", { hint: "Do this." }));
    const reply = await api.ask("POST", "/v1/agents/t/pause", { body: { reason: "to look" } });
    expect([reply.status, reply.body]).toEqual([status, { error: { code, message: "It is so.", hint: "Do this." } }]);
    expect(api.problems).toHaveLength(status === 500 ? 1 : 0);
  });

  it.each([
    ["TypeError", "undefined is not a function", "This is a fault of goald."],
    ["EMFILE", "open a EMFILE", "Raise the limit of open files (ulimit -n)"],
    ["EAGAIN", "spawn node EAGAIN", "raise their limit (ulimit -u)"],
    ["EAGAIN", "read EAGAIN", "This is a fault of goald."],
  ])("any other error (%s, %s) is sent as internal, with a hint, and logged with its place", async (...given) => {
    const [code, message, hint] = given;
    const { control, api } = await serveAgents();
    control.fail("reload", Object.assign(new TypeError(message), { code }));
    const reply = await api.ask("POST", "/v1/reload");
    expect(reply.status).toBe(500);
    expect(reply.body).toMatchObject({ error: { code: "GOALD_INTERNAL", hint: expect.stringContaining(hint) } });
    expect(reply.text).not.toContain("fake-control");
    expect(api.problems).toEqual([expect.stringMatching(new RegExp(`${message}[\\s\\S]* at `))]);
  });

  it("CVE-2026-22038: no key is in a reply, a page, a stream or a problem report", async () => {
    const secret = "sk-marker-4f9d1c77aa20";
    const unseen = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    const { control, api } = await serveAgents({ t: 3 }, { redact: createRedactor([secret]) });
    control.append("t", 2, `the key is ${secret}, the other ${unseen}`);
    const texts: string[] = [];
    for (const path of ["/v1/agents/t/events", `/v1/agents/${secret}`, `/v1/${secret}`, `/v1/agents?${secret}=1`])
      texts.push((await api.ask("GET", path)).text);
    const words = { from: "you", text: 1, [secret]: secret };
    texts.push((await api.ask("POST", "/v1/agents/t/messages", { body: words })).text);
    control.fail("kill", new Error(`401 for ${secret} and ${unseen}`));
    texts.push((await api.ask("POST", "/v1/agents/t/kill", { body: {} })).text);
    await using reader = await api.followUntil(5, "/v1/agents/t/events");
    texts.push(reader.text, ...api.problems);
    for (const text of texts) expect([text.includes(secret), text.includes(unseen)]).toEqual([false, false]);
    expect(texts.join().split("[redacted]").length).toBeGreaterThan(8);
  });

  it("CVE-2023-37275: control characters are escaped in what is sent, and none is lost", async () => {
    const acting = "\u001b[2J\u009b1m\u0007\r\u202eexe\u2066\u0085\u007f\n\nevent: bye\ndata: {}\n\n";
    const { control, api } = await serveAgents();
    control.append("t", 1, acting);
    const page = await api.ask("GET", "/v1/agents/t/events?after=3");
    await using reader = await api.followUntil(1, "/v1/agents/t/events?after=3");
    const acts = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
    expect([acts.test(page.text), acts.test(reader.text), acts.test(acting)]).toEqual([false, false, true]);
    expect(page.body).toMatchObject({ events: [{ text: acting }] });
    expect(reader.messages).toEqual([{ event: "message", id: "4", data: expect.objectContaining({ text: acting }) }]);
  });
});

describeLocalApi("a host in memory", async () => {
  const control = makeFakeControl();
  return {
    control,
    reading: control,
    makeAgent: async (name) => control.add(name, 1),
    lengthen: async (id) => control.append(id, 1),
    [Symbol.asyncDispose]: async () => undefined,
  };
});

describeLocalApi("a host with a real supervisor", async () => {
  const { world, host } = await startHost({ script: () => done() }, {});
  return {
    control: host.control,
    reading: await readingOf(world, host),
    makeAgent: async (name) => (await world.create(name, { approve: "always", background: false })).id,
    lengthen: async (id) => {
      await host.control.resume(id, {});
      await host.quiet();
      await host.control.pause(id, "For the test.");
    },
    [Symbol.asyncDispose]: () => host.supervisor.drain(0),
  };
});

it.each(["..%2f..%2f.env", "%2Fetc%2Fpasswd", "a%00b"])(
  "the path %s is a refused request, and no fault of the host",
  async (path) => {
    const { world, host } = await startHost({ script: [] }, { t: { approve: "always", background: false } });
    await using api = await serve(host.control, { reading: await readingOf(world, host) });
    const { status, body } = await api.ask("GET", `/v1/agents/t/files/${path}`);
    expect([status, body]).toMatchObject([400, { error: { code: "GOALD_PATH_REFUSED" } }]);
    expect(api.problems).toEqual([]);
    await host.supervisor.drain(0);
  },
);
