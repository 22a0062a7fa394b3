import { beforeAll, describe, expect, it } from "@jest/globals";
import { succeed } from "#core/command.ts";
import { spentOf } from "#core/limits.ts";
import type { AgentSpec } from "#core/ports/store.ts";
import { activeFrame, isTainted } from "#core/state.ts";
import { stateOf } from "#views/read-agent.ts";
import { afterRun, eventsOf, type Loop, makeSubagents, resultsOf, standing, testCommand } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { endAgent, LIST_AGENTS, messageAgent, startAgent, write } from "../helpers/models.ts";
import { cutPowerAt, PowerCut, type When } from "../helpers/power-cut.ts";

describe("start_agent", () => {
  it("starts an agent with its own log and folder, and returns its key, its first answer and its files", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann", "Count to ten.")], Ann: [write("ten.txt", "10")] });
    await loop.runAll();
    const own = { parent: "foo", folder: "foo/agents/foo-ann", name: "Ann" };
    expect(await loop.store.agent("foo-ann")).toMatchObject(own);
    const [created] = await eventsOf(loop, "foo-ann", "agent-created");
    const settings = { role: "helps as Ann", goals: ["Count to ten."], model: "fast-model", stepLimit: 24 };
    expect(created).toMatchObject(settings);
    expect(loop.model.requests.map(({ model }) => model)).toContain("fast-model");
    const namespaces = (await loop.store.memories("foo-ann", 0, 10)).map(({ namespace }) => namespace);
    expect(namespaces).toEqual(["foo-ann", "foo-ann"]);
    expect(await resultsOf(loop)).toEqual([
      "Ann (key foo-ann) answers:\nAll 1 tasks are done.\nIts files: agents/foo-ann/ten.txt",
      "All 1 tasks are done.",
    ]);
    expect(isTainted(await stateOf(loop.store, loop.row))).toBe(true);
  });

  it("is refused with an explanation when the limits do not allow it", async () => {
    const calls = { Foo: [startAgent("Ann"), startAgent("Bo")], Ann: [] };
    const loop = await makeSubagents(calls, { subagents: { maxChildren: 1 } });
    await loop.runAll();
    expect((await resultsOf(loop))[1]).toMatch(/you may have 1 at a time, and have foo-ann \(finished\)/);
    expect((await loop.store.agents()).map(({ id }) => id)).toEqual(["foo", "foo-ann"]);
  });

  it("keeps everything that the sub-agents may spend within the parent's limits", async () => {
    const calls = { Foo: ["Ann", "Bo", "Cy"].map((name) => startAgent(name)), Ann: [], Bo: [], Cy: [] };
    const loop = await makeSubagents(calls, { settings: { stepLimit: 40, tokenLimit: 1_000_000, approve: "risky" } });
    // Nobody runs the others, so that their shares stay set aside.
    for (let turn = 0; turn < 3; turn++) {
      await loop.run();
      await loop.clock.advance(60_000);
    }
    const children = (await loop.store.agents()).filter(({ parent }) => parent === "foo");
    const created = await Promise.all(children.map(async ({ id }) => (await eventsOf(loop, id, "agent-created"))[0]));
    const given = created.map((event) => event?.stepLimit ?? 0);
    expect(created.every((event) => event?.approve === "risky")).toBe(true);
    const spent = spentOf(await stateOf(loop.store, loop.row));
    expect(spent.steps).toBeLessThanOrEqual(40);
    expect(given.reduce((sum, steps) => sum + steps, 0) + (await stateOf(loop.store, loop.row)).step).toBe(spent.steps);
  });
});

