import { describe, expect, it } from "@jest/globals";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import {
  AGENT,
  daemonOf,
  endedWith,
  errorOf,
  type Goald,
  linesOf,
  lookInto,
  RUN,
  type Running,
  type Terminal,
} from "../helpers/goald.ts";
import { ledger, ledgerText } from "../helpers/models.ts";
import { screenOf } from "../helpers/screen.ts";

/** Starts an agent `t` in front of a pipe, and waits for the request of this step, which the model does not answer yet. */
async function runUntil(step: number, home: DaemonHome): Promise<Running> {
  home.holdFrom(step);
  const run = home.goald.start(RUN);
  await home.asked(step);
  return run;
}

/** Starts an agent `t` on a terminal and waits for its first approval question. */
async function asking({ goald }: DaemonHome): Promise<Terminal> {
  const terminal = goald.openTerminal(["run", ...AGENT]);
  await terminal.see("append_to_file");
  await terminal.see("Run it? ");
  return terminal;
}

describe("a run on a terminal", () => {
  it.concurrent("asks again after words arrive at its question, and stops when another process stops it (exit 11)", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    const terminal = await asking(home);
    terminal.type("y");
    await daemonOf(goald).client.say("t", { from: "ada", text: "mind the gap" });
    await terminal.see("ada says:");
    // The half-typed line stays, and answers nothing without Enter.
    await terminal.see("Run it? ");
    const stopped = endedWith(0, await goald.ask("stop t"));
    expect(stopped.stdout).toContain("t is stopped (step 1). Continue: goald resume t");
    expect(endedWith(11, await terminal.ended).stdout).toContain("Go on with: goald resume t");
    expect(await goald.read("workspace/t/ledger.txt")).toBeUndefined();
    expect(await goald.read("workspace/t/_goald/report.md")).toContain("stopped");
  });

  it.concurrent("goes on, and so do its followers, when a pause and a resume arrive in the same step", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const run = await runUntil(2, home);
    const { client } = daemonOf(home.goald);
    await client.pause("t", "Wait.");
    const resumed = home.goald.start("resume t --json");
    await home.delivered("resume");
    home.release();
    for (const one of [run, resumed]) expect(linesOf(endedWith(0, await one.ended)).at(-1)).toMatchObject({ step: 4 });
    expect((await lookInto(home.goald)).log.map(({ type }) => type)).toContain("agent-paused");
  });

  it.concurrent("can be killed in the middle of a call (exit 11), and a resume sends the request again", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const run = await runUntil(1, home);
    expect((await daemonOf(home.goald).client.kill("t")).agent).toMatchObject({ state: "killed", step: 1 });
    expect(linesOf(endedWith(11, await run.ended)).at(-1)).toMatchObject({ outcome: "killed" });
    home.release();
    endedWith(0, await home.goald.ask("resume t --json"));
    expect(home.server.chats).toHaveLength(3);
    expect((await lookInto(home.goald)).problems).toEqual([]);
  });
});

describe("the daemon of a run in front", () => {
  it.concurrent("may die: the run goes on, shows each event once, and nobody resumes its agent", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const run = await runUntil(2, home);
    await daemonOf(home.goald).kill();
    home.release();
    const lines = linesOf(endedWith(0, await run.ended));
    const { log, problems } = await lookInto(home.goald);
    expect(lines.slice(0, -1).map(({ seq }) => seq)).toEqual(log.map(({ seq }) => seq));
    expect(log.map(({ type }) => type)).not.toContain("agent-resumed");
    expect([await home.goald.read("workspace/t/ledger.txt"), problems]).toEqual([ledgerText(3), []]);
  });

  it.concurrent("may die and a stop may come before the next one: the agent stays stopped (exit 11)", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const run = await runUntil(2, home);
    // Else the run may ask the next daemon first, which asks the model again until the stop.
    run.kill("SIGSTOP");
    await daemonOf(home.goald).kill();
    endedWith(0, await home.goald.ask("stop t"));
    run.kill("SIGCONT");
    home.release();
    expect(linesOf(endedWith(11, await run.ended)).at(-1)).toMatchObject({ outcome: "stopped" });
    expect(await home.goald.json("show t")).toMatchObject({ state: "stopped" });
    expect(home.server.chats).toHaveLength(2);
  });

  it.concurrent("goes down for goald down: the run says how to go on (exit 4), and nothing starts it again", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const run = await runUntil(2, home);
    endedWith(0, await home.goald.ask("down -t 0"));
    const refused = endedWith(4, await run.ended);
    expect(refused.stderr).toContain("goald resume t");
    expect(await home.hostPid()).toBeUndefined();
    home.release();
    endedWith(0, await home.goald.run("resume t --json"));
    expect(await home.goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
  });

  it.concurrent("goes on for half a minute after kill -9 of the terminal, and then pauses the agent", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const run = await runUntil(2, home);
    home.holdFrom(3);
    run.kill("SIGKILL");
    await run.ended;
    await home.asked(3);
    expect(await home.goald.print("ps")).toMatch(/^t +running /m);
    // Its log has the pause when the step ends.
    await home.delivered("pause");
    home.release();
    await home.logged("agent-paused");
    expect(await home.goald.json("show t")).toMatchObject({
      state: "paused: person",
      reason: "Its terminal has gone.",
      step: 3,
    });
  });
});

