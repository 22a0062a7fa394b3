import { describe, expect, it } from "@jest/globals";
import type { PlanEdit } from "#core/plan.ts";
import { loadPlan } from "#views/plan-view.ts";
import { makeWorld, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";

const add = (goal: string, parent = "0"): PlanEdit => ({ kind: "add", parent, goal });
const set = (id: string, state: Extract<PlanEdit, { kind: "set" }>["state"]): PlanEdit => ({ kind: "set", id, state });

/** An agent that has asked "Which city?" in its first step, and then reports that it is done as often as it is asked. */
async function makeWaiting(settings: Parameters<World["create"]>[1] = {}) {
  const world = await makeWorld({
    script: (_request, index) => (index === 0 ? reply("ask_user", { question: "Which city?" }) : done()),
  });
  await world.create("Foo", { goals: ["Find strings", "Write them down"], ...settings });
  const host = world.begin();
  host.supervisor.wake("foo");
  await host.quiet();
  return { world, host, control: host.control };
}
const planIn = async ({ store }: World) => {
  const row = await store.agent("foo");
  if (!row) throw new Error("There is no agent foo.");
  return loadPlan(row, store);
};
const stateOfTasks = async (world: World) =>
  (await planIn(world)).plan?.subtasks.map(({ goal, state }) => [goal, state]);
const lastPrompt = ({ model }: World): string =>
  model.requests
    .at(-1)
    ?.messages.map(({ content }) => content)
    .join("\n") ?? "";
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
    await control.say("foo", { from: "ada", text: "Rome" });
    await host.quiet();
    expect(lastPrompt(world)).toContain("I changed your plan.\nAdded 0.2: Ask Ann\nTask 0.1 is in_progress now.");
  });

  it("keep the agent from finishing until the added task is abandoned or verified", async () => {
    const { world, host, control } = await makeWaiting();
    await control.editPlan("foo", { edits: [add("Ask Ann"), set("0.0", "verified"), set("0.1", "verified")] });
    await control.say("foo", { from: "ada", text: "Rome" });
    await host.quiet();
    expect((await control.agent("foo")).state).toBe("paused: not-proven");
    await control.editPlan("foo", { edits: [set("0.2", "abandoned"), set("0", "verified")] });
    await control.resume("foo", {});
    await host.quiet();
    expect(await stateOfTasks(world)).toEqual([
      ["Find strings", "verified"],
      ["Write them down", "verified"],
      ["Ask Ann", "abandoned"],
    ]);
    expect((await control.agent("foo")).state).toBe("completed");
  });

  it("of a paused agent are in its plan at once, build on each other, and are read when it goes on", async () => {
    const { world, host, control } = await makeWaiting({ background: false });
    await control.pause("foo", "For the test.");
    await host.quiet();
    const { note } = await control.editPlan("foo", { edits: [add("Ask Ann")] });
    expect(note).toBe("It is paused and will read this when it goes on: goald resume foo");
    await control.editPlan("foo", { edits: [set("0.2", "in_progress"), add("By letter", "0.2")] });
    expect(await changesIn(world)).toEqual([]);
    expect(await planIn(world)).toMatchObject({ current: "0.2", isRead: false });
    await control.resume("foo", {});
    await host.quiet();
    expect(await changesIn(world)).toMatchObject([
      { type: "task-added", parent: "0", task: { goal: "Ask Ann" }, by: "person" },
      { type: "task-changed", id: "0.2", state: "in_progress", by: "person" },
      { type: "task-added", parent: "0.2", task: { goal: "By letter" }, by: "person" },
    ]);
    expect(await planIn(world)).toMatchObject({ current: "0.2", isRead: true });
  });

  it("that come together are one message, however many, and leave the messages before them", async () => {
    const { world, host, control } = await makeWaiting();
    await control.editPlan("foo", { edits: Array.from({ length: 12 }, (_none, at) => add(`Part ${at}`)) });
    await control.say("foo", { from: "ada", text: "Rome" });
    await host.quiet();
    expect(lastPrompt(world)).toContain("Which city?");
    expect(lastPrompt(world).match(/I changed your plan/g)).toHaveLength(1);
    expect(lastPrompt(world)).toContain("Added 0.2: Part 0\n");
    expect(lastPrompt(world)).toContain("Added 0.13: Part 11");
  });

  it("with the same key are made once", async () => {
    const { world, host, control } = await makeWaiting();
    for (let time = 0; time < 2; time++) {
      await control.editPlan("foo", { edits: [add("Ask Ann")], key: "k" });
      await host.quiet();
    }
    await control.editPlan("foo", { edits: [add("Ask Ann")], key: "other" });
    await host.quiet();
    expect((await stateOfTasks(world))?.map(([goal]) => goal)).toEqual([
      "Find strings",
      "Write them down",
      "Ask Ann",
      "Ask Ann",
    ]);
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
    await control.say("foo", { from: "ada", text: "Rome" });
    await host.quiet();
    const refused = control.editPlan("foo", { edits: [add("More")] });
    await expect(refused).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      message: "foo has finished turn 1. Its next turn has a plan of its own.",
      hint: expect.stringMatching(/goald say foo "…", or goald run --continue foo -g "…"$/),
    });
    expect(await world.store.inbox("foo")).toEqual([]);
  });
});
