import { readdirSync, rmSync, statSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { stateOf } from "#views/read-agent.ts";
import { listSteps } from "#views/step-view.ts";
import { startHost } from "../helpers/host.ts";
import { done, reply } from "../helpers/loop.ts";
import { PowerCut } from "../helpers/power-cut.ts";
import { RestoredAgent } from "../helpers/restored-agent.ts";

const CLONE = { "README.md": "# Plain\n", "src/main.py": "print(1)\n", ".git/config": "[core]\n" };
const TOO_LARGE = 65 * 1024 * 1024;
const inClone = (files: Readonly<Record<string, string>> = CLONE) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`repositories/plain/${name}`, text]));

let agent: RestoredAgent;

beforeEach(async () => {
  agent = await RestoredAgent.make();
});
afterEach(() => agent[Symbol.asyncDispose]());

/** The files after a restoration to that step. */
async function filesAfter(step: number): Promise<ReturnType<RestoredAgent["look"]>> {
  await agent.restore(step);
  return agent.look();
}

describe("restored files", () => {
  it("that were moved and deleted are where they were, and the last step brings the others back", async () => {
    await agent.write("notes/deep/a.md", "a");
    await agent.move("notes/deep/a.md", "other/b.md");
    await agent.delete("other/b.md");
    await agent.write("new/deep/c.md", "c");
    expect(await filesAfter(1)).toEqual({ "notes/deep/a.md": "a" });
    expect(await filesAfter(2)).toEqual({ "other/b.md": "a" });
    expect(await filesAfter(4)).toEqual({ "new/deep/c.md": "c" });
  });

  it("edited by a person are kept as a version, and the last step brings them back", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    agent.put("a.md", "edited");
    expect(await filesAfter(1)).toEqual({ "a.md": "one" });
    expect(await agent.history()).toEqual(["write a.md 3", "write a.md 3", "found a.md 6", "write a.md 3"]);
    expect(await filesAfter(2)).toEqual({ "a.md": "edited" });
  });

  it("edited by a person since the last step get the agent's content by that step, once and for all calls", async () => {
    await agent.write("a.md", "one");
    await agent.step((workspace) => workspace.append("a.md", " two"));
    agent.put("a.md", "edited");
    for (const _call of [1, 2]) {
      expect(await filesAfter(2)).toEqual({ "a.md": "one two" });
    }
    await agent.restore(1);
    // No version of an edit, where nobody edited since.
    const kept = ["write a.md 3", "append a.md 7", "found a.md 6", "write a.md 7", "write a.md 3"];
    expect(await agent.history()).toEqual(kept);
  });

  it("of a person get the person's content when the agent overwrote them, and stay when the history has none", async () => {
    await agent.write("a.md", "a");
    agent.put("own.txt", "mine");
    agent.put("other.txt", "mine too");
    await agent.write("own.txt", "the agent's");
    rmSync(join(agent.folder, "a.md"));
    await agent.restore(1);
    // A file that a person removed is written again.
    expect(agent.look()).toEqual({ "a.md": "a", "own.txt": "mine", "other.txt": "mine too" });
  });

  it("that are too large for the history are not replaced: nothing is done, and other files can be selected", async () => {
    await agent.write("a.md", "one");
    await agent.write("b.md", "b");
    truncateSync(join(agent.folder, "a.md"), TOO_LARGE);
    await expect(agent.restore(0)).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    expect(statSync(join(agent.folder, "a.md")).size).toBe(TOO_LARGE);
    await agent.restore(0, ["b.md"]);
    expect(readdirSync(agent.folder)).toEqual(["a.md"]);
  });

  it("of sub-agents stay as they are", async () => {
    await agent.write("a.md", "a");
    await agent.write("agents/foo-helper/notes.md", "theirs");
    expect(await filesAfter(0)).toEqual({ "agents/foo-helper/notes.md": "theirs" });
  });

  it("change nothing behind a link that took the place of their folder", async () => {
    await agent.write("notes/a.md", "one");
    rmSync(join(agent.folder, "notes"), { recursive: true });
    symlinkSync(agent.root, join(agent.folder, "notes"));
    await expect(agent.restore(1)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(readdirSync(agent.root)).not.toContain("a.md");
  });
});

