import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { type Ended, endedWith, type Goald, linesOf, notRefused, type RefusedCall, wordsOf } from "../helpers/goald.ts";
import { subagentModel, write } from "../helpers/models.ts";
import type { OpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const PLAN = "# Plan\n\nConclusion: go on.\n";
const AGENT = `ai_name: Foo
ai_role: an assistant
ai_goals:
  - Write plan.md
ai_checks:
  - {file: plan.md, contains: Conclusion, min_chars: 20}
`;
const SPAWN = `export default { name: "spawn", summary: "starts", effect: "transactional", needs: ["agents"],
  run: async (_args, { stage }) => (stage({ kind: "start", name: "Ann", task: "t", prompt: "p" }), "started") };`;

describe("goald test", () => {
  let goald: Goald;
  let server: OpenAIServer;
  beforeAll(async () => {
    ({ goald, server } = await makeDaemonHome([write("plan.md", PLAN)]));
    await writeFile(join(goald.cwd, "agent.yaml"), AGENT);
    await writeFile(join(goald.cwd, "fails.yaml"), AGENT.replace("min_chars: 20", "min_chars: 2000"));
    await writeFile(join(goald.cwd, "bare.yaml"), AGENT.slice(0, AGENT.indexOf("ai_checks")));
    await writeFile(join(goald.cwd, "broken.yaml"), AGENT.replace("contains", "contain"));
  });
  /** Runs in a folder of its own for temporary files, and expects it to be empty afterwards. */
  async function test(...args: readonly string[]): Promise<Ended> {
    const ended = await goald.ask(["test", ...args], { env: { TMPDIR: goald.userHome } });
    expect((await readdir(goald.userHome)).filter((name) => name.startsWith("goald-"))).toEqual([]);
    return ended;
  }

  it("runs the agent elsewhere, and ends with 0 when all checks passed, and with 10 when one fails", async () => {
    endedWith(0, await test("agent.yaml"));
    expect(await goald.read("workspace")).toBeUndefined();
    expect(await goald.read(".goald/goald.db")).toBeUndefined();
    const lines = linesOf(endedWith(10, await test("fails.yaml", "--json")));
    expect(lines.map((line) => problemsOfView("test", line))).toEqual([""]);
  });

  it("plays its recording offline, with the same output", async () => {
    const path = join(goald.cwd, "agent.ndjson");
    const live = endedWith(0, await test("agent.yaml", "--record", path, "--json"));
    const asked = server.chats.length;
    const env = { TMPDIR: goald.userHome, OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
    const played = (file: string, ...more: readonly string[]) =>
      goald.ask(["test", file, "--replay", path, ...more], { env });
    expect(endedWith(0, await played("agent.yaml", "--json")).stdout).toBe(live.stdout);
    expect(server.chats).toHaveLength(asked);
    // Control: another answer of the model.
    const lines = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, lines.join("\n").replaceAll("rackets", "courts"));
    const { stdout } = endedWith(1, await played("agent.yaml"));
    expect(stdout).toMatch(/\nNot tested: agent\.yaml\. Step 1 is not as it was recorded: /);
    // A run that was cut off did not end, and its home is gone: no other verb continues it.
    for (const [end, problem] of [
      [3, "Nothing is recorded in"],
      [lines.length - 3, "ends in step 2: the run was cut off."],
    ] as const) {
      await writeFile(path, `${lines.slice(0, end).join("\n")}\n`);
      const [cut] = linesOf(endedWith(1, await played("agent.yaml", "--json")));
      expect(cut).toMatchObject({ outcome: "error", exitCode: 1, reason: expect.stringContaining(problem) });
      expect(cut?.reason).toMatch(/Record it: rm -f \S+ && goald test agent\.yaml --record \S+$/);
      expect(cut?.reason).not.toMatch(/goald (?:resume|run) /);
    }
  });

  it("stops at a limit with its code, and keeps the home when asked", async () => {
    const env = { TMPDIR: goald.cwd };
    const ended = await goald.ask("test agent.yaml --max-steps 1 --keep --json", { env });
    const [{ home, checks } = {}] = linesOf(endedWith(6, ended));
    expect(checks).toMatchObject([{ isPassed: null }, { isPassed: null, proof: "" }]);
    const report = await goald.print(["show", "foo", "--report", "--home", String(home)]);
    expect(report).toContain("   - Check has not run: plan.md contains");
  });

  it("names no call on an agent whose home is gone", async () => {
    const limited = endedWith(6, await test("agent.yaml", "--max-steps", "1"));
    expect(limited.stdout).toMatch(/\nThe agent ended \(step-limit\): .*\. To look at it/);
    expect(`${limited.stdout}${limited.stderr}`).not.toMatch(/goald (?:resume|say|logs)/);
  });

  it("refuses a file without checks, a broken one before it runs another, and recordings that do not fit", async () => {
    const asked = server.chats.length;
    await writeFile(join(goald.cwd, "taken.ndjson"), "");
    await writeFile(join(goald.cwd, "long.yaml"), AGENT.replace("Foo", "F".repeat(81)));
    const calls: readonly RefusedCall[] = [
      ["test agent.yaml long.yaml", 2, /^long\.yaml: The name must have 1 to 80 characters, got 81\./],
      ["test agent.yaml fails.yaml --record a --record ./a", 2, /The recording \.\/a is there already, or named twice/],
      [
        "test agent.yaml fails.yaml --record a --record taken.ndjson",
        2,
        /taken\.ndjson is there already/,
        /a new file/,
      ],
      ["test bare.yaml", 2, /bare\.yaml has no ai_checks, so there is nothing to test\./],
      ["test agent.yaml broken.yaml", 2, /broken\.yaml, line 6: ai_checks, check 1: "contain"/],
      ["test agent.yaml bare.yaml --replay a", 2, /Expected one --replay per file, got 1 for 2 files\./],
      ["test agent.yaml --replay a --record b", 2, /--record and --replay say different things\./],
    ];
    expect(await notRefused({ ask: (args) => test(...wordsOf(args).slice(1)) }, calls)).toEqual([]);
    expect(server.chats).toHaveLength(asked);
  });

  it("gives the question of an agent that asks as the reason, as run --wait and resume do", async () => {
    const ask = { name: "ask_user", args: { question: "Which city?" } };
    const asks = await makeDaemonHome([ask]);
    await writeFile(join(asks.goald.cwd, "agent.yaml"), AGENT);
    const outcome = { outcome: "waiting", reason: "It asks: Which city?", exitCode: 11 };
    const run = ["run", "--wait", "--name", "T", "--goal", "g", "--continuous", "--json"];
    for (const args of [["test", "agent.yaml", "--json"], run, ["resume", "t", "--json"]])
      expect(linesOf(endedWith(11, await asks.goald.ask(args))).at(-1)).toMatchObject(outcome);
    const reply = subagentModel({ Foo: [{ name: "spawn", args: {} }], Ann: [ask] });
    const helped = await makeDaemonHome([], { reply, files: { "commands/spawn.ts": SPAWN } });
    await writeFile(join(helped.goald.cwd, "agent.yaml"), AGENT);
    for (const args of [["test", "agent.yaml", "--json"], run.with(3, "Foo")]) {
      const { stdout, stderr } = endedWith(11, await helped.goald.ask(args));
      expect(stderr + stdout).toMatch(/foo-ann asks: Which city\?.*"outcome":"waiting"/s);
    }
  });

  it("ends with 5 without a model server, and needs none for a recording", async () => {
    const env = { OPENAI_BASE_URL: undefined };
    endedWith(5, await goald.ask("test agent.yaml --json", { env }));
    endedWith(3, await goald.ask("test no.yaml", { env }));
  });
});
