import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ensureDaemon, findHost } from "#api/find-daemon.ts";
import type { CommandCall } from "#core/call.ts";
import { holdHostLock } from "#store/sqlite/host-lock.ts";
import { sendJson, startUnixServer } from "../api/unix-server.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { refusalOf } from "../helpers/folder.ts";
import { daemonOf, endedWith, errorOf, type Goald, homeOf, makeGoald, type TestDaemon } from "../helpers/goald.ts";
import { ask, enterDoor, greet, linkIn } from "../helpers/local-server.ts";
import { done, reply } from "../helpers/loop.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { write } from "../helpers/models.ts";
import { waitUntil } from "../helpers/waits.ts";

const wanted = ({ home }: Goald): boolean => existsSync(join(home, ".goald", "wanted"));
/** A home whose daemon is up. */
async function openUp(calls: readonly CommandCall[] = []) {
  const home = await makeDaemonHome(calls);
  endedWith(0, await home.goald.run("up"));
  return { ...home, daemon: daemonOf(home.goald) };
}
/** A home whose daemon has an agent that waits for a yes. */
async function openWaiting() {
  const home = await openUp([write("a.txt", "a")]);
  await createWaiting(home.daemon);
  return home;
}

describe("goald up", () => {
  it("starts a daemon without terminal or working folder, with private output", async () => {
    await using home = await openUp();
    const { goald, daemon } = home;
    expect(await daemon.processes()).toEqual([daemon.pid()]);
    const [, , , , group, session, terminal] = (await readFile(`/proc/${daemon.pid()}/stat`, "utf8")).split(" ");
    expect([group, session, terminal]).toEqual([`${daemon.pid()}`, `${daemon.pid()}`, "0"]);
    expect((await stat(join(goald.home, ".goald", "log", "daemon.out"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(goald.home, ".goald", "daemon.sock"))).mode & 0o777).toBe(0o600);
  });

  it("shows the last output of a daemon that died while it started, and times out on one that does not report", async () => {
    await using goald = await makeGoald();
    const program = join(goald.cwd, "daemon.mjs");
    await writeFile(
      program,
      'console.error("earlier"); process.stderr.write("\\u001b[31mThe roof is on fire\\n"); process.exit(9);',
    );
    await expect(ensureDaemon(await homeOf(goald), { program })).rejects.toMatchObject({
      code: "GOALD_DAEMON",
      message: "The daemon ended with exit code 9 before it was ready.",
      hint: "earlier\nThe roof is on fire",
    });
    await writeFile(program, "setTimeout(() => {}, 60_000);");
    const { code, hint } = await refusalOf(ensureDaemon(await homeOf(goald), { program, readyMs: 300 }));
    expect(code).toBe("GOALD_DAEMON");
    expect(hint).toMatch(/\nSee whether you may start more processes: ulimit -u$/);
    const pid = Number(/^End it if it does not: kill (\d+)$/m.exec(hint)?.[1]);
    // The error arrives while that process still runs.
    process.kill(pid, "SIGKILL");
  });

  it("does not take a run that answers no calls for a daemon (exit 7), and names its owner", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.run("ps"));
    const startedAt = new Date().toISOString();
    using _run = holdHostLock(join(goald.home, ".goald", "lock.db"), { pid: process.pid, version: "9.9.9", startedAt });
    const refused = errorOf(endedWith(7, await goald.run("up --json")));
    expect(refused).toMatchObject({
      code: "GOALD_ALREADY_RUNNING",
      message: `The agents of this home are run by process ${process.pid} (goald 9.9.9, since ${startedAt}).`,
    });
    expect(JSON.parse(endedWith(4, await goald.run("status --json")).stdout)).toMatchObject({
      running: true,
      answers: false,
      host: { pid: process.pid },
    });
    expect(errorOf(endedWith(7, await goald.run("down --kill --json"))).code).toBe("GOALD_ALREADY_RUNNING");
    expect(await findHost(await homeOf(goald))).toBeUndefined();
  });
});

