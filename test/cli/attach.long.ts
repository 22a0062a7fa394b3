import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { daemonOf } from "../helpers/daemon.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { problemsOfEvent, problemsOfResult } from "../helpers/event-line-schema.ts";
import { endedWith, errorOf, type Goald, linesOf, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, ledger, ledgerText, replyWith } from "../helpers/numbered-model.ts";
import { startOpenAIServer } from "../helpers/openai-server.ts";

/** Starts an agent `t` in the background of its home. */
async function inBackground(tasks: number, heldFrom: number, ...flags: readonly string[]): Promise<DaemonHome> {
  const home = await makeDaemonHome(ledger(tasks));
  home.holdFrom(heldFrom);
  endedWith(0, await home.goald.ask(["run", "-d", "--name", "T", "--role", "r", "--goal", "g", ...flags]));
  return home;
}

const followers = async (goald: Goald): Promise<number> =>
  (JSON.parse((await goald.ask(["status", "--json"])).stdout) as { followers: number }).followers;

describe("goald attach", () => {
  it.concurrent("shows the thoughts of a reply that the daemon is still receiving, once and from their beginning", async () => {
    const rest = Promise.withResolvers<void>();
    const text = replyWith(append("1\n"), "I write the first line now.");
    await using server = await startOpenAIServer({
      reply: () => ({
        text,
        streamed: { pause: { after: Math.ceil(text.indexOf("line now") / 12), until: rest.promise } },
      }),
      embeddings: null,
    });
    await using goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });
    await using _daemon = daemonOf(goald);
    const limits = ["--max-steps", "1", "--approve", "never"];
    endedWith(0, await goald.ask(["run", "-d", "--name", "T", "--role", "r", "--goal", "g", ...limits]));
    while (server.chats.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const terminal = goald.openTerminal(["attach", "t"]);
    await terminal.see("I write the first");
    expect(await goald.read("workspace/t/ledger.txt")).toBeUndefined();
    rest.resolve();
    endedWith(6, await terminal.ended);
    expect(stripVTControlCharacters(terminal.shown).match(/Thoughts: I write the first line now\./g)).toHaveLength(1);
  });

  it.concurrent("shows all events from a step on in the lines of the log, and the result at the end", async () => {
    await using home = await inBackground(6, 4);
    const { goald } = home;
    await home.asked(4);
    const [whole, late] = [
      goald.start(["attach", "t", "--since", "1", "--json"]),
      goald.start(["attach", "t", "--since", "3", "--json"]),
    ];
    await Promise.all([whole.see('"callId":"m4"'), late.see('"callId":"m4"')]);
    home.release();
    const lines = linesOf(endedWith(0, await whole.ended));
    expect(problemsOfResult(lines.at(-1))).toBe("");
    expect(lines.slice(0, -1).map(problemsOfEvent).filter(Boolean)).toEqual([]);
    const log = linesOf(await goald.ask(["events", "t", "--json"]));
    expect(lines.slice(0, -1)).toEqual(log);
    const tail = linesOf(endedWith(0, await late.ended));
    expect(tail[0]).toMatchObject({ type: "model-asked", step: 3 });
    expect(tail.slice(0, -1)).toEqual(log.slice(log.length + 1 - tail.length));
  });

  it.concurrent("starts at the last step like goald run, and Ctrl-C detaches while the agent continues", async () => {
    await using home = await inBackground(4, 3);
    const { goald } = home;
    await home.asked(3);
    const terminal = goald.openTerminal(["attach", "T"]);
    await terminal.see(`T (t) works in ${goald.home}/workspace/t`);
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
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(4));
  });

  it.concurrent("is suggested by plain goald on a terminal, which lists agents at work", async () => {
    await using home = await inBackground(2, 2);
    await home.asked(2);
    const listed = endedWith(0, await home.goald.openTerminal([]).ended).stdout;
    expect(listed).toMatch(/^t +T +running /m);
    expect(listed).toContain("Watch one: goald attach ID   Set up another: goald run   All verbs: goald --help");
  });

  it.concurrent("shows the end of a finished agent without a daemon", async () => {
    await using home = await makeDaemonHome(ledger(1));
    const { goald } = home;
    endedWith(0, await goald.ask(["run", "--name", "T", "--goal", "g", "--continuous"]));
    endedWith(0, await goald.ask(["down"]));
    const ended = endedWith(0, await goald.ask(["attach", "t"]));
    expect(ended.stdout).toMatch(/Step 2 [\s\S]*Completed: All 1 tasks are done\.\n\n2 steps, /);
    expect(await home.hostPid()).toBeUndefined();
    const beyond = endedWith(3, await goald.ask(["attach", "t", "--since", "9", "--json"]));
    expect(errorOf(beyond).message).toBe("t has no step 9 yet: it is at step 2.");
    expect(errorOf(endedWith(3, await goald.ask(["attach", "nobody", "--json"]))).hint).toBe("There are: t.");
    endedWith(2, await goald.ask(["attach", "t", "--since", "0"]));
  });

  it.concurrent.each(["killed", "restarted"])(
    "misses and repeats no event when the daemon is %s meanwhile",
    async (how) => {
      await using home = await inBackground(6, 4);
      const { goald } = home;
      await home.asked(4);
      const attached = goald.start(["attach", "t", "--since", "1", "--json"]);
      await attached.see('"callId":"m4"');
      // The event is live now, not only part of the past.
      await home.until(async () => (await followers(goald)) === 1, "a follower");
      const before = (await home.hostPid()) ?? 0;
      if (how === "killed") process.kill(before, "SIGKILL");
      const restarted = how === "restarted" ? goald.run(["restart"]) : undefined;
      home.release();
      if (restarted) endedWith(0, await restarted);
      const ended = endedWith(0, await attached.ended);
      const lines = linesOf(ended).slice(0, -1);
      expect(lines).toEqual(linesOf(await goald.ask(["events", "t", "--json"])));
      expect(await home.hostPid()).not.toBe(before);
      expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(6));
    },
  );

  it.concurrent("ends when the daemon shuts down, and prints how to continue the agent (exit 4)", async () => {
    await using home = await inBackground(3, 2);
    await home.asked(2);
    const attached = home.goald.start(["attach", "t", "--json"]);
    await attached.see('"callId":"m2"');
    const down = home.goald.run(["down", "-t", "0"]);
    const { stderr } = endedWith(4, await attached.ended);
    expect(stderr).toContain("The daemon is down, and t does not go on meanwhile.");
    endedWith(0, await down);
  });

  it.concurrent("ends without an error when its output is closed", async () => {
    await using home = await inBackground(3, 3);
    await home.asked(3);
    const shell = '{ "$@" --since 1 --json; echo "ended with $?" >&2; } | head -n 2';
    const attached = home.goald.start(["attach", "t"], { shell });
    await attached.see("\n");
    home.release();
    const ended = await attached.ended;
    expect(linesOf(ended)).toHaveLength(2);
    expect(ended.stderr).toMatch(/ended with 0\n$/);
    expect(ended.stderr).not.toMatch(/EPIPE|Error/);
  });
});

