import { describe, expect, it } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { type Host, openHost } from "#app/host.ts";
import { checkWrite } from "#commands/call-result.ts";
import { loadSettings } from "#config/load-settings.ts";
import { succeed } from "#core/command.ts";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import type { PlanEdit } from "#core/plan.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { approvalOf } from "#core/state.ts";
import { createHostViews } from "#host/host-views.ts";
import type { Supervisor } from "#host/supervisor.ts";
import { openLog } from "#util/log.ts";
import { countStandings } from "#views/agent-view.ts";
import { loadPlan } from "#views/plan-view.ts";
import { stateOf } from "#views/read-agent.ts";
import { AT, later, SPEC } from "../helpers/events.ts";
import { fakeClock, until } from "../helpers/fake-clock.ts";
import { refusalOf, useFolder } from "../helpers/folder.ts";
import { homeOf } from "../helpers/goald.ts";
import { makeWorld, restedHost, startHost, type World, type WorldOptions } from "../helpers/host.ts";
import { done, reply, testCommand } from "../helpers/loop.ts";
import { openMemoryStore } from "../helpers/memory-store.ts";
import { type ScriptedReply, textIn } from "../helpers/models.ts";

const write = (file: string) => reply("write_to_file", { file, text: file });
/** Makes a model that writes a file, then completes. */
const brief = (request: ModelRequest): ScriptedReply =>
  textIn(request).includes("write_to_file (") || /a\.txt/.test(textIn(request).split("COMMANDS").at(-1) ?? "")
    ? done()
    : write("a.txt");
const SETTINGS = { approve: "never", stepLimit: 5 } as const;
/** What a call returns, once all agents rest again. */
const rested = async <T>({ quiet }: { quiet(): Promise<void> }, call: Promise<T>): Promise<T> => {
  const result = await call;
  await quiet();
  return result;
};

