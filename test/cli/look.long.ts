import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import type { Commit } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { AT, asked, finished, observed, replied, requested } from "../helpers/events.ts";
import { type Ended, endedWith, type Goald, linesOf, makeGoald } from "../helpers/goald.ts";
import { append, ledger, numberedModel, replyWith, write } from "../helpers/models.ts";
import type { ChatRequest, OpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfEvent, problemsOfResult, problemsOfView } from "../helpers/view-schemas.ts";

const AT_TIME = expect.stringMatching(/Z$/);
const run = (name: string): readonly string[] => ["run", "--name", name, "--role", "r", "--goal", "g", "--continuous"];

describe("a home without agents", () => {
  it("is reported as empty by every verb that looks, and nothing is created", async () => {
    await using goald = await makeGoald();
    expect(await goald.print("ps")).toBe(`No agents in ${goald.home} yet. Set one up: goald run\n`);
    expect(await goald.json("ps")).toEqual({ agents: [] });
    expect(await goald.print("verify")).toBe("0 agents, 0 events: sound.\n");
    expect(await goald.json("verify")).toEqual({ agents: 0, events: 0, problems: [] });
    for (const call of ["show foo", "events foo", "show foo --files", "verify foo"]) {
      const missing = endedWith(3, await goald.ask(call));
      expect(missing.stderr).toContain('found none called "foo".\n  There are none yet. Create one: goald run\n');
    }
    expect(endedWith(3, await goald.ask("resume")).stderr).toContain("There is no agent to continue.");
    expect(await goald.read(".goald/goald.db")).toBeUndefined();
  });
});