describe("goald down", () => {
  it("ends the daemon for good and lists unfinished agents, which goald up and goald restart continue", async () => {
    await using home = await makeDaemonHome([write("a.txt", "a")]);
    const { goald } = home;
    const daemon = daemonOf(goald);
    expect(await goald.print("restart")).toContain("The daemon is up (pid ");
    await createWaiting(daemon);
    const pid = daemon.pid();
    expect(wanted(goald)).toBe(true);
    const ended = endedWith(0, await goald.run("down"));
    expect(ended.stdout).toContain(`The daemon is down (pid ${pid}).\nNot finished: t.`);
    expect([daemon.isHeld(), wanted(goald)]).toEqual([false, false]);
    endedWith(0, await goald.run("ps"));
    expect(daemon.isHeld()).toBe(false);
    endedWith(0, await goald.run("up"));
    const before = daemon.pid();
    const again = endedWith(0, await goald.run("restart"));
    expect(daemon.pid()).not.toBe(before);
    expect(again.stdout).toContain(`The daemon is up again; its agents continue (pid ${daemon.pid()}`);
    expect((await daemon.client.agent("t")).state).toBe("waiting: approval");
    await daemon.until("the old one has ended", async () => (await daemon.processes()).length === 1);
    const stopped = await goald.json("down");
    expect(stopped).toEqual({ stopped: true, pid: expect.any(Number), killed: false, unfinished: ["t"] });
  });

  it("reports the pid of a daemon that does not stop, and does not kill it (exit 1)", async () => {
    await using goald = await makeGoald();
    endedWith(0, await goald.run("ps"));
    const status = { pid: process.pid, version: "1.2.3", protocol: 1, stopping: false };
    await using server = await startUnixServer(({ path }, response) =>
      sendJson(response, 200, path === "/v1/status" ? status : {}),
    );
    const info = { pid: process.pid, version: "1.2.3", startedAt: new Date().toISOString() };
    await mkdir(join(goald.home, ".goald"), { recursive: true, mode: 0o700 });
    using _lock = holdHostLock(join(goald.home, ".goald", "lock.db"), { ...info, socket: server.socket });
    const ended = endedWith(1, await goald.run("down -t 0 --json"));
    expect(JSON.parse(ended.stdout)).toEqual({ stopped: false, pid: process.pid, killed: false, unfinished: [] });
    expect(ended.stderr).toContain(`The daemon (pid ${process.pid}) has not stopped within 10 s.`);
    expect(server.requests.map(({ method, path, body }) => `${method} ${path} ${body}`)).toContain(
      'POST /v1/shutdown {"graceMs":0}',
    );
  });
});

it("goald restart keeps the old daemon, as a reload does, if the settings keep the new one from starting", async () => {
  await using home = await openUp();
  const { goald, daemon } = home;
  const before = daemon.pid();
  await goald.write("config/goald.json", '{"models": {"temperature": "hot"}}');
  for (const verb of ["reload", "restart"])
    expect(errorOf(endedWith(2, await goald.run([verb, "--json"]))).code).toBe("GOALD_CONFIG");
  expect(daemon.pid()).toBe(before);
  await goald.write("config/goald.json", "{ not json");
  expect(await goald.print("status")).toContain("The daemon is up");
  // goald up passes on the error of the new one.
  endedWith(0, await goald.ask("down"));
  const refused = errorOf(endedWith(2, await goald.run("up --json")));
  expect(refused).toMatchObject({ code: "GOALD_CONFIG", message: expect.stringContaining("goald.json") });
  expect(daemon.isHeld()).toBe(false);
});

it("goald reload loads a changed command of the home, and keeps the last valid one while it is invalid", async () => {
  const own = (says: string) => `export default { name: "greet", summary: "Greets.", run: async () => "${says}" };`;
  await using home = await makeDaemonHome([], {
    reply: (request) => (JSON.stringify(request).includes("hello ") ? done() : reply("greet")),
  });
  const { goald, server } = home;
  await goald.write("commands/greet.ts", own("hello one"));
  const greet = async (): Promise<string> => {
    endedWith(0, await goald.run("run --wait --name G --role r --goal g --approve never"));
    return JSON.stringify(server.chats.at(-1));
  };
  expect(await greet()).toContain("hello one");
  await goald.write("commands/greet.ts", own("hello two"));
  endedWith(0, await goald.run("reload"));
  expect(await greet()).toContain("hello two");
  await goald.write("commands/greet.ts", "export default {");
  expect(endedWith(2, await goald.run("reload")).stderr).toContain("greet.ts:1 could not be loaded");
  expect(await greet()).toContain("hello two");
});

describe("a daemon that died", () => {
  it("is restarted by any verb, with one note, if its agents are not done", async () => {
    await using home = await openUp([write("a.txt", "a")]);
    const { goald, daemon } = home;
    await daemon.kill();
    // No agent is waiting, so the daemon may stay down.
    expect(endedWith(0, await goald.run("ps")).stderr).toBe("");
    expect(daemon.isHeld()).toBe(false);
    endedWith(0, await goald.run("up"));
    await createWaiting(daemon);
    await daemon.kill();
    const looked = endedWith(0, await goald.run("ps --json"));
    expect(looked.stderr).toBe(`The daemon had died; started again (pid ${daemon.pid()}).\n`);
    expect(JSON.parse(looked.stdout)).toMatchObject({ agents: [{ id: "t", state: "waiting: approval" }] });
    expect(endedWith(0, await goald.run("ps")).stderr).toBe("");
  });

  it("does not block verbs that only look if it cannot be restarted", async () => {
    await using home = await openWaiting();
    const { goald, daemon } = home;
    await daemon.kill();
    await rm(join(goald.home, ".goald", "daemon.sock"));
    await goald.write(".goald/daemon.sock/in-the-way", "");
    const looked = endedWith(0, await goald.run("ps --json"));
    expect(looked.stderr).toContain("The daemon is down and could not be started again.");
    expect(JSON.parse(looked.stdout)).toMatchObject({ agents: [{ id: "t" }] });
  });
});