describe("the calls that a host accepts", () => {
  it("create and start an agent in the background, only once for the same key", async () => {
    const world = await makeWorld({ script: () => done() });
    const host = world.begin();
    const agent = { name: "Foo", role: "a tester", goals: ["One"], key: "k", settings: SETTINGS };
    const first = await host.control.create(agent);
    expect([(await host.control.create(agent)).id, first.background]).toEqual([first.id, true]);
    await host.quiet();
    expect((await host.control.agent("foo")).state).toBe("completed");
    expect(world.model.requests).toHaveLength(1);
  });

  it("fork an agent only once for the same key, write no file over another, and wake readers of changes", async () => {
    const { world, host } = await restedHost({ script: [write("a"), write("b"), done()] }, { Foo: {} });
    const fork = () => host.control.fork("foo", { step: 2, key: "k" });
    const changed = () => host.control.whenChanged(new AbortController().signal);
    const [{ id }] = await Promise.all([fork(), changed()]);
    world.files.get(id)?.set("a", Buffer.from("A person's edit"));
    world.files.get(id)?.delete("b");
    expect(await fork()).toMatchObject({ id, files: 2 });
    expect([world.textOf(id, "a"), world.textOf(id, "b")]).toEqual(["A person's edit", world.textOf("foo", "b")]);
    await Promise.all([host.control.restore("foo", { step: 1 }), changed()]);
  });

  it("find an agent by its id or by its name, and take the newest of that name", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo", { background: false });
    await world.store.create({ ...SPEC, stepLimit: 1 }, "second", AT);
    const { control } = world.begin();
    expect((await control.agent("FOO")).id).toBe("foo-2");
    expect((await control.agent("foo")).id).toBe("foo");
    await expect(control.agent("bar")).rejects.toMatchObject({
      code: "GOALD_NOT_FOUND",
      hint: "There are: foo, foo-2.",
    });
  });

  it("say when words are read: by the next prompt of an agent that waits, and not before others go on", async () => {
    const limits = { Limited: { stepLimit: 1 }, Poor: { tokenLimit: 1 } };
    const agents = { Foo: { approve: "always" }, Front: { background: false }, ...limits } as const;
    const { world, host } = await restedHost({ script: brief }, agents);
    const say = async (name: string) => (await host.control.say(name, { from: "person", text: "Mind the gap." })).note;
    expect([await say("foo"), await say("front"), await say("limited"), await say("poor")]).toEqual([
      "It will read this with its next step.",
      "It does not run: goald resume front",
      "It is paused and will read this when it goes on: goald resume limited",
      "It is paused and will read this when it goes on: goald resume poor --max-tokens 1000000",
    ]);
    await host.quiet();
    expect(world.model.requests).toHaveLength(2);
    await rested(host, host.control.answer("foo", { verdict: "denied", text: "Not yet." }));
    expect(world.lastPrompt()).toContain("Mind the gap.");
  });

  it("say words that are sent before a question as a message, and not as its answer", async () => {
    const words = { type: "say", from: "ada", text: "Hurry." } as const;
    const asking = () => world.deliver("foo", "w", words).then(() => reply("ask_user", { question: "Which city?" }));
    const world = await makeWorld({ script: (_request, index) => (index === 0 ? asking() : done()) });
    await world.create("Foo");
    const host = world.begin();
    await rested(host, host.supervisor.start());
    expect((await host.control.agent("foo")).state).toBe("waiting: person");
  });

  it("open the next turn of a finished agent with words or new goals", async () => {
    const { world, host } = await restedHost({ script: () => done() });
    await rested(host, host.control.say("foo", { from: "person", text: "One thing more." }));
    await rested(host, host.control.setGoals("foo", ["Another goal"]));
    expect(await host.control.agent("foo")).toMatchObject({ state: "completed", turn: 3 });
    expect(world.lastPrompt()).toContain("Another goal");
  });

  it("take checks with goals, and refuse those that no goal has", async () => {
    const world = await makeWorld({ script: () => done() });
    const host = world.begin();
    const agent = { name: "Foo", role: "r", goals: ["One"], settings: SETTINGS };
    const check = { goal: null, test: { kind: "file", path: "a.md" } } as const;
    await expect(host.control.create({ ...agent, checks: [{ ...check, goal: 1 }] })).rejects.toThrow(
      "Check 1: It is for goal 2, and the goals are only goal 1.",
    );
    expect(await host.control.agents()).toEqual([]);
    await host.control.create({ ...agent, checks: [check] });
    await expect(host.control.setGoals("foo", ["Two"], [{ ...check, goal: 4 }])).rejects.toThrow("It is for goal 5");
    await rested(host, host.control.setGoals("foo", ["Two", "Three"], [check]));
    const state = replay(await world.events("foo"));
    expect([state.goals, state.checks]).toEqual([["Two", "Three"], [check]]);
  });

  it("resume with so much more from now on, whoever asks at the same time", async () => {
    const { world, host } = await restedHost({ script: brief }, { Foo: { stepLimit: 1 } });
    const more = { steps: 10, tokens: 1_000_000, timeMs: 60_000 };
    const before = spentOf(replay(await world.events("foo")));
    await Promise.all([1, 2].map(() => host.control.resume("foo", { stepLimit: 2 }, { more })));
    await host.quiet();
    const { settings } = replay(await world.events("foo"));
    expect(settings).toMatchObject({ stepLimit: 11, tokenLimit: before.tokens + 1_000_000 });
    expect(Date.parse(settings.deadline ?? "")).toBeGreaterThan(0);
  });

  it("pause an idle agent at once, and report when it has already stopped", async () => {
    const { host } = await restedHost({ script: brief }, { Foo: { approve: "always" } });
    expect((await host.control.pause("foo", "Lunch.")).agent).toMatchObject({
      state: "paused: person",
      reason: "Lunch.",
    });
    expect((await host.control.stop("foo", 1_000)).note).toBe("It is already stopped.");
  });

  it("remove finished agents, unfinished ones only with force, and their folders only on request", async () => {
    const { world, host } = await restedHost({ script: brief }, { Foo: { approve: "always" }, Done: {} });
    const plain = { force: false, files: false };
    await expect(host.control.remove("foo", plain)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    await host.control.remove("done", plain);
    expect(await host.control.remove("foo", { force: true, files: true })).toEqual({
      id: "foo",
      workspace: "/home/workspace/foo",
    });
    expect([await world.store.agents(), host.removedFolders]).toEqual([[], ["foo"]]);
  });

  it("count agents by state", async () => {
    const { host } = await restedHost(
      { script: brief },
      { Done: {}, Asks: { approve: "always" }, Limited: { stepLimit: 1 } },
    );
    expect(countStandings(await host.control.agents())).toEqual({
      running: 0,
      waiting: 1,
      paused: 1,
      finished: 1,
      interrupted: 0,
      damaged: 0,
      stalled: 0,
    });
  });

  it("show a step without events for too long as stalled", async () => {
    const { promise: reply, resolve: answer } = Promise.withResolvers<string>();
    const { world, host } = await startHost({ script: () => reply });
    await until(() => world.model.requests.length === 1);
    expect((await host.control.agent("foo")).stalledMs).toBeNull();
    await world.clock.advance(121_000);
    expect((await host.control.agent("foo")).stalledMs).toBeGreaterThan(120_000);
    answer(done());
    await host.quiet();
    expect((await host.control.agent("foo")).stalledMs).toBeNull();
  });
});

