import { execFileSync } from "node:child_process";
import { mkdir, readFile as readText, symlink, writeFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { GoalCheckSchema } from "#api/schemas.ts";
import { parseCheck, readCheckOptions } from "#cli/run-options.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { validateAgent } from "#config/agent-spec.ts";
import type { GoalCheck, GoalTest } from "#core/goal-check.ts";
import { redactJson } from "#util/redact.ts";
import { refusalOf, useFolder } from "../helpers/folder.ts";

const at = useFolder();
const file = () => at("agent.yaml");
async function read(text: string | Uint8Array) {
  await writeFile(file(), text);
  return readAgentFile(file());
}
const NAMED = "ai_name: n\nai_role: r\n";
const AGENT = "ai_name: Foo\nai_role: an AI\nai_goals:\n- one\n- two\n";

describe("readAgentFile", () => {
  it.each<[title: string, text: string]>([
    ["block style", AGENT],
    ["flow style", '{"ai_name": "Foo", "ai_role": "an AI", "ai_goals": ["one", "two"]}'],
    ["Windows line ends and a byte order mark", `\ufeff${AGENT.replaceAll("\n", "\r\n")}`],
    ["any order, with comments", "# mine\nai_goals: [one, two]\nai_role: 'an AI'\nai_name: Foo # me\n"],
  ])("reads %s", async (_title, text) => {
    expect(await read(text)).toEqual({ name: "Foo", role: "an AI", goals: ["one", "two"], notes: [] });
  });

  it("keeps a goal of several lines, and quoted text that resembles YAML", async () => {
    const { goals } = await read(`${AGENT}- |\n  first\n  second\n- "key: value"\n`);
    expect(goals.slice(2)).toEqual(["first\nsecond\n", "key: value"]);
  });

  it("notes the entries that it ignores", async () => {
    const { notes } = await read(`${AGENT}api_budget: 1.5\nextra: {a: [1]}\n`);
    expect(notes).toEqual([
      expect.stringMatching(/^api_budget is ignored\. .*--budget USD/),
      expect.stringContaining('"extra"'),
    ]);
  });

  it.each<[title: string, text: string | Uint8Array, said: RegExp]>([
    ["is empty", "", /expected ai_name, ai_role, ai_goals, got nothing/],
    ["is a list", "- a\n", /line 1: .*got a list/],
    ["is prose", "Hello there", /expected ai_name, ai_role, ai_goals, got one text/],
    ["is broken", "ai_name: Foo\nai_role: [an AI\nai_goals:\n- one\n", /line \d: this is not the YAML/],
    ["is indented with tabs", "ai_name: Foo\nai_goals:\n\t- one\n", /line 3: /],
    ["misspells the checks", `${AGENT}ai_check: []\n`, /line 6: there is no ai_check; did you mean ai_checks\?$/],
    ["has a name twice", `${AGENT}ai_name: Bar\n`, /line 6: /],
    ["has two documents", `${AGENT}---\n${AGENT}`, /line \d+: .*a second document .*, and a file holds one agent\.$/],
    ["lacks the name", "ai_role: r\nai_goals: [a]\n", /ai_name is missing/],
    ["lacks the role", "ai_name: n\nai_goals: [a]\n", /ai_role is missing/],
    ["misspells the goals", `${NAMED}ai_goal: [a]\n`, /ai_goals is missing \(there is "ai_goal"\)/],
    ["has a number for a name", AGENT.replace("Foo", "42"), /1: ai_name must be a text, got the number 42; put it in/],
    ["has an empty name", AGENT.replace("Foo", '""'), /line 1: ai_name must be a text, got an empty text/],
    ["has nothing for a role", AGENT.replace("an AI", ""), /line \d: ai_role must be a text, got nothing/],
    ["has a list for a role", AGENT.replace("an AI", "[a]"), /line 2: ai_role must be a text, got a list/],
    ["has a text for goals", `${NAMED}ai_goals: one\n`, /line 3: ai_goals must be a list of texts, got one text/],
    ["has no goals", `${NAMED}ai_goals: []\n`, /line 3: ai_goals must hold at least one/],
    ["has an empty goal", `${AGENT}- ""\n`, /line 6: goal 3 must be a text, got an empty text/],
    ["has a colon in a goal", `${AGENT}- find: prices\n`, /6: goal 3 must be a text, got names and values; put it in/],
    ["has a date for a goal", `${AGENT}- true\n`, /line 6: goal 3 must be a text, got the boolean true/],
    ["has an alias", "ai_name: &a Foo\nai_role: *a\nai_goals: [a]\n", /line 2: aliases \(\*a\)/],
    ["has a tag", "ai_name: !!js/function 'x'\nai_role: r\nai_goals: [a]\n", /line 1: /],
    ["is nested without end", "[".repeat(60_000), /agent\.yaml/],
    ["is nested deeply, but whole", `ai_name: ${"[".repeat(20_000)}${"]".repeat(20_000)}`, /agent\.yaml/],
    ["is nested in names", `ai_name: ${"{a: ".repeat(15_000)}`, /agent\.yaml/],
    ["is too big", `${AGENT}#${" ".repeat(70_000)}`, /more than 65536/],
    ["is not text", new Uint8Array([0xff, 0xfe, 0x00]), /not UTF-8/],
    ["has control characters", "ai_name: \u001b[2J\u0000", /agent\.yaml/],
  ])("refuses a file that %s, and names the line", async (_title, text, said) => {
    const error = await refusalOf(read(text));
    expect(error.code).toBe("GOALD_CONFIG");
    expect(error.message).toMatch(said);
    expect(error.message).toContain(file());
    expect(error.message).not.toContain("\u001b");
  });

  it("refuses aliases that expand to gigabytes, before expanding them", async () => {
    const levels = [..."bcdefgh"].map(
      (name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[at]}`).join(",")}]`,
    );
    const error = await refusalOf(read(`a: &a [x,x]\n${levels.join("\n")}\n${AGENT}`));
    expect(error.message).toMatch(/line 2: aliases/);
  });

  it("refuses six goals with the same code as six goals in flags", async () => {
    const error = await refusalOf(read(`${AGENT}- three\n- four\n- five\n- six\n`));
    expect(error.code).toBe("GOALD_USAGE");
    expect(error.message).toMatch(/line 9: ai_goals holds 6 goals; an agent has up to 5/);
  });

  it.each<[title: string, make: () => Promise<unknown>, code: string]>([
    ["does not exist", () => Promise.resolve(), "GOALD_NOT_FOUND"],
    ["is a folder", () => mkdir(file()), "GOALD_CONFIG"],
    ["is a pipe", async () => execFileSync("sh", ["-c", 'mkfifo "$0"', file()]), "GOALD_CONFIG"],
  ])("refuses a path that %s", async (_title, make, code) => {
    await make();
    expect(await refusalOf(readAgentFile(file()))).toMatchObject({ code });
  });
});

describe("validateAgent", () => {
  const agent = { name: "Foo", role: "an AI", goals: ["one"] };

  it("trims, and changes nothing else", () => {
    const given = { name: " Foo Bär 漢字 👩‍🚀 ", role: "\tan AI\nof two lines ", goals: [" one ", "two\tparts"] };
    expect(validateAgent(given)).toEqual({
      name: "Foo Bär 漢字 👩‍🚀",
      role: "an AI\nof two lines",
      goals: ["one", "two\tparts"],
    });
  });

  it.each<[title: string, change: object]>([
    ["a name of 80 characters outside the basic plane", { name: "😀".repeat(80) }],
    ["a role of 2,000 characters", { role: "r".repeat(2_000) }],
    ["no role", { role: "" }],
    ["five goals of 2,000 characters", { goals: Array(5).fill("g".repeat(2_000)) }],
  ])("accepts %s", (_title, change) => {
    expect(() => validateAgent({ ...agent, ...change })).not.toThrow();
  });

  it.each<[title: string, change: object, said: RegExp]>([
    ["no name", { name: " " }, /name must have 1 to 80 characters, got 0/],
    ["a name of 81 characters", { name: "x".repeat(81) }, /got 81/],
    ["a name of two lines", { name: "a\nb" }, /one line/],
    ["a name with an escape", { name: "a\u001b[31mb" }, /control characters/],
    ["a name with a line separator", { name: "a\u2028b" }, /one line/],
    ["a name with a direction mark", { name: "a\u202eb" }, /control characters/],
    ["half a character", { name: "a\ud800b" }, /control characters/],
    ["a role of 2,001 characters", { role: "r".repeat(2_001) }, /role must have up to 2,000 characters, got 2,001/],
    ["a role with NUL", { role: "a\0b" }, /role must be text/],
    ["no goals", { goals: [] }, /at least one goal/],
    ["an empty goal", { goals: ["one", " "] }, /Goal 2 must not be empty/],
    ["a goal of 2,001 characters", { goals: ["g".repeat(2_001)] }, /Goal 1 must have up to/],
    ["a goal with a bell", { goals: ["a\u0007"] }, /Goal 1 must be text/],
    ["six goals", { goals: Array(6).fill("g") }, /up to 5 goals, got 6/],
  ])("refuses %s", async (_title, change, said) => {
    const error = await refusalOf(() => validateAgent({ ...agent, ...change }));
    expect(error.code).toBe("GOALD_USAGE");
    expect(error.message).toMatch(said);
  });

  it("reports all problems at once", async () => {
    const error = await refusalOf(() => validateAgent({ name: "", role: "\0", goals: [] }));
    expect(error.message.split("\n")).toHaveLength(3);
  });
});

const HEAD = "ai_name: Foo\nai_role: an AI\nai_goals:\n- one\n- two\nai_checks:\n";
const readFile = async (checks: string) => (await read(`${HEAD}${checks}`)).checks;
async function problemOf(promise: Promise<unknown>): Promise<string> {
  const { code, message, hint } = await refusalOf(promise);
  return `${code} ${message}\n${hint}`;
}

describe("ai_checks in an agent file", () => {
  it.each<[entry: string, tests: readonly GoalTest[]]>([
    ["{file: plan.md}", [{ kind: "file", path: "plan.md" }]],
    ["{file: plan.md, contains: Conclusion}", [{ kind: "contains", path: "plan.md", text: "Conclusion" }]],
    ["{file: plan.md, contains: [A, B]}", ["A", "B"].map((text) => ({ kind: "contains", path: "plan.md", text }))],
    ["{file: plan.md, min_chars: 400}", [{ kind: "length", path: "plan.md", min: 400 }]],
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
    const goalOf = (...goals: string[]) =>
      validateAgent({ name: "n", role: "r", goals, checks: [{ goal: null, test: FILE }] }).checks;
    expect(goalOf("one")).toEqual([{ goal: 0, test: FILE }]);
    expect(goalOf("a", "b")).toEqual([{ goal: null, test: FILE }]);
  });

  it("are read from the page about checks", async () => {
    const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(await readText("docs/checks.md", "utf8")) ?? [];
    await writeFile(at("agent.yaml"), yaml);
    const agent = validateAgent(await readAgentFile(at("agent.yaml")));
    const kinds = agent.checks?.map(({ goal, test }) => `${goal} ${test.kind}`).join(", ");
    expect(kinds).toBe("0 contains, 0 contains, 0 length, 1 schema, 1 code, 0 judge");
  });

  it("read schemas and code from files beside the agent file", async () => {
    await mkdir(at("checks"));
    const schema = '{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"]}';
    await writeFile(at("data.schema.json"), schema);
    await writeFile(at("checks", "check.py"), "assert True\n");
    expect(await readFile("- {file: data.json, schema: data.schema.json}\n- {code_file: checks/check.py}\n")).toEqual([
      { goal: null, test: { kind: "schema", path: "data.json", schema: { required: ["a"] } } },
      { goal: null, test: { kind: "code", code: "assert True\n", file: "check.py", needsApproval: true } },
    ]);
  });

  it("read no file of the person elsewhere, by path or by link", async () => {
    await writeFile(at("secret.py"), "SECRET = 1\n");
    await mkdir(at("inner"));
    await symlink(at("secret.py"), at("inner", "link.py"));
    const agent = at("inner", "agent.yaml");
    for (const path of ["../secret.py", at("secret.py"), "link.py"]) {
      await writeFile(agent, `${HEAD}- {code_file: ${path}}\n`);
      expect(await problemOf(readAgentFile(agent))).toContain("it must be a file beside the agent file");
    }
    // Control: the same text beside the agent file is read.
    await writeFile(at("inner", "own.py"), "SECRET = 1\n");
    await writeFile(agent, `${HEAD}- {code_file: own.py}\n`);
    expect((await readAgentFile(agent)).checks).toHaveLength(1);
  });

  it.each<[title: string, checks: string, said: RegExp]>([
    ["are no list", "  file: plan.md\n", /line 7: ai_checks, the checks must be a list/],
    ["hold a text", "- plan.md\n", /line 7: ai_checks, check 1: a check has names and values, such as/],
    [
      "misspell a word",
      "- {file: a.md}\n- {file: a.md, contain: x}\n",
      /line 8: .*check 2: "contain" .*mean contains\?/,
    ],
    ["have no test", "- {goal: 1}\n", /a check has one of file, code_file, python, url, judge/],
    ["have two tests", "- {url: 'https://a.org', file: a.md}\n", /file does not go with url; give it an entry/],
    ["name a goal that is not there", "- {goal: 3, file: a.md}\n", /check 1: .* goal 3, and the goals are 1 to 2/],
    ["name goal 0", "- {goal: 0, file: a.md}\n", /goal must be a whole number from 1, got 0/],
    ["name a file outside", "- {file: ../a.md}\n", /the path of a file in the agent's folder.*got "\.\.\/a\.md"/],
    [
      "name no file that could be",
      "- {file: 'url:plan.md'}\n",
      /the path of a file in the agent's folder.*got "url:plan\.md"/,
    ],
    ["have an empty file name", "- {file: ''}\n", /file must be a text, got ""/],
    ["contain nothing", "- {file: a.md, contains: []}\n", /contains must be a text or a list of texts, got \[\]/],
    ["are 0 characters long", "- {file: a.md, min_chars: 0}\n", /min_chars must be a whole number from 1, got 0/],
    ["are endlessly long", "- {file: a.md, min_chars: 99999999}\n", /least length must be a whole number/],
    [
      "have a schema without an end",
      '- {file: a.json, schema: {$ref: "#"}}\n',
      /must not refer to itself without an end/,
    ],
    ["have a schema that is none", "- {file: a.json, schema: {type: 7}}\n", /This is not a JSON Schema 2020-12: /],
    ["have a number for a schema", "- {file: a.json, schema: 7}\n", /schema must be a schema or the path of one/],
    ["miss a schema file", "- {file: a.json, schema: no.json}\n", /no\.json cannot be read: there is no such file/],
    ["refer to another schema", "- {file: a.json, schema: {$ref: 'https://a.org'}}\n", /can't resolve reference/],
    ["have code in another language", "- {code_file: a.js}\n", /code_file must be a Python file/],
    ["have a password in an address", "- {url: 'https://u:p@a.org'}\n", /The address must hold no password/],
    ["have a file for an address", "- {url: 'file:///etc/passwd'}\n", /Expected an address that begins with https/],
    ["have a status that is none", "- {url: 'https://a.org', status: 999}\n", /status must be .* 100 to 599, got 999/],
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

  const OTHER_FORMS = ["Make a plan", "plan.md has Conclusion", "plan.md min many", "url https://a.org yes"];
  it.each(["", ...OTHER_FORMS, "judge plan.md good?"])("refuses %j with the forms of docs/checks.md", async (text) => {
    const problem = await problemOf(readCheckOptions([text], 1));
    expect(problem).toContain(`GOALD_USAGE --check ${JSON.stringify(text)}: this is not a form of a check.`);
    expect(problem).toContain('--check "judge plan.md: Does it name three sources?"');
    const forms = [...problem.matchAll(/--check "([^"]+)"$/gm)].map(([, form = ""]) => form);
    const [, described = ""] = (await readText("docs/checks.md", "utf8")).split("\n## On the command line");
    const rows = [...described.matchAll(/^\| `([^`]+)` \|/gm)].map(([, form = ""]) => form);
    const membersOf = (form: string) => Object.keys(parseCheck(form) ?? {});
    expect(membersOf(forms[1] ?? "")).toEqual(["file", "contains"]);
    expect(forms.map(membersOf)).toEqual(rows.map(membersOf));
    expect(forms.map(membersOf)).not.toContainEqual([]);
  });

  it("names the text whose file, goal or number is wrong", async () => {
    const words = '--check "python no-such-file.py": no-such-file.py cannot be read: there is no such file.';
    expect(await problemOf(readCheckOptions(["a.md", "python no-such-file.py"], 1))).toContain(words);
    expect(await problemOf(readCheckOptions(["9: a.md"], 2))).toContain("It is for goal 9, and the goals are 1 to 2.");
    const length = "The least length must be a whole number of characters from 1 to 10000000, got 4000000000.";
    expect(await problemOf(readCheckOptions(["a.md min 4000000000"], 1))).toContain(length);
  });

  it("keeps known secrets out of what is stored", () => {
    const checks: readonly GoalCheck[] = [{ goal: 0, test: { kind: "contains", path: "a.md", text: "hunter2!" } }];
    const [hidden] = redactJson(checks, (text) => text.replaceAll("hunter2!", "***"));
    expect(hidden?.test).toEqual({ kind: "contains", path: "a.md", text: "***" });
  });
});

const accepts = new Ajv2020({ strict: false }).compile(GoalCheckSchema);

it.each<[ok: boolean, check: unknown]>([
  [true, { goal: 4, test: FILE }],
  [false, { goal: 5, test: FILE }],
  [false, { test: FILE }],
  [false, { goal: 0, test: { kind: "file" } }],
  [false, { goal: 0, test: { kind: "fyle", path: "a" } }],
  [false, { goal: 0, test: { ...FILE, text: "x" } }],
  [false, { goal: 0, test: { kind: "length", path: "a", min: "400" } }],
  [false, { goal: 0, test: { kind: "judge", question: "?", paths: [] } }],
])("checks in the API %s: %j", (ok, check) => {
  expect(accepts(check)).toBe(ok);
});
