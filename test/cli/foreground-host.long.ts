import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { type Client, connectHost } from "#api/client.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, errorOf, type Goald, linesOf, lookInto, type Terminal } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const RUN = ["run", ...AGENT, "--continuous", "--json"];
const GIVEN = { approve: "never", stepLimit: 9 } as const;
const socketOf = ({ home }: Goald): string => join(home, ".goald", "daemon.sock");

/** Waits until the run that holds the home takes calls, and returns it. */
async function hostOf({ goald, until }: DaemonHome): Promise<Client> {
  const client = connectHost(socketOf(goald));
  const takesCalls = (): Promise<boolean> =>
    client.status().then(
      () => true,
      () => false,
    );
  await until(takesCalls, "a host that takes calls");
  return client;
}

/** Starts an agent `t` on a terminal and waits for its first approval question. */
async function asking({ goald }: DaemonHome): Promise<Terminal> {
  const terminal = goald.openTerminal(["run", ...AGENT]);
  await terminal.see("append_to_file");
  await terminal.see("Run it? ");
  return terminal;
}

describe("a run on a terminal", () => {
  it.concurrent("accepts an approval from another process, and continues", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    const terminal = await asking(home);
    endedWith(0, await goald.ask(["approve", "t"]));
    await terminal.see("It was approved elsewhere.");
    await terminal.see("Result (ok)");
    await terminal.see("Run it? ");
    endedWith(0, await goald.ask(["deny", "t", "Not that line"]));
    await terminal.see("It was denied elsewhere.");
    await terminal.see("Not that line");
    await terminal.answer("Run it? ", "y");
    const { stdout } = endedWith(0, await terminal.ended);
    expect(stripVTControlCharacters(stdout)).toMatch(/to do instead\]: \r\nIt was approved elsewhere\.\r\nResult/);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log.filter(({ type }) => type === "approval-asked")).toHaveLength(3);
    // No socket is left behind.
    await expect(stat(socketOf(goald))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.concurrent("continues when a follower closes its input inside a line", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    home.holdFrom(2);
    const running = goald.start(RUN);
    await home.asked(2);
    await hostOf(home);
    const follower = goald.start(["attach", "t", "--since", "1", "--json"], { shell: '"$@" | head -n 1' });
    await follower.see('"seq"');
    home.release();
    endedWith(0, await follower.ended);
    expect(linesOf(endedWith(0, await running.ended)).at(-1)).toMatchObject({ outcome: "completed" });
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("asks again after words arrive at its question, and stops when another process stops it (exit 11)", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    const terminal = await asking(home);
    terminal.type("y");
    await (await hostOf(home)).say("t", { from: "ada", text: "mind the gap" });
    await terminal.see("ada says:");
    // The half-typed line stays, and answers nothing without Enter.
    await terminal.see("Run it? ");
    const stopped = endedWith(0, await goald.ask(["stop", "t"]));
    expect(stopped.stdout).toContain("t is stopped (step 1). Continue: goald resume t");
    expect(endedWith(11, await terminal.ended).stdout).toContain("Go on with: goald resume t");
    expect(await goald.read("workspace/t/ledger.txt")).toBeUndefined();
    expect(await goald.read("workspace/t/_goald/report.md")).toContain("stopped");
  });

  it.concurrent("accepts followers, words and a pause from other processes; goald down does not end it (exit 7)", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald, server } = home;
    home.holdFrom(2);
    const run = goald.start(RUN);
    await home.asked(2);
    const client = await hostOf(home);
    expect(await client.status()).toMatchObject({ role: "foreground", agents: { running: 1 }, stopping: false });
    const attached = goald.start(["attach", "t", "--since", "1", "--json"]);
    await attached.see('"callId":"m2"');
    await client.say("t", { from: "ada", text: "mind the gap" });
    expect(errorOf(endedWith(7, await goald.ask(["down", "--json"])))).toMatchObject({ code: "GOALD_ALREADY_RUNNING" });
    await expect(client.reload()).rejects.toMatchObject({ code: "GOALD_ALREADY_RUNNING" });
    home.holdFrom(3);
    await home.asked(3);
    expect(server.chats[2]?.messages.some(({ content }) => content.includes("mind the gap"))).toBe(true);
    expect(await client.pause("t", "Enough for now.")).toMatchObject({ note: "It finishes its step first." });
    home.release();
    const [own, followed] = [endedWith(11, await run.ended), endedWith(11, await attached.ended)].map(linesOf);
    expect(own?.at(-1)).toMatchObject({ type: "result", outcome: "person", reason: "Enough for now.", step: 3 });
    expect(followed).toEqual(own);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("can be killed in the middle of a call (exit 11), and a resume sends the request again", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald } = home;
    home.holdFrom(1);
    const run = goald.start(RUN);
    await home.asked(1);
    expect((await (await hostOf(home)).kill("t")).agent).toMatchObject({ state: "killed", step: 1 });
    expect(linesOf(endedWith(11, await run.ended)).at(-1)).toMatchObject({ outcome: "killed" });
    home.release();
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(home.server.chats).toHaveLength(3);
    expect((await lookInto(goald)).problems).toEqual([]);
  });
});