describe("a pending command", () => {
  it.concurrent("asks on the attached terminal and needs only one answer", async () => {
    await using home = await inBackground(3, 9, "--approve", "always");
    const { goald } = home;
    await home.logged("approval-asked");
    const terminal = goald.openTerminal(["attach", "t"]);
    await terminal.see('append_to_file {"file":"ledger.txt","text":"line 1\\n"}');
    await terminal.answer("Run it? ", "y");
    await terminal.see("Result");
    await terminal.see("Task 2 of 3");
    await terminal.answer("Run it? ", "Not into that file");
    await terminal.see("Not run; your words:");
    await terminal.answer("Run it? ", "y -9");
    await terminal.see("Completed:");
    endedWith(0, await terminal.ended);
    const { log } = await lookInto(goald);
    expect(log.filter((event) => event.type === "command-approved").map(({ by }) => by)).toEqual([
      "person",
      "person",
      "earlier-approval",
    ]);
    expect(home.server.chats[2]?.messages.some(({ content }) => content.includes("Not into that file"))).toBe(true);
  });

  it.concurrent("is withdrawn there when somebody answers elsewhere", async () => {
    await using home = await inBackground(2, 9, "--approve", "always");
    const { goald } = home;
    await home.logged("approval-asked");
    const terminal = goald.openTerminal(["attach", "t"]);
    await terminal.see("Run it? ");
    const approved = endedWith(0, await goald.ask(["approve", "t"]));
    expect(approved.stdout).toContain('Approved: append_to_file {"file":"ledger.txt","text":"line 1\\n"}.');
    await terminal.see("It was approved elsewhere.");
    await terminal.see("Result");
    await terminal.see("Run it? ");
    endedWith(0, await goald.ask(["deny", "t", "--reason", "Enough now"]));
    await terminal.see("It was denied elsewhere.");
    await terminal.see("Enough now");
    await terminal.answer("Run it? ", "n");
    const stopped = endedWith(11, await terminal.ended);
    expect(stopped.stdout).toContain("Go on with: goald resume t");
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1));
    const resumed = goald.openTerminal(["resume"]);
    await resumed.see("task_complete");
    await resumed.answer("Run it? ", "y -9");
    endedWith(0, await resumed.ended);
  });

  it.concurrent("is only shown without a terminal, and Ctrl-C at the question leaves it pending", async () => {
    await using home = await inBackground(1, 9, "--approve", "always");
    const { goald } = home;
    await home.logged("approval-asked");
    const piped = goald.start(["attach", "t"]);
    await piped.see("append_to_file");
    const terminal = goald.openTerminal(["attach", "t"]);
    await terminal.see("Run it? ");
    terminal.type("y\x03");
    endedWith(0, await terminal.ended);
    expect((await lookInto(goald)).log.at(-1)?.type).toBe("approval-asked");
    endedWith(0, await goald.ask(["approve", "t", "-N", "2"]));
    expect(endedWith(0, await piped.ended).stdout).toContain("Completed:");
  });
});