/** An agent that was started on a terminal, took one step and has finished. */
async function makeFinished(
  settings: Parameters<World["create"]>[1] = {},
  options: WorldOptions = { script: (_request, index) => (index === 0 ? write("a.txt") : done()) },
) {
  const started = await startHost(options, { Foo: { background: false, ...settings } });
  started.host.supervisor.wake("foo", true);
  await started.host.quiet();
  expect((await started.control.agent("foo")).state).toBe("completed");
  return started;
}

const CAME_BEFORE = "Nothing is done: a request with this key came before.";

describe("the next turn of a finished agent", () => {
  it("begins with new goals, on the terminal where it was asked for", async () => {
    const { world, host, control } = await makeFinished();
    const { note } = await control.beginTurn("foo", { goals: ["Count again"], settings: { background: false } });
    expect(note).toBe("It begins turn 2.");
    await host.quiet();
    expect(await control.agent("foo")).toMatchObject({ state: "completed", turn: 2, background: false });
    const log = await world.events("foo");
    expect(log.filter(({ type }) => type === "turn-started")).toMatchObject([{ turn: 2 }]);
    expect(log.filter(({ type }) => type === "goals-changed")).toMatchObject([{ goals: ["Count again"] }]);
    expect(world.model.requests.at(-1)?.messages[0]?.content).toContain("1. Count again");
  });

  it("begins in the background by default, with changed settings, and once for each key", async () => {
    const { host, control } = await makeFinished();
    const turn = { goals: ["Count again"], settings: { stepLimit: 90 }, key: "k" };
    await rested(host, control.beginTurn("foo", turn));
    expect(await control.agent("foo")).toMatchObject({ turn: 2, background: true });
    await rested(host, control.beginTurn("foo", turn));
    expect((await control.agent("foo")).turn).toBe(2);
    await rested(host, control.beginTurn("foo", { ...turn, key: "other" }));
    expect((await control.agent("foo")).turn).toBe(3);
  });

  it("does not begin while a turn is not finished: the refusal says what to do instead", async () => {
    const { host, control } = await makeFinished();
    const turn = { goals: ["Count again"], settings: { stepLimit: 2 }, key: "k" };
    await rested(host, control.beginTurn("foo", turn));
    expect((await control.agent("foo")).state).toBe("paused: step-limit");
    expect((await control.beginTurn("foo", turn)).note).toBe(CAME_BEFORE);
    await expect(control.beginTurn("foo", { goals: ["More"] })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      message: "foo has not finished turn 2, so its next turn cannot begin.",
      hint: expect.stringMatching(/goald resume foo[\s\S]*goald goals foo --set "…"[\s\S]*goald say foo "…"/),
    });
  });

  it("waits while no host runs the agent, and a resume begins it; without it a resume is refused", async () => {
    const { world, host, control } = await makeFinished();
    await expect(control.resume("foo", {})).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    await host.supervisor.drain(0);
    // The host died between the delivery and the first step.
    await world.deliver("foo", "goals/k", { type: "goals", goals: ["Count again"] });
    const next = await world.next();
    expect((await next.control.agent("foo")).turn).toBe(1);
    expect((await next.control.resume("foo", { background: false })).note).toBe("It begins turn 2.");
    await next.quiet();
    expect(await next.control.agent("foo")).toMatchObject({ state: "completed", turn: 2 });
    await next.supervisor.drain(0);
  });
});

