import { readdirSync, rmSync, statSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { stateOf } from "#views/read-agent.ts";
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

describe("restored files", () => {
  it("that were moved and deleted are where they were, and the last step brings the others back", async () => {
    await agent.write("notes/deep/a.md", "a");
    await agent.move("notes/deep/a.md", "other/b.md");
    await agent.delete("other/b.md");
    await agent.write("new/deep/c.md", "c");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "notes/deep/a.md": "a" });
    await agent.restore(2);
    expect(agent.look()).toEqual({ "other/b.md": "a" });
    await agent.restore(4);
    expect(agent.look()).toEqual({ "new/deep/c.md": "c" });
  });

  it("edited by a person are kept as a version, and the last step brings them back", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    agent.put("a.md", "edited");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    expect(await agent.history()).toEqual(["write a.md 3", "write a.md 3", "found a.md 6", "write a.md 3"]);
    await agent.restore(2);
    expect(agent.look()).toEqual({ "a.md": "edited" });
  });

  it("edited by a person since the last step get the agent's content by that step, in each call", async () => {
    await agent.write("a.md", "one");
    agent.put("a.md", "edited");
    for (const _call of [1, 2]) {
      await agent.restore(1);
      expect(agent.look()).toEqual({ "a.md": "one" });
    }
    expect(await agent.history()).toEqual(["write a.md 3", "found a.md 6", "write a.md 3"]);
  });

  it("that nobody edited leave no version of an edit, also after an append (control)", async () => {
    await agent.write("a.md", "one");
    await agent.step((workspace) => workspace.append("a.md", " two"));
    await agent.restore(1);
    expect(await agent.history()).toEqual(["write a.md 3", "append a.md 7", "write a.md 3"]);
  });

  it("of a person that the agent overwrote get the person's content, at each earlier step", async () => {
    await agent.write("a.md", "a");
    agent.put("own.txt", "mine");
    await agent.write("own.txt", "the agent's");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "a", "own.txt": "mine" });
  });

  it("that a person removed are written again, and files that the history does not have stay", async () => {
    await agent.write("a.md", "a");
    agent.put("own.txt", "mine");
    rmSync(join(agent.folder, "a.md"));
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "a", "own.txt": "mine" });
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
    await agent.restore(0);
    expect(agent.look()).toEqual({ "agents/foo-helper/notes.md": "theirs" });
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
    await agent.restore(2);
    expect(agent.look()).toEqual({});
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

describe("a plan", () => {
  it("names what then happens, and changes nothing itself", async () => {
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
});
