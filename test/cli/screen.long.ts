import { beforeAll, describe, expect, it } from "@jest/globals";
import { widthOf } from "#cli/terminal/living-text.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, lookInto } from "../helpers/goald.ts";
import { append, replyWith, write } from "../helpers/models.ts";
import type { Answer } from "../helpers/openai-server.ts";
import { everShown, screenOf } from "../helpers/screen.ts";

const CONTINUOUS = ["run", "--name", "T", "--goal", "g", "--continuous"];
const done = { name: "task_complete", args: { reason: "All is done." } };
/** A terminal of this width. */
const wide = (columns: number) => ({ shell: `stty cols ${columns} rows 40; exec "$@"` });
/** A thought in which each word occurs once. */
const THOUGHT = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
const LONG_FILE = write(
  "long.txt",
  Array.from({ length: 400 }, (_, at) => `This is line ${at} of the long file.`).join("\n"),
);

/** A home whose model gives these answers in order, and is done then. */
const openHome = (...answers: readonly Answer[]): Promise<DaemonHome> =>
  makeDaemonHome([], { reply: (_request, index) => answers[index] ?? replyWith(done) });

describe("a model that thinks, writes a long file slowly and then answers 429", () => {
  it.each([60, 100])("keeps the line alive at %i columns, and no line is printed twice", async (columns) => {
    const text = replyWith(LONG_FILE, THOUGHT);
    const pause = Promise.withResolvers<void>();
    await using home = await openHome(
      { text, streamed: { pause: { after: 600, until: pause.promise } } },
      { status: 429, headers: { "retry-after": "3" }, body: { error: { message: "Slow down." } } },
      replyWith(done, "I am done with it."),
    );
    home.holdFrom(1);
    const terminal = home.goald.openTerminal([...CONTINUOUS, "--budget", "2"], wide(columns));
    // Nothing comes from the server, and the line goes on.
    for (const seconds of [1, 2, 3]) await terminal.see(`asking gpt-4.1 · ${seconds} s`);
    await terminal.see("C pauses");
    home.release();
    await terminal.see("gpt-4.1 is writing, ");
    for (let frames = 0; frames < 5; frames++) await terminal.see("characters · ");
    pause.resolve();
    await terminal.see("429 rate limit · trying again in 2 s");
    await terminal.see("429 rate limit · trying again in 1 s");
    endedWith(0, await terminal.ended);
    const screen = screenOf(terminal.shown, columns);
    expect(screen.split("\n").filter((line) => line.length >= columns && !line.includes("/"))).toEqual([]);
    expect(screen.replace(/\s+/g, " ").split(`Thoughts: ${THOUGHT}`)).toHaveLength(2);
    for (const words of [/word7\b/, /word59/, /Says: Now: write_to_file\./, /I am done with it\./])
      expect(screen.split(words)).toHaveLength(2);
    expect(screen).not.toMatch(/asking gpt-4\.1 · \d|C pauses|trying again in/);
  });

  it("tells of the wait of another agent, which asks when the server permits it", async () => {
    await using home = await openHome({
      status: 429,
      headers: { "retry-after": "30" },
      body: { error: { message: "" } },
    });
    const { goald } = home;
    endedWith(0, await goald.ask([...CONTINUOUS, "--detach"]));
    await home.logged("model-failed");
    const terminal = goald.openTerminal(["run", "--name", "Other", "--goal", "g", "--continuous"], wide(100));
    await terminal.see("rate limit · asking gpt-4.1 in ");
    terminal.type("\x03\x03");
    endedWith(130, await terminal.ended);
  });

  it("shows the same nowhere in a pipe, nor what a cell prints while it runs", async () => {
    await using home = await openHome(
      { status: 429, headers: { "retry-after": "1" }, body: { error: { message: "Slow down." } } },
      replyWith(LONG_FILE, THOUGHT),
      replyWith({ name: "run_code", args: { code: "print('seen once')\n1" } }),
    );
    const { stdout } = endedWith(0, await home.goald.run(CONTINUOUS));
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(stdout).not.toMatch(/is writing|trying again in|Ctrl-C pauses/);
    expect(stdout.split(THOUGHT)).toHaveLength(2);
    expect(stdout.match(/^.*seen once$/gm)).toEqual(["Result (ok): seen once"]);
  });
});