describe("a clone", () => {
  const SITS = { path: "repositories/plain", isThere: true };

  it("that stands there is named and not touched, nor are files that the agent or a person changed in it", async () => {
    await agent.write("notes.md", "one");
    await agent.clone("repositories/plain", CLONE);
    await agent.write("repositories/plain/README.md", "# Mine\n");
    await agent.write("notes.md", "two");
    agent.put("repositories/plain/person.txt", "a person's");
    const standing = inClone({ ...CLONE, "README.md": "# Mine\n", "person.txt": "a person's" });
    const { clones, files } = await agent.restore(1);
    expect(clones).toEqual([SITS]);
    expect(files).toMatchObject([{ path: "notes.md", action: "write" }]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...standing });
    expect((await agent.restore(2)).clones).toEqual([SITS]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...standing });
  });

  it("is also named when only a file in it is asked for, and not when others are", async () => {
    await agent.write("notes.md", "one");
    await agent.clone("repositories/plain", CLONE);
    await agent.write("repositories/plain/README.md", "# Mine\n");
    expect(await agent.restore(2, ["repositories/plain/README.md"])).toMatchObject({ clones: [SITS], files: [] });
    expect((await agent.restore(2, ["notes.md"])).clones).toEqual([]);
    expect((await agent.restore(2, ["notes.md", "repositories/plain/README.md"])).clones).toEqual([SITS]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...inClone({ ...CLONE, "README.md": "# Mine\n" }) });
  });

  it("is not one when nothing in the history says that a folder was placed: the agent's files in it are restored (control)", async () => {
    await agent.write("notes.md", "one");
    for (const [path, text] of Object.entries(inClone())) agent.put(path, text);
    await agent.write("repositories/plain/README.md", "# Mine\n");
    expect((await agent.restore(1)).clones).toEqual([]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...inClone() });
  });

  it("that stands in the place of a file is not touched, and the rest is restored", async () => {
    await agent.write("repositories", "a file");
    await agent.write("notes.md", "one");
    await agent.delete("repositories");
    await agent.clone("repositories/plain", CLONE);
    await agent.write("notes.md", "two");
    expect((await agent.restore(2)).clones).toEqual([SITS]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...inClone() });
  });

  it.each([
    ["the agent deleted", () => agent.delete("repositories", true)],
    ["a person removed", async () => rmSync(join(agent.folder, "repositories"), { recursive: true })],
  ])("that %s is named as gone, and nothing of it comes back", async (_who, remove) => {
    await agent.write("notes.md", "one");
    await agent.clone("repositories/plain", CLONE);
    await agent.write("repositories/plain/README.md", "# Mine\n");
    await remove();
    await agent.write("notes.md", "two");
    expect((await agent.restore(3)).clones).toEqual([{ path: "repositories/plain", isThere: false }]);
    expect(agent.look()).toEqual({ "notes.md": "one" });
    expect((await agent.restore(1)).clones).toEqual([]);
    expect(agent.look()).toEqual({ "notes.md": "one" });
  });

  it("that was there for a while leaves files at its place alone that came later, and restores them otherwise", async () => {
    await agent.clone("plain", CLONE);
    await agent.delete("plain", true);
    await agent.write("plain/README.md", "mine");
    expect((await agent.restore(1)).clones).toEqual([{ path: "plain", isThere: false }]);
    expect(agent.look()).toEqual({ "plain/README.md": "mine" });
    expect(await filesAfter(2)).toEqual({});
  });
});