describe("a home with agents", () => {
  let goald: Goald;
  beforeAll(async () => {
    const calls = [
      write("notes/a.md", "first"),
      append("more\n", "b.txt"),
      write("notes/a.md", "second"),
      { name: "delete_file", args: { file: "b.txt" } },
    ];
    ({ goald } = await makeDaemonHome(calls));
    endedWith(0, await goald.ask(run("Foo Bar")));
  });

  it("lists an agent in columns: state, cost and folder", async () => {
    const [head, row, ...rest] = (await goald.print("ps -o wide")).trimEnd().split("\n");
    expect(head).toMatch(/^ID +STATE +STEP +COST +CHANGED +TOKENS +NAME +STARTED BY +OUTSIDE WORDS +WORKSPACE$/);
    expect(row).toMatch(/^foo-bar +completed +5 +\$0\.00\d+ +\d+ s ago +\d+ +Foo Bar +\/.*\/workspace\/foo-bar$/);
    expect(rest).toEqual([]);
    // The demo does not play here.
    expect(endedWith(0, await goald.run([])).stdout).toMatch(/^ID +STATE .*\nfoo-bar +completed .*\n$/);
  });

  it("lists an agent as JSON with the same facts", async () => {
    const row = {
      ...{ id: "foo-bar", name: "Foo Bar", state: "completed", reason: null, step: 5, turn: 1 },
      ...{ tokens: expect.any(Number), costUsd: expect.any(Number), background: false, stalledMs: null, until: null },
      ...{ lastCommand: "task_complete", received: [], parent: null, createdAt: AT_TIME, changedAt: AT_TIME },
      workspace: join(goald.home, "workspace", "foo-bar"),
      ...{ standing: { kind: "over", cause: "completed" }, closing: "All 4 tasks are done." },
      budget: { allowedUsd: 5, spentUsd: expect.any(Number), reservedUsd: 0 },
      ...{ now: { kind: "resting", command: "", subject: "", thought: "" }, head: expect.any(Number) },
    };
    expect(await goald.json("ps")).toEqual({ agents: [row] });
  });

  it("shows an agent by id or by name: goals, state, last thought, existing files", async () => {
    const shown = await goald.print("show foo-bar");
    expect(shown).toMatch(
      /^Foo Bar \(foo-bar\), r\n {2}1\. g\nState: {6}completed\nSteps: {6}5, \d+ tokens\nTurn: {7}1\nCost: {7}\$0\.00\d+, 500 tokens in \(0 cached\), \d+ out\nLimit: {6}95 steps left \(5 of 100 used in all turns\)\n/,
    );
    expect(shown).toContain(`Workspace:  ${goald.home}/workspace/foo-bar\n  notes/a.md (6 bytes, step 3)\n`);
    expect(shown).toContain("\nThought:    Now: task_complete.\nNext:       Give it more to do");
    expect(shown).not.toContain("b.txt");
    expect(await goald.print(["show", "FOO BAR"])).toBe(shown);
    expect(await goald.json("show foo-bar")).toMatchObject({
      id: "foo-bar",
      role: "r",
      goals: ["g"],
      settings: { approve: "never", stepLimit: 100 },
      usage: { modelCalls: 5, inputTokens: 500 },
      files: [{ path: "notes/a.md", operation: "write", step: 3, bytes: 6 }],
    });
  });

  it("shows the last writer of each file, and with --json every version and its source", async () => {
    const told = (await goald.print("show foo-bar --files")).trimEnd().split("\n");
    expect(told[0]).toBe(`Workspace: ${goald.home}/workspace/foo-bar`);
    expect(told[1]).toMatch(/^FILE +LAST +STEP +BYTES +CHANGES +AT$/);
    expect(told[2]).toMatch(/^notes\/a\.md +write +3 +6 +2 +\S+Z$/);
    expect(told).toHaveLength(3);
    const { files, versions } =
      await goald.json<Record<string, { path: string; step: number }[]>>("show foo-bar --files");
    expect(files?.map(({ path }) => path)).toEqual(["notes/a.md"]);
    const steps = versions?.map(({ path, step }) => `${step} ${path}`).sort();
    expect(steps).toEqual(["1 notes/a.md", "2 b.txt", "3 notes/a.md", "4 b.txt"]);
  });

  it("has one line in the log for each step, also when selected by name", async () => {
    const lines = linesOf(endedWith(0, await goald.ask(["logs", "foo bar", "--json"])));
    const steps = lines.flatMap(({ step, agent, status }) =>
      typeof step === "number" ? [`${step} ${agent} ${status}`] : [],
    );
    expect(steps).toEqual([1, 2, 3, 4, 5].map((step) => `${step} foo-bar ok`));
    expect(await goald.print("logs foo-bar --step 2")).toMatch(/^\S+Z {2}info {3}foo-bar {2}step 2 {2}.*\n$/);
    endedWith(3, await goald.ask("logs nobody"));
  });

  it("prints one event per line, from the start or after a number", async () => {
    const whole = linesOf(endedWith(0, await goald.ask("events foo-bar --json")));
    expect(whole.map(problemsOfEvent).filter(Boolean)).toEqual([]);
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, at) => at + 1));
    const after = whole.length - 4;
    expect(linesOf(await goald.ask(["events", "foo-bar", "--json", "--after", String(after)]))).toEqual(
      whole.slice(after),
    );
    expect(linesOf(await goald.ask("events foo-bar --json --after 999999"))).toEqual([]);
    const plain = (await goald.print("events foo-bar")).trimEnd().split("\n");
    expect(plain.map((line) => /^(\d+) {2}\S+Z {2}([\w-]+) {2}\{/.exec(line)?.slice(1))).toEqual(
      whole.map(({ seq, type }) => [String(seq), type]),
    );
    expect(Math.max(...plain.map((line) => line.length))).toBeLessThan(240);
  });

  it("distinguishes three agents, two of them with one name", async () => {
    endedWith(0, await goald.ask(run("Foo Bar")));
    endedWith(6, await goald.ask([...run("Ünï 漢字"), "--continuous-limit", "1"]));
    const paused = { id: "uni-漢字", state: "paused: step-limit" };
    const [second, first] = ["foo-bar-2", "foo-bar"].map((id) => ({ id, state: "completed" }));
    expect(await goald.json("ps")).toMatchObject({ agents: [paused, second, first] });
    expect(await goald.print("verify")).toMatch(/^3 agents, \d+ events: sound\.\n$/);
    expect(await goald.print("verify foo-bar-2")).toMatch(/^1 agent, \d+ events: sound\.\n$/);
    expect(await goald.json("verify")).toMatchObject({ agents: 3, problems: [] });
    expect(endedWith(3, await goald.ask("show bar")).stderr).toContain("There are: foo-bar, foo-bar-2, uni-漢字.");
    // A name selects the newest agent of that name.
    expect(await goald.json(["show", "foo bar"])).toMatchObject({ id: "foo-bar-2" });
    // An act that cannot be undone needs the id.
    expect(endedWith(7, await goald.ask(["rm", "-f", "Foo Bar"])).stderr).toBe(
      "goald: 2 agents are called Foo Bar.\n  Use an id: foo-bar, foo-bar-2\n",
    );
    expect(endedWith(0, await goald.ask(["goals", "Foo Bar"])).stderr).toBe(
      "Using foo-bar-2, the newest agent called Foo Bar. Others: foo-bar.\n",
    );
    expect(await goald.print(["show", "ünï 漢字"])).toContain(
      "State:      paused: step-limit (The limit of 1 step is reached.",
    );
  });
});

