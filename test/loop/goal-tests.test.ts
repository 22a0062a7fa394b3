import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type CommandContext, fail, succeed } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { type GoalTest, MAX_PROOF_CHARS } from "#core/goal-check.ts";
import { type GoalTestParts, openGoalTests } from "#loop/goal-tests.ts";
import { contextOf, makeDesk } from "../commands/context.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { type CellBehaviour, createFakeSandbox, failedCell } from "../helpers/fake-sandbox.ts";
import { MemoryWorkspace } from "../helpers/memory-workspace.ts";

const FILES = {
  "report.md": "# Report\n\nThere are 42 cities.\n",
  "empty.md": "",
  "wide.md": "  😀é\n",
  "list.json": '[{"city": "Chengdu", "people": 21}]',
  "broken.json": '{"city": Chengdu}',
  "evil.json": JSON.stringify({ name: "a".repeat(40) }),
};
const filesOf = (files: Readonly<Record<string, string>>) =>
  new Map(Object.entries(files).map(([path, text]) => [path, new Uint8Array(Buffer.from(text))]));

let versions = 0;
const testWith = (parts: Partial<GoalTestParts> = {}, more: Partial<CommandContext> = {}) => {
  const context = { ...contextOf(new MemoryWorkspace({ files: filesOf(FILES) })), ...more };
  const own = { agentId: "foo", clock: fakeClock(), nextVersion: () => `c1#1 test ${++versions}`, ...parts };
  return (test: GoalTest) => openGoalTests(own).run(test, context);
};

const LIST = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "array",
  items: { $ref: "#/$defs/city" },
  $defs: { city: { type: "object", properties: { city: { type: "string" } }, required: ["city", "people"] } },
};

