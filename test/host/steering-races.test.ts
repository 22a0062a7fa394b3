/** Calls to one agent at the same time, or just before or after another event. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Control } from "#api/control.ts";
import { defineCommand, succeed } from "#core/command.ts";
import { replay } from "#core/evolve.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import type { Store } from "#core/ports/store.ts";
import { type AgentState, activeFrame, isFinished } from "#core/state.ts";
import { makeWorld, type TestHost, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";
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

const ACTIONS: Readonly<Record<string, (control: Control, host: TestHost) => unknown>> = {
  kill: (control) => control.kill("foo"),
  stop: (control) => control.stop("foo", 0),
  "stop gently": (control) => control.stop("foo", 1_000),
  resume: (control) => control.resume("foo", {}),
  "resume again": (control) => control.resume("foo", {}),
  say: (control) => control.say("foo", { from: "person", text: "Hello." }),
  pause: (control) => control.pause("foo", "A person says so."),
  approve: (control) => control.answer("foo", { verdict: "approved", count: 2 }),
  deny: (control) => control.answer("foo", { verdict: "denied", text: "No." }),
  wake: (_control, { supervisor }) => supervisor.wake("foo"),
};

/** Makes a model that requests two slow commands in turn, and sometimes fails or hangs. */
async function busyWorld(numbers: readonly number[]): Promise<World> {
  let asked = 0;
  const slow = (name: string, effect: "at-most-once" | "idempotent") =>
    defineCommand({
      name,
      label: name,
      summary: "Takes long.",
      args: { type: "object", properties: { number: { type: "integer", description: "Any" } } },
      annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
      effect,
      timeoutMs: 3_600_000,
      run: async (_args, { signal }) => {
        for (let turns = numbers[asked % numbers.length] ?? 0; turns > 0; turns--) await turn();
        signal.throwIfAborted();
        return succeed("It took long.");
      },
    });
  const failure = { kind: "failed", code: "server-error", message: "500", retry: { afterMs: 3_000 } } as const;
  const script = (_request: ModelRequest): ScriptedReply => {
    asked += 1;
    const choice = (numbers[asked % numbers.length] ?? 0) + asked;
    if (asked > 30) return done();
    if (choice % 9 === 0) return failure;
    if (choice % 11 === 0) return HANG;
    return reply(["once", "again"][choice % 2] ?? "once", { number: asked });
  };
  const world = await makeWorld({ script, commands: [slow("once", "at-most-once"), slow("again", "idempotent")] });
  await world.create("Foo", { approve: (numbers[0] ?? 0) % 4 === 0 ? "always" : "never", stepLimit: null });
  return world;
}

it("keeps the log sound, loses nothing and continues, for calls in any order", async () => {
  const anything = fc.array(fc.tuple(fc.constantFrom(...Object.keys(ACTIONS)), fc.nat(20)), {
    minLength: 3,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(anything, fc.array(fc.nat(7), { minLength: 5, maxLength: 9 }), async (actions, numbers) => {
      const world = await busyWorld(numbers);
      const host = world.begin();
      await host.supervisor.start();
      const refusals: unknown[] = [];
      const asked: Promise<unknown>[] = [];
      for (const [name, turns] of actions) {
        asked.push(Promise.resolve(ACTIONS[name]?.(host.control, host)).catch((thrown) => refusals.push(thrown)));
        for (let left = turns; left > 0; left--) await turn();
      }
      await settle(world, Promise.all(asked));
      expect(refusals.filter((thrown) => (thrown as { code?: string }).code !== "GOALD_CONFLICT")).toEqual([]);
      await settle(world, host.control.kill("foo"));
      await settle(world, host.quiet());
      const stands = await stateOf(world);
      expect([isFinished(stands) || stands.paused !== null, await world.store.inbox("foo")]).toEqual([true, []]);
      for (let tries = 0; !isFinished(await stateOf(world)); tries++) {
        expect(tries).toBeLessThan(40);
        const state = await stateOf(world);
        if (state.paused) await host.control.resume("foo", { approve: "never" });
        for (let turns = 0; turns < 60; turns++) await turn();
        await world.clock.advance(60_000);
        if (activeFrame(await stateOf(world)).phase.kind === "asking") await settle(world, host.control.kill("foo"));
      }
      await settle(world, host.quiet());
      await checkLog(world);
      expect([host.problems, host.supervisor.runners.size]).toEqual([[], 0]);
    }),
    { numRuns: 25 },
  );
});

/** Advances the clock until the promise settles. */
async function settle(world: World, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  for (let turns = 1; !isOver; turns++) {
    if (turns > 5_000) throw new Error("It does not end.");
    await turn();
    if (turns % 20 === 0) await world.clock.advance(500);
  }
  await work;
}

async function checkLog(world: World): Promise<void> {
  const events = await world.events("foo");
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  const begun = events.flatMap((event) =>
    event.type === "command-started" || event.type === "model-asked"
      ? [`${event.callId}/${event.epoch}/${event.attempt}`]
      : [],
  );
  expect(new Set(begun).size).toBe(begun.length);
  const once = events.flatMap((event) =>
    event.type === "command-started" && event.effect === "at-most-once" ? [event.callId] : [],
  );
  expect(new Set(once).size).toBe(once.length);
}