describe("words to a finished agent", () => {
  it("begin its next turn in the host, and are said to have come before when their key did, also when they are others", async () => {
    const { control, host } = await makeFinished();
    const words = { from: "ada", text: "One thing more", key: "k" };
    expect((await control.say("foo", words)).note).toBe("It had finished. This begins turn 2.");
    await host.quiet();
    expect(await control.agent("foo")).toMatchObject({ state: "completed", turn: 2, background: true });
    await rested(host, control.changeSettings("foo", { background: false }));
    const { note } = await control.say("foo", { ...words, text: "And another" });
    expect(note).toBe(CAME_BEFORE);
    await host.quiet();
    expect(await control.agent("foo")).toMatchObject({ turn: 2, background: false });
  });

  it("name the limit that stops it and the call that allows it more, as does a resume without more", async () => {
    const { control, host } = await makeFinished({ stepLimit: 2 });
    const { note } = await control.say("foo", { from: "ada", text: "One thing more" });
    expect(note).toBe(
      "It had finished. This begins turn 2. The limit of 2 steps is reached. Allow more and go on: goald resume foo --max-steps 100",
    );
    await host.quiet();
    const message = expect.stringMatching(/^The limit of 2 steps is reached\. .* goald resume foo --max-steps 100$/);
    await expect(control.resume("foo", {})).rejects.toMatchObject({ code: "GOALD_CONFLICT", message });
    await rested(host, control.resume("foo", { stepLimit: 10 }));
    expect(await control.agent("foo")).toMatchObject({ state: "completed", turn: 2 });
  });
});

const HOUR = 3_600_000;

/** An agent that asks before each of two writes, and then before its end. */
const makeAsker = (change: Pick<WorldOptions, "approvalExpiresMs"> = {}) =>
  restedHost({ script: [write("a"), write("b"), done()], ...change }, { Foo: { approve: "always" } });
const waitingIn = async (world: World) => approvalOf(await stateOf(world.store, { id: "foo" }))?.callId;
const filesOf = (world: World): readonly string[] => [...(world.files.get("foo")?.keys() ?? [])];
const yes = (callId: string) => ({ callId, verdict: "approved" }) as const;