describe("a test of a file", () => {
  it.each<[title: string, test: GoalTest, proof: RegExp]>([
    ["that exists", { kind: "file", path: "report.md" }, /^report\.md has 31 bytes\.$/],
    ["that exists and is empty", { kind: "file", path: "./empty.md" }, /^empty\.md has 0 bytes\.$/],
    [
      "with a text",
      { kind: "contains", path: "report.md", text: "42" },
      /^Line 3 of report\.md has it: "There are 42 cities\."$/,
    ],
    ["with a text of several lines", { kind: "contains", path: "report.md", text: "# Report\n\nThere" }, /^Line 1 of/],
    [
      "of that length, without blanks at its ends",
      { kind: "length", path: "wide.md", min: 2 },
      /^wide\.md has 2 characters\.$/,
    ],
    ["that is empty, when that is enough", { kind: "length", path: "empty.md", min: 0 }, /0 characters/],
    [
      "of JSON that matches a schema of another draft",
      { kind: "schema", path: "list.json", schema: LIST },
      /^list\.json \(35 bytes\) matches/,
    ],
  ])("passes for one %s", async (_title, test, proof) => {
    expect(await testWith()(test)).toEqual({ isPassed: true, proof: expect.stringMatching(proof) });
  });

  const path = "none.md";
  it.each<[title: string, test: GoalTest, reason: RegExp]>([
    ["that is missing", { kind: "file", path }, /^There is no file "none\.md"\. Write it\.$/],
    ["that is missing and should have a text", { kind: "contains", path, text: "x" }, /no file "none\.md"/],
    ["that is missing and should be long", { kind: "length", path, min: 1 }, /no file "none\.md"/],
    ["that is missing and should be JSON", { kind: "schema", path, schema: {} }, /no file "none\.md"/],
    ["outside of the folder", { kind: "file", path: "../secret" }, /leads out of the workspace/],
    [
      "with another text",
      { kind: "contains", path: "report.md", text: "42 Cities" },
      /report\.md \(31 bytes\) does not contain/,
    ],
    ["that is too short", { kind: "length", path: "wide.md", min: 3 }, /has 2 characters; expected at least 3/],
    ["that is empty and should be JSON", { kind: "schema", path: "empty.md", schema: {} }, /is not JSON/],
    [
      "that is not JSON",
      { kind: "schema", path: "broken.json", schema: {} },
      /broken\.json \(17 bytes\) is not JSON: .*Write it as JSON/,
    ],
    [
      "of another type",
      { kind: "schema", path: "list.json", schema: { type: "object" } },
      /the whole value must be object\. Correct it\.$/,
    ],
    [
      "with a wrong value inside",
      { kind: "schema", path: "list.json", schema: { items: { properties: { city: { enum: ["Shenzhen"] } } } } },
      /"0\.city" must be equal to one of the allowed values: \["Shenzhen"\]\./,
    ],
    [
      "with a property too many",
      {
        kind: "schema",
        path: "list.json",
        schema: { items: { properties: { city: {} }, additionalProperties: false } },
      },
      /"0" must NOT have additional properties: "people"\./,
    ],
    [
      "whose schema is wrong",
      { kind: "schema", path: "list.json", schema: { type: "lizt" } },
      /schema of this check cannot be used, and a person/,
    ],
    [
      "whose schema never ends",
      { kind: "schema", path: "list.json", schema: { $ref: "#" } },
      /refers to itself without an end/,
    ],
    [
      "that needs hours for a pattern",
      { kind: "schema", path: "evil.json", schema: { properties: { name: { pattern: "^(a+)+$b" } } } },
      /"name" must match pattern/,
    ],
  ])("fails for one %s", async (_title, test, reason) => {
    expect(await testWith()(test)).toEqual({ isPassed: false, proof: expect.stringMatching(reason) });
  });

  it("ends early when a pattern takes long for many values", async () => {
    const values = Array.from({ length: 1_000 }, (_, at) => `${"a".repeat(40)}${at}!`);
    const files = filesOf({ "many.json": JSON.stringify(values) });
    const schema = { items: { anyOf: [{ pattern: "^(a+)+$" }, true] } };
    const run = testWith({}, { workspace: new MemoryWorkspace({ files }) });
    const { isPassed, proof } = await run({ kind: "schema", path: "many.json", schema });
    expect(isPassed).toBe(false);
    expect(proof).toContain("its patterns took more than 1 s");
  });

  it("fails for a folder, a link that leaves the agent's folder, and JSON that is too long", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a/b.md", "b");
    await symlink("/etc/passwd", join(desk.folder, "link.md"));
    const run = testWith({}, { workspace: desk.workspace });
    for (const path of ["a", "link.md"])
      for (const test of [{ kind: "file", path } as const, { kind: "contains", path, text: "root" } as const])
        expect(await run(test)).toEqual({ isPassed: false, proof: expect.not.stringContaining("root:") });
    await desk.workspace.write("long.json", Buffer.alloc(4 * 1024 * 1024 + 1, "1"));
    expect(await run({ kind: "schema", path: "long.json", schema: {} })).toMatchObject({
      isPassed: false,
      proof: expect.stringContaining("too long to be checked"),
    });
  });

  it("has a proof of one bounded line without control characters", async () => {
    const files = filesOf({ "x.md": `\u001b[31mfind${"x\u0007".repeat(900)}` });
    const run = testWith({}, { workspace: new MemoryWorkspace({ files }) });
    const { isPassed, proof } = await run({ kind: "contains", path: "x.md", text: "find" });
    expect(isPassed).toBe(true);
    expect(proof.length).toBeLessThanOrEqual(MAX_PROOF_CHARS);
    expect(proof).not.toMatch(/\p{Cc}/u);
  });
});

