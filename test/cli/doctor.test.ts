import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { openForWriting } from "#store/sqlite/connection.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { createTables } from "#store/sqlite/schema.ts";
import { AT, SPEC } from "../helpers/events.ts";
import { endedWith, examine, type Goald, levelOf, makeGoald, type StartOptions, textOf } from "../helpers/goald.ts";
import { type OpenAIServerOptions, startOpenAIServer } from "../helpers/openai-server.ts";
import { makeUnreleasedStore } from "../store/made-stores.ts";

const KEY = "sk-secret-0123456789abcdef";
const SERVER = { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };

const WRONG = { "config/goald.json": '{"models": {"temperature": "hot"}, "recall": {"count": -1}}' };
const NO_STORE = { ".goald/goald.db": "this is no database, and it is long enough".repeat(30) };
const HELPERS = {
  "methods/a.py": "def fine(x): return x\n\ndef broken(:\n    return 1\n\ndef lost(): pass\n",
  "methods/b.py": "def odd(x)\n    return {1: x}\n",
  "methods/c.py": "def long() \\\n    -> int: return 1\n",
};

describe("goald doctor", () => {
  it("reports a store from before the first release, which every verb rejects and leaves unchanged", async () => {
    await using goald = await makeGoald();
    const path = join(goald.home, ".goald", "goald.db");
    await mkdir(join(goald.home, ".goald"), { recursive: true });
    makeUnreleasedStore(path, "4", false);
    const bytes = () => Promise.all([readFile(path), readFile(`${path}-wal`)]);
    const before = await bytes();
    const refusal = `The store ${path} was made by a goald before the first release and cannot be read.`;
    const run = ["run", "--name", "Foo", "--role", "r", "--goal", "g", "--continuous"];
    for (const call of [["ps"], ["verify"], run, ["rm", "foo"]]) {
      const { stderr } = endedWith(1, await goald.ask(call, { env: SERVER }));
      expect(stderr).toContain(`goald: ${refusal}\n  Move it to another folder: `);
    }
    const report = await examine(goald, 1, [], SERVER);
    expect(textOf(report, "store")).toContain(refusal);
    expect(await bytes()).toEqual(before);
  });

  it("shows that a key is set and where, but never its value", async () => {
    await using goald = await makeGoald();
    await goald.write(".env", `OPENAI_API_KEY=${KEY}\n`);
    const inFile = await examine(goald, 0);
    expect(levelOf(inFile, "model")).toEqual(["ok"]);
    expect(textOf(inFile, "model")).toContain(`OPENAI_API_KEY, ${join(goald.home, ".env")}`);
    const inShell = await examine(goald, 0, [], { OPENAI_API_KEY: `${KEY}x` });
    expect(levelOf(inShell, "model")).toEqual(["warning"]);
    expect(JSON.stringify([inFile, inShell])).not.toContain(KEY);
  });

  it.each<[what: string, files: object, check: string, levels: string[], text: RegExp]>([
    ["all problems of the settings", WRONG, "settings", ["error", "error"], /temperature[\s\S]*recall\.count/],
    ["Python helpers that cannot be read", HELPERS, "commands", ["warning"], /cannot read \S+\/a\.py:3, \S+\/b\.py:1/],
    ["a store that cannot be read", NO_STORE, "store", ["error"], /goald\.db/],
    [
      "a workspace that is a file",
      { workspace: "" },
      "home",
      ["error"],
      /workspace is not a folder that you may write to/,
    ],
  ])("finds %s, and continues with the other checks", async (_what, files, check, levels, text) => {
    await using goald = await makeGoald(SERVER);
    for (const [path, content] of Object.entries(files)) await goald.write(path, content);
    await chmod(join(goald.home, ".goald"), 0o700).catch(() => undefined);
    const report = await examine(goald, levels.includes("error") ? 1 : 0);
    expect(levelOf(report, check)).toEqual(levels);
    expect(textOf(report, check)).toMatch(text);
    expect(levelOf(report, "disk")).toEqual(["ok"]);
  });

  it("finds an unusable command of the home, and runs none that others may write", async () => {
    await using goald = await makeGoald(SERVER);
    await goald.write("commands/broken.ts", "process.stderr.write('ran'); export default { name: 'broken' };\n");
    expect(textOf(await examine(goald, 1), "commands")).toContain("broken.ts is not a valid command");
    await chmod(join(goald.home, "commands"), 0o777);
    const unsafe = endedWith(1, await goald.ask("doctor"));
    expect(unsafe.stdout).not.toContain("broken.ts is not a valid command");
    expect(unsafe.stderr).toBe("");
  });

  it("finds a clock that is behind the last event", async () => {
    await using goald = await makeGoald(SERVER);
    const store = await openSqliteStore(join(goald.home, ".goald", "goald.db"));
    await store.create(SPEC, "k", new Date(Date.now() + 3_600_000).toISOString());
    await store.close();
    const report = await examine(goald, 0);
    expect(levelOf(report, "clock")).toEqual(["warning"]);
    expect(textOf(report, "store")).toContain("1 agent, ");
  });

  it("finds a home that is not a folder, which has no daemon", async () => {
    await using goald = await makeGoald(SERVER);
    await writeFile(goald.home, "");
    const report = await examine(goald, 1);
    expect([levelOf(report, "home"), levelOf(report, "daemon")]).toEqual([["error"], ["ok"]]);
  });

  describe("with --online", () => {
    const online = async (code: number, server: OpenAIServerOptions, env: StartOptions["env"] = {}) => {
      await using models = await startOpenAIServer({ apiKey: KEY, ...server });
      await using goald = await makeGoald();
      const own = { OPENAI_BASE_URL: models.baseUrl, OPENAI_API_KEY: KEY, SMART_LLM: "big", FAST_LLM: "small", ...env };
      const report = await examine(goald, code, ["--online"], own);
      expect(JSON.stringify(report)).not.toContain(KEY);
      expect(models.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /v1/models"]);
      return report;
    };

    it("sends one request to the model server, and none without the flag", async () => {
      const report = await online(0, { models: ["big", "small:latest", "other"] });
      expect(levelOf(report, "online")).toEqual(["ok"]);
      await using models = await startOpenAIServer();
      await using goald = await makeGoald();
      expect(textOf(await examine(goald, 0, [], { OPENAI_BASE_URL: models.baseUrl }), "online")).toBe("");
      expect(models.requests).toEqual([]);
    });

    it("finds a key that the server rejects, a model that it does not offer, and a server without a list", async () => {
      const refused = await online(1, {}, { OPENAI_API_KEY: "sk-mistyped-0123456789" });
      expect(textOf(refused, "online")).toMatch(/answered 401\. It refused the key: check OPENAI_API_KEY/);
      expect(JSON.stringify(refused)).not.toContain("mistyped");
      const other = await online(0, { models: ["small", "big-2"] });
      expect(textOf(other, "online")).toMatch(/big \(SMART_LLM\) is not among its 2 models List them: goald models/);
      const silent = await online(0, { models: null });
      expect(textOf(silent, "online")).toContain("lists no models");
      expect([other, silent].map((report) => levelOf(report, "online"))).toEqual([["warning"], ["warning"]]);
    });

    it("finds a server that does not answer, and creates nothing", async () => {
      await using goald = await makeGoald();
      const gone = await startOpenAIServer();
      await gone.close();
      const report = await examine(goald, 1, ["--online"], { OPENAI_BASE_URL: gone.baseUrl });
      expect(textOf(report, "online")).toMatch(/^No usable answer from the model server at \S+\. Is it running/);
      await expect(stat(goald.home)).rejects.toMatchObject({ code: "ENOENT" });
    });
  });
});

describe("a young store whose WAL is damaged in its first frame", () => {
  let goald: Goald;
  beforeAll(async () => {
    goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", GOALD_MEMORY_EMBEDDER: "offline" });
    const path = join(goald.home, ".goald", "goald.db");
    // As goald made stores before it emptied the WAL after the tables.
    const database = openForWriting(path);
    createTables(database);
    const store = await openSqliteStore(path);
    await store.create({ ...SPEC, name: "T" }, "t", AT);
    const files = await Promise.all(
      ["", "-wal", "-anchor"].map(async (end) => [path + end, await readFile(path + end)]),
    );
    await store.close();
    database.close();
    for (const [file, bytes] of files as [string, Buffer][]) {
      if (file.endsWith("-wal")) bytes[106] = (bytes[106] ?? 0) ^ 1;
      await writeFile(file, bytes);
    }
  });

  const LOSS =
    /has lost commits that goald had confirmed.* The agent t is missing, with 1 event\..*Restore a backup .*or move the folder/;
  const GOAL = "--name U --role r --goal g";
  const CALLS = `ps, show t, resume t --approve never, show t --report, events t, logs t, show t --files, memory t list,
    memory shared list, backup copy.db, doctor, verify, verify t, verify --accept-loss, run --continuous ${GOAL}`;

  it.each(CALLS.split(",").map((call) => call.trim()))("is named with what it lost by goald %s", async (call) => {
    const { stdout, stderr } = endedWith(1, await goald.ask(call));
    expect(stdout + stderr).toMatch(LOSS);
    expect(stdout + stderr).not.toMatch(/yet|sound/);
  });

  it.each(["up", `run -d ${GOAL}`])("keeps the daemon of goald %s from starting", async (call) => {
    expect(endedWith(1, await goald.ask(call)).stderr).toMatch(LOSS);
  });

  it("does not concern verbs that read no store", async () => {
    endedWith(0, await goald.ask("config"));
    endedWith(4, await goald.ask("status"));
    expect(await goald.print("complete agents")).toBe("");
  });
});