describe("an approval", () => {
  it("of two that arrive before the agent reads one counts, for one call; the other is refused, also a denial", async () => {
    const { world, host, control } = await makeAsker();
    const withWords = control.answer("foo", { ...yes("c1"), text: "Do it twice." });
    await expect(withWords).rejects.toMatchObject({ code: "GOALD_USAGE" });
    const given = [yes("c1"), yes("c1"), { callId: "c1", verdict: "denied", text: "No" } as const];
    const answered = await host.supervisor.hold("foo", () =>
      Array.fromAsync(given, (answer) => Promise.allSettled([control.answer("foo", answer)])),
    );
    const late = "c1 (write_to_file) has an answer already; this one has no effect.";
    expect(answered.flat()).toMatchObject([
      { value: { note: "Approved: write_to_file" } },
      { reason: { code: "GOALD_CONFLICT", message: late } },
      { reason: { code: "GOALD_CONFLICT", message: late } },
    ]);
    await host.quiet();
    await expect(control.answer("foo", yes("c1"))).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      message: "foo does not wait for c1: c2 (write_to_file) waits now.",
    });
    expect([filesOf(world), await waitingIn(world)]).toEqual([["a"], "c2"]);
  });

  it("stays open without a limit; a fork asks again for one that was not used, and names its reason", async () => {
    const { host, world, control } = await makeAsker();
    await world.clock.advance(1_000 * HOUR);
    expect(await waitingIn(world)).toBe("c1");
    await control.pause("foo", "Wait.");
    await rested(host, control.answer("foo", { ...yes("c1"), count: 3 }));
    const { id } = await control.fork("foo", { step: 1, key: "k" });
    await rested(host, control.resume(id, {}));
    expect((await control.agent(id)).reason).toBe(
      "It asks for the approval of write_to_file (c1): Every command needs your approval.",
    );
  });
});

describe("an approval that expires", () => {
  it("counts as denied after its time: the model reads so, and the agent goes on", async () => {
    const { world, host, control } = await makeAsker({ approvalExpiresMs: HOUR });
    await world.clock.advance(HOUR - 1);
    expect(await waitingIn(world)).toBe("c1");
    await host.quietAfter(1);
    expect([filesOf(world), await waitingIn(world)]).toEqual([[], "c2"]);
    expect(world.lastPrompt()).toContain("Nobody approved it by 2026-11-20T09:00:00.000Z.");
    await expect(control.answer("foo", yes("c1"))).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
  });

  it.each<[when: string, sentAfterMs: number, written: readonly string[]]>([
    ["is not given by a yes that was sent after its time, while no host ran", HOUR, []],
    ["is given by a yes that was sent in time and is read after it", HOUR - 1, ["a"]],
  ])("%s", async (_when, sentAfterMs, written) => {
    const { world, host } = await makeAsker({ approvalExpiresMs: HOUR });
    const sentAt = new Date(world.clock.now().getTime() + sentAfterMs).toISOString();
    await world.store.deliver("foo", "yes", { type: "approval", ...yes("c1") }, sentAt);
    await host.quietAfter(HOUR);
    expect([filesOf(world), await waitingIn(world)]).toEqual([written, "c2"]);
  });
});

const add = (goal: string, parent = "0"): PlanEdit => ({ kind: "add", parent, goal });
const set = (id: string, state: Extract<PlanEdit, { kind: "set" }>["state"]): PlanEdit => ({ kind: "set", id, state });

/** An agent that has asked "Which city?" in its first step, and then reports that it is done as often as it is asked. */
async function makeWaiting(settings: Parameters<World["create"]>[1] = {}) {
  const started = await startHost(
    { script: (_request, index) => (index === 0 ? reply("ask_user", { question: "Which city?" }) : done()) },
    { Foo: { goals: ["Find strings", "Write them down"], ...settings } },
  );
  started.host.supervisor.wake("foo");
  await started.host.quiet();
  return started;
}
const planIn = async ({ store }: World) => {
  const row = await store.agent("foo");
  if (!row) throw new Error("There is no agent foo.");
  return loadPlan(row, store);
};
const stateOfTasks = async (world: World) =>
  (await planIn(world)).plan?.subtasks.map(({ goal, state }) => [goal, state]);
const changesIn = async (world: World) => (await world.events("foo")).filter(({ type }) => type.startsWith("task-"));