describe("the list of agents", () => {
  let goald: Goald;
  beforeAll(async () => {
    const reply = (request: ChatRequest): string =>
      request.messages.some(({ content }) => content.includes("Stands"))
        ? replyWith({ name: "do_nothing", args: {} })
        : numberedModel([])(request);
    ({ goald } = await makeDaemonHome([], { reply }));
    for (const name of ["Old", "New", "Broken"]) endedWith(0, await goald.ask(run(name)));
    endedWith(6, await goald.ask([...run("Stands"), "--continuous-limit", "1"]));
    change("UPDATE agent SET updated_at = '2020-01-01T00:00:00.000Z' WHERE id IN ('old', 'stands')");
  });

  function change(sql: string): void {
    const database = new DatabaseSync(join(goald.home, ".goald", "goald.db"));
    database.exec(sql);
    database.close();
  }
  const idsOf = (ended: Ended): readonly string[] =>
    (JSON.parse(ended.stdout) as { agents: { id: string }[] }).agents.map(({ id }) => id);

  it("omits agents that ended more than a day ago, counts them, and lists them with -a", async () => {
    const listed = await goald.print("ps");
    expect(listed).not.toMatch(/^old /m);
    // A paused agent is not finished, however old it is.
    expect(listed).toMatch(/^stands +paused: step-limit /m);
    expect(listed).toContain("1 agent that ended more than a day ago: goald ps -a\n");
    expect(idsOf(endedWith(0, await goald.ask("ps --json")))).toEqual(["stands", "broken", "new"]);
    expect(idsOf(endedWith(0, await goald.ask("ps -a --json")))).toEqual(["stands", "broken", "new", "old"]);
    expect(await goald.print("ps -a")).not.toContain("more than a day ago");
  });

  it("is printed again on a pipe only after a change, until Ctrl-C (exit 0)", async () => {
    const watching = goald.start("ps --watch --json");
    await watching.see("\n");
    change("UPDATE agent SET updated_at = '2021-01-01T00:00:00.000Z' WHERE id = 'stands'");
    await watching.see("2021-01-01");
    watching.kill("SIGINT");
    const lines = linesOf(endedWith(0, await watching.ended));
    expect(lines).toHaveLength(2);
    expect(lines.map(({ agents }) => (agents as unknown[]).length)).toEqual([3, 3]);
  });

  it("is redrawn on a terminal within its size", async () => {
    const terminal = goald.openTerminal("ps --watch", { shell: 'trap : INT; "$@"; echo "code $?"' });
    await terminal.see("\u001b[H\u001b[2J");
    await terminal.see("STATE");
    await terminal.see("\u001b[H\u001b[2J");
    await terminal.see("stands");
    // A real terminal also interrupts the shells around it.
    terminal.type("\u0003");
    await terminal.see("code 0");
  });

  it("marks an agent whose log is damaged, lists the others, and ends with 1", async () => {
    change("UPDATE agent SET head_sha = 'x' WHERE id = 'broken'");
    const shown = endedWith(1, await goald.ask("ps")).stdout;
    expect(shown).toMatch(/^new +completed /m);
    expect(shown).toMatch(/^broken +damaged /m);
    expect(shown).toContain("broken is damaged: The log of broken is damaged: expected the log to end with event");
    const { agents } = JSON.parse(endedWith(1, await goald.ask("ps --json")).stdout) as {
      agents: { id: string; state: string; reason: string }[];
    };
    expect(agents.find(({ id }) => id === "broken")).toMatchObject({
      state: "damaged",
      reason: expect.stringContaining("goald verify broken"),
    });
    // The damage does not block a resume of the last sound agent.
    expect(endedWith(6, await goald.ask("resume --max-steps 1")).stdout).toContain("goald resume stands");
  });
});

describe("during a run", () => {
  it("every verb that looks works from the first step to the last, and the run continues", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const { goald } = home;
    home.holdFrom(3);
    const running = goald.start([...run("T"), "--json"]);
    await running.see('"callId":"m3"');
    const calls = ["ps", "show t", "show t --files", "events t", "verify"];
    const looks = await Promise.all(calls.map((call) => goald.run(`${call} --json`)));
    const [listed, shown, files, events, verified] = looks.map((look) => linesOf(endedWith(0, look)));
    expect(listed).toMatchObject([{ agents: [{ id: "t", state: "running", step: 3 }] }]);
    expect(shown).toMatchObject([{ state: "running", files: [{ path: "ledger.txt", step: 2, bytes: 14 }] }]);
    expect(files).toMatchObject([{ files: [{ path: "ledger.txt" }] }]);
    expect(events?.at(-1)).toMatchObject({ type: "model-asked", step: 3 });
    expect(verified).toMatchObject([{ agents: 1, problems: [] }]);
    home.release();
    endedWith(0, await running.ended);
  });
});