describe("the record of a restoration", () => {
  it("is one event, one message and one memory, and a call that changes nothing leaves none", async () => {
    await agent.write("a.md", "one");
    await agent.write("b.md", "b");
    await agent.write("a.md", "two");
    const { store, row } = agent;
    await agent.restore(1);
    await agent.restore(1);
    const events = (await store.read(row.id, 0, 100)).filter(({ type }) => type === "files-restored");
    const changes = [
      { path: "a.md", change: "written" },
      { path: "b.md", change: "removed" },
    ];
    expect(events).toMatchObject([{ toStep: 1, changes, more: 0 }]);
    const [{ window }] = (await stateOf(store, row)).frames;
    const says = "as they were after step 1. Rewritten: a.md. Removed: b.md.";
    expect(window.at(-1)).toMatchObject({ kind: "feedback", from: "goald", text: expect.stringContaining(says) });
    const { steps } = await listSteps(row, { limit: 9 }, store);
    expect(steps.map(({ files }) => files)).toEqual([["a.md"], ["b.md"], ["a.md"]]);
    const memories = await store.memories(row.id, 0, 100);
    expect(memories.map(({ text, trust }) => [text.includes(says), trust])).toEqual([[true, "agent"]]);
  });

  it("keeps the sources of the words in a version", async () => {
    const outside = [{ from: "web", name: "evil.example" }] as const;
    await agent.step((workspace) => workspace.write("a.md", "theirs"), outside);
    await agent.write("a.md", "mine");
    await agent.restore(1);
    const versions = await agent.store.files(agent.row.id);
    expect(versions.map((version) => version.outside ?? [])).toEqual([outside, [], outside]);
  });
});

it("a plan names what then happens, and changes nothing itself", async () => {
  await agent.write("a.md", "one");
  await agent.clone("repositories/plain", CLONE);
  await agent.write("a.md", "two");
  const before = agent.look();
  const { files, clones } = await agent.plan({ step: 1 });
  expect(agent.look()).toEqual(before);
  const done = await agent.restore(1);
  expect(done.clones).toEqual(clones);
  expect(done.files).toMatchObject(files.map(({ path, action, bytesNow }) => ({ path, action, bytesNow })));
  expect(done).toMatchObject({ step: 1, lastStep: 3 });
});

const PLAIN_CLONE = { "README.md": "# Plain\n" };

/** An agent with written, appended, deleted and cloned files; a person has edited two and removed one. */
async function makeEditedAgent(): Promise<RestoredAgent> {
  const agent = await RestoredAgent.make();
  await agent.write("a.md", "one");
  await agent.write("gone/b.md", "b");
  await agent.write("removed.md", "r");
  await agent.delete("gone/b.md");
  await agent.clone("plain", PLAIN_CLONE);
  await agent.write("plain/README.md", "# Mine\n");
  await agent.step((workspace) => workspace.append("a.md", " more"));
  await agent.write("late.md", "late");
  agent.put("late.md", "edited by a person");
  agent.put("plain/own.md", "a person's");
  rmSync(join(agent.folder, "removed.md"));
  return agent;
}

const IN_CLONE = { "plain/README.md": "# Mine\n", "plain/own.md": "a person's" };
const AFTER_3 = { "a.md": "one", "gone/b.md": "b", "removed.md": "r", ...IN_CLONE };

describe.each(["before", "after"] as const)("a restoration whose power is cut %s any of its writes", (when) => {
  it("is completed by the same call, which records nothing twice, and the last step brings the edits back", async () => {
    let cuts = 0;
    for (let at = 1; ; at++) {
      await using agent = await makeEditedAgent();
      agent.cut = { at, when };
      const thrown = await agent.restore(3).catch((error: unknown) => error);
      agent.cut = undefined;
      if (!(thrown instanceof PowerCut)) break;
      cuts++;
      await agent.restore(3);
      expect(agent.look()).toEqual(AFTER_3);
      expect(await agent.restorations()).toBe(1);
      expect((await agent.history()).filter((line) => line.startsWith("found"))).toEqual([
        "found plain/README.md 8",
        "found late.md 18",
      ]);
      await agent.restore(8);
      expect(agent.look()).toEqual({
        "a.md": "one more",
        "removed.md": "r",
        "late.md": "edited by a person",
        ...IN_CLONE,
      });
    }
    // The commit, the removal of one file and the writes of three.
    expect(cuts).toBe(5);
  });
});