describe("a person's changes of a plan", () => {
  it("begin the plan of an agent that had none, with its goals as the first tasks", async () => {
    const { world, host, control } = await makeWaiting();
    expect(await planIn(world)).toEqual({ agent: "foo", turn: 1, plan: null, current: null, isRead: true });
    const edited = await control.editPlan("foo", { edits: [add("Ask Ann"), set("0.1", "in_progress")] });
    expect(edited.changes).toEqual([
      { id: "0", goal: "Reach all goals", from: "open", to: "in_progress" },
      { id: "0.1", goal: "Write them down", from: "open", to: "in_progress" },
      { id: "0.2", goal: "Ask Ann", from: null, to: "open" },
    ]);
    expect(edited.note).toBe("It will read this with its next step.");
    await host.quiet();
    expect(await planIn(world)).toMatchObject({
      current: "0.1",
      isRead: true,
      plan: { id: "0", state: "in_progress" },
    });
    // The agent's question is not answered by it.
    expect((await control.agent("foo")).state).toBe("waiting: person");
    await rested(host, control.say("foo", { from: "ada", text: "Rome" }));
    expect(world.lastPrompt()).toContain("I changed your plan.\nAdded 0.2: Ask Ann\nTask 0.1 is in_progress now.");
  });

  it("keep the agent from finishing until the added task is abandoned or verified", async () => {
    const { world, host, control } = await makeWaiting();
    await control.editPlan("foo", { edits: [add("Ask Ann"), set("0.0", "verified"), set("0.1", "verified")] });
    await rested(host, control.say("foo", { from: "ada", text: "Rome" }));
    expect((await control.agent("foo")).state).toBe("paused: not-proven");
    await control.editPlan("foo", { edits: [set("0.2", "abandoned"), set("0", "verified")] });
    await rested(host, control.resume("foo", {}));
    expect(await stateOfTasks(world)).toEqual([
      ["Find strings", "verified"],
      ["Write them down", "verified"],
      ["Ask Ann", "abandoned"],
    ]);
    expect((await control.agent("foo")).state).toBe("completed");
  });

  it("of a paused agent are in its plan at once, build on each other, and are read when it goes on", async () => {
    const { world, host, control } = await makeWaiting({ background: false });
    await rested(host, control.pause("foo", "For the test."));
    const { note } = await control.editPlan("foo", { edits: [add("Ask Ann")] });
    expect(note).toBe("It is paused and will read this when it goes on: goald resume foo");
    await control.editPlan("foo", { edits: [set("0.2", "in_progress"), add("By letter", "0.2")] });
    expect(await changesIn(world)).toEqual([]);
    expect(await planIn(world)).toMatchObject({ current: "0.2", isRead: false });
    await rested(host, control.resume("foo", {}));
    expect(await changesIn(world)).toMatchObject([
      { type: "task-added", parent: "0", task: { goal: "Ask Ann" }, by: "person" },
      { type: "task-changed", id: "0.2", state: "in_progress", by: "person" },
      { type: "task-added", parent: "0.2", task: { goal: "By letter" }, by: "person" },
    ]);
    expect(await planIn(world)).toMatchObject({ current: "0.2", isRead: true });
  });

  it("that come together are one message, however many, and with the same key are made once", async () => {
    const { world, host, control } = await makeWaiting();
    const edits = Array.from({ length: 12 }, (_none, at) => add(`Part ${at}`));
    for (const key of ["k", "k"]) await rested(host, control.editPlan("foo", { edits, key }));
    expect(await changesIn(world)).toHaveLength(12);
    await rested(host, control.say("foo", { from: "ada", text: "Rome" }));
    expect(await control.editPlan("foo", { edits, key: "k" })).toMatchObject({ changes: [], note: CAME_BEFORE });
    // The messages before them are left.
    expect(world.lastPrompt()).toContain("Which city?");
    expect(world.lastPrompt().match(/I changed your plan/g)).toHaveLength(1);
    expect(world.lastPrompt()).toContain("Added 0.2: Part 0\n");
    expect(world.lastPrompt()).toContain("Added 0.13: Part 11");
  });

  it.each<[what: string, edits: readonly PlanEdit[], message: string]>([
    ["an id that is not one", [set("1.x", "open")], 'such as 0.1.2, with whole numbers between dots, got "1.x"'],
    ["a task that does not exist", [set("0.7", "open")], "There is no task 0.7: task 0 has the subtasks 0.0 to 0.2."],
    ["a task below one that is closed", [set("0.1", "abandoned"), add("x", "0.1")], "Task 0.1 is abandoned. Set it to"],
    ["more tasks than a plan has", Array.from({ length: 997 }, () => add("x")), "A plan has up to 1,000 tasks"],
    ["an empty goal", [add(" ")], "A task's goal has 1 to 500 characters, got 0."],
  ])("with %s are refused whole, and nothing is delivered", async (_what, edits, message) => {
    const { world, host, control } = await makeWaiting();
    const refused = control.editPlan("foo", { edits: [add("Fits"), ...edits] });
    await expect(refused).rejects.toMatchObject({ code: "GOALD_USAGE", message: expect.stringContaining(message) });
    await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining("goald plan foo") });
    await host.quiet();
    expect(await changesIn(world)).toEqual([]);
    expect(await world.store.inbox("foo")).toEqual([]);
  });

  it("are refused when the agent has finished, and the refusal says how its next turn begins", async () => {
    const { world, host, control } = await makeWaiting();
    await rested(host, control.say("foo", { from: "ada", text: "Rome" }));
    const refused = control.editPlan("foo", { edits: [add("More")] });
    await expect(refused).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      message: "foo has finished turn 1. Its next turn has a plan of its own.",
      hint: expect.stringMatching(/goald say foo "…", or goald run --continue foo -g "…"$/),
    });
    expect(await world.store.inbox("foo")).toEqual([]);
  });
});