describe("a cell that prints while it runs", () => {
  const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
  const code = `import time
for at in range(1, 4):
    print("page", at, "by ${SECRET}", "\\x1b[2J", "word " * 60)
    time.sleep(1)
open("done.txt", "w").write("x")`;
  const cell = { name: "run_code", args: { code } };

  it.each([
    ["run", 60],
    ["attach", 100],
  ])("shows its last line below what it does in %s at %i columns, and nowhere afterwards", async (verb, columns) => {
    await using home = await openHome(replyWith(cell, "I count the pages."));
    const { goald } = home;
    home.holdFrom(1);
    if (verb === "attach") endedWith(0, await goald.ask([...CONTINUOUS, "--detach"]));
    const terminal = goald.openTerminal(verb === "attach" ? ["attach", "t"] : CONTINUOUS, wide(columns));
    await terminal.see("asking gpt-4.1 · ");
    home.release();
    for (const at of [1, 2, 3]) {
      await terminal.see(`page ${at} by `);
      await terminal.see("running run_code · ");
    }
    endedWith(0, await terminal.ended);
    expect(everShown(terminal.shown)).not.toContain(SECRET.slice(0, 12));
    const frames = everShown(terminal.shown).match(/^ {2}page \d by \[redacted\] word[^…\n]*…/gm) ?? [];
    expect(frames.length).toBeGreaterThan(3);
    expect(frames.filter((line) => line.length >= columns)).toEqual([]);
    expect(screenOf(terminal.shown, columns)).not.toMatch(/running run_code|^ {2}page \d by.*…$/m);
  });
});

describe("words typed while the agent works", () => {
  it.each([
    ["run", false],
    ["attach", true],
  ])("show on a line of their own in %s, and the next step reads them", async (_verb, isAttached) => {
    await using home = await openHome(replyWith(append("1\n"), THOUGHT), replyWith(append("2\n"), "The second."));
    const { goald } = home;
    home.holdFrom(1);
    if (isAttached) endedWith(0, await goald.ask([...CONTINUOUS, "--detach"]));
    const terminal = goald.openTerminal(isAttached ? ["attach", "t"] : CONTINUOUS, wide(80));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("use shorter");
    await terminal.see("use shorter");
    expect(screenOf(terminal.shown, 80)).toMatch(/C (pauses|leaves)[^\n]*\n> use shorter$/);
    terminal.type(" lines\r");
    await terminal.see("Kept for the next step: use shorter lines");
    home.release();
    await terminal.see("a person says:");
    endedWith(0, await terminal.ended);
    const screen = screenOf(terminal.shown, 80);
    expect(screen.split("use shorter lines")).toHaveLength(3);
    expect(screen).not.toContain("> use");
    expect(home.server.chats[1]?.messages.some(({ content }) => content.includes("use shorter lines"))).toBe(true);
  });

  it("begin the next turn of an agent that finishes before it has read them", async () => {
    await using home = await openHome(replyWith(done, "I have finished."), replyWith(append("more\n"), "I read them."));
    const { goald } = home;
    home.holdFrom(1);
    const terminal = goald.openTerminal(CONTINUOUS, wide(100));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("and a summary\r");
    await terminal.see("Kept for the next step: and a summary");
    home.release();
    await terminal.see("Turn 2.");
    endedWith(0, await terminal.ended);
    expect(await goald.read("workspace/t/ledger.txt")).toBe("more\n");
    expect((await lookInto(goald)).log.filter(({ type }) => type === "turn-finished")).toHaveLength(2);
  });

  it("do not break into a thought that arrives, nor does Ctrl-C", async () => {
    const rest = Promise.withResolvers<void>();
    const text = replyWith(append("1\n"), THOUGHT);
    await using home = await openHome({ text, streamed: { pause: { after: 20, until: rest.promise } } });
    const terminal = home.goald.openTerminal(CONTINUOUS, wide(60));
    await terminal.see("word5");
    terminal.type("use shorter lines\r");
    await terminal.see("Kept for the next step: use shorter lines");
    terminal.type("\x03");
    await terminal.see("Finishing this step.");
    rest.resolve();
    endedWith(130, await terminal.ended);
    const screen = screenOf(terminal.shown, 60);
    expect(screen.replace(/\s+/g, " ")).toContain(`Thoughts: ${THOUGHT} Kept for the next step: use shorter lines `);
    expect(screen).toMatch(/^Finishing this step\. Again to stop at once\.$/m);
  });

  it("are not broken up by Ctrl-C, which pauses after the step", async () => {
    await using home = await openHome(replyWith(append("1\n"), THOUGHT));
    const { goald } = home;
    home.holdFrom(1);
    const terminal = goald.openTerminal(CONTINUOUS, wide(120));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("half a line\x03");
    await terminal.see("pausing");
    home.release();
    endedWith(130, await terminal.ended);
    const screen = screenOf(terminal.shown, 120);
    expect(screen).toContain("Paused: Stopped by the person at the terminal.");
    expect(everShown(terminal.shown)).toContain("> half a line");
    expect(screen).not.toContain("half a line");
  });
});

