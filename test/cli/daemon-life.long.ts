import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { isDaemonExpected } from "#api/daemon-files.ts";
import { ensureDaemon } from "#api/find-daemon.ts";
import { spawnDaemon } from "#api/spawn-daemon.ts";
import { isGoaldError } from "#core/errors.ts";
import type { AgentView } from "#views/agent-view.ts";
import {
  type DaemonHome,
  type DaemonHomeOptions,
  killAtCommit,
  killAtEvent,
  makeDaemonHome,
} from "../helpers/daemon-home.ts";
import { AGENT, daemonOf, endedWith, errorOf, homeOf, jsonOf, lookInto } from "../helpers/goald.ts";
import { enterDoor } from "../helpers/local-server.ts";
import { numberedModel, replyWith } from "../helpers/models.ts";

/** Shorter for the calls that meet the end; the other tests must reach the daemon before it. */
const IDLE_MS = 3_000;
const SHORT_MS = 400;
const PROGRAM = fileURLToPath(new URL("../helpers/idle-daemon.child.ts", import.meta.url));
const SETTINGS = { approve: "never", stepLimit: 3 } as const;

/** A home whose next daemon ends after `IDLE_MS`, as one does after ten minutes that a verb started. */
async function openHome(options?: DaemonHomeOptions) {
  const made = await makeDaemonHome([], options);
  const { goald, server } = made;
  await goald.write(".env", `OPENAI_BASE_URL=${server.baseUrl}\nGOALD_MEMORY_EMBEDDER=offline\n`);
  const home = await homeOf(goald);
  return {
    ...made,
    home,
    daemon: daemonOf(goald),
    start: (idleMs = IDLE_MS) => {
      process.env.IDLE_MS = `${idleMs}`;
      return spawnDaemon(home, { program: PROGRAM });
    },
  };
}

describe("a daemon that nothing has needed for its time", () => {
  it("ends, is not missed, and the next verb starts another one", async () => {
    await using world = await openHome();
    const { daemon, goald, home, start } = world;
    await start();
    await daemon.until("it ends", () => !daemon.isHeld());
    expect(isDaemonExpected(home)).toBe(false);
    expect(await goald.print("logs --daemon")).toContain("The daemon has gone down.");
    endedWith(0, await goald.ask("run --continuous --name T --role r -g g"));
    expect(daemon.isHeld()).toBe(true);
  });

  it("stays while an agent waits for a time, and while somebody follows one", async () => {
    await using world = await openHome({ reply: () => ({ status: 429, headers: { "retry-after": "120" } }) });
    const { daemon, start } = world;
    await start();
    await daemon.client.create({ name: "T", role: "r", goals: ["g"], settings: SETTINGS });
    await world.logged("model-failed");
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    await daemon.client.kill("t");
    const leaving = new AbortController();
    const following = daemon.client.follow("t", { after: 0, signal: leaving.signal })[Symbol.asyncIterator]();
    await following.next();
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    leaving.abort();
    await following.return?.();
    await daemon.until("it ends", () => !daemon.isHeld());
  });

  it("stays while a page follows an agent, and not for a page that asks without a key", async () => {
    await using world = await openHome();
    const { daemon, start } = world;
    await start();
    await daemon.client.create({ name: "T", role: "r", goals: ["g"], settings: SETTINGS });
    const page = await enterDoor({ server: daemon.client });
    const following = await page.follow("/v1/agents/t/events");
    await following.until(() => following.numbers.length > 0);
    await daemon.client.kill("t");
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    await following[Symbol.asyncDispose]();
    await daemon.until("it ends", async () => {
      await fetch(`http://127.0.0.1:${page.port}/v1/agents`).catch(() => undefined);
      return !daemon.isHeld();
    });
  });

  it("stays when goald up has asked for it", async () => {
    await using world = await openHome();
    const { daemon, goald, start } = world;
    await start();
    endedWith(0, await goald.ask("up"));
    await sleep(1.5 * IDLE_MS);
    expect(daemon.isHeld()).toBe(true);
    endedWith(0, await goald.ask("down"));
  });
});

