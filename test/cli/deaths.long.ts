import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, lookInto } from "../helpers/goald.ts";
import { numberedModel, replyWith } from "../helpers/numbered-model.ts";

/** An own command of the home. `run`: the body of its function. */
const commandFile = (name: string, run: string): string => `export default {
  name: "${name}", label: "${name}", summary: "Does it.", args: { type: "object", properties: {} },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false }, effect: "pure",
  timeoutMs: 300_000,
  async run(_args, { signal }) { ${run} },
};`;
const nap = (ms: number): string => `await new Promise((resolve, reject) => {
  setTimeout(resolve, ${ms});
  signal.addEventListener("abort", () => reject(signal.reason));
}); return "Slept.";`;

interface View {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
}

const viewsOf = async ({ goald }: DaemonHome): Promise<readonly View[]> => {
  const { stdout, code } = await goald.ask(["ps", "--all", "--json"]);
  return code === 0 ? (JSON.parse(stdout) as { agents: View[] }).agents : [];
};
const typesOf = async ({ goald }: DaemonHome, agent: string): Promise<readonly string[]> =>
  (await lookInto(goald, agent)).log.map(({ type }) => type);

describe.each([
  ["in the background", ["run", "-d"]],
  ["each in front of its own terminal", ["run", "--json", "--continuous"]],
])("a daemon with one command that kills it, and four innocent agents with commands under way, %s", (_where, run) => {
  it("pauses the agent whose command it is, and the four finish", async () => {
    const innocent = numberedModel([
      { name: "nap", args: {} },
      { name: "nap", args: {} },
    ]);
    await using home = await makeDaemonHome([], {
      reply: (request) =>
        request.messages[0]?.content.includes("You are Boom")
          ? replyWith({ name: "boom", args: {} })
          : innocent(request),
    });
    const { goald } = home;
    await goald.write("commands/boom.ts", commandFile("boom", "process.exit(9);"));
    await goald.write("commands/nap.ts", commandFile("nap", nap(700)));
    const runs = ["Ada", "Ben", "Cleo", "Dora", "Boom"].map((name) =>
      goald.run([...run, "--name", name, "--role", "r", "--goal", "g"]),
    );
    const isOver = ({ state }: { state: string }): boolean => state === "completed" || state.startsWith("paused");
    let views = await viewsOf(home);
    // `ps` and each terminal start a daemon that has died.
    for (let looks = 0; looks < 240 && !(views.length === 5 && views.every(isOver)); looks++) {
      await sleep(250);
      views = await viewsOf(home);
    }
    expect(Object.fromEntries(views.map(({ id, state }) => [id, state]))).toEqual({
      ada: "completed",
      ben: "completed",
      cleo: "completed",
      dora: "completed",
      boom: "paused: crash-loop",
    });
    expect(views.find(({ id }) => id === "boom")?.reason).toMatch(/died \d+ times.*the last time in boom/);
    expect((await typesOf(home, "boom")).filter((type) => type === "command-started").length).toBeLessThanOrEqual(4);
    for (const agent of ["ada", "ben", "cleo", "dora"])
      expect(await typesOf(home, agent)).not.toContain("agent-paused");
    expect(await typesOf(home, "boom")).not.toContain("agent-resumed");
    await Promise.all(runs);
  }, 120_000);
});

describe("an orderly end of the daemon in the middle of a long command", () => {
  it("is not a death: after four of them, hard and soft, the agent goes on", async () => {
    await using home = await makeDaemonHome([{ name: "nap", args: {} }]);
    const { goald } = home;
    await goald.write("commands/nap.ts", commandFile("nap", nap(290_000)));
    endedWith(0, await goald.ask(["run", "-d", "--name", "T", "--role", "r", "--goal", "g"]));
    for (let downs = 1; downs <= 3; downs++) {
      await home.logged("command-started", downs);
      endedWith(0, await goald.ask(["down", "-t", "0"]));
      if (downs < 3) endedWith(0, await goald.ask(["up"]));
    }
    const unit = goald.start(["up", "--foreground", "--home", goald.home]);
    await home.logged("command-started", 4);
    unit.kill("SIGTERM");
    // Two signals of one kind that arrive together are one.
    await sleep(500);
    unit.kill("SIGTERM");
    endedWith(0, await unit.ended);
    endedWith(0, await goald.ask(["up"]));
    await home.logged("command-started", 5);
    const types = await typesOf(home, "t");
    expect(types.filter((type) => type === "call-cut-off")).toHaveLength(4);
    expect(types).not.toContain("call-interrupted");
    expect((await viewsOf(home))[0]?.state).toBe("running");
    await goald.ask(["down", "-t", "0", "--kill"]);
  }, 120_000);
});