describe("the demo", () => {
  it.concurrent("plays a scripted agent with real files and prints the next steps, for goald without a terminal, npm start and goald demo", async () => {
    // Settings of the machine do not affect the demo.
    const settings = { OPENAI_API_KEY: "sk-planted-2Wd5yC9pQs7", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
    await using goald = await makeGoald(settings);
    const { stdout, stderr } = endedWith(0, await goald.run([]));
    expect(stderr).toBe("");
    const workspace = /^Foo \(foo\) works in (\S+)$/m.exec(stdout)?.[1] ?? "";
    const read = (path: string): Promise<string> => readFile(join(workspace, path), "utf8");
    expect(stdout.split("\n")[0]).toContain("is a script");
    const written = await read("recommended_strings.txt");
    expect(written).toContain("1. Solinco Tour Bite");
    // The agent searched, read two pages, compared them with its files, and reported the result.
    expect(written).toContain("https://string-lab.example/tests/polyester-spin");
    expect(await read("notes.md")).toContain("Both sources agree on the order.");
    const [file = ""] = (await readdir(join(workspace, "pages"))).filter((name) => /^five-polyester/.test(name));
    const page = await read(`pages/${file}`);
    expect(page).toContain("| Solinco Tour Bite 1.25 | 10 | 8 | 81 % |");
    expect(page).not.toMatch(/cookies|Log in|tracker/);
    expect(stdout).toContain("4 results from searxng.");
    expect(stdout).toContain('- p1: "Tour Bite turned the ball most, as its four sharp edges promise."');
    expect(stdout).toContain("Reply not usable; the model reads:");
    // The recorded code counted the reviews and drew them; no process of the sandbox was started for it.
    expect(stdout).toMatch(/Result \(ok\): 18 Solinco Tour Bite\n.*17 Babolat RPM Blast\n/);
    expect(await read("scores.svg")).toMatch(/^<svg .*>Solinco Tour Bite 18<.*<\/svg>\n$/);
    expect(existsSync(join(workspace, "../../.goald/sandbox"))).toBe(false);
    expect(stdout).toMatch(/with \d+ recalls of earlier steps/);
    expect(stdout).toMatch(/\n14 steps, 50,400 tokens in and 2,817 out\.\nWorkspace: \/\S+\/workspace\/foo\n/);
    expect(stdout.trimEnd().split("\n").slice(-2).join("\n")).toMatch(/an address or a key:\n {2}(?:npx )?goald run$/);
    expect(stdout).not.toContain("sk-planted");
    // It plays in a home of its own, which stays.
    expect(await goald.json("ps")).toEqual({ agents: [] });
    const home = join(workspace, "../..");
    expect(await goald.json(["verify", "--home", home])).toMatchObject({ agents: 1, problems: [] });
    await rm(home, { recursive: true });
  });

  it.concurrent("prints events and a result for programs, and ignores limits that are meant for other agents", async () => {
    const limits = { GOALD_RECALL_COUNT: "0", SMART_TOKEN_LIMIT: "4000", GOALD_AGENTS_APPROVE: "always" };
    await using goald = await makeGoald(limits);
    const lines = linesOf(endedWith(0, await goald.ask("demo --json")));
    expect(lines.slice(0, -1).map(problemsOfEvent).filter(Boolean)).toEqual([]);
    expect(problemsOfResult(lines.at(-1))).toBe("");
  });
});

describe("text of a model with terminal escapes", () => {
  const EVIL = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\x07e\bf\rg\u202eh\x1bPq#0\x1b\\i\x7fj";
  /** Characters that act on a terminal: controls except tab and newline, DEL, C1, and bidirectional marks. */
  const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  let goald: Goald;
  let server: OpenAIServer;
  let ended: Ended;
  beforeAll(async () => {
    const think = (step: number): string => {
      if (step === 0) return replyWith(write("evil.txt", EVIL), EVIL);
      if (step === 1) return replyWith({ name: "read_file", args: { file: "evil.txt" } }, EVIL);
      if (step === 2) return `Prose ${EVIL}`;
      return replyWith({ name: "task_complete", args: { reason: EVIL } }, EVIL);
    };
    ({ goald, server } = await makeDaemonHome([], { reply: (_request, index) => think(index) }));
    ended = endedWith(0, await goald.ask(run("T")));
  });

  it("is shown as plain text during the run, with all its letters", () => {
    expect(ended.stdout + ended.stderr).not.toMatch(OBEYED);
    expect(ended.stdout).toMatch(/Thoughts: abcdef\s+ghij\n/);
    expect(ended.stdout).toContain("Completed: abcdef");
  });

  it("is visible in a diff, even between two control characters", async () => {
    expect(await goald.print("diff t")).toContain(
      "\n+a\\u{1b}[2Jb\\u{1b}]0;title\\u{7}c\\u{9b}31md\\u{7}e\\u{8}f\\u{d}g\\u{202e}h\\u{1b}Pq#0\\u{1b}\\i\\u{7f}j\n",
    );
  });

  it("is complete for a program: JSON returns every character", async () => {
    const lines = linesOf(await goald.ask("events t --json"));
    const requested = lines.find(({ type }) => type === "command-requested") as { call: { args: { text: string } } };
    expect(requested.call.args.text).toBe(EVIL);
    expect(await goald.read("workspace/t/evil.txt")).toBe(EVIL);
  });

  it("never reaches the model again as control characters", () => {
    for (const { messages } of server.chats)
      for (const { content } of messages.slice(1)) expect(content.replaceAll("\\u", "")).not.toMatch(OBEYED);
  });

  it("does not get into the log file", async () => {
    expect((await goald.read(".goald/log/goald.log"))?.replaceAll("\n", "")).not.toMatch(OBEYED);
  });
});

describe("an agent of two thousand steps", () => {
  it("has its report, any step and the reason for its file as fast as one of two steps", async () => {
    await using goald = await makeGoald();
    await writeLongLog(goald.home, 2_000);
    const facts = await goald.json("show long --report");
    expect(problemsOfView("report", facts)).toBe("");
    expect(facts).toMatchObject({ events: 10_001, since: 9_501, step: 2_000 });
    expect((await goald.print("show long --report")).length).toBeLessThan(64 * 1024);
    const step = { step: 1999, thought: "thought 1999", prompt: { exact: false } };
    expect(await goald.json("show long --step 1999")).toMatchObject(step);
    const why = await goald.json<{ versions: { step: number }[] }>("why long/out.md");
    expect(problemsOfView("why", why)).toBe("");
    expect(why.versions.map(({ step }) => step)).toEqual(Array.from({ length: 200 }, (_, at) => (at + 1) * 10));
    expect(await goald.print("diff long")).toContain("+line of step 2000\n");
    expect(await goald.print("verify")).toBe("1 agent, 10001 events: sound.\n");
  });
});

// Writes an agent with many steps into a home's store, as the main loop would.

const STEPS_PER_COMMIT = 100;

/** Every tenth step appends a line to `out.md`, the others read `in.md`. A step has five events. */
async function writeLongLog(home: string, steps: number): Promise<void> {
  const store = await openSqliteStore(join(home, ".goald", "goald.db"));
  const spec = { name: "Long", role: "r", goals: ["Write out.md"], approve: "never", stepLimit: null } as const;
  const { id } = await store.create(spec, "long", AT);
  const lease = await store.claim(id);
  let seq = 1;
  let bytes = 0;
  for (let from = 1; from <= steps; from += STEPS_PER_COMMIT) {
    const head = seq;
    const events: RecordedEvent[] = [];
    const files: Commit["files"][number][] = [];
    for (let step = from; step < from + STEPS_PER_COMMIT && step <= steps; step++) {
      const content = Buffer.from(`line of step ${step}\n`);
      const writes = step % 10 === 0;
      for (const event of stepOf(step, writes)) {
        const at = new Date(Date.parse(AT) + seq * 100).toISOString();
        events.push({ frame: 0, ...event, v: 1, seq: ++seq, at } as RecordedEvent);
      }
      if (!writes) continue;
      bytes += content.length;
      const sha256 = createHash("sha256").update(content).digest("hex");
      files.push({ step, callId: `c${step}`, path: "out.md", operation: "append", bytes, sha256, content });
    }
    await store.commit(lease, head, { events, consumed: [], memories: [], files, blobs: [], staged: [] });
  }
  await store.close();
}

function stepOf(step: number, writes: boolean): readonly NewEvent[] {
  const call = writes
    ? { name: "append_to_file", args: { file: "out.md", text: "x" } }
    : { name: "read_file", args: { file: "in.md" } };
  const result = writes ? observed("Added.", { artifacts: ["out.md"] }) : observed("text", { source: "workspace" });
  return [
    asked(step),
    replied(step, `reply ${step}`),
    { ...requested(call.name, step), call, thought: `thought ${step}` },
    { type: "command-approved", step, callId: `c${step}`, by: "policy" },
    finished(step, result),
  ];
}