describe("message_agent", () => {
  it("opens the next turn of a finished sub-agent, which remembers the first one", async () => {
    const loop = await makeSubagents({
      Foo: [startAgent("Ann"), messageAgent("foo-ann", "Once more.")],
      Ann: [write("ten.txt", "1 to 10")],
    });
    await loop.runAll();
    const [task] = await eventsOf(loop, "foo-ann", "task-received");
    expect(task).toMatchObject({ from: "Foo", text: "Once more." });
    expect(await eventsOf(loop, "foo-ann", "turn-finished")).toHaveLength(2);
    expect((await resultsOf(loop))[1]).toMatch(/^Ann \(key foo-ann\) answers:/);
    const { messages = [] } = loop.model.requests.filter(({ model }) => model === "fast-model").at(-1) ?? {};
    const [, memory, note, read] = messages;
    expect(memory?.content).toMatch(/^Your memory of turn 1, [\s\S]*1\. write_to_file, [\s\S]*text: 1 to 10\n/);
    expect(note?.content).toContain("earlier turn");
    expect(read).toMatchObject({ role: "user", content: expect.stringMatching(/It is no person[\s\S]*Once more\./) });
  });

  it("finds a sub-agent by its name too, and lists the keys when it finds none", async () => {
    const loop = await makeSubagents({
      Foo: [startAgent("Ann"), messageAgent("ann", "More."), messageAgent("7", "?")],
      Ann: [],
    });
    await loop.runAll();
    const [, told, unknown] = await resultsOf(loop);
    expect(told).toMatch(/^Ann \(key foo-ann\) answers:/);
    expect(unknown).toBe('Expected the key of an agent that you started, got "7". Yours are: foo-ann (Ann).');
  });

  it("does not reach a sub-agent that a person stopped, or an agent of somebody else", async () => {
    const loop = await makeSubagents({
      Foo: [startAgent("Ann"), messageAgent("foo-ann", "More."), messageAgent("bar", "?")],
      Ann: [],
    });
    const bar = { name: "Bar", role: "r", goals: ["g"], approve: "never", stepLimit: 1 } as const;
    await loop.store.create(bar, "bar", loop.clock.now().toISOString());
    await loop.run();
    await loop.tell({ type: "pause", code: "stopped", reason: "Enough." }, "foo-ann");
    await loop.runAll();
    const [first, second, third] = await resultsOf(loop);
    expect(first).toContain("It is paused and has not finished: Enough.");
    expect(second).toMatch(/Ann \(key foo-ann\) is stopped, and only a person can set it going again/);
    expect(third).toContain('got "bar"');
    expect(await loop.store.inbox("bar")).toEqual([]);
  });
});

describe("delete_agent and list_agents", () => {
  it("list the sub-agents, and give back what an ended one has not spent", async () => {
    const calls = {
      Foo: [LIST_AGENTS, startAgent("Ann"), LIST_AGENTS, endAgent("foo-ann"), LIST_AGENTS, startAgent("Ann")],
      Ann: [],
    };
    const loop = await makeSubagents(calls, { settings: { stepLimit: 100 } });
    await loop.runAll();
    const results = await resultsOf(loop);
    expect(results[0]).toBe("You have started no agents, or ended them all.");
    expect(results[2]).toBe("Your agents:\nfoo-ann: Ann, helps as Ann (finished, at step 1)");
    expect(results[3]).toContain("is ended. Its files stay in agents/foo-ann.");
    expect(results[4]).toBe(results[0]);
    // The log that stays keeps the name taken.
    expect(results[5]).toMatch(/^Ann \(key foo-ann-2\) answers/);
    expect(spentOf(await stateOf(loop.store, loop.row)).steps).toBe(7 + 1 + 1);
  });

  it("stop a working sub-agent with its own sub-agents, and settle its spending when it has stopped", async () => {
    const calls = { Foo: [startAgent("Ann"), endAgent("foo-ann")], Ann: [startAgent("Bo")], Bo: [] };
    const loop = await afterRun(makeSubagents(calls, { settings: { stepLimit: 100 } }));
    await loop.run({ agent: "foo-ann" });
    await loop.clock.advance(60_000);
    await loop.run();
    expect(spentOf(await stateOf(loop.store, loop.row)).steps).toBeGreaterThan(20);
    await loop.runAll();
    expect(await standing(loop, "foo-ann")).toBe("ended");
    expect(["ended", "resting"]).toContain(await standing(loop, "foo-ann-bo"));
    const foo = await stateOf(loop.store, loop.row);
    expect(foo.children).toEqual({});
    const others =
      (await stateOf(loop.store, { id: "foo-ann" })).step + (await stateOf(loop.store, { id: "foo-ann-bo" })).step;
    expect(spentOf(foo).steps).toBe(foo.step + others);
  });
});

