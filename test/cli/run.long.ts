import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { CommandCall } from "#core/call.ts";
import { opensTurn } from "#core/inbox.ts";
import { type DaemonHome, killAtCommit, killUnder, makeDaemonHome } from "../helpers/daemon-home.ts";
import {
  AGENT,
  type Ended,
  endedWith,
  errorOf,
  type Goald,
  jsonOf,
  linesOf,
  lookInto,
  makeGoald,
  RUN,
  readStore,
} from "../helpers/goald.ts";
import {
  ledger,
  ledgerText,
  nameIn,
  onceATurn,
  replyWith,
  startAgent,
  subagentModel,
  write,
} from "../helpers/models.ts";
import { problemsOfResult, problemsOfView } from "../helpers/view-schemas.ts";

const KEY = "sk-planted-8Hq2vX5tLm9";

it("a run with a server and a key in the home's .env alone ends with task_complete, and shows no key", async () => {
  await using home = await makeDaemonHome(ledger(2), {
    apiKey: KEY,
    embeddings: () => undefined,
    env: { OPENAI_BASE_URL: undefined, GOALD_MEMORY_EMBEDDER: undefined },
  });
  const { goald, server } = home;
  await goald.write(".env", `OPENAI_BASE_URL=${server.baseUrl}\nOPENAI_API_KEY='${KEY}'\n`);
  const ended = endedWith(0, await goald.run(RUN));
  const result = linesOf(ended).at(-1) ?? {};
  expect(problemsOfResult(result)).toBe("");
  expect(result).toMatchObject({ outcome: "completed", step: 3, modelCalls: 3 });
  expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(2));
  expect(ended.stdout + ended.stderr).not.toContain(KEY);
  expect(server.violations).toEqual([]);
});

const FIRST_TURN = ["run", "--name", "T", "-g", "Find strings", "--continuous", "--json"];
const nextTurn = (goal: string): readonly string[] => ["run", "--continue", "t", "-g", goal, "--json"];
const oneLine = onceATurn(ledger(1));

const turnsIn = async ({ goald }: DaemonHome): Promise<readonly number[]> =>
  (await lookInto(goald)).log.flatMap((event) => (event.type === "turn-started" ? [event.turn] : []));
const goalsSet = async ({ goald }: DaemonHome): Promise<readonly string[]> =>
  (await lookInto(goald)).log.flatMap((event) => (event.type === "goals-changed" ? event.goals : []));

describe("the turns of one agent, by real processes", () => {
  it("begin in the background, and are waited for", async () => {
    await using home = await makeDaemonHome([], { reply: oneLine });
    endedWith(0, await home.goald.run(FIRST_TURN));
    const started = jsonOf<{ agent: object; note: string }>(await home.goald.run([...nextTurn("Write it down"), "-d"]));
    expect(started).toMatchObject({ agent: { id: "t", background: true }, note: "It begins turn 2." });
    await home.logged("turn-finished", 2);
    const waited = endedWith(0, await home.goald.run(["run", "--continue", "t", "-g", "Print it", "--wait"]));
    expect(waited.stdout).toMatch(/^t: completed: /);
    expect(await turnsIn(home)).toEqual([2, 3]);
  });

  it("are recorded into one file, which replays", async () => {
    await using home = await makeDaemonHome([], { reply: oneLine });
    const { goald } = home;
    const record = ["--record", "t.ndjson"];
    endedWith(0, await goald.run([...FIRST_TURN, ...record]));
    endedWith(0, await goald.run([...nextTurn("Write it down"), ...record]));
    const played = `${goald.cwd}/played`;
    endedWith(0, await goald.run(["replay", "t.ndjson", "--json", "--home", played]));
    const [log, again] = [(await lookInto(goald)).log, (await lookInto({ home: played })).log];
    expect(again.map(({ type }) => type)).toEqual(log.map(({ type }) => type));
    expect(log.filter(({ type }) => type === "turn-finished")).toHaveLength(2);
  });

  it("lose nothing and begin once when the process is killed at any commit before the first step", async () => {
    await using home = await makeDaemonHome([], { reply: oneLine });
    const { goald } = home;
    endedWith(0, await goald.run(FIRST_TURN));
    const seen = new Set<string>();
    let turn = 1;
    for (const at of [1, 2, 3, 4])
      for (const when of ["before", "after"]) {
        turn += 1;
        const goal = `Goal of turn ${turn}`;
        const killed = await killUnder(killAtCommit(`${at}:${when}`), goald, nextTurn(goal));
        expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
        const standing = await standingOf(home, turn);
        seen.add(standing);
        endedWith(0, await goOn(home, standing, goal));
        const turns = Array.from({ length: turn - 1 }, (_none, before) => before + 2);
        expect(await turnsIn(home)).toEqual(turns);
        expect(await goalsSet(home)).toEqual(turns.map((each) => `Goal of turn ${each}`));
      }
    // The points cover a kill before the delivery, one between the delivery and the turn, and one inside the turn.
    expect([...seen].sort()).toEqual(["begun", "delivered", "nothing"]);
    expect((await lookInto(goald)).problems).toEqual([]);
    expect(await goald.read("workspace/t/ledger.txt")).toBe(ledgerText(1).repeat(turn));
  });
});

