import { readFile, rename } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { AGENT, endedWith, errorOf, linesOf, lookInto } from "../helpers/goald.ts";
import { append, ledger, ledgerText, replyWith } from "../helpers/models.ts";
import { screenOf } from "../helpers/screen.ts";
import { problemsOfResult } from "../helpers/view-schemas.ts";
import { waitUntil } from "../helpers/waits.ts";

describe("goald run -d", () => {
  it.concurrent("starts the daemon and returns, and the agent finishes although the terminal was closed and the home moved", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald } = home;
    home.holdFrom(2);
    const terminal = goald.openTerminal(["run", "-d", ...AGENT]);
    const { stdout } = endedWith(0, await terminal.ended);
    expect(stdout).toContain(`${goald.home}/workspace/t`);
    for (const verb of ["attach", "say", "stop"]) expect(stdout).toContain(`goald ${verb} t`);
    // Its terminal is closed, and the agent is in the middle of its work.
    await home.asked(2);
    const away = `${goald.home}-away`;
    await rename(goald.home, away);
    home.release();
    const said = () => readFile(`${away}/.goald/log/daemon.out`, "utf8");
    await waitUntil("the daemon misses its home", async () => (await said()).includes("are lost"));
    // Fails when the daemon has made a folder there.
    await rename(away, goald.home);
    const attached = await goald.ask("attach t --json");
    // A home that is back early can take the pause of the failed run. Else the run is tried again.
    const ended = endedWith(0, attached.code === 0 ? attached : await goald.ask("resume t --json"));
    expect(linesOf(ended).at(-1)).toMatchObject({ type: "result", outcome: "completed", step: 5, exitCode: 0 });
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));
    expect(await goald.print("status")).toMatch(/No report: The home .* cannot be used: it is not there\./);
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log[0]).toMatchObject({ approve: "risky", stepLimit: 100, tokenLimit: 2_000_000, background: true });
  });

  it.concurrent("applies limits and settings, and counts the limits of a resume from the current step", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald } = home;
    const limits = ["--max-steps", "2", "--max-tokens", "9000000", "--budget", "1.5", "--max-time", "8h"];
    const before = Date.now();
    // The settings apply, but their default is not meant for the background.
    const env = { GOALD_AGENTS_APPROVE: "always" };
    endedWith(11, await goald.ask(["run", "--wait", ...AGENT, ...limits, "--model", "own-model"], { env }));
    const { settings } = replay((await lookInto(goald)).log);
    const given = { approve: "always", stepLimit: 2, tokenLimit: 9_000_000, budgetUsd: 1.5, model: "own-model" };
    expect(settings).toMatchObject(given);
    const hours = (Date.parse(`${settings.deadline}`) - before) / 3_600_000;
    expect(hours).toBeGreaterThan(7.99);
    expect(hours).toBeLessThan(8.1);
    expect(home.server.chats[0]?.model).toBe("own-model");
    const more = ["--max-steps", "3", "--max-time", "none", "--budget", "none", "--approve", "never"];
    endedWith(6, await goald.ask(["resume", "t", ...more]));
    const { settings: changed } = replay((await lookInto(goald)).log);
    expect(changed).toMatchObject({ approve: "never", stepLimit: 4, deadline: null, budgetUsd: null });
    expect(home.server.chats).toHaveLength(4);
    const poor = await goald.ask("resume t -d --model gpt-4.1 --budget 0.0001");
    expect(poor.stderr).toMatch(/Paused: .* the next request costs at least .* go on: goald resume t --budget 5\n/);
  });
});

it.concurrent("goald run --wait, interrupted ends at Ctrl-C with 130, and the agent continues", async () => {
  await using home = await makeDaemonHome(ledger(2));
  home.holdFrom(2);
  const waiting = home.goald.start(["run", "--wait", ...AGENT]);
  await home.asked(2);
  waiting.kill("SIGINT");
  expect(endedWith(130, await waiting.ended).stdout).toContain("t goes on in the background.");
  home.release();
  await home.logged("turn-finished");
});

