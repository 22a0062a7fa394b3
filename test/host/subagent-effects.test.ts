import { describe, expect, it } from "@jest/globals";
import { ALL_READY } from "#commands/registry.ts";
import type { CommandCall } from "#core/call.ts";
import { spentOf } from "#core/limits.ts";
import { stateOf } from "#views/read-agent.ts";
import { makeWorld, type TestHost, type World } from "../helpers/host.ts";
import type { ChatRequest } from "../helpers/openai-answers.ts";
import { HANG } from "../helpers/scripted-model.ts";
import { nameIn, startAgent, subagentModel } from "../helpers/subagent-model.ts";

/** Makes a world in which Foo starts Ann, who needs approval for each command. */
async function makeSubagents(
  calls: Readonly<Record<string, readonly CommandCall[]>>,
  hangs = "",
): Promise<[World, TestHost]> {
  const think = subagentModel(calls);
  const world = await makeWorld({
    services: ALL_READY,
    script: (request) => {
      const chat = request as unknown as ChatRequest;
      return hangs !== "" && nameIn(chat) === hangs ? HANG : think(chat);
    },
  });
  await world.create("Foo", { approve: "risky", stepLimit: 40 });
  const host = world.begin();
  await host.supervisor.start();
  await host.quiet();
  return [world, host];
}
const standing = async ({ control }: TestHost, name: string): Promise<string> => (await control.agent(name)).state;
const allStandings = async (host: TestHost): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await host.control.agents()).map(({ id, state }) => [id, state]));
const ASK: CommandCall = { name: "ask_user", args: { question: "Red or blue?" } };

describe("a host with sub-agents", () => {
  it("runs a new sub-agent at once, and wakes the waiting parent with its answer", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [] });
    expect(await allStandings(host)).toEqual({ foo: "completed", "foo-ann": "completed" });
    expect((await host.control.agent("foo-ann")).parent).toBe("foo");
    expect(host.problems).toEqual([]);
  });

  it("lets a person answer a sub-agent's question, and both agents continue", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    expect(await allStandings(host)).toEqual({ foo: "waiting: agent", "foo-ann": "waiting: person" });
    expect((await host.control.agent("foo-ann")).reason).toBe("It asks: Red or blue?");
    await host.control.say("foo-ann", { from: "ada", text: "Blue." });
    await host.quiet();
    expect(await allStandings(host)).toEqual({ foo: "completed", "foo-ann": "completed" });
  });

  it.each(["stop", "pause", "kill"] as const)("passes a %s of the parent on to its sub-agents", async (how) => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    const { note } = await (how === "stop"
      ? host.control.stop("foo", 1_000)
      : how === "pause"
        ? host.control.pause("foo", "lunch")
        : host.control.kill("foo"));
    await host.quiet();
    expect(await standing(host, "foo-ann")).toBe("paused: parent");
    if (how !== "pause") expect(note).toBe("Its agents stop with it: foo-ann.");
    const { note: again } = await host.control.resume("foo", {});
    expect(again).toBe("Its agents go on with it: foo-ann.");
    await host.quiet();
    expect(await allStandings(host)).toEqual({ foo: "waiting: agent", "foo-ann": "waiting: person" });
  });

  it("removes no agent that has sub-agents, stops nothing, and names the order of removal", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    await expect(host.control.remove("foo", { force: true, files: false })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      hint: "Remove what it has started first: goald rm foo-ann",
    });
    expect(await standing(host, "foo")).toBe("waiting: agent");
  });

  it("informs the waiting parent when a person removes a sub-agent, and returns the reserved limits", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    expect(spentOf(await stateOf(world.store, { id: "foo" })).steps).toBe(1 + 9);
    await host.control.remove("foo-ann", { force: true, files: false });
    await host.quiet();
    const results = (await world.events("foo")).flatMap((event) =>
      event.type === "command-finished" ? [event.observation] : [],
    );
    expect(results[0]).toMatchObject({ status: "failed", text: expect.stringMatching(/removed by a person/i) });
    expect(await standing(host, "foo")).toBe("completed");
    const state = await stateOf(world.store, { id: "foo" });
    expect([state.children, spentOf(state).steps]).toEqual([{}, 2 + 1]);
    await host.control.remove("foo", { force: false, files: false });
    expect(await host.control.agents()).toEqual([]);
  });

  it("continues all of them in the next process", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    await host.supervisor.drain(0);
    await world.store.deliver(
      "foo-ann",
      "w",
      { type: "say", from: "ada", text: "Blue." },
      world.clock.now().toISOString(),
    );
    const next = world.begin();
    await next.supervisor.start();
    await next.quiet();
    expect(await allStandings(next)).toEqual({ foo: "completed", "foo-ann": "completed" });
  });

  it("keeps sub-agents with their parent at a fork, which continues without them and without reservations", async () => {
    const [world, host] = await makeSubagents({ Foo: [startAgent("Ann")], Ann: [ASK] });
    const agent = await host.control.fork("foo", { step: 1, key: "k" });
    const state = await stateOf(world.store, { id: agent.id });
    expect(state.children).toEqual({});
    expect(spentOf(state).steps).toBe(1);
    const end = (await world.events(agent.id)).find(({ type }) => type === "command-finished");
    expect(JSON.stringify(end)).toContain("It works for foo, which you were forked from");
    expect(await standing(host, "foo")).toBe("waiting: agent");
  });

  it("prefers a person's agent to a sub-agent of the same name", async () => {
    const [, host] = await makeSubagents({ Foo: [startAgent("Foo")] });
    expect((await host.control.agent("FOO")).id).toBe("foo");
  });
});
