import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { type DaemonHome, killAtEvent, killUnder, makeDaemonHome } from "../helpers/daemon-home.ts";
import { AGENT, endedWith, type Goald, killRun, linesOf, lookInto, RUN, readStore } from "../helpers/goald.ts";
import { ledger, ledgerText, write } from "../helpers/models.ts";
import type { Answer, ChatRequest } from "../helpers/openai-server.ts";
import { inPool, waitUntil } from "../helpers/waits.ts";
import { describeChains, describeKills, findCommits, killAndResume, killNested, STEPS } from "./kill-points.ts";

describeKills(() => true);
describeChains();

it("kill -9 while `prepare` hangs loses no reply that was paid: the resumed agent goes on with it", async () => {
  await using home = await makeDaemonHome([{ name: "hang_once", args: {} }]);
  const { goald, server } = home;
  await goald.write(
    "commands/hang_once.ts",
    `import { existsSync, writeFileSync } from "node:fs";
    const mark = new URL("../begun.txt", import.meta.url);
    export default {
      name: "hang_once", label: "Hang", summary: "Hangs the first time.", args: { type: "object", properties: {} },
      annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false }, effect: "pure",
      async prepare() {
        if (existsSync(mark)) return null;
        writeFileSync(mark, "");
        return new Promise((resolve) => setTimeout(resolve, 50_000));
      },
      async run() { return "It ran."; },
    };`,
  );
  const running = goald.start(RUN);
  await waitUntil("`prepare` runs", async () => (await goald.read("begun.txt")) !== undefined);
  await killRun(goald, running);
  const before = (await lookInto(goald)).log.map(({ type }) => type);
  expect(before.at(-1)).toBe("command-approved");
  endedWith(0, await goald.run("resume t --json"));
  expect(server.chats).toHaveLength(2);
});

it("a command that wrongly calls itself idempotent acts twice: the count of effects can fail (control)", async () => {
  const calls = ledger(STEPS);
  // The command adds a line at each run.
  const careless = `export default {
    name: "append_to_file", label: "Append", summary: "Adds text.", effect: "idempotent",
    args: { type: "object", required: ["file", "text"], properties: {
      file: { type: "string", description: "path" }, text: { type: "string", description: "text" } } },
    annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
    async run({ file, text }, { workspace }) {
      await workspace.append(file, text);
      return { status: "ok", text: "Added.", source: "goald", artifacts: [file] };
    },
  };`;
  const commands = { "commands/append_to_file.ts": careless };
  const outcome = await killAndResume(calls, ["ledger.txt"], [6, "before"], commands);
  expect(outcome.files["ledger.txt"]).toBe(`line 1\n${ledgerText(STEPS)}`);
});

it("kill -9 at a commit of three levels writes each line once, in order, and repeats at most one request", async () => {
  const commits = await findCommits();
  expect(commits.length).toBeGreaterThan(12);
  // Event 1 creates the agent; a kill before it leaves nothing to resume.
  const points = commits.filter((seq) => seq > 1).flatMap((seq) => [[seq, "before"] as const, [seq, "after"] as const]);
  const repeated = await Promise.all(inPool(2, points, ([seq, when]) => killNested(seq, when)));
  expect(Math.max(...repeated)).toBe(1);
});

const TOOLS_RUN = ["run", ...AGENT, "--continuous", "--form", "tools", "--json"];

const tool = (name: string, args: object) => ({
  id: `call-${name}-${JSON.stringify(args).length}`,
  type: "function",
  function: { name, arguments: JSON.stringify({ thought: `I use ${name}.`, ...args }) },
});

const TOOL_STEPS = [
  [tool("write_to_file", { file: "a.txt", text: "alpha\n" })],
  [tool("write_to_file", { file: "bee.txt", text: "beta\n" })],
  [tool("read_file", { file: "a.txt" }), tool("read_file", { file: "bee.txt" })],
  [tool("write_to_file", { file: "sum.txt", text: "alpha beta\n" })],
  [tool("task_complete", { reason: "Done." })],
];
/** Decides by the prompt alone, as a real model does. */
const answerWithTools = ({ messages }: ChatRequest): Answer => {
  const step = messages.filter(({ role }) => role === "assistant").length;
  return { text: null, finishReason: "tool_calls", toolCalls: TOOL_STEPS[step] ?? [] };
};

const openToolsHome = (): Promise<DaemonHome> => makeDaemonHome([], { reply: answerWithTools });

async function expectBothOnce({ goald, server }: DaemonHome): Promise<void> {
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  const ended = log.flatMap((event) =>
    event.type === "command-finished" ? [`${event.callId} ${event.observation.status}`] : [],
  );
  expect(ended).toEqual(["c1 ok", "c2 ok", "c3 ok", "c3-2 ok", "c4 ok", "c5 ok"]);
  expect(replay(log)).toMatchObject({ step: 5, open: [], frames: [{ phase: { kind: "resting" }, queue: [] }] });
  expect(JSON.stringify(server.chats.at(-1)?.messages)).toMatch(/alpha.*beta/);
}

