import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Ended, endedWith, errorOf, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText, numberedModel } from "../helpers/numbered-model.ts";
import { type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";

const RUN = ["run", "--name", "T", "--role", "r", "--goal", "g", "--continuous"];
const SIX = ["a", "b", "c", "d", "e", "f"].flatMap((goal) => ["--goal", goal]);
const LONG = "x".repeat(2_001);

/** Makes a home with a finished agent, which must stay unchanged through all errors. */
let goald: Goald;
let server: OpenAIServer;
beforeAll(async () => {
  server = await startOpenAIServer({ reply: numberedModel(ledger(1)), embeddings: null });
  goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
  endedWith(0, await goald.ask(["run", "--name", "Earlier", "--goal", "g", "--continuous"]));
});
afterAll(async () => {
  await server.close();
  await goald[Symbol.asyncDispose]();
});

/** Expects a message for a person: no stack, no error class, nothing on standard output. */
function expectWords({ stdout, stderr }: Ended): void {
  expect(stdout).toBe("");
  expect(stderr).not.toMatch(/^\s+at |node:internal|Error:|undefined|\[object/m);
}

async function expectNothingLost(): Promise<void> {
  const [listed, verified] = await Promise.all([goald.ask(["ps", "--json"]), goald.ask(["verify", "--json"])]);
  const { agents } = JSON.parse(listed.stdout) as { agents: { id: string; state: string }[] };
  expect(agents).toEqual([expect.objectContaining({ id: "earlier", state: "completed" })]);
  expect(JSON.parse(verified.stdout)).toMatchObject({ agents: 1, problems: [] });
  expect(await goald.read("workspace/earlier/ledger.txt")).toBe(ledgerText(1));
}

describe("an invalid call", () => {
  it.each<[title: string, args: readonly string[], code: number, message: RegExp, hint: RegExp]>([
    ["an unknown flag that resembles one", ["run", "--nam", "x"], 2, /unknown option '--nam'/, /Did you mean --name\?/],
    ["an unknown flag that resembles none", ["ps", "--zzzzzz"], 2, /unknown option '--zzzzzz'/, /goald ps --help/],
    ["an unknown verb that resembles one", ["rnu"], 2, /unknown command 'rnu'/, /Did you mean run\?/],
    ["a verb without its agent", ["show"], 2, /missing required argument 'agent'/, /goald show --help/],
    ["an argument too many", ["ps", "foo"], 2, /too many arguments/, /goald ps --help/],
    ["six goals", [...RUN.slice(0, 5), ...SIX, "--continuous"], 2, /up to 5 goals, got 6/, /^$/],
    ["no goal at all", ["run", "--name", "T", "--continuous"], 2, /at least one goal, got none/, /^$/],
    ["an empty goal", ["run", "--goal", " ", "--continuous"], 2, /Goal 1 must not be empty/, /^$/],
    [
      "a goal of thousands of characters",
      ["run", "--goal", LONG, "--continuous"],
      2,
      /up to 2,000 characters, got 2,001/,
      /^$/,
    ],
    [
      "a name that moves the cursor",
      ["run", "--name", "\x1b[2JFoo", "--goal", "g", "-c"],
      2,
      /name must be one line/,
      /^$/,
    ],
    [
      "a limit that is not a number",
      ["run", "--goal", "g", "-c", "-l", "many"],
      2,
      /'many' is invalid. Expected a whole number from 1/,
      /goald run --help/,
    ],
    [
      "a limit of zero",
      ["run", "--goal", "g", "-c", "-l", "0"],
      2,
      /Expected a whole number from 1/,
      /goald run --help/,
    ],
    [
      "a limit without --continuous",
      ["run", "--goal", "g", "-l", "5"],
      2,
      /--continuous-limit goes with --continuous/,
      /Add --continuous/,
    ],
    [
      "neither a terminal nor --continuous",
      ["run", "--goal", "g"],
      2,
      /no terminal to ask on before each command/,
      /Add --continuous/,
    ],
    [
      "no goal and no terminal to ask for one",
      ["run", "--continuous"],
      2,
      /no goal was given, and there is no terminal/,
      /--goal/,
    ],
    [
      "a resume without a terminal for approvals",
      ["resume", "--continuous-limit", "5"],
      2,
      /goes with --continuous/,
      /Add --continuous/,
    ],
    ["an unknown agent", ["show", "nobody"], 3, /found none called "nobody"/, /There are: earlier\./],
    ["an unknown agent to resume", ["resume", "nobody", "-c"], 3, /found none called "nobody"/, /There are: earlier\./],
    ["a missing file", ["run", "--from", "nowhere.yaml", "-c"], 3, /There is no file nowhere\.yaml/, /ai_name: Foo/],
    ["a folder as the agent file", ["run", "--from", ".", "-c"], 2, /\. cannot be read: it is a folder/, /^$/],
    ["an empty name of a home", ["--home", "", "ps"], 2, /Expected --home to name a folder, got ""/, /^$/],
    ["a model's name with a blank", [...RUN, "--model", "two words"], 2, /models\.smart|--model/, /^/],
  ])("is rejected for %s", async (_title, args, code, message, hint) => {
    const ended = endedWith(code, await goald.ask([...args, "--json"]));
    expectWords(ended);
    expect(errorOf(ended)).toEqual({
      code: expect.stringMatching(/^GOALD_[A-Z_]+$/),
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  it.each([
    ["ps", ["ps", "--zzzzzz"], "goald: unknown option '--zzzzzz'\n  See how it is called: goald ps --help\n"],
    [
      "run",
      ["run", "--goal", "g", "-l", "5"],
      "goald: --continuous-limit goes with --continuous.\n  Add --continuous, or leave the limit out: you are asked about each command.\n",
    ],
    [
      "show",
      ["show", "nobody"],
      'goald: Expected the id or name of an agent, found none called "nobody".\n  There are: earlier.\n',
    ],
  ])("prints for %s one line with the error and one with what to do", async (_verb, args, words) => {
    expect(await goald.run(args)).toMatchObject({ stdout: "", stderr: words });
  });

  it("leaves the finished agent unchanged", expectNothingLost);

  it("sends no request to the model", () => expect(server.chats).toHaveLength(2));
});

describe("an agent file", () => {
  it.each<[title: string, yaml: string, code: number, message: RegExp]>([
    ["that is not YAML", "ai_name: [Foo\nai_role: x", 2, /agent\.yaml, line \d+: this is not the YAML of an agent/],
    ["that is a list", "- a\n- b\n", 2, /expected ai_name, ai_role, ai_goals, got a list/],
    ["that is empty", "", 2, /expected ai_name, ai_role, ai_goals, got nothing/],
    ["without goals", "ai_name: Foo\nai_role: r\n", 2, /ai_goals is missing/],
    ["with a word misspelt", "ai_nam: Foo\nai_role: r\nai_goals: [g]\n", 2, /ai_name is missing \(there is "ai_nam"\)/],
    ["with goals that are not a list", "ai_name: Foo\nai_role: r\nai_goals: g\n", 2, /line 3: ai_goals must be a list/],
    [
      "with a goal that is a number",
      "ai_name: Foo\nai_role: r\nai_goals: [7]\n",
      2,
      /goal 1 must be a text, got the number 7/,
    ],
    [
      "with six goals",
      "ai_name: Foo\nai_role: r\nai_goals: [a, b, c, d, e, f]\n",
      2,
      /holds 6 goals; an agent has up to 5/,
    ],
    ["with YAML aliases", "ai_name: &a Foo\nai_role: *a\nai_goals: [g]\n", 2, /aliases .* are not allowed/],
    [
      "with a colour in its name",
      'ai_name: "\\e[31mFoo"\nai_role: r\nai_goals: [g]\n',
      2,
      /name must be one line without control/,
    ],
    ["with a key in it by mistake", "sk-planted-9Kd8sJ2lQq\n", 2, /expected ai_name, ai_role, ai_goals/],
  ])("%s is rejected with the place and an example", async (_title, yaml, code, message) => {
    await writeFile(join(goald.cwd, "agent.yaml"), yaml);
    const ended = await goald.ask(["run", "--from", "agent.yaml", "--continuous"]);
    expectWords(ended);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(message);
    expect(ended.stderr).not.toContain("sk-planted");
  });

  it("leaves the finished agent unchanged", expectNothingLost);

  it("that is valid runs, and fields without effect are reported", async () => {
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    await writeFile(
      join(other.cwd, "agent.yaml"),
      "ai_name: Foo\nai_role: r\nai_goals:\n- g\napi_budget: 1.5\nai_color: red\n",
    );
    const ended = await other.ask(["run", "--from", "agent.yaml", "--continuous", "--json"]);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain("agent.yaml: api_budget is ignored");
    expect(ended.stderr).toContain('agent.yaml: "ai_color" is not part of an agent');
    expect(linesOf(ended).at(-1)).toMatchObject({ type: "result", agent: "foo", exitCode: 0 });
  });
});

describe("invalid settings", () => {
  it.each<[title: string, env: Record<string, string>, message: RegExp]>([
    [
      "a step limit that is a word",
      { GOALD_LIMITS_UNATTENDED_STEPS: "lots" },
      /GOALD_LIMITS_UNATTENDED_STEPS.*whole number from 1 to 1,000,000.*lots/,
    ],
    ["an invalid address", { OPENAI_BASE_URL: "localhost:11434" }, /OPENAI_BASE_URL.*http or https address/],
    ["an address with a key in it", { OPENAI_BASE_URL: "http://me:hunter2hunter2@127.0.0.1/v1" }, /OPENAI_BASE_URL/],
    ["an unknown mode", { GOALD_AGENTS_APPROVE: "sometimes" }, /GOALD_AGENTS_APPROVE.*always, risky, never/],
  ])("are rejected by name: %s", async (_title, env, message) => {
    const ended = await goald.ask(RUN, { env });
    expectWords(ended);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(message);
  });

  it.each([
    ["broken JSON", '{ "recall": '],
    ["an unknown setting", '{ "recal": { "count": 3 } }'],
    ["a value of another kind", '{ "recall": { "count": "three" } }'],
  ])("in goald.json are rejected with the file: %s", async (_title, text) => {
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    await other.write("config/goald.json", text);
    const ended = await other.ask(RUN);
    expectWords(ended);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(join(other.home, "config", "goald.json"));
  });

  it("print what to write where, and the demo, without a key or server (exit 5)", async () => {
    await using other = await makeGoald();
    const ended = await other.ask(RUN);
    expectWords(ended);
    expect(ended.code).toBe(5);
    expect(ended.stderr).toContain("no key and no model server");
    expect(ended.stderr).toContain(`OPENAI_API_KEY=… into ${other.home}/.env`);
    expect(ended.stderr).toContain("goald demo");
  });

  it("leave the finished agent unchanged", expectNothingLost);
});

describe("the environment of a call", () => {
  it("is rejected when the current folder was deleted", async () => {
    const ended = await goald.run(["ps"], {
      shell: 'folder=$(mktemp -d) && cd "$folder" && rmdir "$folder"; exec "$@"',
    });
    expectWords(endedWith(2, ended));
    expect(ended.stderr).toContain("is not there any more.\n  Go to another one");
  });

  it.each([[["ps", "--json"]], [["events", "earlier"]], [["show", "earlier"]]])(
    "fails if the output of %j goes to a full disk",
    async (args) => {
      const ended = endedWith(1, await goald.run(args, { shell: 'exec "$@" > /dev/full' }));
      expect(ended.stderr).toMatch(/^goald: Standard output could not be written: ENOSPC/);
      expect(ended.stderr).not.toMatch(/^\s+at /m);
    },
  );

  it("may lack any of the three streams", async () => {
    const ended = endedWith(0, await goald.run(["ps"], { shell: 'exec "$@" <&- 2>&-' }));
    expect(ended.stdout).toContain("earlier");
    endedWith(0, await goald.run(["ps"], { shell: 'exec "$@" >&-' }));
  });
});

describe("a command or prompt template of a home", () => {
  it.each([
    ["a command that is not a module", "commands/broken.ts", "export default {", 2, /broken\.ts/],
    ["a command without a schema", "commands/empty.ts", "export default { name: 'empty' };", 2, /empty/],
    [
      "a command that throws when it is loaded",
      "commands/thrower.ts",
      "throw new Error('boom');",
      2,
      /thrower\.ts.*boom/s,
    ],
    [
      "a prompt file of an earlier goald",
      "prompts/code/system.md",
      "x",
      2,
      /code\/system\.md is not used any more: its words are section system of code\.md/,
    ],
    [
      "a template with an unknown variable",
      "prompts/messages.md",
      "## result\n{{nonsense}}",
      2,
      /messages\.md, section result, has \{\{nonsense\}\}/,
    ],
  ])("is rejected with its file: %s", async (_title, path, text, code, message) => {
    await using other = await makeGoald({ OPENAI_BASE_URL: server.baseUrl });
    await other.write(path, text);
    const ended = await other.ask([...RUN, "--json"]);
    expect(ended.stderr).not.toMatch(/^\s+at /m);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(message);
    // The error came before anything was created.
    expect(JSON.parse((await other.ask(["ps", "--json"])).stdout)).toEqual({ agents: [] });
  });
});

describe("a home that cannot be used", () => {
  it("is rejected if it is a file", async () => {
    const file = join(goald.cwd, "a-file");
    await writeFile(file, "not a folder");
    const ended = await goald.ask(["--home", file, ...RUN]);
    expectWords(ended);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(file);
    expect(ended.stderr).toContain("--home FOLDER");
    expect(await goald.ask(["--home", file, ...RUN, "--json"]).then(errorOf)).toMatchObject({
      code: "GOALD_HOME_UNWRITABLE",
    });
  });

  it("is rejected if it is not writable", async () => {
    const folder = join(goald.cwd, "read-only");
    await mkdir(folder, { mode: 0o555 });
    for (const call of [RUN, ["commands", "count_words", "--new"]]) {
      const ended = await goald.run(["--home", folder, ...call], { shell: WITHOUT_PRIVILEGES });
      expectWords(ended);
      expect(ended.code).toBe(1);
      expect(ended.stderr).toMatch(/cannot be used: you have no permission/);
    }
  });

  it("is rejected if it cannot be created there", async () => {
    const ended = await goald.ask(["--home", "/proc/nowhere/home", ...RUN]);
    expectWords(ended);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/cannot be used: folders cannot be made there/);
  });

  it.each(["ps", "verify", "demo"])("is rejected by %s too", async (verb) => {
    const file = join(goald.cwd, "a-file");
    const ended = await goald.ask(["--home", file, verb]);
    expect(ended.stderr).not.toMatch(/^\s+at |node:internal/m);
    expect(ended.code).toBe(1);
  });
});

/** Root may write anywhere; without its capabilities it is like any other user. */
const WITHOUT_PRIVILEGES =
  process.getuid?.() === 0 ? 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"' : 'exec "$@"';