it.concurrent.each([
  ["model server", "openai.baseUrl", { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }],
  ["key", "openai.apiKey", { OPENAI_API_KEY: "another" }],
  ["proxy", "HTTPS_PROXY", { HTTPS_PROXY: "http://127.0.0.1:9" }],
  ["web key", "search.tavily.apiKey", { TAVILY_API_KEY: "another" }],
  ["model", "models.smart", { SMART_LLM: "another" }],
  ["fallback model", "models.fallback", { FALLBACK_LLM: "another" }],
])(
  "a run in front refuses another %s than the daemon's before the first request (exit 7)",
  async (_what, name, env) => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald, server } = home;
    endedWith(0, await goald.ask("up"));
    // A shell without a server uses that of the daemon.
    endedWith(6, await goald.run([...RUN, "--max-steps", "1"], { env: { OPENAI_BASE_URL: undefined } }));
    for (const call of [RUN, ["resume", "t", "--max-steps", "5", "--json"], ["run", "-d", ...AGENT, "--json"]]) {
      const { code, message, hint } = errorOf(endedWith(7, await goald.run(call, { env })));
      expect({ code, hint }).toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("goald restart") });
      expect(message).toMatch(new RegExp(`other values than this shell for ${name.replaceAll(".", "\\.")},`));
    }
    expect(server.chats).toHaveLength(1);
    const { agents } = await goald.json<{ agents: unknown[] }>("ps --all");
    expect(agents).toHaveLength(1);
    // A model given for the agent is not the daemon's.
    if (name === "models.smart") endedWith(0, await goald.run([...RUN, "--model", "mine"], { env }));
  },
);

const CONTINUOUS = ["run", ...AGENT, "--continuous"];
const lastEvent = async (goald: Goald) => (await lookInto(goald)).log.at(-1);
const readable = ({ shown }: Terminal): string => screenOf(shown);

describe("Ctrl-C and signals of a run", () => {
  const PAUSED = { type: "agent-paused", code: "person", reason: "Stopped by the person at the terminal." };

  it.concurrent.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s finishes the step and pauses the agent (exit 130)",
    async (signal) => {
      await using home = await makeDaemonHome(ledger(3));
      const { goald } = home;
      const running = await runUntil(2, home);
      running.kill(signal);
      await running.see("Finishing this step. Again to stop at once.", "stderr");
      // A closed terminal may send its signal several times.
      if (signal === "SIGHUP") running.kill(signal);
      home.release();
      const ended = endedWith(130, await running.ended);
      expect(linesOf(ended).at(-1)).toMatchObject({ type: "result", outcome: "person", step: 2, exitCode: 130 });
      expect(await lastEvent(goald)).toMatchObject(PAUSED);
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
      expect(home.server.chats).toHaveLength(2);
      endedWith(0, await goald.ask("resume t --continuous"));
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(3));
      // The paid requests were not repeated.
      expect(home.server.chats).toHaveLength(4);
    },
  );

  it.concurrent("Ctrl-C stops the agent at once the second time, and prints the cost and how to continue (exit 130)", async () => {
    await using home = await makeDaemonHome(ledger(2));
    const { goald } = home;
    home.holdFrom(2);
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
      /2 steps, [\d,]+ tokens in and \d+ out, \$\d\.\d+\. Up to [\d,]+ tokens more for a request without an answer\.\nWorkspace: \S+\nGo on with: goald resume t\n$/,
    );
    // The screen and the log name one reason.
    expect(readable(terminal).match(/Paused: .*/g)).toEqual(["Paused: Killed by a person."]);
    const pauses = (await lookInto(goald)).log.filter(({ type }) => type === "agent-paused");
    expect(pauses).toMatchObject([{ code: "killed", reason: "Killed by a person." }]);
    home.release();
    endedWith(0, await goald.ask("resume --continuous"));
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
    expect((await lookInto(goald)).problems).toEqual([]);
  });

  it.concurrent("Ctrl-C, Ctrl-D and n pause the agent at its question, and do not run the command", async () => {
    await using home = await makeDaemonHome(ledger(1));
    for (const [call, typed, code] of [
      [["run", ...AGENT], "\x04", 11],
      [["resume"], "y\x03", 130],
      [["resume"], "n\r", 11],
    ] as const) {
      const terminal = home.goald.openTerminal(call);
      await terminal.see("Run it? ");
      terminal.type(typed);
      expect(endedWith(code, await terminal.ended).stdout).toContain("Go on with: goald resume t");
      expect(await lastEvent(home.goald)).toMatchObject(PAUSED);
    }
    expect((await lookInto(home.goald)).log.map(({ type }) => type)).not.toContain("command-started");
  });
});

it.concurrent("a terminal repeats its pause if the daemon that it follows died before it received it", async () => {
  await using home = await makeDaemonHome(ledger(3));
  endedWith(0, await home.goald.ask("up"));
  const running = await runUntil(2, home);
  const daemon = (await home.hostPid()) as number;
  process.kill(daemon, "SIGSTOP");
  running.kill("SIGINT");
  await running.see("Finishing this step.", "stderr");
  process.kill(daemon, "SIGKILL");
  home.release();
  const ended = endedWith(130, await running.ended);
  expect(linesOf(ended).at(-1)).toMatchObject({ outcome: "person", exitCode: 130 });
});