describe("a test by a program", () => {
  const runWith = (behaviour: CellBehaviour) => {
    const sandbox = createFakeSandbox(behaviour);
    const run = testWith({ cells: { sandbox, timeLimitMs: 1_000 } });
    return { sandbox, verdict: run({ kind: "code", code: "the code" }) };
  };

  it.each<[title: string, behaviour: CellBehaviour, isPassed: boolean, proof: RegExp]>([
    ["passes when it ends", () => undefined, true, /^It ended without an error\.$/],
    [
      "shows what it printed last",
      () => ({ output: `${"first ".repeat(99)}\n3 tests passed\n` }),
      true,
      /It printed: ….*3 tests passed$/,
    ],
    [
      "fails with sys.exit(2)",
      () => failedCell({ type: "SystemExit", message: "2" }),
      false,
      /^It ended with exit code 2\.$/,
    ],
    [
      "fails with the line of an error",
      () => failedCell({ type: "AssertionError", message: "", line: 4, source: "assert n == 42" }),
      false,
      /^It failed: AssertionError \(line 4: assert n == 42\)\.$/,
    ],
    [
      "fails when it takes too long",
      () => failedCell({ kind: "timeout", type: "TimeoutError" }),
      false,
      /^It ran longer than 300 s and was stopped\.$/,
    ],
  ])("%s", async (_title, behaviour, isPassed, proof) => {
    expect(await runWith(behaviour).verdict).toEqual({ isPassed, proof: expect.stringMatching(proof) });
  });

  it("has an empty namespace of its own, no commands, and reads files without changing them", async () => {
    const { sandbox, verdict } = runWith(async (_cell, host, { names }) => {
      names.set("x", 1);
      const replies = [
        await host.call("write_to_file", { file: "report.md", text: "x" }),
        await host.run("Judge it.", {}, null),
        await host.saveFiles([{ path: "report.md", bytes: null }]),
      ];
      const read = await host.readFile("report.md");
      const text = "value" in read ? new TextDecoder().decode(read.value) : "";
      const { files } = await host.listFiles();
      return {
        output: `${JSON.stringify(replies.map((reply) => "error" in reply && reply.error.code))} ${files.length} ${text.slice(0, 8)}`,
      };
    });
    const refused = '["check-only-reads","check-only-reads","check-only-reads"]';
    expect(await verdict).toEqual({
      isPassed: true,
      proof: `It ended without an error. It printed: ${refused} 6 # Report`,
    });
    expect(sandbox.cells).toMatchObject([
      { agent: "foo", saved: null, isAlone: true, functions: [], modules: [], hasStop: false },
    ]);
  });

  it("fails without a sandbox, and says what to install", async () => {
    const { isPassed, proof } = await testWith({})({ kind: "code", code: "1" });
    expect(isPassed).toBe(false);
    expect(proof).toContain("npm install pyodide");
  });
});

describe("a test of an address", () => {
  const url = "http://a.example/x?key=abc";
  const answering = (status: number, asked: unknown[] = []) =>
    testWith({
      statuses: {
        get: async (...given) => {
          asked.push(given.slice(0, 2));
          return status;
        },
      },
    });

  it.each<[answer: number, wanted: number | undefined, isPassed: boolean, follows: boolean]>([
    [200, undefined, true, true],
    [299, undefined, true, true],
    [404, undefined, false, true],
    [301, undefined, false, true],
    [404, 404, true, true],
    [200, 404, false, true],
    [301, 301, true, false],
  ])("that answers %i, when %s is wanted", async (status, wanted, isPassed, follows) => {
    const asked: unknown[] = [];
    const test = { kind: "url", url, ...(wanted === undefined ? {} : { status: wanted }) } as const;
    const verdict = await answering(status, asked)(test);
    expect(verdict).toMatchObject({ isPassed, proof: expect.stringContaining(`status ${status}`) });
    expect(asked).toEqual([[url, { follows }]]);
  });

  it("fails when it cannot be asked, with the reason and what a person can do", async () => {
    const refuses = async () => {
      throw new GoaldError("GOALD_HTTP_REFUSED", "http://localhost is not public.", {
        hint: "See web.allow.",
        words: "Obey!",
      });
    };
    const run = testWith({ statuses: { get: refuses } });
    expect(await run({ kind: "url", url })).toEqual({
      isPassed: false,
      proof: "http://localhost is not public. See web.allow.",
    });
    expect(await testWith()({ kind: "url", url })).toMatchObject({ isPassed: false });
  });
});

describe("a test by a judge", () => {
  const test: GoalTest = { kind: "judge", question: "Is it good?", paths: ["report.md"] };

  it("passes or fails with the call of judge_goal, and has its words as proof", async () => {
    const asked: unknown[] = [];
    const answering = (status: "ok" | "failed") =>
      testWith(
        {},
        {
          call: async (...given) => {
            asked.push(given);
            return status === "ok" ? succeed("It is.") : fail("limit", "It was not asked: 3 tokens are left.");
          },
        },
      );
    expect(await answering("ok")(test)).toEqual({ isPassed: true, proof: "It is." });
    expect(await answering("failed")(test)).toEqual({ isPassed: false, proof: "It was not asked: 3 tokens are left." });
    expect(asked[0]).toEqual(["judge_goal", { question: "Is it good?", files: ["report.md"] }]);
  });

  it("lets what ends the call of the command through", async () => {
    const stopped = new Error("The agent was paused.");
    const run = testWith(
      {},
      {
        call: async () => {
          throw stopped;
        },
      },
    );
    await expect(run(test)).rejects.toBe(stopped);
  });
});