describe("a call after a restoration that a crash interrupted", () => {
  beforeEach(async () => {
    for (const text of ["one", "two", "three"]) await agent.write("a.md", text);
  });

  /** Cuts the power after the commit, before the file is written. */
  async function cutRestore(step: number): Promise<void> {
    agent.cut = { at: 2, when: "before" };
    await expect(agent.restore(step)).rejects.toBeInstanceOf(PowerCut);
    agent.cut = undefined;
    expect(agent.look()).toEqual({ "a.md": "three" });
  }

  it("keeps what a person edited in between as a version", async () => {
    await cutRestore(1);
    agent.put("a.md", "a person's");
    expect(await filesAfter(1)).toEqual({ "a.md": "one" });
    expect((await agent.history()).slice(3)).toEqual(["write a.md 3", "found a.md 10", "write a.md 3"]);
  });

  it("restores another step from what is there, and no version is taken for an edit", async () => {
    await cutRestore(1);
    expect(await filesAfter(2)).toEqual({ "a.md": "two" });
    expect((await agent.history()).slice(3)).toEqual(["write a.md 3", "write a.md 3"]);
    expect(await filesAfter(3)).toEqual({ "a.md": "three" });
  });

  it("plans from the agent's later changes when there are some", async () => {
    await cutRestore(1);
    await agent.write("a.md", "four");
    expect(await filesAfter(1)).toEqual({ "a.md": "one" });
    expect(await filesAfter(4)).toEqual({ "a.md": "four" });
  });
});

const write = (text: string) => reply("write_to_file", { file: "a.txt", text });

/** An agent whose third request is answered after `release`; with two steps it pauses before. */
async function makeWriter(steps = 9) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const script = async (_request: unknown, index: number) => {
    if (index >= 2) await held;
    return [write("one"), write("two")][index] ?? done();
  };
  const { world, host } = await startHost({ script }, { Foo: { stepLimit: steps } });
  return { world, host, release, text: () => world.textOf("foo", "a.txt") };
}

describe("a host that is asked to restore files", () => {
  it("restores them for an agent at rest, which reads of it when it goes on", async () => {
    const { world, host, release, text } = await makeWriter(2);
    await host.quiet();
    const plan = await host.control.restore("FOO", { step: 1 });
    expect(plan).toMatchObject({ agent: "foo", step: 1, lastStep: 2, files: [{ path: "a.txt", action: "write" }] });
    expect(text()).toBe("one");
    expect(host.supervisor.runners.has("foo")).toBe(false);
    release();
    await host.control.resume("foo", { stepLimit: 9 });
    await host.quiet();
    expect(world.lastPrompt()).toContain("as they were after step 1. Rewritten: a.txt.");
  });

  it("refuses an agent at work, and changes nothing of it", async () => {
    const { world, host, release, text } = await makeWriter();
    while (world.model.requests.length < 3) await new Promise(setImmediate);
    await expect(host.control.restore("foo", { step: 1 })).rejects.toMatchObject({
      code: "GOALD_CONFLICT",
      hint: expect.stringContaining("goald stop foo"),
    });
    release();
    await host.quiet();
    expect([text(), (await host.control.agent("foo")).state]).toEqual(["two", "completed"]);
  });

  it("begins no step and no other restoration of the agent before it has ended", async () => {
    const { world, host, release } = await makeWriter(2);
    await host.quiet();
    release();
    const { promise: restoring, resolve: end } = Promise.withResolvers<string>();
    const held = host.supervisor.hold("foo", () => restoring);
    await host.control.resume("foo", { stepLimit: 9 });
    const refused = expect(host.control.restore("foo", { step: 1 })).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    while (world.clock.sleepers === 0) await new Promise(setImmediate);
    await world.clock.advance(5_000);
    await refused;
    expect(world.model.requests).toHaveLength(2);
    end("done");
    expect(await held).toBe("done");
    await host.quiet();
    expect(world.model.requests).toHaveLength(3);
  });

  it("passes on why a restoration failed, and waits for an agent that is about to rest, such as one that reads a message", async () => {
    const { host, text } = await makeWriter(2);
    await host.quiet();
    await expect(host.control.restore("foo", { step: 9 })).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await host.quiet();
    const { promise: reading, resolve: end } = Promise.withResolvers<void>();
    const held = host.supervisor.hold("foo", () => reading);
    const restored = host.control.restore("foo", { step: 1 });
    end();
    await held;
    expect(await restored).toMatchObject({ step: 1, files: [{}] });
    expect(text()).toBe("one");
  });
});
