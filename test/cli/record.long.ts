import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { type Ended, endedWith, errorOf, type Goald, linesOf, lookInto } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const FILE = "t.ndjson";
const recorded = ({ cwd }: Goald): string => join(cwd, FILE);
const typesIn = async (goald: Goald, type: string): Promise<number> =>
  (await readFile(recorded(goald), "utf8")).split("\n").filter((line) => line.startsWith(`{"type":"${type}"`)).length;
/** Parses the last line of a replay: whether it matched, and what was compared. */
const replayed = async (goald: Goald, code = 0): Promise<Record<string, unknown>> =>
  linesOf(endedWith(code, await goald.ask(["replay", FILE, "--json"], { env: { TMPDIR: goald.cwd } }))).at(-1) ?? {};

/** Starts a recorded agent `t` in the background that waits for an approval. */
async function waiting(tasks: number): Promise<DaemonHome> {
  const home = await makeDaemonHome(ledger(tasks));
  endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, "--approve", "always", "--record", FILE]));
  await home.logged("approval-asked");
  return home;
}

async function finish(home: DaemonHome): Promise<void> {
  endedWith(0, await home.goald.ask(["approve", "t", "-N", "99"]));
  await home.logged("turn-finished");
  await home.until(async () => (await readFile(recorded(home.goald), "utf8")).includes('\n{"type":"end"'), "the end");
}

describe("a recorded agent of a daemon", () => {
  it.concurrent("replays to the same state, because the recording holds the person's words and approvals", async () => {
    await using home = await waiting(3);
    const { goald } = home;
    expect((await stat(recorded(goald))).mode & 0o777).toBe(0o600);
    endedWith(0, await goald.ask(["say", "t", "Mind ghp_plantedPLANTED1234567890abcdefghijk"]));
    endedWith(0, await goald.ask(["deny", "t", "Write shorter lines"]));
    await home.logged("approval-asked", 2);
    await finish(home);
    const { log } = await lookInto(goald);
    expect(await replayed(goald)).toMatchObject({ same: true, sessions: 1, problems: [] });
    const text = await readFile(recorded(goald), "utf8");
    expect(text).not.toContain("ghp_planted");
    expect(text).toContain("Write shorter lines");
    // Control: the replay with another answer of the model ends in another state.
    await writeFile(recorded(goald), text.replaceAll("line 2", "line two"));
    const ended = endedWith(1, await goald.ask(["replay", FILE, "--json"], { env: { TMPDIR: goald.cwd } }));
    expect(errorOf({ stderr: ended.stderr.trim().split("\n").at(-1) ?? "" }).code).toBe("GOALD_REPLAY");
    expect(log.length).toBeGreaterThan(10);
  });

  it.concurrent("is still recorded after the daemon was killed, and after it was restarted", async () => {
    await using home = await waiting(3);
    const { goald } = home;
    await using daemon = daemonOf(goald);
    await daemon.kill();
    endedWith(0, await goald.ask(["up"]));
    endedWith(0, await goald.ask(["approve", "t"]));
    await home.logged("approval-asked", 2);
    endedWith(0, await goald.ask(["down"]));
    endedWith(0, await goald.ask(["up"]));
    await finish(home);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
    const { log } = await lookInto(goald);
    const played = join(goald.cwd, "played");
    endedWith(0, await goald.ask(["replay", FILE, "--json", "--home", played]));
    expect((await lookInto({ home: played })).log).toEqual(log);
    expect(await typesIn(goald, "session")).toBeGreaterThanOrEqual(3);
  });

  it.concurrent("is recorded through a pause, a kill in the middle of a call, and a resume", async () => {
    await using home = await waiting(3);
    const { goald } = home;
    endedWith(0, await goald.ask(["pause", "t"]));
    home.holdFrom(2);
    endedWith(0, await goald.ask(["resume", "t", "-d", "--approve", "never"]));
    await home.asked(2);
    endedWith(0, await goald.ask(["stop", "t", "--now"]));
    home.release();
    endedWith(0, await goald.ask(["resume", "t", "--json"]));
    expect(await readFile(recorded(goald), "utf8")).toContain('"pause":{"code":"killed"');
    expect(await replayed(goald)).toMatchObject({ same: true, problems: [] });
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("continues without a recording if writing it fails, and reports so", async () => {
    await using home = await waiting(2);
    const { goald } = home;
    await using daemon = daemonOf(goald);
    await daemon.kill();
    await writeFile(recorded(goald), "this is no recording\n");
    endedWith(0, await goald.ask(["up"]));
    endedWith(0, await goald.ask(["approve", "t", "-N", "9"]));
    await home.logged("turn-finished");
    expect(await goald.read(".goald/log/goald.log")).toContain(`Its recording in ${recorded(goald)} has ended: `);
    expect(await readFile(recorded(goald), "utf8")).toBe("this is no recording\n");
  });
});

describe("goald run --record with a daemon", () => {
  it.concurrent("records the run that it follows, and prints the path", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    endedWith(0, await goald.ask(["up"]));
    const ended: Ended = endedWith(0, await goald.ask(["run", ...AGENT, "--continuous", "--record", FILE]));
    const [, state] = /Recorded in .*\/t\.ndjson: 3 requests\.\nState: ([0-9a-f]{64})\n$/.exec(ended.stdout) ?? [];
    expect(await replayed(goald)).toMatchObject({ same: true, state });
    const refused = endedWith(2, await goald.ask(["run", "-d", ...AGENT, "--record", FILE, "--json"]));
    expect(errorOf(refused).message).toMatch(/^There is a file /);
    expect(JSON.parse((await goald.ask(["ps", "--json"])).stdout)).toMatchObject({ agents: [{ id: "t" }] });
  });

  it.concurrent("continues the recording at a resume, and records with --wait from the start", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    endedWith(6, await goald.ask(["run", "--wait", ...AGENT, "--max-steps", "1", "--record", FILE]));
    const resumed = endedWith(0, await goald.ask(["resume", "t", "--record", FILE]));
    expect(resumed.stdout).toContain("Recorded in ");
    expect(await replayed(goald)).toMatchObject({ same: true, sessions: 2 });
  });
});
