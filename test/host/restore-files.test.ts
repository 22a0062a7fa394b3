import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { stateOf } from "#views/load-agent.ts";
import { RestoredAgent } from "../helpers/restored-agent.ts";

const CLONE = { "README.md": "# Plain\n", "src/main.py": "print(1)\n", ".git/config": "[core]\n" };
const TOO_LARGE = 65 * 1024 * 1024;
const inClone = (files: Readonly<Record<string, string>> = CLONE, path = "repositories/plain") =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${path}/${name}`, text]));

let agent: RestoredAgent;
beforeEach(async () => {
  agent = await RestoredAgent.make();
});
afterEach(() => agent[Symbol.asyncDispose]());

describe("a clone that came after the step", () => {
  it("is taken away as a whole with its emptied folder, comes back with an undo, and goes again with the next", async () => {
    await agent.write("notes.md", "one");
    await agent.clone("repositories/plain", CLONE);
    await agent.write("notes.md", "two");
    const { folders, files } = await agent.restore(1);
    expect(folders).toEqual([{ path: "repositories/plain", action: "take-away", reason: "" }]);
    expect(files).toMatchObject([{ path: "notes.md", action: "write" }]);
    expect(agent.look()).toEqual({ "notes.md": "one" });
    expect(await agent.undo()).toMatchObject({ folders: [{ action: "place" }], files: [{ action: "write" }] });
    expect(agent.look()).toEqual({ "notes.md": "two", ...inClone() });
    await agent.undo();
    expect(agent.look()).toEqual({ "notes.md": "one" });
  });

  it("stays behind when nothing in the history says that a folder was placed (control)", async () => {
    await agent.write("notes.md", "one");
    await agent.step(async () => {
      for (const [path, text] of Object.entries(inClone())) agent.put(path, text);
    });
    expect((await agent.restore(1)).folders).toEqual([]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...inClone() });
  });

  it("keeps files in it that goald does not know, links, and files that the agent changed in it", async () => {
    await agent.write("notes.md", "one");
    await agent.clone("plain", CLONE);
    await agent.write("plain/README.md", "# Mine\n");
    await agent.write("plain/new.md", "new\n");
    agent.put("plain/person.txt", "a person's");
    symlinkSync("/etc/hostname", join(agent.folder, "plain/link"));
    symlinkSync(agent.root, join(agent.folder, "plain/src/outside"));
    const before = agent.look();
    await agent.restore(1);
    expect(agent.look()).toEqual({ "notes.md": "one" });
    await agent.undo();
    expect(agent.look()).toEqual(before);
  });

  it("is not taken away when other files are selected, and alone when it is", async () => {
    await agent.write("notes.md", "one");
    await agent.clone("plain", CLONE);
    await agent.write("notes.md", "two");
    expect((await agent.restore(1, { paths: ["notes.md"] })).folders).toEqual([]);
    expect(agent.look()).toEqual({ "notes.md": "one", ...inClone(CLONE, "plain") });
    await agent.undo();
    await agent.restore(1, { paths: ["plain"] });
    expect(agent.look()).toEqual({ "notes.md": "two" });
  });

  it("goes with the clones inside of it, each of which comes back by itself", async () => {
    await agent.clone("outer", { "a.txt": "a" });
    await agent.clone("outer/inner", { "b.txt": "b" });
    await agent.restore(0);
    expect(agent.look()).toEqual({});
    await agent.restore(1);
    expect(agent.look()).toEqual({ "outer/a.txt": "a" });
    await agent.undo();
    await agent.undo();
    await agent.restore(2);
    expect(agent.look()).toEqual({ "outer/a.txt": "a", "outer/inner/b.txt": "b" });
  });

  it("makes room for the files that were in its place, and takes it back from them", async () => {
    await agent.write("plain/mine.md", "mine");
    await agent.delete("plain", true);
    await agent.clone("plain", CLONE);
    await agent.restore(1);
    expect(agent.look()).toEqual({ "plain/mine.md": "mine" });
    await agent.undo();
    expect(agent.look()).toEqual(inClone(CLONE, "plain"));
  });
});

describe("a clone inside another clone", () => {
  const OUTER = { "one/a.txt": "a" };
  const BOTH = { ...OUTER, "one/two/b.txt": "b" };
  beforeEach(async () => {
    await agent.clone("one", { "a.txt": "a" });
    await agent.clone("one/two", { "b.txt": "b" });
  });

  it("takes the agent's files with it when it goes, comes back, and goes again", async () => {
    await agent.write("one/two/c.md", "c");
    await agent.restore(1);
    expect(agent.look()).toEqual(OUTER);
    await agent.undo();
    expect(agent.look()).toEqual({ ...BOTH, "one/two/c.md": "c" });
    await agent.undo();
    expect(agent.look()).toEqual(OUTER);
  });

  it("makes room when it came back first, and is then in the other one again", async () => {
    await agent.write("one/two/b.txt", "mine");
    await agent.restore(0);
    await agent.restore(2, { paths: ["one/two"] });
    agent.put("one/two/own.txt", "a person's");
    const { folders } = await agent.restore(2);
    expect(folders.map(({ action }) => action)).toEqual(["place", "keep"]);
    expect(agent.look()).toEqual({ ...BOTH, "one/two/own.txt": "a person's" });
    await agent.undo();
    expect(agent.look()).toEqual({ "one/two/b.txt": "b", "one/two/own.txt": "a person's" });
  });
});

describe("a clone that was there after the step", () => {
  it("comes back without what the agent changed in it later, and with it by an undo", async () => {
    await agent.clone("plain", CLONE);
    await agent.write("plain/README.md", "# Mine\n");
    await agent.write("plain/new/deep.md", "new\n");
    await agent.restore(0);
    expect(agent.look()).toEqual({});
    const { folders } = await agent.restore(1);
    expect(folders).toEqual([{ path: "plain", action: "place", reason: "" }]);
    expect(agent.look()).toEqual(inClone(CLONE, "plain"));
    await agent.undo();
    await agent.undo();
    expect(agent.look()).toEqual(inClone(CLONE, "plain"));
    await agent.restore(3);
    expect(agent.look()).toEqual(inClone({ ...CLONE, "README.md": "# Mine\n", "new/deep.md": "new\n" }, "plain"));
  });

  it("comes back with its own files in the place of those that the agent wrote there since", async () => {
    await agent.clone("plain", CLONE);
    await agent.restore(0);
    await agent.write("plain/README.md", "# Mine\n");
    const written = agent.look();
    await agent.restore(1);
    expect(agent.look()).toEqual(inClone(CLONE, "plain"));
    const versions = (await agent.store.files(agent.row.id)).filter(({ path }) => path === "plain/README.md");
    expect(versions.at(-1)).toMatchObject({ operation: "write", bytes: CLONE["README.md"].length });
    await agent.undo();
    expect(agent.look()).toEqual(written);
    await agent.write("plain/README.md", "# Other\n");
    await agent.restore(2);
    expect(agent.look()).toEqual(written);
    await agent.restore(1);
    expect(agent.look()).toEqual(inClone(CLONE, "plain"));
  });

  it("cannot be restored after the agent deleted it permanently, and the rest is", async () => {
    await agent.clone("plain", CLONE);
    await agent.write("plain/README.md", "# Mine\n");
    await agent.write("notes.md", "one");
    await agent.delete("plain", true);
    await agent.write("notes.md", "two");
    const { folders } = await agent.restore(3);
    expect(folders).toEqual([{ path: "plain", action: "cannot", reason: "it was deleted permanently" }]);
    expect(agent.look()).toEqual({ "notes.md": "one", "plain/README.md": "# Mine\n" });
    await agent.undo();
    expect(agent.look()).toEqual({ "notes.md": "two" });
  });

  it("cannot be restored after a folder around it was deleted permanently", async () => {
    await agent.clone("repositories/plain", CLONE);
    await agent.delete("repositories", true);
    expect((await agent.restore(1)).folders).toMatchObject([{ action: "cannot" }]);
  });

  it("stays when a second clone took its place: each state has its own", async () => {
    await agent.clone("plain", { "a.txt": "first" });
    await agent.restore(0);
    await agent.clone("plain", { "a.txt": "second" });
    await agent.restore(1);
    expect(agent.look()).toEqual({ "plain/a.txt": "first" });
    await agent.restore(2);
    expect(agent.look()).toEqual({ "plain/a.txt": "second" });
    await agent.undo();
    expect(agent.look()).toEqual({ "plain/a.txt": "first" });
  });

  it("is not put back over files that goald does not know, which stay", async () => {
    await agent.clone("plain", CLONE);
    await agent.restore(0);
    agent.put("plain/person.txt", "a person's");
    expect((await agent.restore(1)).folders).toMatchObject([
      { action: "cannot", reason: expect.stringContaining("in its place") },
    ]);
    expect(agent.look()).toEqual({ "plain/person.txt": "a person's" });
  });

  it("is reported as lost when a person removed it", async () => {
    await agent.clone("plain", CLONE);
    rmSync(join(agent.folder, "plain"), { recursive: true });
    expect((await agent.restore(1)).folders).toMatchObject([{ action: "cannot" }]);
  });
});

describe("files", () => {
  it("that were moved and deleted are where they were, and folders go and come with them", async () => {
    await agent.write("notes/deep/a.md", "a");
    await agent.move("notes/deep/a.md", "other/b.md");
    await agent.delete("other/b.md");
    await agent.write("new/deep/c.md", "c");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "notes/deep/a.md": "a" });
    await agent.restore(2);
    expect(agent.look()).toEqual({ "other/b.md": "a" });
    await agent.undo();
    await agent.undo();
    expect(agent.look()).toEqual({ "other/b.md": "a" });
  });

  it("of a person that the agent overwrote get the person's content, at each earlier step", async () => {
    await agent.write("a.md", "a");
    agent.put("own.txt", "mine");
    await agent.write("own.txt", "the agent's");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "a", "own.txt": "mine" });
  });

  it("edited by a person are kept, and come back with an undo", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    agent.put("a.md", "edited");
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "edited" });
  });

  it("that are too large for the history are not replaced: nothing is done, and other files can be selected", async () => {
    await agent.write("a.md", "one");
    await agent.write("b.md", "b");
    truncateSync(join(agent.folder, "a.md"), TOO_LARGE);
    await expect(agent.restore(0)).rejects.toMatchObject({ code: "GOALD_FILE_TOO_LARGE" });
    expect(statSync(join(agent.folder, "a.md")).size).toBe(TOO_LARGE);
    await agent.restore(0, { paths: ["b.md"] });
    expect(readdirSync(agent.folder)).toEqual(["a.md"]);
  });

  it("that are too large for the history go and come with their clone as they are", async () => {
    await agent.clone("plain", CLONE);
    await agent.write("plain/README.md", "# Mine\n");
    truncateSync(join(agent.folder, "plain/README.md"), TOO_LARGE);
    await agent.restore(0);
    expect(readdirSync(agent.folder)).toEqual([]);
    await agent.undo();
    expect(statSync(join(agent.folder, "plain/README.md")).size).toBe(TOO_LARGE);
  });

  it("that were too large and deleted permanently cannot come back, and their earlier versions can", async () => {
    await agent.write("a.md", "one");
    truncateSync(join(agent.folder, "a.md"), TOO_LARGE);
    await agent.delete("a.md", true);
    await agent.restore(1);
    expect(agent.look()).toEqual({ "a.md": "one" });
  });

  it("of sub-agents and of goald stay as they are", async () => {
    await agent.write("a.md", "a");
    await agent.write("agents/foo-helper/notes.md", "theirs");
    await agent.restore(0);
    expect(agent.look()).toEqual({ "agents/foo-helper/notes.md": "theirs" });
  });
});

describe("taking back a restoration", () => {
  it("is refused for files that were changed since, with their names, unless it is forced", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.write("b.md", "b");
    await agent.restore(1);
    await agent.write("a.md", "three");
    const { changedSince } = await agent.plan({ step: null, paths: [] });
    expect(changedSince).toEqual(["a.md"]);
    const before = agent.look();
    await expect(agent.undo()).rejects.toMatchObject({
      ...{ code: "GOALD_CONFLICT", message: expect.stringContaining("a.md"), hint: expect.stringContaining("--force") },
    });
    expect(agent.look()).toEqual(before);
    await agent.undo(true);
    expect(agent.look()).toEqual({ "a.md": "two", "b.md": "b" });
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "three" });
  });

  it("is refused for an edit of a person and for a new clone at the place", async () => {
    await agent.write("a.md", "one");
    await agent.clone("plain", CLONE);
    await agent.restore(0);
    agent.put("a.md", "a person's");
    await agent.clone("plain", { "other.txt": "o" });
    await expect(agent.undo()).rejects.toMatchObject({ message: expect.stringContaining("a.md, plain") });
    await agent.undo(true);
    expect(agent.look()).toEqual({ "a.md": "one", ...inClone(CLONE, "plain") });
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "a person's", "plain/other.txt": "o" });
  });

  it("leaves alone what the agent did elsewhere in between", async () => {
    await agent.write("a.md", "one");
    await agent.write("a.md", "two");
    await agent.restore(1);
    await agent.write("b.md", "b");
    await agent.undo();
    expect(agent.look()).toEqual({ "a.md": "two", "b.md": "b" });
  });

  it("is refused when nothing was restored", async () => {
    await agent.write("a.md", "one");
    await expect(agent.undo()).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
  });
});

describe("the record of a restoration", () => {
  it("is one event, one message and one memory, and a call that changes nothing leaves none", async () => {
    await agent.write("a.md", "one");
    await agent.clone("plain", CLONE);
    await agent.write("a.md", "two");
    const { store, row } = agent;
    await agent.restore(1);
    await agent.restore(1);
    const events = (await store.read(row.id, 0, 100)).filter(({ type }) => type === "files-restored");
    expect(events).toMatchObject([
      {
        toStep: 1,
        changes: [
          { path: "plain", change: "taken-away" },
          { path: "a.md", change: "written" },
        ],
        more: 0,
      },
    ]);
    const [{ window }] = (await stateOf(store, row)).frames;
    const says = "as they were after step 1. Rewritten: a.md. Folders taken away: plain.";
    expect(window.at(-1)).toMatchObject({ kind: "feedback", from: "goald", text: expect.stringContaining(says) });
    const memories = await store.memories(row.id, 0, 100);
    expect(memories.map(({ text, trust }) => [text.includes(says), trust])).toEqual([[true, "agent"]]);
    await agent.undo();
    const [{ window: later }] = (await stateOf(store, row)).frames;
    expect(later.at(-1)?.text).toContain("took back the newest restoration");
  });

  it("keeps the sources of a folder that comes back", async () => {
    await agent.clone("plain", CLONE);
    await agent.restore(0);
    await agent.undo();
    const { store, row } = agent;
    const [placed, again] = (await store.files(row.id)).filter(({ operation }) => operation === "place");
    expect(placed?.outside).toEqual([{ from: "web", name: "git.example.org" }]);
    expect(again?.outside).toEqual(placed?.outside);
  });
});

describe("folders that were set aside", () => {
  it("are discarded, the oldest first, above the limit, and then cannot come back; the newest always can", async () => {
    agent.asideBytes = 50;
    await agent.clone("one", { "a.txt": "x".repeat(40) });
    await agent.clone("two", { "b.txt": "y".repeat(40) });
    await agent.restore(1);
    expect(await agent.restore(0)).toMatchObject({ discarded: [expect.any(String)] });
    expect((await agent.restore(2)).folders).toEqual([
      { path: "one", action: "place", reason: "" },
      { path: "two", action: "cannot", reason: "it was discarded to save space" },
    ]);
    expect(agent.look()).toEqual({ "one/a.txt": "x".repeat(40) });
  });

  it("do not come back to a folder that was swapped for a link, and nothing outside is touched", async () => {
    await agent.clone("repositories/plain", CLONE);
    const away = join(agent.root, "elsewhere");
    mkdirSync(away);
    writeFileSync(join(away, "file"), "theirs");
    renameSync(join(agent.folder, "repositories"), join(agent.folder, "moved"));
    symlinkSync(away, join(agent.folder, "repositories"));
    await expect(agent.restore(0)).rejects.toMatchObject({ code: "GOALD_PATH_REFUSED" });
    expect(readdirSync(away)).toEqual(["file"]);
  });
});

describe("a plan", () => {
  it("names what then happens, and changes nothing itself", async () => {
    await agent.write("a.md", "one");
    await agent.clone("plain", CLONE);
    await agent.write("plain/README.md", "# Mine\n");
    await agent.write("a.md", "two");
    const before = agent.look();
    const { files, folders } = await agent.plan({ step: 1, paths: [] });
    expect(agent.look()).toEqual(before);
    const done = await agent.restore(1);
    expect(done.folders).toMatchObject(folders.map(({ path, action, reason }) => ({ path, action, reason })));
    expect(done.files).toMatchObject(files.map(({ path, action, bytesNow }) => ({ path, action, bytesNow })));
  });
});