const statusOf = async (port: number, key: string): Promise<number> =>
  (await ask({ port }, "GET", "/v1/agents", { headers: { authorization: `Bearer ${key}` } })).status;

describe("goald dashboard", () => {
  it("goes on at the next daemon when the daemon was killed, and not after `goald down`", async () => {
    await using goald = await makeGoald();
    await using daemon = daemonOf(goald);
    endedWith(0, await goald.ask("up"));
    const { port, secret, key } = await enterDoor({ server: daemon.client });
    expect(await statusOf(port, key)).toBe(200);
    await daemon.kill();
    await expect(statusOf(port, key)).rejects.toThrow("ECONNREFUSED");
    endedWith(0, await goald.ask("up"));
    expect(await statusOf(port, key)).toBe(401);
    expect(await statusOf(port, await greet(port, secret))).toBe(200);
    endedWith(0, await goald.ask("down"));
    endedWith(0, await goald.ask("up"));
    await expect(statusOf(port, key)).rejects.toThrow("ECONNREFUSED");
    expect(await goald.read(".goald/page.json")).toBe("null\n");
  });

  it("has the port of the setting", async () => {
    await using goald = await makeGoald();
    // A port that nobody had a moment ago.
    const { port, close } = await listenOnLoopback(() => {});
    await close();
    endedWith(0, await goald.ask(["config", "daemon.port", `${port}`]));
    endedWith(0, await goald.ask("up"));
    expect(await goald.json("status")).toMatchObject({ page: null });
    expect(await goald.print("status")).not.toContain("  page  ");
    expect((await enterDoor({ server: daemonOf(goald).client })).port).toBe(port);
    // Without a ticket, so that it lets nobody in.
    const page = `http://127.0.0.1:${port}/`;
    expect(await goald.json("status")).toMatchObject({ page });
    expect(await goald.print("status")).toContain(`  page          ${page} is open; goald dashboard lets a browser in
`);
  });

  it("--open hands the address that it prints to the system's program", async () => {
    await using goald = await makeGoald();
    const file = join(goald.cwd, "opened");
    const folder = join(goald.cwd, "bin");
    for (const name of ["open", "xdg-open"])
      await goald.write(join("..", "cwd", "bin", name), `#!/bin/sh\necho "$@" >> '${file}'\n`, 0o755);
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = endedWith(0, await goald.ask("dashboard --open", { env }));
    const opened = () => readFile(file, "utf8").catch(() => "");
    await waitUntil("the program was started", async () => (await opened()) !== "");
    expect([await opened(), linkIn(stdout.trim()).ticket]).toEqual([stdout, expect.stringMatching(/^[\da-f]{64}$/)]);
  });
});

const VERBS = ["up", "ps", "up", "ps", "up", "ps"];

it("thirty rounds of kill -9 and six simultaneous starts never leave two daemons or none", async () => {
  // The agent that causes the restart waits, so that it stays unfinished.
  await using home = await openWaiting();
  const { goald, daemon } = home;
  for (let round = 1; round <= 30; round++) {
    const before = daemon.pid();
    await daemon.kill();
    await daemon.until("none is left", async () => (await daemon.processes()).length === 0);
    const ended = await Promise.all(VERBS.map((verb) => goald.run([verb, "--json"])));
    for (const one of ended) endedWith(0, one);
    const pid = daemon.pid();
    expect(pid).not.toBe(before);
    const told = ended.filter((_one, at) => VERBS[at] === "up").map((one) => JSON.parse(one.stdout) as object);
    // All six got the same daemon, and at most one of them started it.
    expect(told).toEqual(told.map(() => expect.objectContaining({ pid, running: true })));
    const revived = ended.filter(({ stderr }) => stderr.includes("started again")).length;
    expect(told.filter((one) => "started" in one && one.started === true).length + revived).toBe(1);
    // The processes that lost the race end by themselves.
    await daemon.until("one process is left", async () => (await daemon.processes()).length === 1);
    expect(await daemon.processes()).toEqual([pid]);
    expect(await goald.json("status")).toMatchObject({ pid, agents: { waiting: 1 } });
  }
}, 600_000);

/** Starts an agent in the background whose first command waits for an approval. */
async function createWaiting({ client, until }: TestDaemon): Promise<void> {
  const settings = { approve: "always", stepLimit: null, background: true } as const;
  await client.create({ name: "t", role: "an assistant that waits", goals: ["wait"], settings });
  await until("the agent waits for a yes", async () => (await client.agent("t")).state === "waiting: approval");
}