describe("a person's own command", () => {
  const sly = (write_: unknown) =>
    testCommand("sly", async (_args, { stage }) => {
      stage(write_ as never);
      return succeed("done");
    });
  const send = (message: object) => ({ kind: "send", to: "foo", key: "k", message });
  const task = { type: "task", from: "x", text: "x", outside: [], limits: {} };
  const report = { type: "report", agent: "x", status: "ended", tasksReceived: 1, spent: {}, observation: null };
  const spec: AgentSpec = { name: "X", role: "r", goals: ["g"], approve: "never", stepLimit: null };
  it.each<[title: string, write: object]>([
    ["cannot start an agent with rights of its own choice", { kind: "spawn", key: "k", spec }],
    ["cannot send a task as the parent", send(task)],
    ["cannot approve a command", send({ type: "approval", callId: "c1", verdict: "approved" })],
    ["cannot report spending", send(report)],
    ["cannot start an agent without a task", { kind: "start", name: "X" }],
    ["cannot send too long a message", { kind: "tell", agent: "foo-ann", text: "x".repeat(10_001) }],
  ])("%s", async (_title, wanted) => {
    const loop = await makeSubagents({ Foo: [{ name: "sly", args: {} }] }, { commands: [sly(wanted)] });
    await loop.runAll();
    const [finished] = await eventsOf(loop, "foo", "command-finished");
    expect(finished?.observation).toMatchObject({ status: "failed", code: "command-invalid" });
    expect(await loop.store.agents()).toHaveLength(1);
    expect(await loop.store.inbox("foo")).toEqual([]);
  });

  it("can start an agent as the shipped command does, within the same limits", async () => {
    const wish = { kind: "start", name: "Ann", task: "t", prompt: "p", approve: "never", stepLimit: 1_000 };
    const calls = { Foo: [{ name: "sly", args: {} }], Ann: [] };
    const loop = await makeSubagents(calls, {
      commands: [sly(wish)],
      settings: { approve: "risky", stepLimit: 10 },
    });
    await loop.runAll();
    expect((await eventsOf(loop, "foo-ann", "agent-created"))[0]).toMatchObject({ approve: "risky", stepLimit: 2 });
  });
});

/** Foo starts two agents, messages the first, and ends the second. */
const SUBAGENT_RULES = {
  Foo: [startAgent("Ann"), startAgent("Bo"), messageAgent("foo-ann", "Once more."), endAgent("foo-bo")],
  Ann: [write("a.txt", "a")],
  Bo: [write("b.txt", "b"), LIST_AGENTS],
};

async function runCut(
  at: number,
  when: When,
  change = (store: MemoryStore, _real: MemoryStore) => store,
): Promise<Loop> {
  const loop = await makeSubagents(SUBAGENT_RULES);
  const cut = cutPowerAt(at, when);
  await expect(loop.runAll({ store: (real) => change(cut(real), real) })).rejects.toThrow(PowerCut);
  await loop.runAll();
  return loop;
}

/** Everything that can be seen of starts, tasks and reports. */
async function describeOutcome(loop: Loop) {
  const agents = (await loop.store.agents()).map(({ id, parent }) => `${id} of ${parent}`);
  const state = await stateOf(loop.store, loop.row);
  return {
    agents,
    results: (await resultsOf(loop)).toSorted(),
    tasks: (await eventsOf(loop, "foo-ann", "task-received")).map(({ text }) => text),
    turns: (await eventsOf(loop, "foo-ann", "turn-finished")).length,
    reports: (await eventsOf(loop, "foo", "agent-reported")).map(({ agent, status: how }) => `${agent} ${how}`),
    spent: spentOf(state),
    children: Object.keys(state.children),
    standing: await standing(loop, "foo"),
  };
}

