import { describe, expect, it } from "@jest/globals";
import { endedWith, lookInto, makeGoald } from "../helpers/goald.ts";
import { append, replyWith, write } from "../helpers/models.ts";
import { type Answer, type OpenAIServer, startOpenAIServer } from "../helpers/openai-server.ts";
import { everShown, screenOf } from "../helpers/screen.ts";

const CONTINUOUS = ["run", "--name", "T", "--goal", "g", "--continuous"];
const done = { name: "task_complete", args: { reason: "All is done." } };
/** A terminal of this width. */
const wide = (columns: number) => ({ shell: `stty cols ${columns} rows 30; exec "$@"` });
/** A thought in which each word occurs once. */
const THOUGHT = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
const LONG_FILE = write(
  "long.txt",
  Array.from({ length: 400 }, (_, at) => `This is line ${at} of the long file.`).join("\n"),
);

/** Answers in this order. An answer that is a promise is awaited first. */
async function startServer(answers: readonly (() => Answer | Promise<Answer>)[]): Promise<OpenAIServer> {
  return startOpenAIServer({ reply: (_request, index) => answers[index]?.() ?? replyWith(done), embeddings: null });
}
const homeFor = (server: OpenAIServer) =>
  makeGoald({ OPENAI_BASE_URL: server.baseUrl, GOALD_MEMORY_EMBEDDER: "offline" });

describe("a model that thinks, writes a long file slowly and then answers 429", () => {
  it.each([60, 100])("keeps the line alive at %i columns, and no line is printed twice", async (columns) => {
    const thought = Promise.withResolvers<void>();
    const text = replyWith(LONG_FILE, THOUGHT);
    const pause = Promise.withResolvers<void>();
    await using server = await startServer([
      async () => {
        await thought.promise;
        return { text, streamed: { pause: { after: 600, until: pause.promise } } };
      },
      () => ({ status: 429, headers: { "retry-after": "3" }, body: { error: { message: "Slow down." } } }),
      () => replyWith(done, "I am done with it."),
    ]);
    await using goald = await homeFor(server);
    const terminal = goald.openTerminal([...CONTINUOUS, "--budget", "2"], wide(columns));
    // Nothing comes from the server, and the line goes on.
    for (const seconds of [1, 2, 3]) await terminal.see(`asking gpt-4.1 · ${seconds} s`);
    await terminal.see("C pauses");
    thought.resolve();
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

  it("shows the same nowhere in a pipe", async () => {
    await using server = await startServer([
      () => ({ status: 429, headers: { "retry-after": "1" }, body: { error: { message: "Slow down." } } }),
      () => replyWith(LONG_FILE, THOUGHT),
    ]);
    await using goald = await homeFor(server);
    const { stdout } = endedWith(0, await goald.run(CONTINUOUS));
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(stdout).not.toMatch(/is writing|trying again in|Ctrl-C pauses/);
    expect(stdout.split(THOUGHT)).toHaveLength(2);
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
    const held = Promise.withResolvers<void>();
    await using server = await startServer([
      async () => {
        await held.promise;
        return replyWith(cell, "I count the pages.");
      },
    ]);
    await using goald = await homeFor(server);
    if (verb === "attach") endedWith(0, await goald.ask([...CONTINUOUS, "--detach"]));
    const terminal = goald.openTerminal(verb === "attach" ? ["attach", "t"] : CONTINUOUS, wide(columns));
    await terminal.see("asking gpt-4.1 · ");
    held.resolve();
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

  it("shows nothing of that in a pipe", async () => {
    await using server = await startServer([() => replyWith({ ...cell, args: { code: "print('seen once')\n1" } })]);
    await using goald = await homeFor(server);
    const { stdout } = endedWith(0, await goald.run(CONTINUOUS));
    expect(stdout.match(/^.*seen once$/gm)).toEqual(["Result (ok): seen once"]);
  });
});

describe("words typed while the agent works", () => {
  it.each([
    ["run", false],
    ["attach", true],
  ])("show on a line of their own in %s, and the next step reads them", async (_verb, isAttached) => {
    const held = Promise.withResolvers<void>();
    await using server = await startServer([
      async () => {
        await held.promise;
        return replyWith(append("1\n"), THOUGHT);
      },
      () => replyWith(append("2\n"), "The second."),
    ]);
    await using goald = await homeFor(server);
    if (isAttached) endedWith(0, await goald.ask([...CONTINUOUS, "--detach"]));
    const terminal = goald.openTerminal(isAttached ? ["attach", "t"] : CONTINUOUS, wide(80));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("use shorter");
    await terminal.see("use shorter");
    expect(screenOf(terminal.shown, 80)).toMatch(/C (pauses|leaves)[^\n]*\n> use shorter$/);
    terminal.type(" lines\r");
    await terminal.see("Kept for the next step: use shorter lines");
    held.resolve();
    await terminal.see("a person says:");
    endedWith(0, await terminal.ended);
    const screen = screenOf(terminal.shown, 80);
    expect(screen.split("use shorter lines")).toHaveLength(3);
    expect(screen).not.toContain("> use");
    expect(server.chats[1]?.messages.some(({ content }) => content.includes("use shorter lines"))).toBe(true);
  });

  it("begin the next turn of an agent that finishes before it has read them", async () => {
    const held = Promise.withResolvers<void>();
    await using server = await startServer([
      async () => {
        await held.promise;
        return replyWith(done, "I have finished.");
      },
      () => replyWith(append("more\n"), "I read them."),
    ]);
    await using goald = await homeFor(server);
    const terminal = goald.openTerminal(CONTINUOUS, wide(100));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("and a summary\r");
    await terminal.see("Kept for the next step: and a summary");
    held.resolve();
    await terminal.see("Turn 2.");
    endedWith(0, await terminal.ended);
    expect(await goald.read("workspace/t/ledger.txt")).toBe("more\n");
    expect((await lookInto(goald)).log.filter(({ type }) => type === "turn-finished")).toHaveLength(2);
  });

  it("do not break into a thought that arrives, nor does Ctrl-C", async () => {
    const rest = Promise.withResolvers<void>();
    await using server = await startServer([
      () => ({ text: replyWith(append("1\n"), THOUGHT), streamed: { pause: { after: 20, until: rest.promise } } }),
    ]);
    await using goald = await homeFor(server);
    const terminal = goald.openTerminal(CONTINUOUS, wide(60));
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
    const held = Promise.withResolvers<void>();
    await using server = await startServer([
      async () => {
        await held.promise;
        return replyWith(append("1\n"), THOUGHT);
      },
    ]);
    await using goald = await homeFor(server);
    const terminal = goald.openTerminal(CONTINUOUS, wide(120));
    await terminal.see("asking gpt-4.1 · ");
    terminal.type("half a line\x03");
    await terminal.see("pausing");
    held.resolve();
    endedWith(130, await terminal.ended);
    const screen = screenOf(terminal.shown, 120);
    expect(screen).toContain("Paused: Stopped by the person at the terminal.");
    expect(everShown(terminal.shown)).toContain("> half a line");
    expect(screen).not.toContain("half a line");
  });
});