it("three hundred calls within 50 ms of the end are each accepted once or refused, and none is lost", async () => {
  await using world = await openHome();
  const { daemon, goald, home, start } = world;
  const accepted: string[] = [];
  const refused: string[] = [];
  await ensureDaemon(home);
  await daemon.client.create({ name: "Hub", role: "r", goals: ["g"], settings: { ...SETTINGS, stepLimit: null } });
  for (let round = 0; round < 30; round++) {
    if (daemon.isHeld()) await daemon.client.shutdown(1_000);
    await daemon.until("no daemon is left", () => !daemon.isHeld());
    await start(SHORT_MS);
    const calls = Array.from({ length: 10 }, async (_none, at) => {
      await sleep(SHORT_MS - 100 + 100 * Math.random());
      const name = `r${round}n${at}`;
      try {
        const { client } = await ensureDaemon(home);
        if (at % 2 === 0) await client.create({ name, role: "r", goals: ["g"], settings: SETTINGS, key: name });
        else await client.say("hub", { from: "ada", text: `${name}.`, key: name });
        accepted.push(name);
      } catch (thrown) {
        if (!isGoaldError(thrown, "GOALD_DAEMON")) throw thrown;
        refused.push(name);
      }
    });
    await Promise.all(calls);
  }
  // The next one is not a daemon that ends soon.
  if (daemon.isHeld()) await daemon.client.shutdown(1_000);
  await daemon.until("no daemon is left", () => !daemon.isHeld());
  await ensureDaemon(home);
  const names = new Set(accepted);
  const isOver = async () => (await daemon.client.agents()).every(({ state }) => state === "completed");
  await daemon.until("all agents are done", isOver);
  const { agents } = await goald.json<{ agents: { name: string }[] }>("ps --all");
  const made = agents.map(({ name }) => name).filter((name) => name !== "Hub");
  const heard = (await lookInto(goald, "hub")).log.flatMap((event) =>
    event.type === "message-received" ? [String(event.text).replace(/\.$/, "")] : [],
  );
  expect([...made, ...heard].sort()).toEqual([...names].sort());
  expect(accepted.length + refused.length).toBe(300);
  expect(accepted.length).toBeGreaterThan(200);
  await daemon.until("one daemon is left", async () => (await daemon.processes()).length === 1);
  expect((await lookInto(goald, "hub")).problems).toEqual([]);
}, 300_000);

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

