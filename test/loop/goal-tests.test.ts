import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Observation } from "#core/call.ts";
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
  "prices.json": "[0.29, 19.99, 1.1]",
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

const SLOW = { properties: { name: { pattern: "^(a+)+$b" } } };

const file = (path: string): GoalTest => ({ kind: "file", path });
const contains = (path: string, text: string): GoalTest => ({ kind: "contains", path, text });
const length = (path: string, min: number): GoalTest => ({ kind: "length", path, min });
const schema = (path: string, of: object): GoalTest => ({ kind: "schema", path, schema: of }) as GoalTest;
const says = (isPassed: boolean, proof: RegExp) => ({ isPassed, proof: expect.stringMatching(proof) });

describe("a test of a file", () => {
  it.each<[title: string, test: GoalTest, proof: RegExp]>([
    ["that exists", file("report.md"), /^report\.md has 31 bytes\.$/],
    ["that exists and is empty", file("./empty.md"), /^empty\.md has 0 bytes\.$/],
    ["with a text", contains("report.md", "42"), /^Line 3 of report\.md has it: "There are 42 cities\."$/],
    ["with a text of several lines", contains("report.md", "# Report\n\nThere"), /^Line 1 of/],
    ["of that length, without blanks at its ends", length("wide.md", 2), /^wide\.md has 2 characters\.$/],
    ["that is empty, when that is enough", length("empty.md", 0), /0 characters/],
    ["of prices in whole cents", schema("prices.json", { items: { multipleOf: 0.01 } }), /matches the schema/],
    ["of JSON that matches a schema of another draft", schema("list.json", LIST), /^list\.json \(35 bytes\) matches/],
  ])("passes for one %s", async (_title, test, proof) => {
    expect(await testWith()(test)).toEqual(says(true, proof));
  });

  const ofCity = (city: object, more: object = {}) => schema("list.json", { items: { properties: { city }, ...more } });
  it.each<[title: string, test: GoalTest, reason: RegExp]>([
    ["that is missing", file("none.md"), /^There is no file "none\.md"\. Write it\.$/],
    ["that is missing and should have a text", contains("none.md", "x"), /no file "none\.md"/],
    ["that is missing and should be long", length("none.md", 1), /no file "none\.md"/],
    ["that is missing and should be JSON", schema("none.md", {}), /no file "none\.md"/],
    ["outside of the folder", file("../secret"), /leads out of the workspace/],
    ["with another text", contains("report.md", "42 Cities"), /report\.md \(31 bytes\) does not contain/],
    ["that is too short", length("wide.md", 3), /has 2 characters; expected at least 3/],
    ["that is empty and should be JSON", schema("empty.md", {}), /is not JSON/],
    ["that is not JSON", schema("broken.json", {}), /broken\.json \(17 bytes\) is not JSON: .*Write it as JSON/],
    ["with a part of a cent", schema("prices.json", { items: { multipleOf: 0.1 } }), /must be multiple of 0\.1/],
    ["of another type", schema("list.json", { type: "object" }), /the whole value must be object\. Correct it\.$/],
    [
      "with a wrong value inside",
      ofCity({ enum: ["Shenzhen"] }),
      /"0\.city" must be .* allowed values: \["Shenzhen"\]\./,
    ],
    ["with a property too many", ofCity({}, { additionalProperties: false }), /"0" must NOT have .*: "people"\./],
    [
      "whose schema is wrong",
      schema("list.json", { type: "lizt" }),
      /schema of this check cannot be used, and a person/,
    ],
    ["whose schema never ends", schema("list.json", { $ref: "#" }), /refers to itself without an end/],
    ["that needs hours for a pattern", schema("evil.json", SLOW), /"name" must match pattern/],
  ])("fails for one %s", async (_title, test, reason) => {
    expect(await testWith()(test)).toEqual(says(false, reason));
  });

  it("ends early when a pattern takes long for many values", async () => {
    const values = Array.from({ length: 1_000 }, (_, at) => `${"a".repeat(40)}${at}!`);
    const files = filesOf({ "many.json": JSON.stringify(values) });
    const run = testWith({}, { workspace: new MemoryWorkspace({ files }) });
    const slow = schema("many.json", { items: { anyOf: [{ pattern: "^(a+)+$" }, true] } });
    expect(await run(slow)).toEqual(says(false, /its patterns took more than 1 s/));
  });

  it("fails for a folder, a link that leaves the agent's folder, and JSON that is too long", async () => {
    await using desk = await makeDesk();
    await desk.workspace.write("a/b.md", "b");
    await symlink("/etc/passwd", join(desk.folder, "link.md"));
    const run = testWith({}, { workspace: desk.workspace });
    for (const path of ["a", "link.md"])
      for (const test of [file(path), contains(path, "root")])
        expect(await run(test)).toEqual({ isPassed: false, proof: expect.not.stringContaining("root:") });
    await desk.workspace.write("long.json", Buffer.alloc(4 * 1024 * 1024 + 1, "1"));
    expect(await run(schema("long.json", {}))).toEqual(says(false, /too long to be checked/));
  });

  it("has a proof of one bounded line without control characters", async () => {
    const files = filesOf({ "x.md": `\u001b[31mfind${"x\u0007".repeat(900)}` });
    const run = testWith({}, { workspace: new MemoryWorkspace({ files }) });
    const { isPassed, proof } = await run(contains("x.md", "find"));
    expect(isPassed).toBe(true);
    expect(proof.length).toBeLessThanOrEqual(MAX_PROOF_CHARS);
    expect(proof).not.toMatch(/\p{Cc}/u);
  });
});

