import { describe, expect, it } from "@jest/globals";
import { approvalOf } from "#core/state.ts";
import { stateOf } from "#views/read-agent.ts";
import { makeWorld, type World } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";

const write = (file: string) => reply("write_to_file", { file, text: file });
const HOUR = 3_600_000;

/** An agent that asks before each of two writes, and then before its end. */
async function makeAsker(change: { readonly approvalExpiresMs?: number } = {}) {
  const world = await makeWorld({ script: (_request, index) => [write("a"), write("b")][index] ?? done(), ...change });
  await world.create("Foo", { approve: "always" });
  const host = world.begin();
  await host.supervisor.start();
  await host.quiet();
  return { world, host, control: host.control };
}
const waitingIn = async (world: World) => approvalOf(await stateOf(world.store, { id: "foo" }))?.callId;
const filesOf = (world: World): readonly string[] => [...(world.files.get("foo")?.keys() ?? [])];
const yes = (callId: string) => ({ callId, verdict: "approved" }) as const;

describe("an approval", () => {
  it("that arrives twice before the agent reads it approves one call, and not the next one", async () => {
    const { world, host, control } = await makeAsker();
    const answered = await Promise.all([control.answer("foo", yes("c1")), control.answer("foo", yes("c1"))]);
    expect(answered.map(({ note }) => note)).toEqual(["Approved: write_to_file", "Approved: write_to_file"]);
    await host.quiet();
    expect([filesOf(world), await waitingIn(world)]).toEqual([["a"], "c2"]);
  });

  it("that names another call than the waiting one is refused, and the refusal names what waits", async () => {
    const { world, host, control } = await makeAsker();
    await control.answer("foo", yes("c1"));
    await host.quiet();
    await expect(control.answer("foo", yes("c1"))).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      message: "foo does not wait for c1: c2 (write_to_file) waits now.",
    });
    await host.quiet();
    expect([filesOf(world), await waitingIn(world)]).toEqual([["a"], "c2"]);
  });

  it("stays open without a limit, and names its reason in the agent's view", async () => {
    const { world, control } = await makeAsker();
    await world.clock.advance(1_000 * HOUR);
    expect(await waitingIn(world)).toBe("c1");
    expect((await control.agent("foo")).reason).toBe(
      "It asks for the approval of write_to_file (c1): Every command needs your approval.",
    );
  });
});

describe("an approval that expires", () => {
  it("counts as denied after its time: the model reads so, and the agent goes on", async () => {
    const { world, host, control } = await makeAsker({ approvalExpiresMs: HOUR });
    await world.clock.advance(HOUR - 1);
    expect(await waitingIn(world)).toBe("c1");
    await world.clock.advance(1);
    await host.quiet();
    expect([filesOf(world), await waitingIn(world)]).toEqual([[], "c2"]);
    const prompt = world.model.requests
      .at(-1)
      ?.messages.map(({ content }) => content)
      .join("\n");
    expect(prompt).toContain("Nobody approved it by 2026-11-20T09:00:00.000Z.");
    await expect(control.answer("foo", yes("c1"))).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
  });

  it("is not given by a yes that was sent after its time, while no host ran", async () => {
    const { world, host } = await makeAsker({ approvalExpiresMs: HOUR });
    const late = new Date(world.clock.now().getTime() + HOUR).toISOString();
    await world.store.deliver("foo", "late", { type: "approval", ...yes("c1") }, late);
    await world.clock.advance(HOUR);
    await host.quiet();
    expect([filesOf(world), await waitingIn(world)]).toEqual([[], "c2"]);
  });

  it("is given by a yes that was sent in time and is read after it", async () => {
    const { world, host } = await makeAsker({ approvalExpiresMs: HOUR });
    const inTime = new Date(world.clock.now().getTime() + HOUR - 1).toISOString();
    await world.store.deliver("foo", "in time", { type: "approval", ...yes("c1") }, inTime);
    await world.clock.advance(HOUR);
    await host.quiet();
    expect([filesOf(world), await waitingIn(world)]).toEqual([["a"], "c2"]);
  });
});