/** Checked by beforeAll below. */
const COMMITS = 32;
/** Only a model request or a `prepare` happens between two commits, so a cut after one equals a cut before the next. */
const POINTS = Array.from({ length: COMMITS }, (_, at) => at + 1);

describe("a power cut at every commit of an agent with two sub-agents", () => {
  let whole: Awaited<ReturnType<typeof describeOutcome>>;
  beforeAll(async () => {
    const loop = await makeSubagents(SUBAGENT_RULES);
    await loop.runAll();
    whole = await describeOutcome(loop);
    expect(loop.store.commits.length).toBe(COMMITS);
  });

  it.each(POINTS)(
    "leaves each start, task and report exactly once, and the sums correct: before commit %i",
    async (at) => {
      const { spent, ...outcome } = await describeOutcome(await runCut(at, "before"));
      const { spent: expected, ...same } = whole;
      expect(outcome).toEqual(same);
      // A lost reply is counted in addition to what the uncut run spends.
      expect(spent.steps).toBe(expected.steps);
      expect(spent.tokens).toBeGreaterThanOrEqual(expected.tokens);
    },
  );

  it("loses messages in a control run that sends them after the commit instead of with it", async () => {
    const sendingLater = (store: MemoryStore, real: MemoryStore): MemoryStore => ({
      ...store,
      commit: async (lease, head, unit) => {
        await store.commit(lease, head, { ...unit, staged: [] });
        const at = unit.events.at(-1)?.at ?? "";
        for (const write_ of unit.staged) {
          if (write_.kind === "spawn") await real.create({ ...write_.spec, parent: lease.agent }, write_.key, at);
          if (write_.kind === "send") await real.deliver(write_.to, `${lease.agent}/${write_.key}`, write_.message, at);
        }
      },
    });
    const { spent: _spent, ...same } = whole;
    const wrong: number[] = [];
    for (const at of POINTS) {
      const { spent: _lost, ...outcome } = await describeOutcome(await runCut(at, "after", sendingLater));
      if (JSON.stringify(outcome) !== JSON.stringify(same)) wrong.push(at);
      if (wrong.length > 5) break;
    }
    expect(wrong.length).toBeGreaterThan(5);
  });
});

/** Time passes whenever Foo waits and before others run, so that all answers come after Foo has finished. */
async function runLate(loop: Loop, change: Parameters<Loop["run"]>[0] = {}): Promise<void> {
  for (let state = await loop.run(change); activeFrame(state).phase.kind === "waiting"; state = await loop.run(change))
    await loop.clock.advance(60_000);
  await loop.runAll(change);
}

it("cut off at any commit, late answers become one message each, and each spending is settled", async () => {
  const calls = { ...SUBAGENT_RULES, Foo: SUBAGENT_RULES.Foo.slice(0, 3) };
  let cuts = 0;
  for (let isCut = true; isCut; cuts++) {
    const loop = await makeSubagents(calls);
    const store = cutPowerAt(cuts + 1, "before");
    isCut = await runLate(loop, { store }).then(
      () => false,
      () => true,
    );
    if (isCut) await runLate(loop);
    const reports = await eventsOf(loop, "foo", "agent-reported");
    const said = reports.map(
      ({ agent, tasksReceived, observation }) => `${agent} ${tasksReceived} ${observation?.source}`,
    );
    // Both tasks were there before Ann began, so she gives one answer, to the newer task.
    expect(said.toSorted()).toEqual(["foo-ann 2 agent", "foo-bo 1 agent"]);
    expect((await resultsOf(loop)).filter((text) => text.includes("is working"))).toHaveLength(3);
    expect((await eventsOf(loop, "foo-ann", "task-received")).length).toBe(1);
    const foo = await stateOf(loop.store, loop.row);
    const others = await Promise.all(["foo-ann", "foo-bo"].map((id) => stateOf(loop.store, { id })));
    expect(spentOf(foo).steps).toBe(foo.step + others.reduce((sum, { step }) => sum + step, 0));
  }
  expect(cuts).toBeGreaterThan(15);
});