describe("goald run --form tools with a model that calls two tools at once", () => {
  it.concurrent("runs both in one step, shows them, and replays to the same state", async () => {
    await using home = await openToolsHome();
    const { goald, server } = home;
    const file = join(goald.cwd, "t.ndjson");
    endedWith(0, await goald.ask([...TOOLS_RUN, "--record", file]));
    await expectBothOnce(home);
    expect(server.chats).toHaveLength(5);
    expect(server.chats.every(({ stream }) => stream)).toBe(true);
    expect(server.violations).toEqual([]);
    const step = await goald.print("show t --step 3");
    expect(step).toContain('"file": "a.txt"');
    expect(step).toMatch(/Other calls: 1 call\n {2}c3-2 {2}read_file \{"file":"bee\.txt"\}: ok/);
    expect(await goald.print("show t --step 4")).toContain("exactly as sent");
    expect(await goald.print("why t sum.txt")).toMatch(/a\.txt[\s\S]*bee\.txt/);
    expect(await goald.print("show t --report")).toMatch(/bee\.txt/);
    const replaying = () => goald.ask(["replay", file, "--json"], { env: { TMPDIR: goald.cwd } });
    expect(linesOf(endedWith(0, await replaying())).at(-1)).toMatchObject({ same: true, problems: [] });
    // Control: the second call reads another file, which is another state.
    const text = await readFile(file, "utf8");
    const changed = text.replace(/(read_file[\\"]*,[\\"]*args[^}]*)bee\.txt/, "$1a.txt");
    expect(changed).not.toBe(text);
    await writeFile(file, changed);
    endedWith(1, await replaying());
  });

  it.concurrent("has each result once after a kill between the two", async () => {
    await using first = await openToolsHome();
    endedWith(0, await first.goald.ask(TOOLS_RUN));
    const { log } = await lookInto(first.goald);
    const between = log.find((event) => event.type === "command-started" && event.callId === "c3-2")?.seq;
    for (const when of ["before", "after"]) {
      await using home = await openToolsHome();
      const hooks = killAtEvent(`1:${between}:${when}`);
      expect((await killUnder(hooks, home.goald, TOOLS_RUN)).signal).toBe("SIGKILL");
      endedWith(0, await home.goald.ask("resume t --json"));
      await expectBothOnce(home);
      expect(home.server.chats).toHaveLength(5);
    }
  });
});

const lineOf = (number: number): string =>
  number % 4 === 1 ? `def task_${number}(value):` : `    value = step_${number}(value)`;
const FILE = Array.from({ length: 2000 }, (_, index) => `${lineOf(index + 1)}\n`).join("");
const edit = (old: string, replacement: string): CommandCall => ({
  name: "edit_file",
  args: { file: "tasks.py", old, new: replacement },
});
const CALLS = [
  write("tasks.py", FILE),
  edit(`${lineOf(1000)}\n${lineOf(1001)}\n`, `${lineOf(1000)}\n    return value\n\n\n${lineOf(1001)}\n`),
  edit("\tvalue = step_40(value)", "\tvalue = stop_40(value)"),
  edit("    value = step_40(value)\n", "    value = stop_40(value)\n"),
  edit("task_1997(value)", "task_1997(value, rest)"),
];
const EDITED = FILE.replace(`${lineOf(1000)}\n`, `${lineOf(1000)}\n    return value\n\n\n`)
  .replace("step_40(", "stop_40(")
  .replace("task_1997(value)", "task_1997(value, rest)");

/** The first reply contains the whole file. */
const openEditHome = (): Promise<DaemonHome> => makeDaemonHome(CALLS, { env: { GOALD_MODELS_REPLY_TOKENS: "30000" } });

const resultsOf = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === "command-finished" ? [event] : []));

async function versionsIn(goald: Goald): Promise<readonly string[]> {
  const versions = await readStore(goald, (reader) => reader.files("t"));
  return versions.map(({ operation, step }) => `${operation} in step ${step}`);
}

describe("a run that edits a file of 2,000 lines", () => {
  it.each(["before", "after"])("edits once when kill -9 comes %s the result is durable", async (when) => {
    await using home = await openEditHome();
    await using pattern = await openEditHome();
    endedWith(0, await pattern.goald.ask(RUN));
    // The third edit: its file is changed before its result is in the log.
    const seq = resultsOf((await lookInto(pattern.goald)).log)[3]?.seq;
    const killed = await killUnder(killAtEvent(`1:${seq}:${when}`), home.goald, RUN);
    expect(killed.signal).toBe("SIGKILL");
    expect(await home.goald.read("workspace/t/tasks.py")).toContain("stop_40(");
    expect(await versionsIn(home.goald)).toHaveLength(when === "before" ? 2 : 3);
    endedWith(0, await home.goald.ask("resume t --json"));
    const { log, problems } = await lookInto(home.goald);
    expect(resultsOf(log).map(({ observation }) => observation.status)).toEqual("ok ok failed ok ok ok".split(" "));
    expect(resultsOf(log)[3]?.reconciled).toBe(when === "before" ? true : undefined);
    expect(await home.goald.read("workspace/t/tasks.py")).toBe(EDITED);
    // The probe has proved that the file is as the agent left it: no version counts as a person's edit.
    expect(await versionsIn(home.goald)).toEqual([1, 2, 4, 5].map((step) => `write in step ${step}`));
    expect(problems).toEqual([]);
    endedWith(0, await home.goald.ask("restore t --step 1"));
    expect(await home.goald.read("workspace/t/tasks.py")).toBe(FILE);
  });
});
