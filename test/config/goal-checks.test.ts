import { mkdir, mkdtemp, readFile as readText, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { GoalCheckSchema } from "#api/check-schemas.ts";
import { parseCheck, readCheckOptions, withoutSecrets } from "#cli/shared/check-option.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { isGoaldError } from "#core/errors.ts";
import type { GoalCheck, GoalTest } from "#core/goal-check.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-checks-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const HEAD = "ai_name: Foo\nai_role: an AI\nai_goals:\n- one\n- two\nai_checks:\n";
async function readFile(checks: string) {
  await writeFile(join(folder, "agent.yaml"), `${HEAD}${checks}`);
  return (await readAgentFile(join(folder, "agent.yaml"))).checks;
}
async function problemOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isGoaldError(error)) throw new Error(`expected a GoaldError, got ${String(error)}`);
  return `${error.code} ${error.message}\n${error.hint}`;
}

describe("ai_checks in an agent file", () => {
  it.each<[entry: string, tests: readonly GoalTest[]]>([
    ["{file: plan.md}", [{ kind: "file", path: "plan.md" }]],
    ["{file: plan.md, contains: Conclusion}", [{ kind: "contains", path: "plan.md", text: "Conclusion" }]],
    [
      "{file: plan.md, contains: [A, B], min_chars: 400}",
      [
        { kind: "contains", path: "plan.md", text: "A" },
        { kind: "contains", path: "plan.md", text: "B" },
        { kind: "length", path: "plan.md", min: 400 },
      ],
    ],
    ["{file: a.json, schema: {type: array}}", [{ kind: "schema", path: "a.json", schema: { type: "array" } }]],
    ['{python: "assert 1"}', [{ kind: "code", code: "assert 1", needsApproval: true }]],
    ['{url: "https://example.org/a"}', [{ kind: "url", url: "https://example.org/a" }]],
    ['{url: "https://example.org/a", status: 404}', [{ kind: "url", url: "https://example.org/a", status: 404 }]],
    ['{judge: "Is it?", file: plan.md}', [{ kind: "judge", question: "Is it?", paths: ["plan.md"] }]],
    ['{judge: "Is it?", files: [a.md, b.md]}', [{ kind: "judge", question: "Is it?", paths: ["a.md", "b.md"] }]],
  ])("%s", async (entry, tests) => {
    expect(await readFile(`- ${entry}\n`)).toEqual(tests.map((test) => ({ goal: null, test })));
  });

  it("belong to the goal that they name by its number, or to the only goal", async () => {
    expect(await readFile("- {goal: 2, file: b.md}\n")).toMatchObject([{ goal: 1 }]);
    const { checks } = validateAgent({ name: "n", role: "r", goals: ["one"], checks: [{ goal: null, test: FILE }] });
    expect(checks).toEqual([{ goal: 0, test: FILE }]);
    expect(
      validateAgent({ name: "n", role: "r", goals: ["a", "b"], checks: [{ goal: null, test: FILE }] }).checks,
    ).toEqual([{ goal: null, test: FILE }]);
  });

  it("are read from the page about checks", async () => {
    const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(await readText("docs/checks.md", "utf8")) ?? [];
    await writeFile(join(folder, "agent.yaml"), yaml);
    const agent = validateAgent(await readAgentFile(join(folder, "agent.yaml")));
    expect(agent.checks?.map(({ goal, test }) => `${goal} ${test.kind}`)).toEqual([
      "0 contains",
      "0 contains",
      "0 length",
      "1 schema",
      "1 code",
      "0 judge",
    ]);
  });

  it("read schemas and code from files beside the agent file", async () => {
    await mkdir(join(folder, "checks"));
    await writeFile(
      join(folder, "data.schema.json"),
      '{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"]}',
    );
    await writeFile(join(folder, "checks", "check.py"), "assert True\n");
    expect(await readFile("- {file: data.json, schema: data.schema.json}\n- {code_file: checks/check.py}\n")).toEqual([
      { goal: null, test: { kind: "schema", path: "data.json", schema: { required: ["a"] } } },
      { goal: null, test: { kind: "code", code: "assert True\n", needsApproval: true } },
    ]);
  });

  it("read no file of the person elsewhere, by path or by link", async () => {
    await writeFile(join(folder, "secret.py"), "SECRET = 1\n");
    await mkdir(join(folder, "inner"));
    await symlink(join(folder, "secret.py"), join(folder, "inner", "link.py"));
    const agent = join(folder, "inner", "agent.yaml");
    for (const path of ["../secret.py", join(folder, "secret.py"), "link.py"]) {
      await writeFile(agent, `${HEAD}- {code_file: ${path}}\n`);
      expect(await problemOf(readAgentFile(agent))).toContain("it must be a file beside the agent file");
    }
    // Control: the same text beside the agent file is read.
    await writeFile(join(folder, "inner", "own.py"), "SECRET = 1\n");
    await writeFile(agent, `${HEAD}- {code_file: own.py}\n`);
    expect((await readAgentFile(agent)).checks).toHaveLength(1);
  });

  it.each<[title: string, checks: string, said: RegExp]>([
    ["are no list", "  file: plan.md\n", /line 7: ai_checks, the checks must be a list/],
    ["hold a text", "- plan.md\n", /line 7: ai_checks, check 1: a check has names and values, such as/],
    [
      "misspell a word",
      "- {file: a.md}\n- {file: a.md, contain: x}\n",
      /line 8: .*check 2: "contain" is not.*mean contains\?/,
    ],
    ["have no test", "- {goal: 1}\n", /a check has one of file, code_file, python, url, judge/],
    ["have two tests", "- {url: 'https://a.org', file: a.md}\n", /file does not go with url; give it an entry/],
    [
      "name a goal that is not there",
      "- {goal: 3, file: a.md}\n",
      /check 1: It is for goal 3, and the goals are 1 to 2/,
    ],
    ["name goal 0", "- {goal: 0, file: a.md}\n", /goal must be a whole number from 1, got 0/],
    [
      "name a file outside",
      "- {file: ../a.md}\n",
      /Expected the path of a file in the agent's folder.*got "\.\.\/a\.md"/,
    ],
    ["have an empty file name", "- {file: ''}\n", /file must be a text, got ""/],
    ["contain nothing", "- {file: a.md, contains: []}\n", /contains must be a text or a list of texts, got \[\]/],
    ["are 0 characters long", "- {file: a.md, min_chars: 0}\n", /min_chars must be a whole number from 1, got 0/],
    ["are endlessly long", "- {file: a.md, min_chars: 99999999}\n", /least length must be a whole number/],
    ["have a schema that is none", "- {file: a.json, schema: {type: 7}}\n", /This is not a JSON Schema 2020-12: /],
    ["have a number for a schema", "- {file: a.json, schema: 7}\n", /schema must be a schema or the path of one/],
    ["miss a schema file", "- {file: a.json, schema: no.json}\n", /no\.json cannot be read: there is no such file/],
    ["refer to another schema", "- {file: a.json, schema: {$ref: 'https://a.org'}}\n", /can't resolve reference/],
    ["have code in another language", "- {code_file: a.js}\n", /code_file must be a Python file/],
    ["have a password in an address", "- {url: 'https://u:p@a.org'}\n", /The address must hold no password/],
    ["have a file for an address", "- {url: 'file:///etc/passwd'}\n", /Expected an address that begins with https/],
    [
      "have a status that is none",
      "- {url: 'https://a.org', status: 999}\n",
      /The status must be .* 100 to 599, got 999/,
    ],
    ["ask about no file", "- {judge: 'Is it?'}\n", /judge needs file or files/],
    ["ask in control characters", '- {judge: "Is\\u0007 it?", file: a.md}\n', /question must be text without control/],
  ])("are refused when they %s, with the line", async (_title, checks, said) => {
    const problem = await problemOf(readFile(checks));
    expect(problem).toMatch(/^GOALD_CONFIG .*agent\.yaml, line \d+: ai_checks, /);
    expect(problem).toMatch(said);
  });

  it("are at most 20, and short", async () => {
    const many = Array.from({ length: 21 }, (): GoalCheck => ({ goal: null, test: FILE }));
    const long: GoalCheck = { goal: null, test: { kind: "code", code: "x".repeat(40_000) } };
    const agent = { name: "n", role: "r", goals: ["g"] };
    expect(() => validateAgent({ ...agent, checks: many })).toThrow("up to 20 checks, got 21");
    expect(() => validateAgent({ ...agent, checks: [long] })).toThrow("Check 1: The code must have up to 32768 bytes");
    expect(validateAgent({ ...agent, checks: many.slice(1) }).checks).toHaveLength(20);
  });
});

const FILE: GoalTest = { kind: "file", path: "plan.md" };

describe("--check", () => {
  it.each<[text: string, entry: object]>([
    ["plan.md", { file: "plan.md" }],
    ["plan.md exists", { file: "plan.md" }],
    ['"my plan.md" contains the end', { file: "my plan.md", contains: "the end" }],
    ["2: plan.md contains a: b", { goal: 2, file: "plan.md", contains: "a: b" }],
    ["plan.md min 400", { file: "plan.md", min_chars: 400 }],
    ["data.json matches my schema.json", { file: "data.json", schema: "my schema.json" }],
    ["python check.py", { code_file: "check.py" }],
    ["python checks/a b.py", { code_file: "checks/a b.py" }],
    ["url https://example.org/a?b=c", { url: "https://example.org/a?b=c" }],
    ["1: url https://example.org 404", { goal: 1, url: "https://example.org", status: 404 }],
    ["judge plan.md: Is it: good?", { judge: "Is it: good?", files: ["plan.md"] }],
    ["judge a.md, b c.md: Is it good?", { judge: "Is it good?", files: ["a.md", "b c.md"] }],
    ["python", { file: "python" }],
  ])("reads %s", (text, entry) => {
    expect(parseCheck(text)).toEqual(entry);
  });

  it.each([
    "",
    "Make a plan",
    "plan.md has Conclusion",
    "plan.md min many",
    "url https://a.org yes",
    "judge plan.md good?",
  ])("refuses %j with the list of forms", async (text) => {
    const problem = await problemOf(readCheckOptions([text], 1));
    expect(problem).toContain(`GOALD_USAGE --check ${JSON.stringify(text)}: this is not a form of a check.`);
    expect(problem).toContain('--check "judge plan.md: Does it name three sources?"');
  });

  it("names the text whose file or goal is wrong", async () => {
    expect(await problemOf(readCheckOptions(["a.md", "python no-such-file.py"], 1))).toContain(
      '--check "python no-such-file.py": no-such-file.py cannot be read: there is no such file.',
    );
    expect(await problemOf(readCheckOptions(["9: a.md"], 2))).toContain("It is for goal 9, and the goals are 1 to 2.");
  });

  it("keeps known secrets out of what is stored", () => {
    const checks: readonly GoalCheck[] = [{ goal: 0, test: { kind: "contains", path: "a.md", text: "hunter2!" } }];
    expect(withoutSecrets(checks, (text) => text.replaceAll("hunter2!", "***"))).toEqual([
      { goal: 0, test: { kind: "contains", path: "a.md", text: "***" } },
    ]);
  });
});

describe("checks in the API", () => {
  const accepts = new Ajv2020({ strict: false }).compile(GoalCheckSchema);

  it.each<[ok: boolean, check: unknown]>([
    [true, { goal: null, test: FILE }],
    [true, { goal: 4, test: { kind: "url", url: "https://a.org" } }],
    [false, { goal: 5, test: FILE }],
    [false, { test: FILE }],
    [false, { goal: 0, test: { kind: "file" } }],
    [false, { goal: 0, test: { kind: "fyle", path: "a" } }],
    [false, { goal: 0, test: { ...FILE, text: "x" } }],
    [false, { goal: 0, test: { kind: "length", path: "a", min: "400" } }],
    [false, { goal: 0, test: { kind: "judge", question: "?", paths: [] } }],
  ])("%s: %j", (ok, check) => {
    expect(accepts(check)).toBe(ok);
  });
});