async function standingOf(home: DaemonHome, turn: number): Promise<"nothing" | "delivered" | "begun"> {
  if ((await turnsIn(home)).includes(turn)) return "begun";
  const inbox = await readStore(home.goald, (reader) => reader.inbox("t"));
  return inbox.some(({ message }) => opensTurn(message)) ? "delivered" : "nothing";
}

/** A turn whose goals are stored goes on without giving them again. */
const goOn = ({ goald }: DaemonHome, standing: string, goal: string): Promise<Ended> =>
  goald.run(standing === "nothing" ? nextTurn(goal) : ["resume", "t", "--json"]);

const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

it("sub-agents are listed, answered and stopped from the command line, as their parent is", async () => {
  const reply = subagentModel({ T: [startAgent("Ann")], Ann: [ASK, write("a.txt", "Blue")] });
  await using home = await makeDaemonHome([], { reply });
  const { goald } = home;
  endedWith(0, await goald.ask(["run", "-d", ...AGENT]));
  await home.logged("command-waiting", 1, "t-ann");
  const listed = await goald.json("ps");
  expect(problemsOfView("ps", listed)).toBe("");
  expect(listed).toMatchObject({
    agents: [
      { id: "t", parent: null, state: "waiting: agent" },
      { id: "t-ann", parent: "t", state: "waiting: person", reason: "It asks: Red or blue?" },
    ],
  });
  expect((await goald.ask("ps -o wide")).stdout).toMatch(/STARTED BY[\s\S]*t-ann +waiting: person .* Ann +t +/);
  const shown = await goald.print("show t-ann");
  expect(shown).toContain("Started by: t");
  expect(shown).toContain("It asks: Red or blue?");
  expect(shown).toMatch(/Answer it: .*goald .*say t-ann "…"/);
  expect((await goald.ask("show t")).stdout).toContain("Agent:      t-ann, waiting: person, at step 1");
  expect(errorOf(endedWith(7, await goald.ask("approve t-ann --json")))).toMatchObject({
    message: 't-ann is waiting for an answer, not an approval: "Red or blue?"',
    hint: expect.stringMatching(/^Answer with: .*goald .*say t-ann "…"$/),
  });
  expect(errorOf(await goald.ask("rm -f t --json")).hint).toContain("goald rm -f t-ann");

  expect(await goald.print("stop t")).toContain("Its agents stop with it: t-ann.");
  await home.logged("agent-paused", 1, "t-ann");
  endedWith(0, await goald.ask("resume t -d"));
  await home.logged("agent-resumed", 1, "t-ann");
  endedWith(0, await goald.ask("say t-ann Blue."));
  await home.logged("turn-finished");
  const { log, problems } = await lookInto(goald);
  expect(problems).toEqual([]);
  expect(JSON.stringify(log)).toContain("agents/t-ann/a.txt");
  expect(await goald.read("workspace/t/agents/t-ann/a.txt")).toBe("Blue");
  const models = home.server.chats.map(({ model }) => model);
  expect(new Set(models)).toEqual(new Set(["gpt-4.1", "gpt-4.1-mini"]));
  expect(home.server.violations).toEqual([]);
});

