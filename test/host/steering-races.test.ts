/** Calls to one agent at the same time, or just before or after another event. */
import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import type { Store } from "#core/ports/store.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { makeWorld, type TestHost, type World } from "../helpers/host.ts";
import { done } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { HANG, type ScriptedReply } from "../helpers/scripted-model.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 2_000; looks++) {
    if (await isSo()) return;
    await turn();
  }
  throw new Error("It did not come to that.");
}
const typesOf = async (world: World, agent = "foo"): Promise<readonly string[]> =>
  (await world.events(agent)).map(({ type }) => type);
const stateOf = async (world: World, agent = "foo"): Promise<AgentState> => replay(await world.events(agent));

/** Makes an agent whose first requests are never answered, and whose next one completes it. */
async function askingForever(times = 1): Promise<{ world: World; host: TestHost }> {
  const replies: ScriptedReply[] = new Array(times).fill(HANG);
  const world = await makeWorld({ script: () => replies.shift() ?? done() });
  await world.create("Foo");
  const host = world.begin();
  await host.supervisor.start();
  await until(() => world.model.requests.length === 1);
  return { world, host };
}

describe("one runner of an agent", () => {
  it("closes only after the agent has stopped", async () => {
    const world = await makeWorld({ script: () => done() });
    await world.create("Foo");
    const host = world.begin();
    await host.supervisor.start();
    await host.quiet();
    expect(host.closed).toEqual([{ agent: "foo", lastEvent: "turn-finished" }]);
  });

  it("is not confused with the runner of a new agent with the same name", async () => {
    const { world, host } = await askingForever(2);
    const old = host.supervisor.runners.get("foo");
    await world.store.remove("foo");
    host.supervisor.forget("foo");
    await world.create("Foo");
    host.supervisor.wake("foo");
    const young = host.supervisor.runners.get("foo");
    await old?.settled();
    await until(() => world.model.requests.length === 2);
    expect([young === old, host.supervisor.runners.get("foo") === young, host.problems]).toEqual([false, true, []]);
    await host.supervisor.drain(0);
  });
});

describe("an agent that is killed", () => {
  it("ignores a `resume` from before the kill", async () => {
    const { world, host } = await askingForever();
    await host.control.resume("foo", {});
    expect((await host.control.kill("foo")).agent.state).toBe("killed");
    host.supervisor.wake("foo");
    await host.quiet();
    expect((await stateOf(world)).paused?.code).toBe("killed");
    expect(await world.store.inbox("foo")).toEqual([]);
  });

  it("stays killed if it was about to continue", async () => {
    const { world, host } = await askingForever();
    await host.control.kill("foo");
    const reading = Promise.withResolvers<void>();
    const slowly = (store: MemoryStore): Store =>
      new Proxy(store, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown;
          if (name === "inbox") return async (agent: string) => reading.promise.then(() => target.inbox(agent));
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    const next = world.begin({ store: slowly });
    await next.control.resume("foo", {});
    const killed = next.control.kill("foo");
    reading.resolve();
    expect((await killed).agent.state).toBe("killed");
    await next.quiet();
    expect([(await stateOf(world)).paused?.code, isFinished(await stateOf(world))]).toEqual(["killed", false]);
  });

  it("continues when it is resumed afterwards", async () => {
    const { world, host } = await askingForever();
    await host.control.kill("foo");
    await host.control.resume("foo", {});
    await host.quiet();
    expect(isFinished(await stateOf(world))).toBe(true);
  });
});

it("continues an agent of a terminal whose resume reached a host that died before it acted", async () => {
  const world = await makeWorld({ script: () => done() });
  await world.create("Foo", { background: false });
  await world.create("Bar", { background: false });
  await world.store.deliver("foo", "resume", { type: "settings", background: true }, world.clock.now().toISOString());
  const host = world.begin();
  await host.supervisor.start();
  await host.quiet();
  expect([(await typesOf(world)).at(-1), await typesOf(world, "bar")]).toEqual(["turn-finished", ["agent-created"]]);
});
