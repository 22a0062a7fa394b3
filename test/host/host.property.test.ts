/** Calls to one agent in any order, and its steps, edits, clones and restorations in any order. */
import { expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Control } from "#api/control.ts";
import { type CommandContext, succeed } from "#core/command.ts";
import { replay } from "#core/evolve.ts";
import type { ModelRequest } from "#core/ports/model.ts";
import { type AgentState, activeFrame, isFinished } from "#core/state.ts";
import { settle } from "../helpers/fake-clock.ts";
import { makeWorld, type TestHost, type World } from "../helpers/host.ts";
import { done, reply, testCommand, WRITES } from "../helpers/loop.ts";
import { HANG, type ScriptedReply } from "../helpers/models.ts";
import { cases } from "../helpers/waits.ts";

const stateOf = async (world: World, agent = "foo"): Promise<AgentState> => replay(await world.events(agent));

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
  const run = async (_args: object, { signal }: CommandContext) => {
    for (let turns = numbers[asked % numbers.length] ?? 0; turns > 0; turns--) await settle();
    signal.throwIfAborted();
    return succeed("It took long.");
  };
  const args = { type: "object", properties: { number: { type: "integer", description: "Any" } } } as const;
  const slow = (name: string, effect: "at-most-once" | "idempotent") =>
    testCommand(name, run, { args, effect, annotations: { ...WRITES, idempotent: false }, timeoutMs: 3_600_000 });
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

it("calls in any order keep the log sound, lose nothing, and the agent continues", async () => {
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
        for (let left = turns; left > 0; left--) await settle();
      }
      await waitFor(world, Promise.all(asked));
      expect(refusals.filter((thrown) => (thrown as { code?: string }).code !== "GOALD_CONFLICT")).toEqual([]);
      await waitFor(world, host.control.kill("foo"));
      await waitFor(world, host.quiet());
      const stands = await stateOf(world);
      expect([isFinished(stands) || stands.paused !== null, await world.store.inbox("foo")]).toEqual([true, []]);
      for (let tries = 0; !isFinished(await stateOf(world)); tries++) {
        expect(tries).toBeLessThan(40);
        const state = await stateOf(world);
        if (state.paused) await host.control.resume("foo", { approve: "never" });
        for (let turns = 0; turns < 60; turns++) await settle();
        await world.clock.advance(60_000);
        if (activeFrame(await stateOf(world)).phase.kind === "asking") await waitFor(world, host.control.kill("foo"));
      }
      await waitFor(world, host.quiet());
      await checkLog(world);
      expect([host.problems, host.supervisor.runners.size]).toEqual([[], 0]);
    }),
    { numRuns: cases(25) },
  );
});

/** Advances the clock until the promise settles. */
async function waitFor(world: World, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  for (let turns = 1; !isOver; turns++) {
    if (turns > 5_000) throw new Error("It does not end.");
    await settle();
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