describe("an agent created in the background of a run on a terminal", () => {
  it.concurrent("runs beside that run, and continues in a daemon after it", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    home.holdFrom(1);
    const run = goald.start(RUN);
    await home.asked(1);
    const holder = await home.hostPid();
    endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
    await home.asked(2);
    expect(await home.hostPid()).toBe(holder);
    await (await hostOf(home)).kill("t");
    const { stderr } = endedWith(11, await run.ended);
    expect(stderr).toMatch(/\n1 agent goes on in the background: goald ps\n$/);
    home.release();
    await home.logged("turn-finished", 1, "t-2");
    expect(await home.hostPid()).not.toBe(holder);
    expect(await goald.read("workspace/t-2/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("leaves no daemon behind if it finishes before the run", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald } = home;
    const terminal = await asking(home);
    await (await hostOf(home)).create({ name: "U", role: "r", goals: ["g"], settings: GIVEN });
    expect(await goald.read(".goald/wanted")).toBe("");
    await home.logged("turn-finished", 1, "u");
    terminal.type("y -9\r");
    endedWith(0, await terminal.ended);
    expect([await home.hostPid(), await goald.read(".goald/wanted")]).toEqual([undefined, undefined]);
  });

  it.concurrent("continues after kill -9 of the run, and the old socket does no harm", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    home.holdFrom(1);
    const run = goald.start(RUN);
    await home.asked(1);
    const holder = (await home.hostPid()) as number;
    await (await hostOf(home)).create({ name: "U", role: "r", goals: ["g"], settings: GIVEN });
    await home.asked(2);
    process.kill(holder, "SIGKILL");
    expect((await run.ended).signal).toBe("SIGKILL");
    expect((await stat(socketOf(goald))).isSocket()).toBe(true);
    home.release();
    endedWith(0, await goald.ask(["ps"]));
    await home.logged("turn-finished", 1, "u");
    expect((await (await hostOf(home)).status()).role).toBe("daemon");
    expect((await lookInto(goald)).log.at(-1)?.type).toBe("model-asked");
  });
});

describe("a run that cannot take calls", () => {
  it.concurrent("finishes normally, and callers get an error (exit 7)", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald } = home;
    // The home's path is too long for a socket, and a file replaces the fallback folder.
    const long = join(goald.home, "x".repeat(100));
    const TMPDIR = goald.cwd;
    await writeFile(join(TMPDIR, `goald-${process.getuid?.()}`), "");
    const env = { GOALD_HOME: long, TMPDIR };
    home.holdFrom(2);
    const run = goald.start(RUN, { env });
    await home.asked(2);
    const refused = errorOf(endedWith(7, await goald.ask(["say", "t", "Hello", "--json"], { env })));
    expect(refused).toMatchObject({ code: "GOALD_ALREADY_RUNNING", hint: expect.stringContaining("takes no calls") });
    const readLog = (): Promise<string | undefined> => goald.read(join("x".repeat(100), ".goald", "log", "goald.log"));
    await home.until(async () => (await readLog())?.includes("This run takes no calls: ") === true, "a warning");
    home.release();
    expect(endedWith(0, await run.ended).stderr.split("\n")).toEqual([expect.stringContaining("works in"), ""]);
    expect((await readLog())?.match(/This run takes no calls: /g)).toHaveLength(1);
    await rm(long, { recursive: true });
  });
});
