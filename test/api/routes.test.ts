import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Control, Reading } from "#api/control.ts";
import { ALL_ROUTES, buildOpenApi, NAMED_SCHEMAS } from "#api/routes.ts";
import type { ApprovalAnswer, EventPage, NewAgent, NextTurn, PlanEdits } from "#api/schemas.ts";
import * as words from "#api/schemas.ts";
import { validateAgent } from "#config/agent-spec.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { MemoryChange } from "#core/ports/memory.ts";
import { bodyFor, expectReply, routeOf, validate } from "../contracts/local-api.ts";
import { makeFakeControl } from "../helpers/fake-control.ts";
import { serve } from "../helpers/local-server.ts";

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
const NEW_AGENT: Required<NewAgent> = {
  name: "Chef Ünal 漢字",
  role: "a cook\nwho writes",
  goals: ["Cook", "Write\tit down"],
  checks: CHECKS,
  settings: ALL_SETTINGS,
  key: "k-1",
  record: "/home/ünal/foo.ndjson",
};
const ANSWER: Required<ApprovalAnswer> = { callId: "c1", verdict: "denied", count: 3, text: "not now" };

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
  const CALLS: readonly [string, string, unknown, keyof Control | keyof Reading, readonly unknown[]][] = [
    ["GET", "/v1/status", undefined, "status", []],
    ["GET", "/v1/agents", undefined, "agents", []],
    ["POST", "/v1/agents", NEW_AGENT, "create", [NEW_AGENT]],
    ["GET", "/v1/agents/t", undefined, "agent", ["t"]],
    ["DELETE", "/v1/agents/t", undefined, "remove", ["t", { force: false, files: false }]],
    ["DELETE", "/v1/agents/t?force=true&files=true", undefined, "remove", ["t", { force: true, files: true }]],
    ["POST", "/v1/agents/t/messages", { from: "you", text: "hi" }, "say", ["t", { from: "you", text: "hi" }]],
    ["PUT", "/v1/agents/t/goals", { goals: ["a", "b"] }, "setGoals", ["t", ["a", "b"]]],
    ["PUT", "/v1/agents/t/goals", { goals: ["a"], checks: CHECKS }, "setGoals", ["t", ["a"], CHECKS]],
    ["POST", "/v1/agents/t/plan", EDITS, "editPlan", ["t", EDITS]],
    ["POST", "/v1/agents/t/turns", NEXT_TURN, "beginTurn", ["t", NEXT_TURN]],
    ["PATCH", "/v1/agents/t/settings", ALL_SETTINGS, "changeSettings", ["t", ALL_SETTINGS]],
    ["POST", "/v1/agents/t/pause", { reason: "to look" }, "pause", ["t", "to look"]],
    ["POST", "/v1/agents/t/resume", { settings: { stepLimit: 9 } }, "resume", ["t", { stepLimit: 9 }]],
    ["POST", "/v1/agents/t/resume", undefined, "resume", ["t", {}]],
    ["POST", "/v1/agents/t/stop", { graceMs: 0 }, "stop", ["t", 0]],
    ["POST", "/v1/agents/t/stop", {}, "stop", ["t", 30_000]],
    ["POST", "/v1/agents/t/kill", undefined, "kill", ["t"]],
    ["POST", "/v1/agents/t/approval", ANSWER, "answer", ["t", ANSWER]],
    ["POST", "/v1/agents/t/trust", { what: "files", paths: ["r"] }, "trust", ["t", { what: "files", paths: ["r"] }]],
    ["POST", "/v1/agents/t/fork", { step: 1, key: "k" }, "fork", ["t", { step: 1, key: "k" }]],
    ["POST", "/v1/agents/t/restore", { step: 0 }, "restore", ["t", { step: 0 }]],
    ["POST", "/v1/agents/t/restore", { step: 1, paths: ["a"] }, "restore", ["t", { step: 1, paths: ["a"] }]],
    ["POST", "/v1/agents/t/memory", { changes: CHANGES, key: "k" }, "changeMemory", ["t", CHANGES, "k"]],
    ["GET", "/v1/agents/t/details", undefined, "details", ["t"]],
    ["GET", "/v1/agents/t/state", undefined, "state", ["t"]],
    ["GET", "/v1/agents/t/goals", undefined, "goals", ["t"]],
    ["GET", "/v1/agents/t/plan", undefined, "plan", ["t"]],
    ["GET", "/v1/agents/t/report", undefined, "report", ["t"]],
    ["GET", "/v1/agents/t/verify", undefined, "verify", ["t"]],
    ["GET", "/v1/verify", undefined, "verify", [null]],
    ["GET", "/v1/waiting", undefined, "waiting", []],
    ["GET", "/v1/agents/t/steps", undefined, "steps", ["t", { after: 0, limit: 200 }]],
    ["GET", "/v1/agents/t/steps?after=3&limit=7", undefined, "steps", ["t", { after: 3, limit: 7 }]],
    ["GET", "/v1/agents/t/steps/12", undefined, "step", ["t", 12]],
    ["GET", "/v1/agents/t/files", undefined, "files", ["t"]],
    ["GET", "/v1/agents/t/files/a%2Fb%20c.md", undefined, "file", ["t", "a/b c.md", null]],
    ["GET", "/v1/agents/t/files/a.md?step=0", undefined, "file", ["t", "a.md", 0]],
    ["GET", "/v1/agents/t/files/a%2Fb.md/story", undefined, "fileStory", ["t", "a/b.md"]],
    ["GET", "/v1/agents/t/diff", undefined, "diff", ["t", { paths: [] }]],
    [
      "GET",
      "/v1/agents/t/diff?from=1&to=2&path=a&path=b",
      undefined,
      "diff",
      ["t", { from: 1, to: 2, paths: ["a", "b"] }],
    ],
    ["GET", "/v1/agents/t/restore-plan?step=1&path=a", undefined, "restorePlan", ["t", 1, ["a"]]],
    ["GET", "/v1/agents/t/restore-plan?step=0", undefined, "restorePlan", ["t", 0, []]],
    ["GET", "/v1/agents/t/memory", undefined, "memories", [{ name: "t", shared: false }, { limit: 50 }]],
    [
      "GET",
      "/v1/agents/t/memory?shared=true&all=true&kind=fact&limit=3",
      undefined,
      "memories",
      [
        { name: "t", shared: true },
        { all: true, kind: "fact", limit: 3 },
      ],
    ],
    [
      "GET",
      "/v1/agents/t/memory/changes?after=5",
      undefined,
      "memoryPage",
      [
        { name: "t", shared: false },
        { after: 5, limit: 200 },
      ],
    ],
    [
      "GET",
      "/v1/agents/t/memory/search?query=a%20b",
      undefined,
      "searchMemory",
      [{ name: "t", shared: false }, "a b", null],
    ],
    ["GET", "/v1/agents/t/memory/t%2F4.1", undefined, "memory", [{ name: "t", shared: false }, "t/4.1"]],
    ["POST", "/v1/reload", undefined, "reload", []],
    ["POST", "/v1/shutdown", { graceMs: 10 }, "shutdown", [10]],
  ];

  it.each(CALLS)(
    "%s %s with %j makes one call to the host and answers by its schema",
    async (method, path, body, called, given) => {
      const control = makeFakeControl();
      control.add("t", 3);
      await using api = await serve(control);
      const reply = await api.ask(method, path, body === undefined ? {} : { body });
      expectReply(reply, method, path);
      expect(control.calls).toEqual([{ method: called, given }]);
      expect(reply.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    },
  );

  it("is covered by the cases above, except the events and the document", () => {
    const tried = new Set(CALLS.map(([method, path]) => routeOf(method, path)?.operation));
    const others = ALL_ROUTES.filter(({ operation }) => !tried.has(operation)).map(({ operation }) => operation);
    expect(others).toEqual(["events", "openapi"]);
  });

  it("returns 200 events per page by default and at most 1,000", async () => {
    const control = makeFakeControl();
    control.add("t", 1_500);
    await using api = await serve(control);
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
    const ajv = new Ajv2020({ allowUnionTypes: true, formats: { "date-time": true } });
    for (const schema of Object.values(NAMED_SCHEMAS)) expect(() => ajv.compile(schema)).not.toThrow();
    expect(() => ajv.compile({ type: "objekt" })).toThrow();
  });

  it("accept every body that the tests of all hosts send", () => {
    for (const { path, body } of ALL_ROUTES)
      if (body && path.includes(":agent")) expect([path, validate(body, bodyFor(path).body)]).toEqual([path, []]);
  });
});

describe("config/openapi.json", () => {
  const read = (): unknown => JSON.parse(readFileSync("config/openapi.json", "utf8"));

  it("is up to date (write it: npm run openapi), and the server returns it", async () => {
    await using api = await serve(makeFakeControl());
    expect(read()).toEqual(buildOpenApi());
    expect((await api.ask("GET", "/v1/openapi.json")).body).toEqual(read());
  });

  it("would be out of date with one more route (control)", () => {
    const { paths, ...rest } = buildOpenApi() as { paths: object };
    expect(read()).not.toEqual({ ...rest, paths: { ...paths, "/v1/more": {} } });
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
