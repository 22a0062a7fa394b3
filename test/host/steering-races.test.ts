/** Calls to one agent at the same time, or just before or after another event. */
import { describe, expect, it, jest } from "@jest/globals";
import { GoaldError } from "#core/errors.ts";
import type { Store } from "#core/ports/store.ts";
import { settle, until } from "../helpers/fake-clock.ts";
import { makeWorld, restedHost, startHost, type TestHost, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";
import type { MemoryStore } from "../helpers/memory-store.ts";
import { HANG, type ScriptedReply } from "../helpers/models.ts";

/** Makes an agent whose first requests are never answered, and whose next one completes it. */
async function askingForever(times = 1) {
  const started = await startHost({ script: (_request, index) => (index < times ? HANG : done()) });
  await until(() => started.world.model.requests.length === 1);
  return started;
}
const stateShown = async ({ control }: TestHost): Promise<string> => (await control.agent("foo")).state;

describe("one runner of an agent", () => {
  it("closes only after the agent has stopped", async () => {
    const { host } = await restedHost({ script: () => done() });
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
    expect(await stateShown(host)).toBe("killed");
    expect(await world.store.inbox("foo")).toEqual([]);
  });

  it("stays killed if it was about to continue", async () => {
    const { world, host } = await askingForever(2);
    await host.control.kill("foo");
    const reading = Promise.withResolvers<void>();
    const slowly = (store: MemoryStore): Store => ({
      ...store,
      inbox: (agent) => reading.promise.then(() => store.inbox(agent)),
    });
    const next = world.begin({ store: slowly });
    await next.control.resume("foo", {});
    const killed = next.control.kill("foo");
    reading.resolve();
    expect((await killed).agent.state).toBe("killed");
    await next.quiet();
    expect(await stateShown(next)).toBe("killed");
  });
});

it("continues an agent of a terminal whose resume reached a host that died before it acted", async () => {
  const world = await makeWorld({ script: () => done() });
  await world.create("Foo", { background: false });
  await world.create("Bar", { background: false });
  await world.deliver("foo", "resume", { type: "settings", background: true });
  await world.next();
  expect([(await world.types()).at(-1), await world.types("bar")]).toEqual(["turn-finished", ["agent-created"]]);
});

const ALONE_MS = 30_000;
/** The server wants no request for fifty minutes. */
const LATER: ScriptedReply = {
  kind: "failed",
  code: "rate-limited",
  message: "The server is busy.",
  retry: { afterMs: 3_000_000 },
};

/** A host with an agent that a terminal has just started in front. */
async function inFront(...script: readonly ScriptedReply[]): Promise<{ world: World; host: TestHost }> {
  const world = await makeWorld({ script });
  const host = world.begin();
  const settings = { approve: "never", stepLimit: null, background: false } as const;
  await host.control.create({ name: "Foo", role: "r", goals: ["g"], settings });
  return { world, host };
}
const follow = ({ control }: Pick<TestHost, "control">, hold = true): (() => void) =>
  control.addFollower("foo", hold, () => undefined);

describe("an agent in front", () => {
  it("pauses half a minute after its last follower has gone, and not before", async () => {
    const { world, host } = await inFront(LATER);
    const leave = [true, false].map((hold) => follow(host, hold));
    await world.clock.advance(10 * ALONE_MS);
    leave[0]?.();
    await world.clock.advance(10 * ALONE_MS);
    expect(await stateShown(host)).toBe("waiting: rate limit");
    leave[1]?.();
    await world.clock.advance(ALONE_MS - 1);
    expect(await stateShown(host)).toBe("waiting: rate limit");
    await host.quietAfter(1);
    const { state, reason } = await host.control.agent("foo");
    expect({ state, reason }).toEqual({ state: "paused: person", reason: "Its terminal has gone." });
  });

  it.each([
    ["goes on when its terminal connects again in time", true, "waiting: rate limit"],
    ["pauses when its terminal was killed before it followed", false, "paused: person"],
  ])("%s", async (_title, connects, state) => {
    const { world, host } = await inFront(LATER);
    if (connects) follow(host)();
    await world.clock.advance(ALONE_MS - 1);
    if (connects) follow(host);
    await host.quietAfter(10 * ALONE_MS);
    expect(await stateShown(host)).toBe(state);
  });

  it.each([
    ["is not started by the answer", false, "It does not run: goald resume foo", "waiting: person"],
    ["goes on with it while followed", true, "It goes on with this as the answer to its question.", "completed"],
  ])("keeps waiting for a person whom nobody could ask, and %s", async (_title, isFollowed, told, state) => {
    const { world, host } = await inFront(reply("ask_user", { question: "Which?" }), done());
    const leave = follow(host);
    if (!isFollowed) leave();
    await host.quiet();
    await world.clock.advance(10 * ALONE_MS);
    expect(await stateShown(host)).toBe("waiting: person");
    const { note } = await host.control.say("foo", { from: "ada", text: "The red one" });
    await host.quiet();
    expect([note, await stateShown(host)]).toEqual([told, state]);
  });

  it.each([
    ["at once", 1, []],
    ["once a full disk takes that", 3, [4_000, ALONE_MS]],
  ])("pauses %s when its run has failed, which ends its terminal", async (_when, failures, waitsMs) => {
    const { world, host } = await inFront(LATER, LATER);
    const leave = host.control.addFollower("foo", true, () => leave());
    await host.quiet();
    const commit = jest.spyOn(world.store, "commit");
    const full = new GoaldError("GOALD_STORE_FULL", "No space.");
    for (let times = 0; times < failures; times++) commit.mockRejectedValueOnce(full);
    await host.control.say("foo", { from: "ada", text: "Go on" });
    for (const ms of [0, ...waitsMs]) {
      await host.quiet();
      await world.clock.advance(ms);
    }
    await host.quiet();
    expect(await stateShown(host)).toBe("paused: person");
  });

  it("is not looked for half a minute later when it was removed", async () => {
    const { host } = await inFront(done());
    follow(host)();
    await host.quiet();
    await host.control.remove("foo", { force: false, files: false });
    await host.quietAfter(2 * ALONE_MS);
    expect(host.problems).toEqual([]);
  });

  it("does not pause in the background, nor while its host goes down", async () => {
    const { world, host } = await inFront(LATER, LATER);
    const leave = follow(host);
    await host.control.resume("foo", {});
    leave();
    await world.clock.advance(2 * ALONE_MS);
    expect(await host.control.agent("foo")).toMatchObject({ background: true, state: "waiting: rate limit" });

    const other = await inFront(LATER);
    follow(other.host)();
    await other.host.supervisor.drain(0);
    await other.world.clock.advance(2 * ALONE_MS);
    expect(await other.world.types()).not.toContain("agent-paused");
  });
});

describe("an agent in front whose host has died", () => {
  /** A host died while the model was asked; the next one is up. */
  const nextHost = async () => {
    const { world } = await inFront(HANG, done());
    return { world, next: await world.next() };
  };

  it("goes on when its terminal connects to the next host, and nobody resumes it", async () => {
    const { world, next } = await nextHost();
    expect(await stateShown(next)).toBe("interrupted");
    follow(next, false);
    await next.quiet();
    expect(await stateShown(next)).toBe("interrupted");
    follow(next);
    await settle();
    await next.quiet();
    expect(await stateShown(next)).toBe("completed");
    expect(await world.types()).not.toContain("agent-resumed");
  });

  it("stays stopped when a person has stopped it in between", async () => {
    const { next } = await nextHost();
    await next.control.stop("foo", 1_000);
    follow(next);
    await settle();
    await next.quiet();
    expect(await stateShown(next)).toBe("stopped");
  });
});
