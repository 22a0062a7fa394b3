import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { listProcesses } from "../cage/processes.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, linesOf } from "../helpers/goald.ts";
import { numberedModel, replyWith, startAgent, write } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";
import { waitUntil } from "../helpers/waits.ts";

const DATA = '{"cities": ["Rome", "Oslo", "Bonn"]}\n';
const AGENT = `ai_name: Foo
ai_role: an assistant
ai_goals: [Write data.json]
ai_checks:
`;
const ALL_KINDS = `  - {file: data.json, schema: data.schema.json}
  - {code_file: check.py}
  - {python: 'import json; assert len(json.load(open("data.json"))["cities"]) == 3, "not three"'}
  - {judge: "Does it name three cities?", file: data.json}
`;
const JUDGEMENT = { passes: true, passage: '"Rome", "Oslo", "Bonn"', reason: "Three cities." };
const WORK = numberedModel([write("data.json", DATA)]);

type Stage = Awaited<ReturnType<typeof openStage>>;

async function openStage(checks: string, think: (request: ChatRequest) => string = WORK) {
  const home = await makeDaemonHome([], {
    reply: (request) => {
      const isJudged = request.messages[0]?.content.startsWith("You check somebody's work") === true;
      return isJudged ? JSON.stringify(JUDGEMENT) : think(request);
    },
  });
  const { goald } = home;
  await writeFile(join(goald.cwd, "agent.yaml"), AGENT + checks);
  await writeFile(join(goald.cwd, "data.schema.json"), '{"required": ["cities"]}');
  await writeFile(
    join(goald.cwd, "check.py"),
    'import json\nassert "Oslo" in json.load(open("data.json"))["cities"], "no Oslo"\n',
  );
  const env = { TMPDIR: goald.userHome };
  return {
    ...home,
    /** Names in the folder of temporary files that goald has made. */
    leftBehind: async () => (await readdir(goald.userHome)).filter((name) => name.startsWith("goald-")),
    start: (...args: readonly string[]) => goald.start(["test", ...args], { env }),
  };
}

/** The processes below this one, by the files of /proc. */
function descendantsOf(of: number): readonly number[] {
  const children = listProcesses().filter(({ parent }) => parent === of);
  return children.flatMap(({ pid }) => [pid, ...descendantsOf(pid)]);
}
const isAlive = (of: number): boolean => listProcesses().some(({ pid }) => pid === of);

/** The process id of the test, by the lock of its temporary home. */
async function pidOf({ goald, leftBehind }: Stage): Promise<number> {
  const [home = ""] = await leftBehind();
  const info = JSON.parse(await readFile(join(goald.userHome, home, ".goald", "daemon.json"), "utf8")) as {
    pid: number;
  };
  return info.pid;
}

describe("goald test with checks of all kinds", () => {
  it("proves each, and plays the recording with the same proofs, without a server and without a process", async () => {
    await using stage = await openStage(ALL_KINDS);
    const live = endedWith(0, await stage.start("agent.yaml", "--record", "a.ndjson", "--json").ended);
    expect(linesOf(live)).toMatchObject([
      {
        passed: true,
        checks: [
          { isPassed: true, check: expect.stringContaining("JSON Schema") },
          { isPassed: true, check: "the program check.py that a person wrote passes (Python)" },
          { isPassed: true, check: "a program that a person wrote passes (Python)" },
          { isPassed: true, proof: expect.stringContaining("Oslo") },
        ],
      },
    ]);
    await stage.server.close();
    const played = endedWith(0, await stage.start("agent.yaml", "--replay", "a.ndjson", "--json").ended);
    expect(played.stdout).toBe(live.stdout);
    expect(await stage.leftBehind()).toEqual([]);
  });

  it("names what is wrong when a program or the judge says no", async () => {
    await using stage = await openStage(ALL_KINDS.replace("== 3", "== 4"));
    const ended = endedWith(10, await stage.start("agent.yaml", "--json").ended);
    expect(linesOf(ended)).toMatchObject([
      {
        outcome: "not-proven",
        checks: [
          { isPassed: true },
          { isPassed: true },
          { isPassed: false, proof: expect.stringContaining("not three") },
          {},
        ],
      },
    ]);
  });
});

describe("Ctrl-C in goald test", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s finishes the step and removes the home", async (signal) => {
    await using stage = await openStage("  - {file: data.json}\n");
    stage.holdFrom(1);
    const running = stage.start("agent.yaml", "agent.yaml", "--json");
    await stage.asked(1);
    expect(await stage.leftBehind()).toHaveLength(1);
    running.kill(signal);
    await running.see("Finishing this step. Again to stop at once.", "stderr");
    stage.release();
    const ended = endedWith(130, await running.ended);
    expect(linesOf(ended)).toMatchObject([{ passed: false, outcome: "person", step: 1, exitCode: 130 }]);
    expect(await stage.leftBehind()).toEqual([]);
  });

  it("twice stops a program of a check at once, with its process and the home", async () => {
    await using stage = await openStage('  - {python: "while True: pass"}\n');
    const running = stage.start("agent.yaml");
    await running.see("task_complete");
    const pid = await pidOf(stage);
    await waitUntil("the program's process", () => descendantsOf(pid).length > 0);
    const processes = descendantsOf(pid);
    running.kill("SIGINT");
    await running.see("Again to stop at once.");
    running.kill("SIGINT");
    const ended = endedWith(130, await running.ended);
    expect(ended.stdout).toContain("Not passed: agent.yaml");
    await waitUntil("the end of its processes", () => !processes.some(isAlive));
    expect(await stage.leftBehind()).toEqual([]);
  });

  it("removes the home when it comes before the agent is there", async () => {
    await using stage = await openStage("  - {file: data.json}\n");
    const running = stage.start("agent.yaml");
    await running.see("agent.yaml: Foo");
    running.kill("SIGINT");
    endedWith(130, await running.ended);
    expect(await stage.leftBehind()).toEqual([]);
  });
});

it("an agent with helpers in goald test leaves no daemon behind that goes on with it", async () => {
  await using stage = await openStage("  - {file: data.json}\n", () => replyWith(startAgent("Helper")));
  // All requests after the first stay open.
  stage.holdFrom(2);
  const running = stage.start("agent.yaml");
  await stage.asked(2);
  const [home = ""] = await stage.leftBehind();
  const folder = join(stage.goald.userHome, home, ".goald");
  expect(await readdir(folder)).not.toContain("wanted");
  running.kill("SIGINT");
  const ended = endedWith(130, await running.ended);
  expect(ended.stderr).not.toContain("in the background");
  expect(await stage.leftBehind()).toEqual([]);
});