it("goald rm removes helpers first, those that an ended parent paused too, and none that goes on", async () => {
  const Ann = [startAgent("Kid"), write("a.txt", "Blue")];
  const reply = subagentModel({ T: [startAgent("Ann")], Ann, Kid: [ASK], V: [startAgent("Ann")] });
  await using home = await makeDaemonHome([], { reply });
  const { goald } = home;
  const idsLeft = async () => (await goald.json<{ agents: { id: string }[] }>("ps")).agents.map(({ id }) => id);
  const stop = async (name: string, helper: string) => {
    endedWith(0, await goald.ask(["run", "-d", "--name", name, "--goal", "g", "--continuous"]));
    await home.logged("command-waiting", 1, `${helper}-kid`);
    endedWith(0, await goald.ask(["stop", name.toLowerCase()]));
    await home.logged("agent-paused", 1, `${helper}-kid`);
  };
  await stop("T", "t-ann");
  endedWith(0, await goald.ask("rm -f t t-ann t-ann-kid t"));
  expect(await idsLeft()).toEqual([]);
  await stop("V", "v-ann");
  endedWith(0, await goald.ask("run --name Done --goal g --continuous"));
  endedWith(0, await goald.ask("resume v-ann-kid -d"));
  await home.logged("agent-resumed", 1, "v-ann-kid");
  const { stderr } = endedWith(0, await goald.ask("rm --ended -f"));
  expect(stderr).toContain("v-ann stays: its helper v-ann-kid has not ended.");
  expect((await idsLeft()).sort()).toEqual(["v", "v-ann", "v-ann-kid"]);
  endedWith(0, await goald.ask("stop v"));
  endedWith(0, await goald.ask("stop v-ann-kid"));
  endedWith(0, await goald.ask("rm --ended -f"));
  expect(await idsLeft()).toEqual([]);
});

it("the memory of the parent is recalled as data, and not by an agent of nobody (control)", async () => {
  const learn = write("notes.txt", "The harbour of Zanzibar opens at nine.");
  const reply = subagentModel({ T: [learn, startAgent("Ann", "When does the harbour of Zanzibar open?")], Ann: [] });
  await using home = await makeDaemonHome([], { reply });
  const { goald, server } = home;
  endedWith(0, await goald.ask(["run", ...AGENT, "--continuous"]));
  const asked = server.chats.find((chat) => nameIn(chat) === "Ann");
  const shown = asked?.messages.slice(1).map(({ content }) => content) ?? [];
  expect(shown.join("\n")).toContain("opens at nine");
  expect(asked?.messages[0]?.content).not.toContain("opens at nine");
  const { log } = await lookInto(goald, "t-ann");
  expect(log.find(({ type }) => type === "model-asked")).toMatchObject({ outside: [{ from: "agent", name: "t" }] });
  const before = server.chats.length;
  const question = ["--goal", "When does the harbour of Zanzibar open?"];
  endedWith(0, await goald.ask(["run", "--name", "Bob", "--role", "r", ...question, "--continuous"]));
  expect(server.chats.length).toBeGreaterThan(before);
  expect(JSON.stringify(server.chats.slice(before))).not.toContain("opens at nine");
});

it("a question of a sub-agent is shown on the terminal of the run with the call that answers it", async () => {
  const reply = subagentModel({ T: [startAgent("Ann")], Ann: [ASK] });
  await using home = await makeDaemonHome([], { reply });
  const terminal = home.goald.openTerminal(["run", ...AGENT, "--continuous"]);
  await terminal.see("t-ann asks: Red or blue?");
  await terminal.see('goald say t-ann "…"');
  const said = endedWith(0, await home.goald.ask("say t-ann Blue."));
  expect(said.stdout).toContain("It goes on with this as the answer to its question.");
  expect(endedWith(0, await terminal.ended).stdout).toContain("Ann (key t-ann) answers:");
});

