import { describe, expect, it } from "@jest/globals";
import { makeWorld, type TestHost, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";
import { HANG, type ScriptedReply } from "../helpers/scripted-model.ts";

const ALONE_MS = 30_000;
/** The server wants no request for fifty minutes. */
const LATER: ScriptedReply = {
  ...{ kind: "failed", code: "rate-limited", message: "The server is busy." },
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
const stateOf = async ({ control }: TestHost): Promise<string> => (await control.agent("foo")).state;
const typesOf = async (world: World): Promise<readonly string[]> => (await world.events("foo")).map(({ type }) => type);

describe("an agent in front", () => {
  it("pauses half a minute after its last follower has gone, and not before", async () => {
    const { world, host } = await inFront(LATER);
    const leave = [true, false].map((hold) => follow(host, hold));
    await world.clock.advance(10 * ALONE_MS);
    leave[0]?.();
    await world.clock.advance(10 * ALONE_MS);
    expect(await stateOf(host)).toBe("running");
    leave[1]?.();
    await world.clock.advance(ALONE_MS - 1);
    expect(await stateOf(host)).toBe("running");
    await world.clock.advance(1);
    await host.quiet();
    const { state, reason } = await host.control.agent("foo");
    expect({ state, reason }).toEqual({ state: "paused: person", reason: "Its terminal has gone." });
  });

  it("goes on when its terminal connects again in time", async () => {
    const { world, host } = await inFront(LATER);
    follow(host)();
    await world.clock.advance(ALONE_MS - 1);
    follow(host);
    await world.clock.advance(10 * ALONE_MS);
    expect(await stateOf(host)).toBe("running");
  });

  it("pauses when its terminal was killed before it followed", async () => {
    const { world, host } = await inFront(LATER);
    await world.clock.advance(ALONE_MS);
    await host.quiet();
    expect(await stateOf(host)).toBe("paused: person");
  });

  it("keeps waiting for a person whom its terminal could not ask, and is not started by the answer", async () => {
    const { world, host } = await inFront(reply("ask_user", { question: "Which?" }), done());
    follow(host)();
    await host.quiet();
    await world.clock.advance(10 * ALONE_MS);
    expect(await stateOf(host)).toBe("waiting: person");
    const { note } = await host.control.say("foo", { from: "ada", text: "The red one" });
    await host.quiet();
    expect([note, await stateOf(host)]).toEqual(["It does not run: goald resume foo", "waiting: person"]);
  });

  it("goes on with the answer while its terminal follows it", async () => {
    const { host } = await inFront(reply("ask_user", { question: "Which?" }), done());
    follow(host);
    await host.quiet();
    await host.control.say("foo", { from: "ada", text: "The red one" });
    await host.quiet();
    expect(await stateOf(host)).toBe("completed");
  });

  it("does not pause in the background, nor while its host goes down", async () => {
    const { world, host } = await inFront(LATER, LATER);
    const leave = follow(host);
    await host.control.resume("foo", {});
    leave();
    await world.clock.advance(2 * ALONE_MS);
    expect(await host.control.agent("foo")).toMatchObject({ background: true, state: "running" });

    const other = await inFront(LATER);
    follow(other.host)();
    await other.host.supervisor.drain(0);
    await other.world.clock.advance(2 * ALONE_MS);
    expect(await typesOf(other.world)).not.toContain("agent-paused");
  });
});

describe("an agent in front that was removed", () => {
  it("is not looked for half a minute later", async () => {
    const { world, host } = await inFront(done());
    follow(host)();
    await host.quiet();
    await host.control.remove("foo", { force: false, files: false });
    await world.clock.advance(2 * ALONE_MS);
    await host.quiet();
    expect(host.problems).toEqual([]);
  });
});

describe("an agent in front whose host has died", () => {
  /** A host died while the model was asked; the next one is up. */
  async function nextHost() {
    const { world } = await inFront(HANG, done());
    const next = world.begin();
    await next.supervisor.start();
    await next.quiet();
    return { world, next };
  }

  it("goes on when its terminal connects to the next host, and nobody resumes it", async () => {
    const { world, next } = await nextHost();
    expect(await stateOf(next)).toBe("interrupted");
    follow(next, false);
    await next.quiet();
    expect(await stateOf(next)).toBe("interrupted");
    follow(next);
    await new Promise((resolve) => setImmediate(resolve));
    await next.quiet();
    expect(await stateOf(next)).toBe("completed");
    expect(await typesOf(world)).not.toContain("agent-resumed");
  });

  it("stays stopped when a person has stopped it in between", async () => {
    const { next } = await nextHost();
    await next.control.stop("foo", 1_000);
    follow(next);
    await new Promise((resolve) => setImmediate(resolve));
    await next.quiet();
    expect(await stateOf(next)).toBe("stopped");
  });
});