const viewsOf = async ({ goald }: DaemonHome): Promise<readonly AgentView[]> => {
  const { stdout, code } = await goald.ask("ps --all --json");
  return code === 0 ? (JSON.parse(stdout) as { agents: AgentView[] }).agents : [];
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

describe.each(["before", "after"])("a daemon that is killed %s the commit of a request", (when) => {
  it("is started again by goald run, which creates one agent, and by goald say, whose words come once", async () => {
    await using home = await makeDaemonHome([], { reply: numberedModel([]) });
    const { goald } = home;
    const dyingWith = async (hooks: Parameters<typeof goald.start>[1]) => {
      const daemon = goald.start("up --foreground", hooks);
      await daemon.see("The daemon is ready");
      return daemon;
    };
    const first = await dyingWith(killAtEvent(`1:1:${when}`));
    endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
    expect((await first.ended).signal).toBe("SIGKILL");
    await home.logged("turn-finished");
    expect((await viewsOf(home)).map(({ id }) => id)).toEqual(["t"]);
    endedWith(0, await goald.ask("down"));
    const second = await dyingWith(killAtCommit(`1:${when}`));
    endedWith(0, await goald.ask(["say", "t", "Once and only once"]));
    expect((await second.ended).signal).toBe("SIGKILL");
    await home.logged("turn-finished", 2);
    const { log, problems } = await lookInto(goald);
    expect(log.filter((event) => event.type === "message-received")).toHaveLength(1);
    expect(problems).toEqual([]);
  });
});

it("an orderly end of the daemon in a long command is not a death: after four of them the agent goes on", async () => {
  await using home = await makeDaemonHome([{ name: "nap", args: {} }]);
  const { goald } = home;
  await goald.write("commands/nap.ts", commandFile("nap", nap(290_000)));
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
  for (let downs = 1; downs <= 3; downs++) {
    await home.logged("command-started", downs);
    endedWith(0, await goald.ask("down -t 0"));
    if (downs < 3) endedWith(0, await goald.ask("up"));
  }
  const unit = goald.start(["up", "--foreground", "--home", goald.home]);
  await home.logged("command-started", 4);
  expect(errorOf(endedWith(7, await goald.run("up --foreground --json"))).code).toBe("GOALD_ALREADY_RUNNING");
  unit.kill("SIGTERM");
  // Two signals of one kind that arrive together are one.
  await sleep(500);
  unit.kill("SIGTERM");
  endedWith(0, await unit.ended);
  expect(JSON.parse((await goald.run("status --json")).stdout)).toEqual({ running: false, died: false });
  expect((await goald.run("ps")).stderr).toMatch(/^The daemon had ended; started again/);
  await home.logged("command-started", 5);
  const types = await typesOf(home, "t");
  expect(types.filter((type) => type === "call-cut-off")).toHaveLength(4);
  expect(types).not.toContain("call-interrupted");
  expect((await viewsOf(home))[0]?.state).toBe("running");
  await goald.ask("down -t 0 --kill");
}, 120_000);

it("a daemon that hangs is named by ps beside the agents, and refuses a new one; down --kill ends it", async () => {
  await using home = await makeDaemonHome([], { reply: () => replyWith({ name: "hang", args: {} }) });
  const { goald } = home;
  await using daemon = daemonOf(goald);
  await goald.write("commands/hang.ts", commandFile("hang", "for (;;) {}"));
  endedWith(0, await goald.ask("up"));
  expect(endedWith(0, await goald.ask("ps")).stderr).toBe("");
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
  await home.logged("command-started");
  const pid = daemon.pid();
  const silence = `The daemon (pid ${pid}) takes no calls: `;

  const listed = endedWith(0, await goald.ask("ps"));
  expect(listed.stdout).toMatch(/^t +running /m);
  expect(listed.stderr).toMatch(/ did not answer within 2 s\. If it hangs: goald down --kill, then goald up\n$/);
  expect(listed.stderr).toContain(silence);
  const json = await goald.ask("ps --json");
  expect(jsonOf(json)).toEqual({ agents: [expect.objectContaining({ id: "t", state: "running" })] });
  expect(json.stderr).toContain(silence);
  expect(endedWith(4, await goald.ask("status")).stdout).toContain(silence);
  expect(JSON.parse(endedWith(4, await goald.ask("status --json")).stdout)).toMatchObject({
    running: true,
    answers: false,
    host: { pid },
  });

  const refused = endedWith(4, await goald.ask("run -d --name Other --goal g"));
  expect(refused.stderr).toContain(silence);
  expect(refused.stderr).toContain("goald down --kill");
  expect(refused.stdout).toBe("");
  expect((await lookInto(goald, "other")).log).toEqual([]);

  expect(errorOf(endedWith(4, await goald.ask("down -t 0 --json"))).message).toContain(`(pid ${pid})`);
  expect(await daemon.processes()).toEqual([pid]);
  expect(await goald.json("down -t 0 --kill")).toMatchObject({ stopped: true, pid, killed: true });
  const after = endedWith(0, await goald.ask("ps"));
  expect(after.stdout).toMatch(/^t +interrupted /m);
  expect(after.stdout).not.toContain("Other");
  expect(after.stderr).toBe("");
});