describe("goald resume", () => {
  it.concurrent("moves an agent of a terminal into the background with -d, and follows it there without -d", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    const terminal = goald.openTerminal(["run", ...AGENT]);
    await terminal.answer("Run it? ", "y");
    await terminal.see("Task 2 of 3");
    await terminal.answer("Run it? ", "n");
    endedWith(11, await terminal.ended);
    const resumed = endedWith(0, await goald.ask("resume -d --json"));
    expect(linesOf(resumed)).toMatchObject([{ agent: { id: "t", background: true } }]);
    const again = goald.openTerminal("resume");
    await again.see("Task 2 of 3");
    await again.answer("Run it? ", "y -9");
    await again.see("Completed:");
    endedWith(0, await again.ended);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
    // Each command was requested exactly once.
    expect(home.server.chats).toHaveLength(4);
  });

  it.concurrent("needs a new limit after the time limit was reached", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    home.holdFrom(1);
    const waiting = goald.start(["run", "--wait", ...AGENT, "--max-time", "1s"]);
    await home.logged("agent-created");
    // This holds on slow machines too, whether or not the model was called by then.
    const { deadline } = replay((await lookInto(goald)).log).settings;
    await home.until(() => Date.now() > Date.parse(`${deadline}`), "the end of its time");
    home.release();
    endedWith(6, await waiting.ended);
    const refused = endedWith(2, await goald.ask(`resume t --json --home ${goald.home}`));
    const message = expect.stringMatching(/go on: goald resume t --max-time 8h --home "/);
    expect(errorOf(refused)).toMatchObject({ code: "GOALD_USAGE", message });
    endedWith(0, await goald.ask("resume t --max-time 8h"));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
  });
});

/** Starts an agent `t` in the background of its home. */
async function inBackground(tasks: number, heldFrom: number, ...flags: readonly string[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(ledger(tasks));
  home.holdFrom(heldFrom);
  endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, ...flags]));
  return home;
}

