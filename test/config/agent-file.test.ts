import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readAgentFile } from "#config/agent-file.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { isGoaldError } from "#core/errors.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-agent-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const file = () => join(folder, "agent.yaml");
async function read(text: string | Uint8Array) {
  await writeFile(file(), text);
  return readAgentFile(file());
}
async function refusal(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isGoaldError(error)) throw new Error(`expected a GoaldError, got ${String(error)}`);
  return error;
}
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

  it("accepts the shipped example", async () => {
    const { notes, ...agent } = await readAgentFile("config/example-agent.yaml");
    expect(validateAgent(agent)).toEqual(agent);
    expect(notes).toEqual([]);
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
    ["has a name twice", `${AGENT}ai_name: Bar\n`, /line 6: /],
    [
      "has two documents",
      `${AGENT}---\n${AGENT}`,
      /line \d+: .*a second document begins here, and a file holds one agent\.$/,
    ],
    ["lacks the name", "ai_role: r\nai_goals: [a]\n", /ai_name is missing/],
    ["lacks the role", "ai_name: n\nai_goals: [a]\n", /ai_role is missing/],
    ["misspells the goals", "ai_name: n\nai_role: r\nai_goal: [a]\n", /ai_goals is missing \(there is "ai_goal"\)/],
    [
      "has a number for a name",
      AGENT.replace("Foo", "42"),
      /line 1: ai_name must be a text, got the number 42; put it in/,
    ],
    ["has an empty name", AGENT.replace("Foo", '""'), /line 1: ai_name must be a text, got an empty text/],
    ["has nothing for a role", AGENT.replace("an AI", ""), /line \d: ai_role must be a text, got nothing/],
    ["has a list for a role", AGENT.replace("an AI", "[a]"), /line 2: ai_role must be a text, got a list/],
    [
      "has a text for goals",
      "ai_name: n\nai_role: r\nai_goals: one\n",
      /line 3: ai_goals must be a list of texts, got one text/,
    ],
    ["has no goals", "ai_name: n\nai_role: r\nai_goals: []\n", /line 3: ai_goals must hold at least one/],
    ["has an empty goal", `${AGENT}- ""\n`, /line 6: goal 3 must be a text, got an empty text/],
    [
      "has a colon in a goal",
      `${AGENT}- find: prices\n`,
      /line 6: goal 3 must be a text, got names and values; put it in quotes/,
    ],
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
    const error = await refusal(read(text));
    expect(error.code).toBe("GOALD_CONFIG");
    expect(error.message).toMatch(said);
    expect(error.message).toContain(file());
    expect(error.message).not.toContain("\u001b");
  });

  it("refuses aliases that expand to gigabytes, before expanding them", async () => {
    const levels = [..."bcdefgh"].map(
      (name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[at]}`).join(",")}]`,
    );
    const error = await refusal(read(`a: &a [x,x]\n${levels.join("\n")}\n${AGENT}`));
    expect(error.message).toMatch(/line 2: aliases/);
  });

  it("refuses six goals with the same code as six goals in flags", async () => {
    const error = await refusal(read(`${AGENT}- three\n- four\n- five\n- six\n`));
    expect(error.code).toBe("GOALD_USAGE");
    expect(error.message).toMatch(/line 9: ai_goals holds 6 goals; an agent has up to 5/);
  });

  it.each<[title: string, make: () => Promise<unknown>, code: string]>([
    ["does not exist", () => Promise.resolve(), "GOALD_NOT_FOUND"],
    ["is a folder", () => mkdir(file()), "GOALD_CONFIG"],
    ["is a pipe", async () => execFileSync("sh", ["-c", 'mkfifo "$0"', file()]), "GOALD_CONFIG"],
  ])("refuses a path that %s", async (_title, make, code) => {
    await make();
    expect(await refusal(readAgentFile(file()))).toMatchObject({ code });
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
    const error = await refusal(Promise.resolve().then(() => validateAgent({ ...agent, ...change })));
    expect(error.code).toBe("GOALD_USAGE");
    expect(error.message).toMatch(said);
  });

  it("reports all problems at once", async () => {
    const error = await refusal(Promise.resolve().then(() => validateAgent({ name: "", role: "\0", goals: [] })));
    expect(error.message.split("\n")).toHaveLength(3);
  });
});