/** The host of a page that a home's own command reads is not known. */
const EVIL = [{ from: "web", name: "" }];
/** Reads a stranger's page. */
const peek = testCommand("peek", async () => succeed("OBEY ME", { source: "web" }), { effect: "pure" });

/** An agent that has read a stranger's page, has written a file after it, and has finished. */
const makeReader = () => makeFinished({}, { commands: [peek], script: [reply("peek"), write("notes.md"), done()] });
const trustsIn = async (world: World) => (await world.events("foo")).filter(({ type }) => type === "words-trusted");

describe("a person's trust", () => {
  it("in all that an agent has read ends what its views say of outside words, and is an event of a finished agent too", async () => {
    const { world, host, control } = await makeReader();
    const received = [{ from: "web", name: "", step: 1, at: expect.stringMatching(/Z$/) }];
    expect((await control.agent("foo")).received).toEqual(received);
    const trusted = await control.trust("foo", { what: "all" });
    expect(trusted).toMatchObject({ trusted: [{ path: null, outside: EVIL }], received });
    await host.quiet();
    expect((await control.agent("foo")).received).toEqual([]);
    expect(await trustsIn(world)).toMatchObject([{ what: "all" }]);
    expect((await control.agent("foo")).state).toBe("completed");
  });

  it("in a file leaves the agent as it is, and makes the file's words clean", async () => {
    const { world, host, control } = await makeReader();
    expect(await control.trust("foo", { what: "files", paths: ["./notes.md"] })).toMatchObject({
      trusted: [{ path: "notes.md", outside: EVIL }],
      received: [],
    });
    await host.quiet();
    expect(await trustsIn(world)).toMatchObject([{ what: "file", path: "notes.md" }]);
    expect((await control.agent("foo")).received).toHaveLength(1);
    expect(await control.trust("foo", { what: "files", paths: ["notes.md"] })).toMatchObject({
      trusted: [{ path: "notes.md", outside: [] }],
    });
  });

  it("in a path that the history does not have is refused, and nothing is trusted; no path is not all", async () => {
    const { world, host, control } = await makeReader();
    const refusal = async (trust: Parameters<typeof control.trust>[1]) =>
      (await refusalOf(control.trust("foo", trust))).code;
    for (const paths of [["never.md"], ["notes.md", "never.md"], [".."], ["."]])
      expect([paths, await refusal({ what: "files", paths })]).toEqual([paths, "GOALD_NOT_FOUND"]);
    expect(await refusal({ what: "files" })).toBe("GOALD_USAGE");
    expect(await refusal({ what: "all", paths: ["notes.md"] })).toBe("GOALD_USAGE");
    await host.quiet();
    expect(await trustsIn(world)).toEqual([]);
  });

  it("cannot be given by a command: such a message is refused", () => {
    const write = { kind: "send", to: "foo", key: "k", message: { type: "trust", what: "all" } };
    expect(() => checkWrite("sly", write as never)).toThrow("staged an invalid write");
  });
});