describe("goald attach", () => {
  it.concurrent("shows the thoughts of a reply that the daemon is still receiving, once and from their beginning", async () => {
    const rest = Promise.withResolvers<void>();
    const text = replyWith(append("1\n"), "I write the first line now.");
    const pause = { after: Math.ceil(text.indexOf("line now") / 12), until: rest.promise };
    await using home = await makeDaemonHome([], { reply: () => ({ text, streamed: { pause } }) });
    const limits = ["--max-steps", "1", "--approve", "never"];
    endedWith(0, await home.goald.ask(["run", "-d", ...AGENT, ...limits]));
    await home.asked(1);
    const terminal = home.goald.openTerminal("attach t");
    await terminal.see("I write the first");
    expect(await home.goald.read("workspace/t/ledger.txt")).toBeUndefined();
    rest.resolve();
    endedWith(6, await terminal.ended);
    expect(screenOf(terminal.shown).match(/Thoughts: I write the first line now\./g)).toHaveLength(1);
  });

  it.concurrent("shows all events from a step on in the lines of the log, and the result at the end", async () => {
    await using home = await inBackground(6, 4);
    await home.asked(4);
    const [whole, late] = [
      home.goald.start("attach t --since 1 --json"),
      home.goald.start("attach t --since 3 --json"),
    ];
    await Promise.all([whole.see('"callId":"m4"'), late.see('"callId":"m4"')]);
    home.release();
    const lines = linesOf(endedWith(0, await whole.ended));
    expect(problemsOfResult(lines.at(-1))).toBe("");
    const log = linesOf(await home.goald.ask("events t --json"));
    expect(lines.slice(0, -1)).toEqual(log);
    const tail = linesOf(endedWith(0, await late.ended));
    expect(tail[0]).toMatchObject({ type: "model-asked", step: 3 });
    expect(tail.slice(0, -1)).toEqual(log.slice(log.length + 1 - tail.length));
  });

  it.concurrent("is suggested by plain goald, starts at the last step, and Ctrl-C detaches while the agent continues", async () => {
    await using home = await inBackground(4, 3);
    await home.asked(3);
    const listed = screenOf(endedWith(0, await home.goald.openTerminal([]).ended).stdout);
    expect(listed).toMatch(/^t +running [\s\S]*^Watch one: goald attach ID {3}Set up another: goald run /m);
    const terminal = home.goald.openTerminal("attach T");
    await terminal.see(`T (t) works in ${home.goald.home}/workspace/t`);
    await terminal.see("Ctrl-C leaves it to itself");
    await terminal.see("Step 3");
    expect(terminal.shown).not.toContain("Step 2");
    home.holdFrom(4);
    await terminal.see("Task 3 of 4");
    terminal.type("\x03");
    const left = endedWith(0, await terminal.ended);
    expect(left.stdout).toMatch(/t goes on in the background\.\s+Follow it: goald attach t {3}Stop it: goald stop t/);
    home.release();
    await home.logged("turn-finished");
    expect(await home.goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));
  });

  it.concurrent("shows the end of a finished agent without a daemon", async () => {
    await using home = await makeDaemonHome(ledger(1));
    endedWith(0, await home.goald.ask("run --name T --goal g --continuous"));
    endedWith(0, await home.goald.ask("down"));
    expect(await home.goald.print("attach t")).toContain("Completed: All 1 tasks are done.");
    expect(await home.hostPid()).toBeUndefined();
  });

  it.concurrent.each(["killed", "restarted"])(
    "misses and repeats no event when the daemon is %s meanwhile",
    async (how) => {
      await using home = await inBackground(6, 4);
      const { goald } = home;
      await home.asked(4);
      const attached = goald.start("attach t --since 1 --json");
      await attached.see('"callId":"m4"');
      // The event is live now, not only part of the past.
      await home.until(async () => (await goald.json("status")).followers === 1, "a follower");
      const before = (await home.hostPid()) ?? 0;
      if (how === "killed") process.kill(before, "SIGKILL");
      const restarted = how === "restarted" ? goald.start("restart") : undefined;
      await restarted?.see("Waiting for the steps under way");
      home.release();
      if (restarted) endedWith(0, await restarted.ended);
      const ended = endedWith(0, await attached.ended);
      const lines = linesOf(ended).slice(0, -1);
      expect(lines).toEqual(linesOf(await goald.ask("events t --json")));
      expect(await home.hostPid()).not.toBe(before);
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(6));
      // A restart lets the step in progress finish.
      expect(home.server.chats).toHaveLength(restarted ? 7 : 8);
    },
  );
});

it.concurrent("a pending command is withdrawn there when somebody answers elsewhere", async () => {
  await using home = await inBackground(2, 9, "--approve", "always");
  const { goald } = home;
  await home.logged("approval-asked");
  const terminal = goald.openTerminal("attach t");
  await terminal.see("Run it? ");
  const approved = endedWith(0, await goald.ask("approve t"));
  expect(approved.stdout).toContain('Approved: append_to_file {"file":"ledger.txt","text":"line 1\\n"}.');
  await terminal.see("It was approved elsewhere.");
  await terminal.see("Result");
  await terminal.see("Run it? ");
  endedWith(0, await goald.ask(["deny", "t", "--reason", "Enough now"]));
  await terminal.see("It was denied elsewhere.");
  await terminal.see("Enough now");
  await terminal.answer("Run it? ", "n");
  const stopped = endedWith(11, await terminal.ended);
  expect(screenOf(stopped.stdout)).toMatch(/to do instead\]\nIt was approved elsewhere\.\nResult/);
  expect(stopped.stdout).toContain("Go on with: goald resume t");
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
  const resumed = goald.openTerminal("resume");
  await resumed.see("task_complete");
  await resumed.answer("Run it? ", "y -9");
  endedWith(0, await resumed.ended);
});
