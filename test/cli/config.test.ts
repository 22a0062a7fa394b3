import { execFile } from "node:child_process";
import { readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { holdHostLock } from "#store/sqlite/host-lock.ts";
import { findLevelsHere } from "../helpers/cage-levels.ts";
import { endedWith, errorOf, type Goald, jsonOf, makeGoald, notRefused, type RefusedCall } from "../helpers/goald.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

const KEY = "sk-planted-0123456789";
const FILE = "config/goald.json";

const json = async (goald: Goald): Promise<unknown> => JSON.parse((await goald.read(FILE)) ?? "null");

describe("goald config", () => {
  it("shows that a key is set, but never its value, and creates nothing", async () => {
    await using goald = await makeGoald({ OPENAI_API_KEY: KEY, SMART_LLM: `model-${KEY}` });
    for (const args of [[], ["--json"], ["openai.apiKey", "--json"], ["models.smart"]]) {
      const { stdout, stderr } = endedWith(0, await goald.ask(["config", ...args, "--show-origin"]));
      expect(stdout + stderr).not.toContain(KEY.slice(3));
    }
    expect(await goald.print("config OPENAI_API_KEY")).toBe("set\n");
    const placeholder = { env: { OPENAI_API_KEY: "your-openai-api-key" } };
    expect(await goald.print("config OPENAI_API_KEY", placeholder)).toBe("not set\n");
    await expect(stat(goald.home)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("shows settings that are wrong, reports their problems and ends with 2", async () => {
    const wrong = { GOALD_AGENTS_APPROVE: "\u001b[2Jloud", OPENAI_BASE_URL: "ftp://me:hunter2-x@h/" };
    await using goald = await makeGoald(wrong);
    const listed = endedWith(2, await goald.ask("config --json"));
    const problem = expect.stringMatching(/^GOALD_AGENTS_APPROVE .environment. must be one of/);
    const setting = { name: "agents.approve", value: "loud", problem };
    expect(JSON.parse(listed.stdout).settings).toContainEqual(expect.objectContaining(setting));
    expect(errorOf(listed).message.split("\n")).toHaveLength(2);
    const table = endedWith(2, await goald.ask("config"));
    expect(table.stdout).toMatch(/^agents\.approve .*\(wrong\)$/m);
    expect(table.stdout + table.stderr + listed.stdout + listed.stderr).not.toMatch(/\u001b|hunter2/);
    // A valid setting can still be read.
    expect(await goald.print("config agents.form")).toBe("json\n");
    const approve = endedWith(2, await goald.ask("config agents.approve"));
    expect(approve.stderr).toContain("GOALD_AGENTS_APPROVE (environment)");
  });
});

const ALL = /config --all/;
const NOT_SET: readonly RefusedCall[] = [
  ["config models.timeoutSeconds 3601", 2, /from 1 to 3,600, got "3601"/, /^$/],
  [`config OPENAI_API_KEY ${KEY}`, 2, /^openai\.apiKey is a key, and keys do not belong in /, /\nOPENAI_API_KEY=…$/],
  // None where there must be one.
  ["config agents.approve none", 2, /one of always, risky, never/, /^$/],
  ["config openai.baseUrl http://u:hunter2-x@h", 2, /^(?!.*hunter2).*without credentials/, /^$/],
  // Former words.
  ["config set x", 2, /no word "set"/, /^Use: goald config NAME VALUE$/],
  [["config", "models.smart", " "], 2, /a model's name, got an empty text/, /config models\.smart --unset/],
  ["config models.smart your-model", 2, /a template's placeholder/, /unset/],
  ["config temprature 1", 2, /"temprature" is not a setting.*"models.temperature"\?/, ALL],
  ["config SMART_LM x", 2, /Did you mean "SMART_LLM"\?/, ALL],
  ["config models x", 2, /"models" is not a setting/, ALL],
  ["config \u001b[2Jx 1", 2, /^[^\u001b]*is not a setting/, ALL],
  ["config recall --unset", 2, /"recall" is not a setting/],
  ["config recall.count.x --unset", 2, /"recall.count.x" is not a setting/],
];

describe("goald config NAME VALUE", () => {
  it.each<[name: string, text: string, stored: object, printed: string]>([
    ["models.smart", "m", { models: { smart: "m" } }, "m"],
    ["SMART_LLM_MODEL", "m", { models: { smart: "m" } }, "m"],
    ["openai.baseUrl", "http://h.test/v1//", { openai: { baseUrl: "http://h.test/v1" } }, "http://h.test/v1"],
    ["limits.unattendedSteps", "7", { limits: { unattendedSteps: 7 } }, "7"],
    ["models.temperature", "0.5", { models: { temperature: 0.5 } }, "0.5"],
    ["models.temperature", "none", { models: { temperature: null } }, "unset"],
    ["agents.approve", "RISKY", { agents: { approve: "risky" } }, "risky"],
    ["web.robots", "off", { web: { robots: false } }, "false"],
    ["GOALD_DAEMON_REQUESTS_PER_MINUTE", "60", { daemon: { requestsPerMinute: 60 } }, "60"],
  ])("%s %s is written and applied", async (name, text, stored, printed) => {
    await using goald = await makeGoald();
    const said = endedWith(0, await goald.ask(["config", name, text]));
    expect(said.stdout).toContain(` in ${goald.home}/${FILE}\n`);
    expect(said.stderr).toBe("");
    expect(await json(goald)).toEqual(stored);
    expect((await goald.ask(["config", name])).stdout).toBe(`${printed}\n`);
  });

  it("leaves other settings and the file's owner unchanged", async () => {
    await using goald = await makeGoald();
    await goald.write(FILE, '{ "log": {"level": "warn"},  "models": {"fast": "f"} }', 0o644);
    endedWith(0, await goald.ask("config models.smart s"));
    expect(await goald.read(FILE)).toBe(
      '{\n  "log": {\n    "level": "warn"\n  },\n  "models": {\n    "fast": "f",\n    "smart": "s"\n  }\n}\n',
    );
    expect((await stat(join(goald.home, FILE))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(goald.home, "config"))).toEqual(["goald.json"]);
  });

  it(`refuses each of ${NOT_SET.length} invalid calls (exit 2), and writes nothing`, async () => {
    await using goald = await makeGoald();
    expect(await notRefused(goald, NOT_SET)).toEqual([]);
    // Nothing to remove is no mistake.
    endedWith(0, await goald.ask("config agents.approve --unset"));
    expect(await goald.read(FILE)).toBeUndefined();
  });

  it("repairs one wrong setting while others are wrong too, and removes an unknown one", async () => {
    await using goald = await makeGoald();
    await goald.write(FILE, '{"agents":{"approve":"loud"},"models":{"temperature":"hot","smrt":"x"}}');
    expect(endedWith(2, await goald.ask("ps")).stderr).toContain("Remove it: goald config models.smrt --unset");
    endedWith(0, await goald.ask("config models.smrt --unset"));
    expect(endedWith(2, await goald.ask("config models.smrt --unset")).stderr).toContain('"models.smart"');
    endedWith(0, await goald.ask("config agents.approve never"));
    expect(await json(goald)).toEqual({ agents: { approve: "never" }, models: { temperature: "hot" } });
    endedWith(2, await goald.ask("ps"));
    endedWith(0, await goald.ask("config models.temperature --unset"));
    endedWith(0, await goald.ask("ps"));
  });

  it("reports the line in .env that overrides it", async () => {
    await using goald = await makeGoald();
    await goald.write(".env", "FAST_LLM=from-env-file\n");
    const fast = endedWith(0, await goald.ask("config models.fast mine --json"));
    expect(fast.stderr).toBe(`FAST_LLM in ${goald.home}/.env overrides this.\n`);
    expect(JSON.parse(fast.stdout)).toEqual({
      name: "models.fast",
      value: "mine",
      file: `${goald.home}/${FILE}`,
      overriddenBy: { layer: ".env", name: "FAST_LLM", file: `${goald.home}/.env` },
      daemon: false,
    });
    expect((await goald.ask("config models.fast")).stdout).toBe("from-env-file\n");
  });

  it("reports that a running daemon keeps the old value", async () => {
    const said = /^The daemon \(process \d+\) still uses the old value until goald reload or its next start\.\n$/;
    await using goald = await makeGoald();
    endedWith(0, await goald.ask("init"));
    const info = { pid: process.pid, version: "0", startedAt: new Date().toISOString() };
    {
      using _held = holdHostLock(join(goald.home, ".goald", "lock.db"), info);
      const set = endedWith(0, await goald.ask("config recall.count 3 --json"));
      expect(set.stderr).toMatch(said);
      expect(JSON.parse(set.stdout)).toMatchObject({ daemon: true });
      expect(endedWith(0, await goald.ask("config recall.count --unset")).stderr).toMatch(said);
      expect(endedWith(0, await goald.ask("config recall.count --unset")).stderr).toBe("");
    }
    expect(endedWith(0, await goald.ask("config recall.count 4")).stderr).toBe("");
  });

  it("leaves a file that it cannot change as it is, and prints the reason", async () => {
    await using goald = await makeGoald();
    for (const [text, message] of [
      ["{", /is not valid JSON/],
      ["[1]", /it must be an object/],
      ['{"models":"x"}', /models must be an object/],
    ] as const) {
      await goald.write(FILE, text);
      expect(endedWith(2, await goald.ask("config models.smart m")).stderr).toMatch(message);
      expect(await goald.read(FILE)).toBe(text);
    }
    await using blocked = await makeGoald({ GOALD_HOME: join(goald.cwd, "file", "home") });
    await writeFile(join(goald.cwd, "file"), "");
    const refused = endedWith(2, await blocked.ask("config models.smart m"));
    expect(refused.stderr).toMatch(/a file is in the way/);
  });

  it("loses no setting to simultaneous calls, or to the lock of a killed one", async () => {
    await using goald = await makeGoald();
    const lock = join(goald.home, `${FILE}.lock`);
    await goald.write(`${FILE}.lock`, "");
    await utimes(lock, new Date(0), new Date(0));
    const names = ["models.smart", "models.fast", "models.embedding", "log.level"];
    const ended = await Promise.all(names.map((name) => goald.run(["config", name, "info"])));
    for (const one of ended) endedWith(0, one);
    expect(await json(goald)).toEqual({
      models: { smart: "info", fast: "info", embedding: "info" },
      log: { level: "info" },
    });
    await expect(stat(lock)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

it("goald config NAME --unset removes a setting with its empty group, a key too, and shows the value that then applies", async () => {
  await using goald = await makeGoald({ FAST_LLM: "f" });
  await goald.write(FILE, `{"openai":{"apiKey":"${KEY}"},"models":{"smart":"a","fast":"b"},"recall":{"count":1}}`);
  const unset = endedWith(0, await goald.ask("config SMART_LLM --unset"));
  expect(unset.stdout).toBe(`Removed models.smart from ${goald.home}/${FILE}. It is gpt-4.1 now (default).\n`);
  const fast = await goald.json("config models.fast --unset");
  expect(fast).toMatchObject({ removed: true, now: { value: "f", origin: { layer: "environment" } } });
  expect(await goald.print("config openai.apiKey --unset")).not.toContain(KEY);
  expect(await json(goald)).toEqual({ recall: { count: 1 } });
});

it("the examples in the help of goald config work", async () => {
  await using goald = await makeGoald();
  for (const verb of ["config", "init"]) {
    const stdout = await goald.print([verb, "--help"]);
    const examples = [...stdout.matchAll(/^ {2}goald (.+)$/gm)].map(([, line = ""]) => line.split(" "));
    for (const example of examples) endedWith(0, await goald.ask(example));
  }
});

describe("goald commands", () => {
  it("lists the commands of agents, and the missing settings of the others", async () => {
    await using goald = await makeGoald({ GOALD_SANDBOX_ISOLATION: "off" });
    const { commands } = await goald.json<{ commands: readonly { name: string }[] }>("commands");
    const lineOf = (name: string): object | undefined => commands.find((line) => line.name === name);
    expect(lineOf("write_to_file")).toMatchObject({ state: "ready", toDo: [] });
    const toDo = [expect.stringContaining("sandbox")];
    expect(lineOf("execute_python_file")).toMatchObject({ state: "not-set-up", toDo, origin: "shipped" });

    await goald.write("commands/mine.js", 'export default { name: "mine", summary: "Mine.", run: () => "mine" };');
    expect(await goald.json("commands mine")).toMatchObject({ origin: "home", effect: "at-most-once" });

    const table = await goald.print("commands");
    expect(table).toMatch(/^execute_python_file +not set up +file /m);
    expect(table).toContain("  execute_python_file: Set GOALD_SANDBOX_ISOLATION to best-effort or required");
    expect(table).not.toContain("save_files");
  });

  it("shows how code is judged: as a file where the sandbox is strict, with a question elsewhere", async () => {
    await using goald = await makeGoald();
    const [level] = findLevelsHere();
    const risk = level === "strict" ? "restorable" : "asks first";
    const ready = { state: "ready", group: "code", effect: "transactional" };
    for (const name of ["run_code", "execute_python_file"])
      expect(await goald.json(["commands", name])).toMatchObject({ ...ready, risk });
    // Without bubblewrap on its path.
    const judged = async (env: Record<string, string>) =>
      jsonOf(await goald.run("commands run_code --json", { env: { PATH: "/nonexistent", ...env } }));
    expect(await judged({})).toMatchObject({ risk: "asks first" });
    const toDo = [expect.stringContaining("sandbox.isolation is required")];
    expect(await judged({ GOALD_SANDBOX_ISOLATION: "required" })).toMatchObject({ state: "not-set-up", toDo });
  });

  it.each<[file: string, text: string, said: RegExp]>([
    [
      "post_note.ts",
      "export default {\n  name: 'post_note',\n  summary: 3,\n  run() {},\n};",
      /post_note\.ts is not a valid command: line 3: expected summary: one line.*got 3\.$/m,
    ],
    ["a.ts", "export default {\n  run( {\n};", /a\.ts:3 could not be loaded/],
    ["a.js", "export default {\n  run( {\n};", /a\.js:3 could not be loaded/],
    ["a.ts", "const a = 1;\nenum B { c }\nexport default {};", /a\.ts:2 could not be loaded/],
    ["a.mjs", "const a = undefined;\n\na.b();\nexport default {};", /a\.mjs:3 could not be loaded/],
  ])("reports file, line and reason for an invalid command of the home (exit 2): %s %j", async (file, text, said) => {
    await using goald = await makeGoald();
    await goald.write(`commands/${file}`, text);
    const { code, message } = errorOf(endedWith(2, await goald.ask("commands --json")));
    expect(code).toBe("GOALD_COMMAND_INVALID");
    expect(message).toMatch(said);
  });
});

describe("goald commands NAME --new", () => {
  it("writes a command that works unchanged, with a test that passes", async () => {
    await using goald = await makeGoald();
    const made = await goald.json<{ test: string }>("commands count_words --new");
    const { stdout } = await promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", made.test]);
    expect(stdout).toMatch(/# pass 2\n# fail 0/);
    expect(await goald.print("commands count_words")).toMatch(/Risk: none/);
  });

  it("overwrites nothing (exit 7), not even a test alone", async () => {
    await using goald = await makeGoald();
    await goald.write("commands/mine.test.ts", "// mine");
    expect(endedWith(7, await goald.ask("commands mine --new")).stderr).toContain("was not changed");
    expect(await goald.read("commands/mine.test.ts")).toBe("// mine");
    expect(await goald.print("commands --json")).not.toContain('"mine"');
  });
});

describe("goald models", () => {
  const SHOWN = ["gpt-4.1", "gpt-5-mini", "text-embedding-3-small"];
  const ask = async (call: string, models: readonly string[] | null, env: Record<string, string>) => {
    await using server = await startOpenAIServer({ apiKey: KEY, models });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: KEY, ...env });
    const ended = await goald.ask(call);
    expect(ended.stdout + ended.stderr).not.toContain(KEY);
    return { ...ended, requests: server.requests.map(({ method, path }) => `${method} ${path}`) };
  };

  it("lists what the server has, what each is set for, its window and its price, by one free request", async () => {
    const { code, stdout, requests } = await ask("models", SHOWN, { FAST_LLM: "small" });
    expect([code, requests]).toEqual([0, ["GET /v1/models"]]);
    const rows = stdout.split("\n").slice(1, -2);
    expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
      ["MODEL", "SET FOR", "CONTEXT", "PRICE", "NOTES"],
      ["gpt-4.1", "smart", "1,047,576", "$2 in, $8 out"],
      ["gpt-5-mini", "400,000", "$0.25 in, $2 out", "reasons first"],
      ["small", "fast", "8,192", "free", "not on this server"],
      ["text-embedding-3-small", "embedding", "$0.02 in, $0 out", "not for chat"],
    ]);
  });

  it("of a server without a list shows those that are set", async () => {
    const { code, stdout } = await ask("models", null, { SMART_LLM: "mine", FAST_LLM: "mine" });
    expect(code).toBe(0);
    expect(stdout).toContain(", which has no list:");
    expect(stdout).toMatch(/^mine +smart, fast +8,192 +free$/m);
  });

  it("says why a server does not answer, and what to do without one", async () => {
    const refused = await ask("models", SHOWN, { OPENAI_API_KEY: "sk-mistyped-0123456789" });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/answered 401\..*goald doctor/s)]);
    await using goald = await makeGoald();
    const none = await goald.ask("models");
    expect([none.code, none.stderr]).toEqual([5, expect.stringContaining("OPENAI_BASE_URL")]);
  });
});