const LONG_NAME = "A planner of meals with a name that is far too long for any table";
const edit = { name: "edit_file", args: { file: "plan.md", old: "Curry", new: "Stir fry" } };
const GOAL = "Plan a week of meals for a family of four, with one new vegetable on each of its seven days";
const PLAN = "a-plan-of-the-meals-of-a-week-for-a-family-of-four.md";
const long = write(PLAN, `| Monday | ${"Lentil soup with carrots and cumin, ".repeat(6)}|\n`);

describe("verbs on a terminal", () => {
  let goald: Goald;
  /** Id of the agent with the long name. */
  let id = "";
  const at = async (columns: number, ...args: readonly string[]): Promise<string> => {
    const ended = await goald.openTerminal(args, wide(columns)).ended;
    return screenOf(ended.stdout);
  };

  beforeAll(async () => {
    ({ goald } = await makeDaemonHome([write("plan.md", "# Week of 1999-01-02T03:04:05Z\n\nCurry\n"), edit, long]));
    endedWith(0, await goald.ask(["run", "--name", LONG_NAME, "--goal", GOAL, "--continuous"]));
    endedWith(0, await goald.ask(["run", "-d", "--name", "Waiter", "--goal", "g", "--approve", "always"]));
    id = (JSON.parse((await goald.ask(["ps", "--json"])).stdout).agents as { id: string }[]).at(-1)?.id ?? "";
  });

  const CALLS = `ps, show ID, show ID --report, show ID --files, diff ID, diff ID --to 2, doctor, why ID/plan.md,
    status, logs, ps -o wide, goals ID, events ID, commands, commands edit_file, memory ID list,
    memory ID search meals`;

  it.each([60, 100, 200])(`fit into %i columns: ${CALLS}`, async (columns) => {
    for (const call of CALLS.split(/,\s+/)) {
      const args = call.replace("ID", id).split(" ");
      const screen = await at(columns, ...args);
      expect({ args, long: screen.split("\n").filter((line) => widthOf(line) > columns) }).toEqual({
        args,
        long: [],
      });
      expect(screen).not.toMatch(/20\d\d-\d\d-\d\dT/);
      // Names that a row can hold are whole, so that they can be copied.
      if (args[0] === "show" && args.length < 4 && args[2] !== "--files")
        expect(screen.match(args[2] ? /a-plan-of-\S+/g : /(?<!\/)a-planner-of-\S+/g)?.join(" ")).toMatch(
          args[2] ? PLAN : id,
        );
    }
  });

  it("read as text, not as Markdown, with colours for what matters", async () => {
    const report = (await goald.openTerminal(["show", id, "--report"], wide(80)).ended).stdout;
    expect(screenOf(report)).not.toMatch(/\*\*|\\_|`|^#/m);
    expect(report).toContain("\u001b[1m");
    const diff = (await goald.openTerminal(["diff", id, "--to", "2"], wide(80)).ended).stdout;
    expect(diff).toContain("\u001b[31m-Curry\u001b[39m");
    expect(diff).toContain("\u001b[32m+Stir fry\u001b[39m");
    expect(diff).toContain(" # Week of 1999-01-02T03:04:05Z");
    // Programs read what they read before.
    const { stdout } = await goald.ask(["show", id, "--report"]);
    expect(stdout).toMatch(/^# .*: report\n/);
    expect(stdout).not.toContain("\u001b");
  });

  it("leave ps --watch at q", async () => {
    const terminal = goald.openTerminal(["ps", "--watch"], wide(60));
    await terminal.see("Ended (1)");
    terminal.type("q");
    endedWith(0, await terminal.ended);
    const last = screenOf(terminal.shown.slice(terminal.shown.lastIndexOf("\u001b[2J")));
    expect(last.split("\n").filter((line) => line.length > 60)).toEqual([]);
  });

  it("ask about an edit with its difference and a short question", async () => {
    const terminal = goald.openTerminal(["attach", "waiter"], wide(60));
    await terminal.answer("Run it? [y/n/?, or say what to do instead] ", "y");
    await terminal.see("Run it? ");
    const screen = screenOf(terminal.shown, 60);
    expect(screen).toContain('  file: "plan.md"\n    5 bytes become 8:\n      - Curry\n      + Stir fry\n');
    expect(screen.match(/Every command needs your approval\./g)).toHaveLength(1);
    expect(screen.split("\n").at(-1)).toBe("Run it? [y/n/?, or say what to do instead]");
    terminal.type("\x03");
    endedWith(0, await terminal.ended);
    const { stdout } = endedWith(0, await goald.ask(["approve", "waiter"]));
    expect(stdout).toMatch(/^Approved: edit_file file: "plan\.md" 5 bytes .*\. waiter is [^\n]*\n$/);
  });
});
