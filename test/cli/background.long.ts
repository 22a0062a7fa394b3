import { describe, expect, it } from "@jest/globals";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { problemsOfEvent, problemsOfResult } from "../helpers/event-line-schema.ts";
import { endedWith, errorOf, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/numbered-model.ts";

const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];

describe("goald run -d", () => {
  it.concurrent("starts the daemon and returns, and the agent finishes although the terminal was closed", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald } = home;
    home.holdFrom(2);
    const terminal = goald.openTerminal(["run", "-d", ...AGENT]);
    const { stdout } = endedWith(0, await terminal.ended);
    expect(stdout).toContain(`${goald.home}/workspace/t`);
    for (const verb of ["attach", "say", "stop"]) expect(stdout).toContain(`goald ${verb} t`);
    // Its terminal is closed, and the agent is in the middle of its work.
    await home.asked(2);
    home.release();
    const attached = endedWith(0, await goald.ask(["attach", "t", "--json"]));
    expect(linesOf(attached).at(-1)).toMatchObject({ type: "result", outcome: "completed", step: 5, exitCode: 0 });
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    expect(log[0]).toMatchObject({ approve: "risky", stepLimit: 100, tokenLimit: 2_000_000, background: true });
  });

  it.concurrent("prints only the id, or one JSON document, for programs", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald } = home;
    const first = endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
    expect(first.stdout).toBe("t\n");
    expect(first.stderr).toContain("Stop it:     goald stop t");
    const second = endedWith(
      0,
      await goald.ask(["run", "-d", ...AGENT, "--json"], { env: { GOALD_AGENTS_APPROVE: "always" } }),
    );
    const [document, ...more] = linesOf(second);
    expect(more).toEqual([]);
    expect(document).toMatchObject({
      agent: { id: "t-2", background: true, workspace: `${goald.home}/workspace/t-2` },
    });
    // The settings apply, but their default is not meant for the background.
    expect((await lookInto(goald, "t-2")).log[0]).toMatchObject({ approve: "always" });
  });

  it.concurrent("applies every given limit, and counts the limits of a resume from the current step", async () => {
    await using home = await makeDaemonHome(ledger(4));
    const { goald } = home;
    const limits = ["--max-steps", "2", "--max-tokens", "9000000", "--budget", "1.5", "--max-time", "8h"];
    const before = Date.now();
    const waited = await goald.ask([
      "run",
      "--wait",
      ...AGENT,
      ...limits,
      "--approve",
      "always",
      "--model",
      "own-model",
    ]);
    endedWith(11, waited);
    const settings = (await lookInto(goald)).log[0] as unknown as Record<string, unknown>;
    expect(settings).toMatchObject({
      approve: "always",
      stepLimit: 2,
      tokenLimit: 9_000_000,
      budgetUsd: 1.5,
      model: "own-model",
    });
    const hours = (Date.parse(String(settings.deadline)) - before) / 3_600_000;
    expect(hours).toBeGreaterThan(7.99);
    expect(hours).toBeLessThan(8.1);
    expect(home.server.chats[0]?.model).toBe("own-model");
    const more = ["--max-steps", "3", "--max-time", "none", "--budget", "none", "--approve", "never"];
    endedWith(6, await goald.ask(["resume", "t", ...more]));
    const changed = (await lookInto(goald)).log.findLast(({ type }) => type === "settings-changed");
    expect(changed).toMatchObject({ approve: "never", stepLimit: 4, deadline: null, budgetUsd: null });
    expect(home.server.chats).toHaveLength(4);
  });

  it.concurrent("reports a missing key before it starts anything (exit 5)", async () => {
    await using goald = await makeGoald();
    const ended = endedWith(5, await goald.ask(["run", "-d", ...AGENT, "--json"]));
    expect(errorOf(ended)).toMatchObject({ code: "GOALD_KEY_MISSING" });
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
    expect(JSON.parse((await goald.ask(["ps", "--json"])).stdout)).toEqual({ agents: [] });
  });
});

describe("goald run --wait", () => {
  it.concurrent("prints only the result and ends with its exit code", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    const completed = endedWith(0, await goald.ask(["run", "--wait", ...AGENT, "--json"]));
    expect(linesOf(completed).map(problemsOfResult)).toEqual([""]);
    expect(linesOf(completed)).toMatchObject([{ outcome: "completed", exitCode: 0 }]);
    const [limited, waiting] = await Promise.all([
      goald.run(["run", "--wait", ...AGENT, "--max-steps", "1"]),
      goald.run(["run", "--wait", "-d", ...AGENT, "--approve", "always"]),
    ]);
    expect(endedWith(6, limited).stdout).toMatch(/^t-\d: step-limit: The limit of 1 step is reached\./);
    expect(endedWith(11, waiting).stdout).toMatch(
      /^t-\d: awaiting-approval\n[\s\S]*Answer with: goald approve t-\d --step 1, or goald deny t-\d --step 1/,
    );
  });
});