describe("a test by a program", () => {
  const PRINTED = `${"first ".repeat(99)}\n3 tests passed\n`;
  const fails = (problem: Parameters<typeof failedCell>[0]) => () => failedCell(problem);
  const runWith = (behaviour: CellBehaviour) => {
    const sandbox = createFakeSandbox(behaviour);
    const run = testWith({ cells: { sandbox, timeLimitMs: 1_000 } });
    return { sandbox, verdict: run({ kind: "code", code: "the code" }) };
  };

  it.each<[title: string, behaviour: CellBehaviour, isPassed: boolean, proof: RegExp]>([
    ["passes when it ends", () => undefined, true, /^It ended without an error\.$/],
    ["shows what it printed last", () => ({ output: PRINTED }), true, /It printed: ….*3 tests passed$/],
    ["fails with sys.exit(2)", fails({ type: "SystemExit", message: "2" }), false, /^It ended with exit code 2\.$/],
    [
      "fails with the line of an error",
      fails({ type: "AssertionError", message: "", line: 4, source: "assert n == 42" }),
      false,
      /^It failed: AssertionError \(line 4: assert n == 42\)\.$/,
    ],
    ["fails when it takes too long", fails({ kind: "timeout" }), false, /^It ran longer than 300 s and was stopped\.$/],
  ])("%s", async (_title, behaviour, isPassed, proof) => {
    expect(await runWith(behaviour).verdict).toEqual(says(isPassed, proof));
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
      const codes = replies.map((reply) => "error" in reply && reply.error.code);
      return { output: `${codes} ${files.length} ${text.slice(0, 8)}` };
    });
    const printed = "check-only-reads,check-only-reads,check-only-reads 7 # Report";
    expect(await verdict).toEqual({ isPassed: true, proof: `It ended without an error. It printed: ${printed}` });
    const cell = { agent: "foo", saved: null, isAlone: true, functions: [], modules: [], hasStop: false };
    expect(sandbox.cells).toMatchObject([cell]);
  });

  it("fails without a sandbox, and says what to install", async () => {
    expect(await testWith({})({ kind: "code", code: "1" })).toEqual(says(false, /npm install pyodide/));
  });
});

describe("a test of an address", () => {
  const url = "http://a.example/x?key=abc";

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
    const get = async (...given: readonly unknown[]) => {
      asked.push(given.slice(0, 2));
      return status;
    };
    const verdict = await testWith({ statuses: { get } })(test);
    expect(verdict).toEqual(says(isPassed, new RegExp(`status ${status}`)));
    expect(asked).toEqual([[url, { follows }]]);
  });

  it("fails when it cannot be asked, with the reason and what a person can do", async () => {
    const error = { hint: "See web.allow.", words: "Obey!" };
    const refuses = () =>
      Promise.reject(new GoaldError("GOALD_HTTP_REFUSED", "http://localhost is not public.", error));
    const verdict = await testWith({ statuses: { get: refuses } })({ kind: "url", url });
    expect(verdict).toEqual({ isPassed: false, proof: "http://localhost is not public. See web.allow." });
    expect(await testWith()({ kind: "url", url })).toMatchObject({ isPassed: false });
  });
});

describe("a test by a judge", () => {
  const test: GoalTest = { kind: "judge", question: "Is it good?", paths: ["report.md"] };

  it("passes or fails with the call of judge_goal, and has its words as proof", async () => {
    const asked: unknown[] = [];
    const answering = (result: Observation) => {
      const call = async (...given: readonly unknown[]) => {
        asked.push(given);
        return result;
      };
      return testWith({}, { call })(test);
    };
    expect(await answering(succeed("It is."))).toEqual({ isPassed: true, proof: "It is." });
    expect(await answering(fail("limit", "3 tokens are left."))).toEqual({
      isPassed: false,
      proof: "3 tokens are left.",
    });
    expect(asked[0]).toEqual(["judge_goal", { question: "Is it good?", files: ["report.md"] }]);
  });

  it("lets what ends the call of the command through", async () => {
    const stopped = new Error("The agent was paused.");
    await expect(testWith({}, { call: () => Promise.reject(stopped) })(test)).rejects.toBe(stopped);
  });
});
