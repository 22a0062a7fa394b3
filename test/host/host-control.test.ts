import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { makeWorld, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const textIn = ({ messages }: ModelRequest): string => messages.map(({ content }) => content).join("\n");
const lastPrompt = (world: World): string => textIn(world.model.requests.at(-1) as ModelRequest);
/** Makes a model that writes a file, then completes. */
const brief = (request: ModelRequest): ScriptedReply =>
  textIn(request).includes("write_to_file (") || /a\.txt/.test(textIn(request).split("COMMANDS").at(-1) ?? "")
    ? done()
    : reply("write_to_file", { file: "a.txt", text: "a" });
const typesOf = async (world: World, agent = "foo"): Promise<readonly string[]> =>
  (await world.events(agent)).map(({ type }) => type);

describe("the calls that a host accepts", () => {
  it("create and start an agent in the background, only once for the same key", async () => {
    const world = await makeWorld({ script: () => done() });
    const host = world.begin();
    const agent = {
      name: "Foo",
      role: "a tester",
      goals: ["One"],
      key: "k",
      settings: { approve: "never", stepLimit: 5 },
    } as const;
    const first = await host.control.create(agent);
    expect([(await host.control.create(agent)).id, first.background]).toEqual([first.id, true]);
    await host.quiet();
    expect((await host.control.agent("foo")).state).toBe("completed");
    expect(world.model.requests).toHaveLength(1);
  });

  it("find an agent by its id or by its name, and take the newest of that name", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo", { background: false });
    await world.store.create(
      { name: "Foo", role: "r", goals: ["g"], approve: "never", stepLimit: 1 },
      "second",
      world.clock.now().toISOString(),
    );
    const { control } = world.begin();
    expect((await control.agent("FOO")).id).toBe("foo-2");
    expect((await control.agent("foo")).id).toBe("foo");
    await expect(control.agent("bar")).rejects.toMatchObject({
      code: "GOALD_NOT_FOUND",
      hint: "There are: foo, foo-2.",
    });
  });

  it("add a person's words to the very next prompt", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo", { approve: "always" });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    const { note } = await host.control.say("foo", { from: "person", text: "Mind the gap." });
    expect(note).toBe("It will read this with its next step.");
    await host.control.answer("foo", { verdict: "denied", text: "Not yet." });
    await host.quiet();
    expect(lastPrompt(world)).toContain("Mind the gap.");
  });

  it("report that an agent of a terminal without a runner will not read words now", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo", { background: false });
    const host = world.begin();
    const { note } = await host.control.say("foo", { from: "person", text: "Hello." });
    await host.quiet();
    expect([note, world.model.requests.length]).toEqual(["It does not run: goald resume foo", 0]);
  });

  it("open the next turn of a finished agent with words or new goals", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo");
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    await host.control.say("foo", { from: "person", text: "One thing more." });
    await host.quiet();
    await host.control.setGoals("foo", ["Another goal"]);
    await host.quiet();
    expect((await typesOf(world)).filter((type) => /^turn-(?:started|finished)$/.test(type))).toEqual([
      "turn-finished",
      "turn-started",
      "turn-finished",
      "turn-started",
      "turn-finished",
    ]);
    expect(lastPrompt(world)).toContain("Another goal");
  });

  it("take checks with goals, and refuse those that no goal has", async () => {
    const world = await makeWorld({ script: () => done() });
    const host = world.begin();
    const agent = { name: "Foo", role: "r", goals: ["One"], settings: { approve: "never", stepLimit: 3 } } as const;
    const check = { goal: null, test: { kind: "file", path: "a.md" } } as const;
    await expect(host.control.create({ ...agent, checks: [{ ...check, goal: 1 }] })).rejects.toThrow(
      "Check 1: It is for goal 2, and the goals are only goal 1.",
    );
    expect(await host.control.agents()).toEqual([]);
    await host.control.create({ ...agent, checks: [check] });
    await expect(host.control.setGoals("foo", ["Two"], [{ ...check, goal: 4 }])).rejects.toThrow("It is for goal 5");
    await host.control.setGoals("foo", ["Two", "Three"], [check]);
    await host.quiet();
    const state = replay(await world.events("foo"));
    expect([state.goals, state.checks]).toEqual([["Two", "Three"], [check]]);
  });

  it("continue an agent in the host that had finished on a terminal", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo", { background: false });
    const host = world.begin();
    await host.control.resume("foo", {});
    await host.quiet();
    await host.control.changeSettings("foo", { background: false });
    await host.control.say("foo", { from: "person", text: "One thing more." });
    await host.quiet();
    expect((await typesOf(world)).at(-1)).toBe("turn-finished");
    expect((await host.control.agent("foo")).turn).toBe(2);
  });

  it("keep a paused agent paused when words arrive", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Foo", { stepLimit: 1 });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    const { note } = await host.control.say("foo", { from: "person", text: "Hello?" });
    await host.quiet();
    expect(note).toBe("It is paused and will read this when it goes on: goald resume foo");
    expect(world.model.requests).toHaveLength(1);
  });

  it("resume with other limits, and refuse to resume a finished agent", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Foo", { stepLimit: 1 });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    expect((await host.control.agent("foo")).state).toBe("paused: step-limit");
    await host.control.resume("foo", { stepLimit: 10 });
    await host.quiet();
    expect((await host.control.agent("foo")).state).toBe("completed");
    await expect(host.control.resume("foo", {})).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
  });

  it("accept an approval only while that command is pending", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Foo", { approve: "always" });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    await expect(host.control.answer("foo", { callId: "c9", verdict: "approved" })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
    });
    expect((await host.control.answer("foo", { callId: "c1", verdict: "approved" })).note).toBe(
      "Approved: write_to_file",
    );
    await host.quiet();
    await expect(host.control.answer("foo", { callId: "c1", verdict: "approved" })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
    });
  });

  it("pause an idle agent at once, and report when it has already stopped", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Foo", { approve: "always" });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    expect((await host.control.pause("foo", "Lunch.")).agent).toMatchObject({
      state: "paused: person",
      reason: "Lunch.",
    });
    expect((await host.control.stop("foo", 1_000)).note).toBe("It is already stopped.");
  });

  it("remove finished agents, and unfinished ones only with force", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Foo", { approve: "always" });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    const plain = { force: false, files: false };
    await expect(host.control.remove("foo", plain)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    expect(await host.control.remove("foo", { force: true, files: true })).toEqual({
      id: "foo",
      workspace: "/home/workspace/foo",
    });
    expect([await world.store.agents(), host.removedFolders]).toEqual([[], ["foo"]]);
  });

  it("keep the folder of a removed agent by default", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo");
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    await host.control.remove("foo", { force: false, files: false });
    expect(host.removedFolders).toEqual([]);
  });

  it("count agents by state", async () => {
    const world = await makeWorld({ script: brief });
    await world.create("Done");
    await world.create("Asks", { approve: "always" });
    await world.create("Limited", { stepLimit: 1 });
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    expect((await host.control.status()).agents).toEqual({
      running: 0,
      waiting: 1,
      paused: 1,
      finished: 1,
      stalled: 0,
    });
  });

  it("show a step without events for too long as stalled", async () => {
    let answer = (_reply: string): void => {};
    const world = await makeWorld({
      script: () =>
        new Promise<string>((resolve) => {
          answer = resolve;
        }),
    });
    await world.create("Foo");
    const host = world.begin();
    await host.supervisor.start();
    while (world.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect((await host.control.agent("foo")).stalledMs).toBeNull();
    await world.clock.advance(121_000);
    expect((await host.control.agent("foo")).stalledMs).toBeGreaterThan(120_000);
    answer(done());
    await host.quiet();
    expect((await host.control.agent("foo")).stalledMs).toBeNull();
  });

  it("return an agent's events in pages, with the number of the newest", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo");
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    const { events, head } = await host.control.page("foo", 1, 2);
    expect([events.map(({ seq }) => seq), head]).toEqual([[2, 3], (await world.events("foo")).length]);
  });
});
