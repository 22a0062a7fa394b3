import { describe, expect, it } from "@jest/globals";
import { makeWorld } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";

const write = (text: string) => reply("write_to_file", { file: "a.txt", text });

/** An agent whose third request is answered after `release`; with `steps` it pauses before. */
async function makeWriter({ steps }: { readonly steps?: number } = {}) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const world = await makeWorld({
    script: async (_request, index) => {
      if (index >= 2) await held;
      return [write("one"), write("two")][index] ?? done();
    },
  });
  await world.create("Foo", steps === undefined ? {} : { stepLimit: steps });
  const host = world.begin();
  await host.supervisor.start();
  const text = (): string => Buffer.from(world.files.get("foo")?.get("a.txt") ?? "").toString();
  return { world, host, release, text };
}

describe("a host that is asked to restore files", () => {
  it("restores them for an agent at rest, which reads of it when it goes on", async () => {
    const { world, host, release, text } = await makeWriter({ steps: 2 });
    await host.quiet();
    const plan = await host.control.restore("FOO", { step: 1 });
    expect(plan).toMatchObject({ agent: "foo", step: 1, lastStep: 2, files: [{ path: "a.txt", action: "write" }] });
    expect(text()).toBe("one");
    expect(host.supervisor.runners.has("foo")).toBe(false);
    release();
    await host.control.resume("foo", { stepLimit: 9 });
    await host.quiet();
    const prompt = world.model.requests.at(-1)?.messages.map(({ content }) => content);
    expect(prompt?.join("\n")).toContain("as they were after step 1. Rewritten: a.txt.");
  });

  it("refuses an agent at work, and changes nothing of it", async () => {
    const { world, host, release, text } = await makeWriter();
    while (world.model.requests.length < 3) await new Promise(setImmediate);
    await expect(host.control.restore("foo", { step: 1 })).rejects.toMatchObject({
      ...{ code: "GOALD_CONFLICT", hint: expect.stringContaining("goald pause foo") },
    });
    release();
    await host.quiet();
    expect([text(), (await host.control.agent("foo")).state]).toEqual(["two", "completed"]);
  });

  it("begins no step and no other restoration of the agent before it has ended", async () => {
    const { world, host, release } = await makeWriter({ steps: 2 });
    await host.quiet();
    release();
    const { promise: restoring, resolve: end } = Promise.withResolvers<string>();
    const held = host.supervisor.hold("foo", () => restoring);
    await host.control.resume("foo", { stepLimit: 9 });
    const refused = expect(host.control.restore("foo", { step: 1 })).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    await world.clock.advance(5_000);
    await refused;
    expect(world.model.requests).toHaveLength(2);
    end("done");
    expect(await held).toBe("done");
    await host.quiet();
    expect(world.model.requests).toHaveLength(3);
  });

  it("waits for an agent that is about to rest, such as one that reads a message", async () => {
    const { host, text } = await makeWriter({ steps: 2 });
    await host.quiet();
    const { promise: reading, resolve: end } = Promise.withResolvers<void>();
    const held = host.supervisor.hold("foo", () => reading);
    const restored = host.control.restore("foo", { step: 1 });
    end();
    await held;
    expect((await restored).step).toBe(1);
    expect(text()).toBe("one");
  });

  it("passes on why a restoration failed, and the agent goes on later", async () => {
    const { host } = await makeWriter({ steps: 2 });
    await host.quiet();
    await expect(host.control.restore("foo", { step: 9 })).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await host.quiet();
    expect((await host.control.restore("foo", { step: 1 })).files).toHaveLength(1);
  });
});