const DONE = { name: "task_complete", args: { reason: "It is in plan.md." } };
const CHECKED_RUN = ["run", "Write plan.md", "--name", "Foo", "--role", "r", "-g", "Be brief", "--continuous"];

describe("an agent with --check that claims too early to be done", () => {
  let goald: Goald;
  beforeAll(async () => {
    const script = [DONE, write("plan.md", "A plan.\n"), DONE, write("plan.md", "A plan with *risks*.\n"), DONE];
    let index = 0;
    ({ goald } = await makeDaemonHome([], { reply: () => replyWith(script[index++] ?? DONE) }));
  });

  it("is refused twice with the reason, then done, and the run's output has the checks", async () => {
    const ended = endedWith(0, await goald.ask([...CHECKED_RUN, "--check", "1: plan.md contains *risks*", "--json"]));
    const lines = linesOf(ended);
    expect(lines.at(-1)).toMatchObject({
      type: "result",
      outcome: "completed",
      step: 5,
      checks: { passed: 1, failed: 0, notRun: 0 },
    });
    const checked = lines.filter(({ type }) => type === "goals-checked");
    expect(checked.map(({ results }) => results)).toMatchObject([
      [{ check: 0, isPassed: false }],
      [{ check: 0, isPassed: false }],
      [{ check: 0, isPassed: true }],
    ]);
  });

  it("has the proof in its report, escaped, with a note on the goal without a check, in goald show and goals", async () => {
    const report = await goald.print("show foo --report");
    expect(report).toContain('   - Check passed: plan.md contains "\\*risks\\*". ');
    expect(report).toContain("Goal 2 has no check, so goald does not judge whether it is reached: ");
    const facts = await goald.json("show foo --report");
    expect(problemsOfView("report", facts)).toBe("");
    expect(facts).toMatchObject({ checks: [{ goal: 0, isPassed: true, proof: expect.stringContaining("*risks*") }] });
    expect(await goald.print("show foo")).toMatch(
      /\nCheck: {6}passed: plan\.md contains "\*risks\*"\. .* \(goal 1\)\n/,
    );
    const shown = await goald.json("show foo");
    expect(problemsOfView("show", shown)).toBe("");
    expect(shown).toMatchObject({ checks: [{ goal: 0, isPassed: true }] });
    expect(await goald.print("goals foo")).toBe(
      '1. Write plan.md\n2. Be brief\nCheck of goal 1: plan.md contains "*risks*"\n',
    );
  });

  it("has those of its next turn only, after goald run --continue, and keeps them in a fork with the same goals", async () => {
    const args = ["run", "--continue", "foo", "-g", "Keep it", "--continuous", "--json"];
    const refused = await goald.ask([...args, "--check", "2: plan.md"]);
    expect(errorOf(endedWith(2, refused)).message).toContain("It is for goal 2");
    const ended = endedWith(0, await goald.ask([...args, "--check", "plan.md min 5", "--check", "plan.md"]));
    expect(linesOf(ended).at(-1)).toMatchObject({ checks: { passed: 2, failed: 0, notRun: 0 } });
    endedWith(0, await goald.ask("fork foo --step 2 --name Same"));
    endedWith(0, await goald.ask("fork foo --step 2 --name Other --goal Rest"));
    expect(await goald.json("show same")).toMatchObject({ checks: [{ goal: 0, isPassed: false }] });
    expect(await goald.json("show other")).toMatchObject({ checks: [] });
    expect((await lookInto(goald, "same")).problems).toEqual([]);
  });
});

it("a run with other goals than its file says that the checks of the file are left out", async () => {
  await using goald = await makeGoald({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" });
  const agent = "ai_name: Foo\nai_role: r\nai_goals: [Write plan.md]\nai_checks: [{file: plan.md}]\n";
  await writeFile(join(goald.cwd, "agent.yaml"), agent);
  const left = await goald.ask(["run", "--from", "agent.yaml", "-g", "Rest", "--check", "nothing to see"]);
  expect(left.stderr).not.toContain("its checks are for its own goals");
  const noted = await goald.ask("run --from agent.yaml -g Rest --approve always");
  expect(noted.stderr).toContain("agent.yaml: its checks are for its own goals, so the goals given here have none.");
});