it("an agent whose log cannot be read is damaged and not also stalled while its host retries", async () => {
  const store = openMemoryStore();
  await store.create(SPEC, "k", AT);
  const unreadable = { ...store, load: () => Promise.reject(new Error("It cannot be read.")) };
  const supervisor = { runners: new Map([["foo", {}]]), isolation: { reasonFor: () => null } };
  const views = createHostViews({
    store: unreadable,
    supervisor: supervisor as unknown as Supervisor,
    clock: fakeClock({ start: later(3_600) }),
    workspaceFolder: "/w",
    stallAfterMs: () => 1_000,
  });
  expect(await views.viewAll(await store.agents())).toMatchObject([
    { id: "foo", name: "Foo", state: "damaged", reason: "It cannot be read.", step: 0, stalledMs: null },
  ]);
});

const at = useFolder();

it("redacts an answer of a daemon once, and has only problems since its settings were reloaded", async () => {
  const asked: number[] = [];
  let loads = 0;
  const home = await homeOf({ home: at(), cwd: at(), userHome: at() });
  const log = await openLog({ folder: at("log"), redact: (text) => text, level: "silent" });
  const load = async () => {
    const number = loads++;
    const { settings } = await loadSettings({ home, env: {}, flags: {} });
    const redact = (text: string) => {
      asked.push(number);
      return text;
    };
    return { settings, redact, scrub: (text: string) => text };
  };
  const { socket } = home;
  await using host = await openHost({ ...(await load()), home, log, load, socket });
  await host.serve();
  host.report("Memory is searched locally.");
  for (let reloads = 0; reloads < 5; reloads++) await host.reload();
  asked.length = 0;
  expect((await connectHost(socket).status()).problems).toEqual([]);
  expect([...new Set(asked)].sort()).toEqual([5]);
  await host.stopServing("The test is over.");
});

it("answers a repeated request for a recorded agent as the first one, whenever a death came between", async () => {
  const home = await homeOf({ home: at("home"), cwd: at(), userHome: at() });
  const same = (text: string): string => text;
  const log = await openLog({ folder: at("log"), redact: same, level: "silent" });
  const { settings } = await loadSettings({ home, env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }, flags: {} });
  const record = at("foo.ndjson");
  const agent = { name: "Foo", role: "r", goals: ["g"], settings: { ...SETTINGS, background: false }, record };
  const inHost = async (act: (host: Host) => unknown): Promise<unknown> => {
    await using host = await openHost({ settings, redact: same, scrub: same, home, log });
    const result = await act(host);
    await host.supervisor.drain(0);
    return result;
  };
  const create = (key: string) => inHost(async (host) => (await host.control.create({ ...agent, key })).createdAt);
  await inHost((host) => host.recordings.create(record, "k"));
  const first = await create("k");
  expect(await create("k")).toBe(first);
  await expect(create("other")).rejects.toThrow(`There is a file ${record} already`);
  const paths = async ({ recordings, store }: Host) => (await store.agents()).map((row) => recordings.pathOf(row));
  expect(await inHost(paths)).toEqual([record]);
});
