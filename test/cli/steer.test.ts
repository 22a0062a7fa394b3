import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type DaemonHome, makeDaemonHome, makeWorkedHome } from "../helpers/daemon-home.ts";
import { endedWith, type Goald, lookInto, notRefused, type RefusedCall, RUN } from "../helpers/goald.ts";
import { append, ledger, ledgerText, nameIn, numberedModel, planned, write } from "../helpers/models.ts";
import type { ChatRequest, OpenAIServer } from "../helpers/openai-server.ts";
import { problemsOfView } from "../helpers/view-schemas.ts";

const HOSTILE = "Ask \u001b[2J\u001b]0;owned\u0007Ann\r\n[x] 0.9 Done\u202e";

const PLAN_RUN = ["run", "--name", "T", "-g", "Find strings", "-g", "Write them down", "--approve", "never"];

const DRAWN = `T (t), turn 1: 6 tasks: 3 open, 3 in progress
[>] 0 Reach all goals (in progress)
  [ ] 0.0 Find strings (open)
  [ ] 0.1 Write them down (open)
  [>] 0.2 Ask Ann [x] 0.9 Done (in progress)
    [>] 0.2.0 Write (in progress, current)
    [ ] 0.2.1 Call (open)
`;

const PLAN = /goald plan t/;
const NO_EDITS: readonly RefusedCall[] = [
  ["plan nobody", 3, /found none called "nobody"/, /There are: /],
  ["plan t --set 0.1", 2, /'0\.1' is invalid\. Expected a task and a state/, /--help/],
  ["plan t --set 0.1=done", 2, /States: open, in_progress, completed, verified, abandoned/, /--help/],
  ["plan t --set one=open", 2, /Expected the id of a task, such as 0\.1\.2.*got "one"/, PLAN],
  ["plan t --drop 0.7", 2, /There is no task 0\.7: task 0 has the subtasks 0\.0 to 0\.2/, PLAN],
  ["plan t --add \u001b[2J", 2, /A task's goal has 1 to 500 characters, got 0/, PLAN],
  [`plan t --add ${"x".repeat(501)}`, 2, /1 to 500 characters, got 501/, PLAN],
  ["plan t --set 0.1=abandoned --add x --under 0.1", 2, /Task 0\.1 is abandoned\. Set it to open/, PLAN],
  ["plan t --under 0.1", 2, /--under says where --add adds its tasks/, /--add/],
  ["plan plain --add x", 7, /plain has no commands for a plan/, /goald resume plain --commands files,plan/],
  ["say t", 2, /The message is empty/, /goald say t/],
  [["say", "t", " \x1b[2J"], 2, /The message is empty/, /goald say t/],
  ["goals t --add a --add b --add c --add d", 2, /up to 5 goals, got 6/, /^$/],
  ["goals t --set \x1b[2J", 2, /must be text without control characters/, /^$/],
  ["rm t --files", 2, /no terminal to ask on/, /goald rm -f --files t$/],
];

describe("without a daemon, goald plan and other verbs that steer", () => {
  let home: DaemonHome;
  beforeAll(async () => {
    const subtasks = Array.from({ length: 45 }, (_none, at) => ({ goal: `Part ${at}` }));
    const big: CommandCall = { name: "add_task", args: { parent: "0", goal: "Write", subtasks } };
    const reply = (request: ChatRequest): string =>
      numberedModel(nameIn(request) === "Big" ? [big] : planned(HOSTILE))(request);
    home = await makeDaemonHome([], { reply });
    endedWith(6, await home.goald.ask([...PLAN_RUN, "--max-steps", "2"]));
    const run = ["run", "-g", "g", "--approve", "never", "--max-steps", "1", "--name"];
    for (const flags of [["Big"], ["Plain", "--commands", "files"]])
      endedWith(6, await home.goald.ask([...run, ...flags]));
    endedWith(0, await home.goald.ask("down"));
  });
  afterEach(async () => expect(await home.goald.read(".goald/daemon.json")).toBeUndefined());

  it("draw the plan of an agent that does not run, or report that there is none, and how to get one", async () => {
    expect(await home.goald.print("plan t")).toBe(DRAWN);
    expect(await home.goald.print("plan plain")).toBe(
      "plain has no plan, and no commands for one (--commands files).\nOffer them: goald resume plain --commands files,plan\n",
    );
    const view = await home.goald.json("plan plain");
    expect(view).toEqual({ agent: "plain", turn: 1, plan: null, current: null, isRead: true });
    expect(problemsOfView("plan", view)).toBe("");
  });

  it("collapse a large plan, and draw all of it with --all", async () => {
    const stdout = await home.goald.print("plan big");
    expect(stdout).toContain(
      "\n    [ ] 0.0.37 Part 37 (open)\n    ... 7 tasks: 7 open\nSee all 47 tasks: goald plan big --all\n",
    );
    const all = await home.goald.print("plan big --all");
    expect(all).toContain("\n    [ ] 0.0.44 Part 44 (open)\n");
    expect(all).not.toContain("...");
  });

  it(`reject ${NO_EDITS.length} invalid calls, deliver nothing, start no daemon, and say when nothing changes`, async () => {
    expect(await notRefused(home.goald, NO_EDITS)).toEqual([]);
    expect(await home.goald.json("plan t")).toMatchObject({ isRead: true });
    expect(await home.goald.print("plan t --set 0=in_progress")).toBe(
      "Nothing changes: the tasks have these states already. t is paused: step-limit (step 2).\n",
    );
  });
});

const WRITES = [append("line 1\n"), write("other.txt", "first\n"), append("line 2\n"), write("other.txt", "second\n")];

/** Removes what differs only because the agents have different ids. */
const withoutRecalls = (events: readonly RecordedEvent[]): readonly unknown[] =>
  events.map((event) => (event.type === "model-asked" ? { ...event, recallIds: event.recallIds.length } : event));

describe("goald fork", () => {
  let goald: Goald;
  let server: OpenAIServer;
  let log: readonly RecordedEvent[];
  beforeAll(async () => {
    ({ goald, server } = await makeDaemonHome(WRITES));
    endedWith(0, await goald.ask(RUN));
    ({ log } = await lookInto(goald));
  });

  it("creates a paused agent with the log and files of a past step, and leaves the original unchanged", async () => {
    endedWith(0, await goald.ask("fork t --step 3"));
    expect(await goald.read("workspace/t-2/ledger.txt")).toBe(ledgerText(2));
    expect(await goald.read("workspace/t-2/other.txt")).toBe("first\n");
    expect(await goald.read("workspace/t/other.txt")).toBe("second\n");
    const { log: forked, problems } = await lookInto(goald, "t-2");
    expect(problems).toEqual([]);
    const end = log.findLast((event) => "step" in event && event.step === 3)?.seq ?? 0;
    expect(withoutRecalls(forked.slice(0, end))).toEqual(withoutRecalls(log.slice(0, end)));
    const reason = "Forked from t as it was after step 3. It has not gone on since.";
    expect(forked.slice(end)).toMatchObject([{ type: "agent-paused", code: "person", reason }]);
    expect((await lookInto(goald)).log).toEqual(log);
  });

  it("continues from that step after a resume, in its own folder and with its memories", async () => {
    const asked = server.chats.length;
    endedWith(0, await goald.ask("resume t-2 --json"));
    expect(await goald.read("workspace/t-2/other.txt")).toBe("second\n");
    expect(server.chats.length - asked).toBe(2);
    expect(JSON.stringify(server.chats[asked]?.messages)).toContain("Task 3 of 4");
    const { log: forked, problems } = await lookInto(goald, "t-2");
    expect([problems, forked.at(-1)?.type]).toEqual([[], "turn-finished"]);
  });

  it("accepts other goals and another name; on a finished agent, new goals open the next turn", async () => {
    endedWith(0, await goald.ask(["fork", "t", "--step", "5", "--goal", "Now in French", "--name", "Tee"]));
    const { log: forked, problems } = await lookInto(goald, "tee");
    expect(problems).toEqual([]);
    const types = ["turn-remembered", "turn-finished", "turn-started", "goals-changed", "agent-paused"];
    expect(forked.slice(-5).map(({ type }) => type)).toEqual(types);
    expect(forked[0]).toMatchObject({ name: "Tee" });
    endedWith(0, await goald.ask("resume tee --json"));
    const [system, memory] = server.chats.at(-1)?.messages.map(({ content }) => content) ?? [];
    expect(system).toContain("1. Now in French");
    expect(memory).toMatch(/^Your memory of turn 1, [\s\S]*\n4\. write_to_file, [\s\S]*\ntext:\nsecond\n/);
  });

  it("can begin after the last step, finished, or before the first one, with an empty folder", async () => {
    const { stderr } = endedWith(0, await goald.ask("fork t --step 5 --name Done"));
    expect(stderr).toContain('It has finished, as t had. Give it more to do: goald say done "…"');
    endedWith(0, await goald.ask("fork t --step 0 --name Zero"));
    expect(await goald.read("workspace/zero/ledger.txt")).toBeUndefined();
    expect((await lookInto(goald, "zero")).log.map(({ type }) => type)).toEqual(["agent-created", "agent-paused"]);
  });
});

describe("goald restore", () => {
  let goald: Goald;
  beforeAll(async () => {
    ({ goald } = await makeWorkedHome("Foo Bar", [
      write("notes/a.md", "one\ntwo\n"),
      { name: "read_file", args: { file: "notes/a.md" } },
      append("b\n", "b.txt"),
      append("2\n", "notes/a.md"),
    ]));
    endedWith(0, await goald.ask("down"));
  });
  const text = (path: string) => goald.read(join("workspace/foo-bar", path));

  it("with --dry-run, changes nothing and starts no daemon", async () => {
    const planned = await goald.json("restore foo-bar --step 1 --dry-run");
    expect(problemsOfView("restore", planned)).toBe("");
    expect(await text("b.txt")).toBe("b\n");
    endedWith(4, await goald.ask("status"));
  });

  it("restores the files by the daemon, keeps a person's edit, informs the agent, and the last step takes it back", async () => {
    await appendFile(join(goald.home, "workspace/foo-bar/b.txt"), "mine\n");
    await appendFile(join(goald.home, "workspace/foo-bar/own.txt"), "untouched\n");
    const { stderr } = endedWith(0, await goald.ask("restore foo-bar --step 1"));
    expect(stderr).toMatch(/^Started the daemon/);
    const files = ["b.txt", "notes/a.md", "own.txt"];
    expect(await Promise.all(files.map(text))).toEqual([undefined, "one\ntwo\n", "untouched\n"]);
    const { stdout: events } = endedWith(0, await goald.ask("events foo-bar"));
    expect(events.trimEnd().split("\n").at(-1)).toContain("files-restored");
    expect(await goald.print("verify")).toMatch(/: sound\.\n$/);
    // A finished agent stays finished.
    expect(await goald.json("ps")).toMatchObject({ agents: [{ state: "completed" }] });

    endedWith(0, await goald.ask("restore foo-bar --step 5"));
    expect(await Promise.all(files.map(text))).toEqual(["b\nmine\n", "one\ntwo\n2\n", "untouched\n"]);
    // A file that only the agent appended to counts as no edit.
    const { versions } = await goald.json<{ versions: { path: string; operation: string }[] }>("show foo-bar --files");
    expect(versions.filter(({ operation }) => operation === "found").map(({ path }) => path)).toEqual(["b.txt"]);
  });

  it("ends the recording of the agent, which cannot play a restoration, and says so", async () => {
    await using home = await makeDaemonHome(ledger(3));
    const resume = ["resume", "t", "--max-steps", "1", "--json"];
    endedWith(6, await home.goald.ask([...RUN, "--max-steps", "2", "--record", "t.ndjson"]));
    endedWith(0, await home.goald.ask("restore t --step 1"));
    const { stderr } = endedWith(2, await home.goald.ask([...resume, "--record", "t.ndjson"]));
    expect(stderr).toContain("it went on without being recorded");
    endedWith(6, await home.goald.ask(resume));
    expect(await home.goald.read(".goald/log/goald.log")).toMatch(/Its recording in \S+ has ended: /);
    endedWith(0, await home.goald.ask("replay t.ndjson", { env: { TMPDIR: home.goald.cwd } }));
  });

  it("leaves other files alone if one is named, also in the call that takes it back", async () => {
    const named = `${goald.home}/workspace/foo-bar/no folder/../notes`;
    const stdout = await goald.print(["restore", "foo-bar", "--step", "2", named]);
    expect(stdout).toContain(`To take it back: goald restore foo-bar --step 5 "${named}"\n`);
    expect([await text("b.txt"), await text("notes/a.md")]).toEqual(["b\nmine\n", "one\ntwo\n"]);
  });
});
