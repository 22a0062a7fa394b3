import { describe, expect, it } from "@jest/globals";
import { makeWorld } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";

/** An agent that was started on a terminal, took one step and has finished. */
async function makeFinished(settings: { readonly stepLimit?: number } = {}) {
  const world = await makeWorld({
    script: (_request, index) => (index === 0 ? reply("write_to_file", { file: "a.txt", text: "a" }) : done()),
  });
  await world.create("Foo", { background: false, ...settings });
  const host = world.begin();
  host.supervisor.wake("foo", true);
  await host.quiet();
  expect((await host.control.agent("foo")).state).toBe("completed");
  return { world, host, control: host.control };
}

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
    await control.beginTurn("foo", turn);
    await host.quiet();
    expect(await control.agent("foo")).toMatchObject({ turn: 2, background: true });
    await control.beginTurn("foo", turn);
    await host.quiet();
    expect((await control.agent("foo")).turn).toBe(2);
    await control.beginTurn("foo", { ...turn, key: "other" });
    await host.quiet();
    expect((await control.agent("foo")).turn).toBe(3);
  });

  it("does not begin while a turn is not finished: the refusal says what to do instead", async () => {
    const { host, control } = await makeFinished();
    await control.beginTurn("foo", { goals: ["Count again"], settings: { stepLimit: 2 } });
    await host.quiet();
    expect((await control.agent("foo")).state).toBe("paused: step-limit");
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
    await world.store.deliver("foo", "goals/k", { type: "goals", goals: ["Count again"] }, "2026-11-20T10:00:00.000Z");
    const next = world.begin();
    await next.supervisor.start();
    await next.quiet();
    expect((await next.control.agent("foo")).turn).toBe(1);
    expect((await next.control.resume("foo", { background: false })).note).toBe("It begins turn 2.");
    await next.quiet();
    expect(await next.control.agent("foo")).toMatchObject({ state: "completed", turn: 2 });
    await next.supervisor.drain(0);
  });
});

describe("words to a finished agent", () => {
  it("begin its next turn, and the note has the turn's number", async () => {
    const { control, host } = await makeFinished();
    const { note } = await control.say("foo", { from: "ada", text: "One thing more" });
    expect(note).toBe("It had finished. This begins turn 2.");
    await host.quiet();
    expect((await control.agent("foo")).turn).toBe(2);
  });

  it("name the limit that stops it, and the call that allows it more", async () => {
    const { control, host } = await makeFinished({ stepLimit: 2 });
    const { note } = await control.say("foo", { from: "ada", text: "One thing more" });
    expect(note).toBe(
      "It had finished. This begins turn 2. The limit of 2 steps is reached. Allow more and go on: goald resume foo --max-steps 100",
    );
    await host.quiet();
    expect((await control.agent("foo")).state).toBe("paused: step-limit");
    await control.resume("foo", { stepLimit: 10 });
    await host.quiet();
    expect(await control.agent("foo")).toMatchObject({ state: "completed", turn: 2 });
  });
});
