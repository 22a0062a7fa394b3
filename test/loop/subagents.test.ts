import { describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { CommandCall } from "#core/call.ts";
import { succeed } from "#core/command.ts";
import type { EventBody } from "#core/event.ts";
import { spentOf } from "#core/limits.ts";
import type { AgentSpec } from "#core/ports/store.ts";
import { isTainted } from "#core/provenance.ts";
import { activeFrame } from "#core/state.ts";
import { stateOf } from "#views/read-agent.ts";
import { type Loop, type LoopOptions, makeLoop, testCommand } from "../helpers/loop.ts";
import { messageAgent, startAgent, subagentModel, write } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";

const LIST: CommandCall = { name: "list_agents", args: {} };
const endAgent = (key: string): CommandCall => ({ name: "delete_agent", args: { key } });

/** Makes Foo and the agents that it starts, each with its own list of commands. */
const makeSubagents = (
  calls: Readonly<Record<string, readonly CommandCall[]>>,
  options: Partial<LoopOptions> = {},
): Promise<Loop> =>
  makeLoop({
    script: (request) => subagentModel(calls)(request as unknown as ChatRequest),
    services: ALL_READY,
    ...options,
  });

type Of<T> = Extract<EventBody, { readonly type: T }>;
/** Returns an empty list for an unknown agent. */
const eventsOf = async <T extends EventBody["type"]>(
  { store }: Loop,
  agent: string,
  type: T,
): Promise<readonly Of<T>[]> =>
  (await store.read(agent, 0, 1_000).catch(() => [])).filter(
    (event) => event.type === type,
  ) as unknown as readonly Of<T>[];
const resultsOf = async (loop: Loop, agent = "foo"): Promise<readonly string[]> =>
  (await eventsOf(loop, agent, "command-finished")).map(({ observation }) => String(observation.text));
const standing = async ({ store }: Loop, id: string): Promise<string> => {
  const state = await stateOf(store, { id });
  return state.paused?.code ?? activeFrame(state).phase.kind;
};

describe("start_agent", () => {
  it("starts an agent with its own log and folder, the fast model, and its role and goal from task and prompt", async () => {
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
  });

  it("returns the sub-agent's key and first answer, with its files as the parent reads them", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [write("ten.txt", "10")] });
    await loop.runAll();
    expect(await resultsOf(loop)).toEqual([
      "Ann (key foo-ann) answers:\nAll 1 tasks are done.\nIts files: agents/foo-ann/ten.txt",
      "All 1 tasks are done.",
    ]);
    expect(isTainted(await stateOf(loop.store, loop.row))).toBe(true);
  });

  it("continues without an answer that is late, and receives it as a message, once", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann"), write("own.txt", "x")], Ann: [] });
    // Foo runs alone: nobody runs Ann while the time passes.
    await loop.run();
    await loop.clock.advance(60_000);
    await loop.run();
    expect((await resultsOf(loop))[0]).toContain("Ann (key foo-ann) is working. Its answer will come");
    await loop.runAll();
    const reports = await eventsOf(loop, "foo", "agent-reported");
    expect(reports).toMatchObject([{ agent: "foo-ann", status: "finished", observation: { source: "agent" } }]);
    expect(await standing(loop, "foo")).toBe("resting");
  });

  it("keeps an agent from finishing before it has the answer, and without spending while it waits", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [write("a.txt", "1"), write("b.txt", "2")] });
    // Foo runs alone: its wait for the first answer ends before Ann begins.
    await loop.run();
    await loop.clock.advance(60_000);
    const held = await loop.run();
    expect(activeFrame(held).phase.kind).toBe("thinking");
    expect(held.step).toBe(3);
    const denied = await eventsOf(loop, "foo", "command-denied");
    expect(denied.map(({ refusal }) => refusal)).toEqual(["helpers", "helpers"]);
    await loop.runAll();
    expect(await standing(loop, "foo")).toBe("resting");
    const state = await stateOf(loop.store, loop.row);
    expect(state.step).toBe(4);
    expect(spentOf(state).steps).toBe(4 + 3);
    const types = (await loop.store.read("foo", 0, 1_000)).map(({ type }) => type);
    expect(types.indexOf("turn-finished")).toBeGreaterThan(types.indexOf("agent-reported"));
  });

  it("is refused with an explanation when the limits do not allow it", async () => {
    const calls = { Foo: [startAgent("Ann"), startAgent("Bo")], Ann: [] };
    const loop = await makeSubagents(calls, { subagents: { maxChildren: 1 } });
    await loop.runAll();
    expect((await resultsOf(loop))[1]).toMatch(/you may have 1 at a time, and have foo-ann \(finished\)/);
    expect((await loop.store.agents()).map(({ id }) => id)).toEqual(["foo", "foo-ann"]);
  });

  it("is refused beyond the maximum depth", async () => {
    const calls = { Foo: [startAgent("Ann")], Ann: [startAgent("Bo")], Bo: [startAgent("Cy")] };
    const loop = await makeSubagents(calls);
    await loop.runAll();
    expect((await resultsOf(loop, "foo-ann-bo"))[0]).toMatch(/may stand 2 deep, and you are the last/);
    const family = (await loop.store.agents()).map(({ id, parent }) => `${id} of ${parent}`);
    expect(family).toEqual(["foo of null", "foo-ann of foo", "foo-ann-bo of foo-ann"]);
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
  it("opens the next turn of a finished sub-agent, with a new share", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann"), messageAgent("foo-ann", "Once more.")], Ann: [] });
    await loop.runAll();
    const [task] = await eventsOf(loop, "foo-ann", "task-received");
    expect(task).toMatchObject({ from: "Foo", text: "Once more." });
    expect(await eventsOf(loop, "foo-ann", "turn-finished")).toHaveLength(2);
    expect((await resultsOf(loop))[1]).toMatch(/^Ann \(key foo-ann\) answers:/);
    const prompt = loop.model.requests.filter(({ model }) => model === "fast-model").at(-1);
    const read = prompt?.messages.find(({ content }) => content.includes("Once more."));
    expect(read).toMatchObject({ role: "user", content: expect.stringContaining("It is no person") });
  });

  it("gives the next task to a sub-agent that remembers the first one", async () => {
    const loop = await makeSubagents({
      Foo: [startAgent("Ann"), messageAgent("foo-ann", "Once more.")],
      Ann: [write("ten.txt", "1 to 10")],
    });
    await loop.runAll();
    const { messages = [] } = loop.model.requests.filter(({ model }) => model === "fast-model").at(-1) ?? {};
    const [, memory, note, task] = messages.map(({ content }) => content);
    expect(memory).toMatch(/^Your memory of turn 1, [\s\S]*1\. write_to_file, [\s\S]*text: 1 to 10\n/);
    expect([note, task]).toEqual([expect.stringContaining("earlier turn"), expect.stringContaining("Once more.")]);
    expect(await eventsOf(loop, "foo-ann", "turn-remembered")).toHaveLength(2);
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
    const calls = { Foo: [LIST, startAgent("Ann"), LIST, endAgent("foo-ann"), LIST, startAgent("Ann")], Ann: [] };
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
    const loop = await makeSubagents(calls, { settings: { stepLimit: 100 } });
    await loop.run();
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

describe("a person's stop", () => {
  it("pauses the sub-agents that work, and a resume resumes them", async () => {
    const loop = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [] });
    await loop.run();
    await loop.tell({ type: "pause", code: "stopped", reason: "Lunch." });
    await loop.runAll();
    expect([await standing(loop, "foo"), await standing(loop, "foo-ann")]).toEqual(["stopped", "parent"]);
    await loop.tell({ type: "resume" });
    await loop.runAll();
    expect([await standing(loop, "foo"), await standing(loop, "foo-ann")]).toEqual(["resting", "resting"]);
  });
});

describe("ask_user", () => {
  it("parks the agent until a person answers, and returns the person's answer", async () => {
    const ask: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };
    const loop = await makeSubagents({ Foo: [ask] });
    await loop.runAll();
    expect(await standing(loop, "foo")).toBe("waiting");
    expect((await loop.store.agent("foo"))?.wakeAt).toBeNull();
    await loop.tell({ type: "say", from: "ada", text: "Blue." });
    await loop.runAll();
    const [answer] = await eventsOf(loop, "foo", "command-finished");
    expect(answer?.observation).toEqual({ status: "ok", source: "person", text: "Blue.", artifacts: [] });
    expect(await standing(loop, "foo")).toBe("resting");
  });
});

// ---------------------------------------------------------------- crashes

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
    ["cannot send a message as a person", send({ type: "say", from: "ada", text: "yes" })],
    ["cannot send a task as the parent", send(task)],
    ["cannot approve a command", send({ type: "approval", callId: "c1", verdict: "approved" })],
    ["cannot change settings", send({ type: "settings", approve: "never" })],
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
