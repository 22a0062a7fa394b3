import { appendFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { printable } from "#cli/terminal/print.ts";
import { drawPlan } from "#cli/verbs/plan.ts";
import { readMarkdown } from "#cli/verbs/show.ts";
import { currentTask, type PlanTask, type TaskState } from "#core/plan.ts";
import { type TaskView, viewTask } from "#views/plan-view.ts";
import { code, inline } from "#views/report.ts";
import type { WholeStep } from "#views/whole-step.ts";
import { makeDaemonHome, makeWorkedHome } from "../helpers/daemon-home.ts";
import { useShared } from "../helpers/folder.ts";
import { endedWith, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { append, replyWith, write } from "../helpers/models.ts";
import type { OpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

/** A home whose agent has worked. Its tests change nothing. */
const calls = [
  write("notes/a.md", "one\ntwo\n"),
  { name: "read_file", args: { file: "notes/a.md" } },
  append("b\n", "b.txt"),
  write("notes/a.md", "one\n2\n"),
];
const goald = useShared(async () => (await makeWorkedHome("Foo Bar", calls)).goald);

it("goald show --step names the step of a recalled row, or only the time of a row of no step", async () => {
  const { goald: other } = await makeDaemonHome([append("b\n", "b.txt")]);
  endedWith(0, await other.ask(["memory", "shared", "add", "Max likes tea", "--pin"]));
  endedWith(0, await other.ask("run --name T --goal tea --continuous"));
  expect(await other.print("show t --step 1")).toMatch(/^ *shared\/\+1 \(20[-\d]+T\S+Z, from person\)$/m);
});

it("goald show indents the lines of a question, which must not look like lines of goald", async () => {
  const { goald: other } = await makeDaemonHome([{ name: "ask_user", args: { question: "Tea?\nState:      killed" } }]);
  endedWith(11, await other.ask("run --name T --goal tea --continuous"));
  expect(await other.print("show t")).toContain("\nQuestion:   Tea?\n            State:      killed\n");
});

it.each(["Run `npm test` in `a\\*b`", "`", "a &lt;b> **c** _d_ \\*", "1. #x $y www.z http://q"])(
  "a report reads as its texts on a terminal: %j",
  (text) => {
    expect(readMarkdown(`- **${inline("ok", 9)}** ${inline(text, 99)}`, false)).toBe(`- ok ${text}`);
    expect(readMarkdown(`## ${code(text.replaceAll("`", "'"), 99)}`, false)).toBe(text.replaceAll("`", "'"));
  },
);

it("goald why takes a path after the name of an agent, an absolute path after its id, and one from the current folder", async () => {
  const folder = join(goald.home, "workspace/foo-bar");
  for (const words of [["foo bar", "./notes/a.md"], ["foo-bar", join(folder, "notes/a.md")], ["a.md"]])
    expect({
      words,
      ...(await goald.json(["why", ...words], words[0] === "a.md" ? { cwd: join(folder, "notes") } : {})),
    }).toMatchObject({ words, agent: "foo-bar", path: "notes/a.md" });
  expect(problemsOfView("why", await goald.json("why foo-bar notes/a.md"))).toBe("");
});

it("goald diff shows the changes of a range of steps, of one file or folder, for programs", async () => {
  expect(problemsOfView("diff", await goald.json("diff foo-bar --to 3"))).toBe("");
  const folder = await goald.json("diff foo-bar notes --from 0");
  expect(folder).toMatchObject({ from: 0, to: null, files: [{ path: "notes/a.md" }] });
  endedWith(3, await goald.ask("diff foo-bar nothing.md"));
});

/** The text is over 32 KB, so it is stored as a blob. */
const LONG = "A long line of words that fills the file. ".repeat(1_000);

describe("an agent that has finished", () => {
  let goald: Goald;
  let server: OpenAIServer;
  beforeAll(async () => {
    const think = (step: number): string => {
      if (step === 0) return replyWith(write("notes.md", LONG), "I write the notes.");
      if (step === 1) return "Prose, and no command.";
      if (step >= 2 && step < 14)
        return replyWith({ name: "read_file", args: { file: `in-${step}.md` } }, `I look for ${step}.`);
      return replyWith({ name: "task_complete", args: { reason: "All of it is in notes.md." } });
    };
    const env = { GOALD_MODELS_REPLY_TOKENS: "20000" };
    ({ goald, server } = await makeDaemonHome([], { reply: (_request, index) => think(index), env }));
    endedWith(0, await goald.ask(["run", "--name", "Foo", "--role", "r", "-g", "Write notes.md", "--continuous"]));
  });

  it("shows the exact prompt of any step", async () => {
    for (const step of [1, 2, 3, 14, 15]) {
      const shown = await goald.json<WholeStep>(["show", "foo", "--step", `${step}`]);
      expect(problemsOfView("step", shown)).toBe("");
      expect(shown.prompt).toMatchObject({ exact: true, note: "" });
      expect(shown.prompt.messages).toEqual(server.chats[step - 1]?.messages);
      // The rows around the recalls come after them.
      expect(shown.recalls.map(({ id }) => id).slice(0, shown.recallIds.length)).toEqual(shown.recallIds);
      if (step === 14) expect(shown.recalls.length).toBeGreaterThan(0);
    }
  });

  it("shows the complete reply, the validated command, its result and its files", async () => {
    const first = await goald.json<WholeStep>("show foo --step 1");
    expect(first).toMatchObject({
      thoughts: { text: "I write the notes.", speak: "Now: write_to_file." },
      command: { name: "write_to_file", args: { file: "notes.md", text: LONG } },
      approval: { verdict: "approved", by: "policy" },
      result: { status: "ok", artifacts: ["notes.md"] },
      files: [{ path: "notes.md", operation: "write", bytes: LONG.length }],
    });
    expect(first.reply?.text).toBe(replyWith(write("notes.md", LONG), "I write the notes."));
    const problems = [expect.stringContaining("no JSON object")];
    expect(await goald.json("show foo --step 2")).toMatchObject({ command: null, problems, result: null });
  });

  it("marks a prompt that it cannot rebuild exactly as a reconstruction", async () => {
    await goald.write("prompts/system.md", "## resources\nNothing but a pencil.");
    const shown = await goald.json<WholeStep>("show foo --step 1");
    expect(shown.prompt).toMatchObject({ exact: false, note: expect.stringContaining("A reconstruction") });
    expect(JSON.stringify(shown.prompt.messages)).toContain("Nothing but a pencil.");
    expect(await goald.print("show foo --step 1")).toContain("Prompt\n  A reconstruction");
  });
});

describe("the output of goald logs", () => {
  let goald: Goald;
  let folder: string;
  beforeAll(async () => {
    goald = await makeGoald();
    folder = join(goald.home, ".goald", "log");
  });
  const at = (minute: number): string => new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString();
  const line = (minute: number, fields: object): string =>
    `${JSON.stringify({ level: 30, time: at(minute), pid: 1, ...fields })}\n`;
  const wordsOf = (stdout: string): readonly string[] =>
    [...stdout.matchAll(/word=(\w+)/g)].map(([, word]) => word ?? "");

  beforeEach(async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "goald.log.2"), line(0, { agent: "a", word: "oldest" }));
    const old = line(1, { agent: "a", step: 1, word: "old" }) + line(2, { word: "daemon" });
    await writeFile(join(folder, "goald.log.1"), old);
    const now =
      line(3, { agent: "a", step: 2, word: "new" }) + line(4, { level: 40, agent: "b", step: 2, word: "warning" });
    const last = line(5, { agent: "a", word: "last" });
    await writeFile(join(folder, "goald.log"), `${now}a torn \u001b[31mline\n${last}`);
    await writeFile(join(folder, "daemon.out"), "Segmentation fault\n");
  });

  it("is of the lines that the call selects, from the oldest file on", async () => {
    for (const [call, words] of [
      ["logs", "oldest old daemon new warning last"],
      ["logs --tail 2", "last"],
      ["logs --step 2", "new warning"],
      ["logs --since 2026-11-20T10:03:00Z", "new warning last"],
      ["logs --since 1s", ""],
      ["logs --since 2026-11-20T10:01:00Z --tail 3 --level info", "new warning last"],
      ["logs --daemon", "daemon"],
    ] as const)
      expect({ call, words: wordsOf(await goald.print(call)).join(" ") }).toEqual({ call, words });
  });

  it("keeps lines that are not log lines, escapes control characters, and ends with the daemon's own output", async () => {
    const shown = await goald.print("logs --daemon");
    expect(shown).toContain("\na torn line\n");
    expect(shown.endsWith("Segmentation fault\n")).toBe(true);
    expect(await goald.print("logs")).not.toContain("Segmentation");
  });

  it("with --json, is the lines of the file without those that are not JSON", async () => {
    const lines = linesOf({ stdout: await goald.print("logs --json") });
    expect(lines).toHaveLength(6);
    expect(lines[0]).toEqual({ level: 30, time: at(0), pid: 1, agent: "a", word: "oldest" });
    // A last line without a line end is one.
    await appendFile(join(folder, "goald.log"), line(6, { agent: "a", word: "cut" }).trimEnd());
    expect(wordsOf(await goald.print("logs --tail 1"))).toEqual(["cut"]);
  });

  it("follows line by line through rotation and truncation until Ctrl-C", async () => {
    const log = join(folder, "goald.log");
    const following = goald.start("logs -f --tail 1");
    await following.see("word=last");
    const whole = line(10, { word: "joined" });
    await appendFile(log, whole.slice(0, 20));
    await appendFile(log, whole.slice(20));
    await following.see("word=joined");
    await appendFile(log, line(11, { word: "before" }));
    await rename(log, `${log}.1`);
    await writeFile(log, line(12, { word: "between" }));
    await rename(`${log}.1`, `${log}.2`);
    await rename(log, `${log}.1`);
    await writeFile(log, line(13, { word: "behind" }));
    await following.see("word=behind");
    await writeFile(log, "");
    await appendFile(log, line(14, { word: "anew" }));
    await following.see("word=anew");
    following.kill("SIGINT");
    const words = wordsOf(endedWith(0, await following.ended).stdout).join(" ");
    expect(words).toBe("last joined before between behind anew");
  });

  it("starts when the log does", async () => {
    await using fresh = await makeGoald();
    const following = fresh.start("logs -f --json");
    await fresh.write(".goald/log/goald.log", line(0, { word: "first" }));
    await following.see("first");
    following.kill("SIGTERM");
    expect(linesOf(endedWith(0, await following.ended))).toHaveLength(1);
  });
});

const task = (goal: string, state: TaskState, ...subtasks: readonly PlanTask[]) => ({ goal, state, subtasks });
const repeat = (count: number, make: (place: number) => PlanTask): readonly PlanTask[] =>
  Array.from({ length: count }, (_none, place) => make(place));
const draw = (plan: PlanTask, most = Number.POSITIVE_INFINITY) =>
  drawPlan(viewTask(plan, "0"), currentTask(plan)?.id ?? null, most);

const PLAN = task(
  "Reach all goals",
  "in_progress",
  task("Find strings", "verified", task("Search", "verified"), task("Ask Ann", "abandoned")),
  task(
    "Write them down",
    "in_progress",
    task("Draft", "completed"),
    task("Revise", "in_progress"),
    task("Print", "open"),
  ),
  task("Thank Ann", "abandoned"),
);

describe("the drawing of a plan", () => {
  it("has a mark, the id, the goal and the state of each task, and marks the current one", () => {
    expect(draw(PLAN).lines).toEqual([
      "[>] 0 Reach all goals (in progress)",
      "  [x] 0.0 Find strings (verified)",
      "    [x] 0.0.0 Search (verified)",
      "    [-] 0.0.1 Ask Ann (abandoned)",
      "  [>] 0.1 Write them down (in progress)",
      "    [+] 0.1.0 Draft (completed)",
      "    [>] 0.1.1 Revise (in progress, current)",
      "    [ ] 0.1.2 Print (open)",
      "  [-] 0.2 Thank Ann (abandoned)",
    ]);
    // What it adds is ASCII.
    expect(draw(PLAN, 3).lines.join("\n")).toMatch(/^[\x20-\x7e\n]+$/);
  });

  it("of a large plan has the current branch, then open tasks near the root, and counts the others", () => {
    const branches = repeat(20, (place) =>
      task(`Part ${place}`, "open", ...repeat(10, (part) => task(`Piece ${part}`, part < 5 ? "verified" : "open"))),
    );
    const bit = (part: number) => task(`Bit ${part}`, part === 1 ? "in_progress" : "open");
    const here = task("Here", "in_progress", ...repeat(3, bit));
    const { lines, hidden } = draw(task("All", "in_progress", ...branches, here), 12);
    expect(lines).toHaveLength(12 + 7 + 1);
    expect(hidden).toBe(1 + 20 * 11 + 4 - 12);
    const bits = ["[ ] 0.20.0 Bit 0 (open)", "[>] 0.20.1 Bit 1 (in progress, current)", "[ ] 0.20.2 Bit 2 (open)"];
    expect(lines.slice(-5)).toEqual([
      "  [>] 0.20 Here (in progress)",
      ...bits.map((bit) => `    ${bit}`),
      "  ... 143 tasks: 78 open, 65 verified",
    ]);
    expect(lines.slice(0, 3)).toEqual([
      "[>] 0 All (in progress)",
      "  [ ] 0.0 Part 0 (open)",
      "    ... 10 tasks: 5 open, 5 verified",
    ]);
  });

  it("shows closed branches of a large plan last", () => {
    const closed = repeat(30, (place) => task(`Old ${place}`, "verified"));
    const { lines } = draw(task("All", "open", ...closed, task("New", "open", task("Deep", "open"))), 3);
    expect(lines).toEqual([
      "[ ] 0 All (open)",
      "  [ ] 0.30 New (open)",
      "    [ ] 0.30.0 Deep (open)",
      "  ... 30 tasks: 30 verified",
    ]);
  });

  it.each([
    ["an escape sequence", "\u001b[2J\u001b]0;title\u0007Clean \u001b[31mme", "Clean me"],
    ["lines that look like others", "One\n[x] 0.9 Two (verified)\r\u2028three", "One [x] 0.9 Two (verified) three"],
    ["direction marks", "a\u202eb\u2066c", "abc"],
  ])("keeps a goal with %s on one line, without control characters", (_what, goal, shown) => {
    const { lines } = draw(task("All", "open", task(goal, "open")));
    expect(lines[1]).toBe(`  [ ] 0.0 ${shown} (open)`);
    expect(printable(lines[1] ?? "")).toBe(lines[1]);
  });

  it("of a thousand tasks in a deep tree is bounded", () => {
    const deep = (levels: number): PlanTask =>
      levels === 0
        ? task("Leaf", "open")
        : task("Level", "in_progress", ...repeat(80, () => task("Side", "open")), deep(levels - 1));
    const view: TaskView = viewTask(deep(11), "0");
    expect(drawPlan(view, null, 40).lines.length).toBeLessThan(81);
    expect(drawPlan(view, null, 40).hidden).toBe(1 + 11 * 81 - 40);
  });
});