describe("goald run --wait, interrupted", () => {
  it.concurrent("ends at Ctrl-C with 130, and the agent continues", async () => {
    await using home = await makeDaemonHome(ledger(2));
    home.holdFrom(2);
    const waiting = home.goald.start(["run", "--wait", ...AGENT]);
    await home.asked(2);
    waiting.kill("SIGINT");
    expect(endedWith(130, await waiting.ended).stdout).toContain("t goes on in the background.");
    home.release();
    await home.logged("turn-finished");
  });
});

describe("goald run while a daemon runs", () => {
  it.concurrent("creates the agent in the daemon and follows it with the same output", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    endedWith(0, await goald.ask(["up"]));
    const daemon = await home.hostPid();
    const ended = endedWith(0, await goald.ask(["run", ...AGENT, "--continuous", "--json"]));
    const lines = linesOf(ended);
    expect(lines.slice(0, -1).map(problemsOfEvent).filter(Boolean)).toEqual([]);
    expect(lines.map(({ seq }) => seq).slice(0, -1)).toEqual(lines.slice(1).map((_, at) => at + 1));
    expect(problemsOfResult(lines.at(-1))).toBe("");
    expect(lines.at(-1)).toMatchObject({ outcome: "completed", exitCode: 0 });
    expect(await home.hostPid()).toBe(daemon);
    expect((await lookInto(goald)).log[0]).toMatchObject({ approve: "never" });
    expect(endedWith(2, await goald.ask(["run", ...AGENT])).stderr).toContain("no terminal to ask on");
  });

  it.concurrent("asks on this terminal before each command; Ctrl-C finishes the step and pauses the agent", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    endedWith(0, await goald.ask(["up"]));
    home.holdFrom(3);
    const terminal = goald.openTerminal(["run", ...AGENT]);
    await terminal.see("append_to_file");
    await terminal.answer("Run it? ", "y -9");
    await home.asked(3);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    terminal.type("\x03");
    await terminal.see("Finishing this step. Again to stop at once.");
    home.release();
    const paused = endedWith(130, await terminal.ended);
    expect(paused.stdout).toContain("Go on with: goald resume t");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
    expect(home.server.chats).toHaveLength(3);
  });
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
    const resumed = endedWith(0, await goald.ask(["resume", "-d", "--json"]));
    expect(linesOf(resumed)).toMatchObject([{ agent: { id: "t", background: true } }]);
    const again = goald.openTerminal(["resume"]);
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
    const { deadline } = (await lookInto(goald)).log[0] as unknown as { deadline: string };
    await home.until(async () => Date.now() > Date.parse(deadline), "the end of its time");
    home.release();
    endedWith(6, await waiting.ended);
    const refused = endedWith(2, await goald.ask(["resume", "t", "--json"]));
    expect(errorOf(refused)).toMatchObject({ code: "GOALD_USAGE", hint: expect.stringContaining("--max-time 8h") });
    endedWith(0, await goald.ask(["resume", "t", "--max-time", "8h"]));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
  });
});

describe("invalid flags of a background run", () => {
  it.concurrent.each<[args: readonly string[], message: RegExp]>([
    [["-d", "--continuous", "--approve", "risky"], /--continuous asks about no command, and --approve risky does/],
    [["-d", "--approve", "sometimes"], /'sometimes' is invalid. Allowed choices are never, risky, always/],
    [["-d", "-c", "-l", "5", "--max-steps", "6"], /--continuous-limit 5 and --max-steps 6 say different things/],
    [["-d", "--max-steps", "0"], /'0' is invalid. Expected a whole number from 1/],
    [["-d", "--max-tokens", "2M"], /'2M' is invalid. Expected a whole number from 1/],
    [["-d", "--budget", "0"], /'0' is invalid. Expected US dollars, more than 0/],
    [["-d", "--budget", "five"], /'five' is invalid. Expected US dollars/],
    [["-d", "--max-time", "8"], /'8' is invalid. Expected a whole number and a unit, such as 30s/],
    [["-d", "--max-time", "8w"], /Expected a whole number and a unit/],
    [["-d", "--max-time", "9999d"], /up to 3650d/],
    [["--wait", "--model", "two words"], /models\.smart/],
  ])("are rejected: %j", async (args, message) => {
    await using goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
    const ended = endedWith(2, await goald.ask(["run", ...AGENT, ...args, "--json"]));
    expect(ended.stdout).toBe("");
    expect(errorOf(ended).message).toMatch(message);
    expect(await goald.read(".goald/daemon.json")).toBeUndefined();
  });
});
