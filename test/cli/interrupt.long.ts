import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, linesOf, lookInto, type Terminal } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
const CONTINUOUS = ["run", ...AGENT, "--continuous"];
const lastEvent = async (goald: Goald) => (await lookInto(goald)).log.at(-1);
const readable = ({ shown }: Terminal): string => stripVTControlCharacters(shown).replaceAll("\r", "");

/** Ctrl-C and signals must act the same, whichever process runs the agent. */
describe.each([
  ["with a daemon", true],
  ["without a daemon", false],
])("%s, a run on a terminal", (_title, hasDaemon) => {
  async function openHome(tasks: number, heldFrom = Number.POSITIVE_INFINITY): Promise<DaemonHome> {
    const home = await makeDaemonHome(ledger(tasks));
    if (hasDaemon) endedWith(0, await home.goald.ask(["up"]));
    home.holdFrom(heldFrom);
    return home;
  }
  const PAUSED = { type: "agent-paused", code: "person", reason: "Stopped by the person at the terminal." };
  const LEFT = { type: "agent-paused", code: "person", reason: "The person at the terminal stopped here." };

  it.concurrent.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "finishes the step at %s and pauses the agent (exit 130)",
    async (signal) => {
      await using home = await openHome(3, 2);
      const { goald } = home;
      const running = goald.start([...CONTINUOUS, "--json"]);
      await home.asked(2);
      running.kill(signal);
      await running.see("Finishing this step. Again to stop at once.", "stderr");
      home.release();
      const ended = endedWith(130, await running.ended);
      expect(linesOf(ended).at(-1)).toMatchObject({ type: "result", outcome: "person", step: 2, exitCode: 130 });
      expect(await lastEvent(goald)).toMatchObject(PAUSED);
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
      expect(home.server.chats).toHaveLength(2);
      endedWith(0, await goald.ask(["resume", "t", "--continuous"]));
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
    },
  );

  it.concurrent("stops at once at the second Ctrl-C, and prints the cost and how to continue (exit 130)", async () => {
    await using home = await openHome(2, 2);
    const { goald } = home;
    const terminal = goald.openTerminal(CONTINUOUS);
    await home.asked(2);
    await terminal.see("Step 1");
    expect(readable(terminal)).toMatch(
      /^(?:Started the daemon \(pid \d+\)\.\n)?T \(t\) works in \S+\/workspace\/t\n\nStep 1/,
    );
    terminal.type("\x03");
    await terminal.see("Finishing this step. Again to stop at once.");
    terminal.type("\x03");
    endedWith(130, await terminal.ended);
    expect(readable(terminal).match(/Result/g)).toHaveLength(1);
    expect(readable(terminal)).toMatch(
      /2 steps, \d+ tokens in and \d+ out, \$\d\.\d+\.\nWorkspace: \S+\nGo on with: goald resume t\n$/,
    );
    expect(await lastEvent(goald)).toMatchObject({ type: "agent-paused", code: "killed" });
    home.release();
    endedWith(0, await goald.ask(["resume", "--continuous"]));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    expect((await lookInto(goald)).problems).toEqual([]);
  });

  it.concurrent("pauses at its question after Ctrl-C, Ctrl-D and n, and does not run the command", async () => {
    await using home = await openHome(1);
    const { goald } = home;
    for (const [call, typed, code] of [
      [["run", ...AGENT], "y\x03", 130],
      [["resume"], "\x04", 11],
      [["resume"], "n\r", 11],
    ] as const) {
      const terminal = goald.openTerminal(call);
      await terminal.see("Run it? ");
      terminal.type(typed);
      expect(endedWith(code, await terminal.ended).stdout).toContain("Go on with: goald resume t");
      expect(await lastEvent(goald)).toMatchObject(LEFT);
    }
    expect((await lookInto(goald)).log.map(({ type }) => type)).not.toContain("command-started");
  });

  it.concurrent("pauses when its output is closed (exit 0)", async () => {
    await using home = await openHome(3, 1);
    const { goald } = home;
    const shell = '{ "$@"; echo "ended with $?" >&2; } | { head -n 1; exec <&-; echo left >&2; }';
    const running = goald.start([...CONTINUOUS, "--json"], { shell });
    await running.see("left\n", "stderr");
    home.release();
    const ended = await running.ended;
    expect(ended.stderr).toContain("ended with 0\n");
    expect(await lastEvent(goald)).toMatchObject(PAUSED);
  });

  it.concurrent("pauses an agent that was resumed on this terminal too", async () => {
    await using home = await openHome(3);
    const { goald } = home;
    endedWith(6, await goald.ask([...CONTINUOUS, "--max-steps", "1"]));
    home.holdFrom(2);
    const terminal = goald.openTerminal(["resume", "t", "--max-steps", "9"]);
    await home.asked(2);
    terminal.type("\x03");
    await terminal.see("Finishing this step.");
    home.release();
    endedWith(130, await terminal.ended);
    expect(await lastEvent(goald)).toMatchObject(PAUSED);
  });
});

describe("a terminal that follows a daemon", () => {
  it.concurrent("leaves the agent to the daemon for a while after kill -9, and ps reports so", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    endedWith(0, await goald.ask(["up"]));
    home.holdFrom(2);
    const running = goald.start([...CONTINUOUS, "--json"]);
    await home.asked(2);
    running.kill("SIGKILL");
    expect((await running.ended).signal).toBe("SIGKILL");
    expect(endedWith(0, await goald.ask(["ps"])).stdout).toMatch(/^t +T +running /m);
    home.release();
    await home.logged("turn-finished");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("repeats its pause if the daemon died before it received it", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    endedWith(0, await goald.ask(["up"]));
    home.holdFrom(2);
    const running = goald.start([...CONTINUOUS, "--json"]);
    await home.asked(2);
    const daemon = (await home.hostPid()) as number;
    process.kill(daemon, "SIGSTOP");
    running.kill("SIGINT");
    await running.see("Finishing this step.", "stderr");
    process.kill(daemon, "SIGKILL");
    home.release();
    const ended = endedWith(130, await running.ended);
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: "person", exitCode: 130 });
  });
});
