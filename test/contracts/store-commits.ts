/** Store contract: one commit is written completely or not at all. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import {
  AT,
  asked,
  bytesOf,
  finished,
  later,
  memoryOf,
  NOTHING,
  readEverything,
  SPEC,
  said,
  sha256,
  stamped,
  words,
  wrote,
} from "../helpers/events.ts";

/** A state version that this goald does not know, so that it cannot refold to it. */
const OTHER_VERSION = STATE_VERSION + 1;

export function commitContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: commits`, () => {
    let store: Store;
    let lease: Lease;
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      lease = await store.claim("foo");
      await store.create({ ...SPEC, name: "Bar" }, "key-bar", AT);
      await store.commit(await store.claim("bar"), 1, { ...NOTHING, wakeAt: null });
      await store.deliver("foo", "in", words("go on"), later(1));
    });
    afterEach(() => store.close());
    const commit = (head: number, parts: Partial<Commit>): Promise<void> =>
      store.commit(lease, head, { ...NOTHING, ...parts });

    const full = (): Partial<Commit> => ({
      events: stamped(2, finished(7), asked(8)),
      consumed: ["in"],
      memories: [memoryOf(2)],
      files: [wrote("a.txt", "kept", "c7")],
      blobs: [bytesOf("spilled")],
      staged: [
        { kind: "memory", text: "noted", importance: 1, memoryKind: "note" },
        { kind: "send", to: "bar", key: "c7", message: words("hello") },
        { kind: "spawn", key: "c7", spec: { ...SPEC, name: "Child" } },
        { kind: "timer", key: "c7", at: later(50), message: words("ring") },
      ],
      wakeAt: null,
      snapshot: { version: OTHER_VERSION, state: {} },
    });

    it("counts the bytes of contents and long texts that an agent and those below it have added, each once", async () => {
      await commit(1, full());
      expect(await store.storedBytes("foo")).toBe("kept".length + "spilled".length);
      const again = { events: stamped(4, finished(7), asked(8)), files: [wrote("b.txt", "kept", "c7")] };
      await commit(3, { ...again, blobs: [bytesOf("spilled, and more")] });
      expect(await store.storedBytes("foo")).toBe("kept".length + "spilled".length + "spilled, and more".length);
      expect(await store.storedBytes("bar")).toBe(0);
      expect(await store.storedBytes("fo")).toBe(0);
    });

    it("writes all parts of a commit", async () => {
      await commit(1, full());
      expect(await store.agent("foo")).toMatchObject({ head: 3, updatedAt: later(3), wakeAt: null });
      expect(await store.inbox("foo")).toEqual([]);
      const none = { embedder: null, vector: null, supersedes: null, supersededBy: null, key: null, source: null };
      const row = { ...none, at: later(2), pinned: false, forgotten: null };
      const noted = { step: 7, kind: "note", text: "noted", importance: 1, namespace: "foo", trust: "agent" };
      expect(await store.memories("foo", 0, 9)).toEqual([
        { ...memoryOf(2), ...row, id: "foo/2", change: 1 },
        { ...noted, ...row, seq: 2, change: 2, id: expect.stringMatching(/^foo\/2.+/) },
      ]);
      const { content: _content, ...change } = wrote("a.txt", "kept", "c7");
      expect(await store.files("foo")).toEqual([{ ...change, at: later(2) }]);
      expect(new TextDecoder().decode(await store.blob(sha256("kept")))).toBe("kept");
      expect(new TextDecoder().decode(await store.blob(sha256("spilled")))).toBe("spilled");
      expect(await store.inbox("bar")).toMatchObject([{ at: later(3), message: words("hello") }]);
      expect(await store.agent("child")).toMatchObject({ parent: "foo", folder: "foo/agents/child", wakeAt: later(3) });
      expect(await store.due(later(9))).toEqual(["bar", "child"]);
      expect(await store.load("foo", OTHER_VERSION)).toMatchObject({ head: 3, snapshot: { seq: 3 }, events: [] });
      expect((await store.verify()).problems).toEqual([]);
    });

    it("starts an agent under the given id, with its parent in its first event", async () => {
      const outside = [{ from: "web", name: "a.example" }] as const;
      const startedBy = { agent: "foo", depth: 1, outside };
      const spec = { ...SPEC, name: "Child", id: "foo-child", startedBy };
      const spawn: Commit["staged"][number] = { kind: "spawn", key: "agent/2", spec };
      await commit(1, { events: stamped(2, finished(7)), staged: [spawn] });
      expect(await store.agent("foo-child")).toMatchObject({ parent: "foo", folder: "foo/agents/foo-child" });
      expect((await store.read("foo-child", 0, 1))[0]).toMatchObject({ type: "agent-created", startedBy });
      expect((await store.verify()).problems).toEqual([]);
      // The id is taken: a second start with it fails together with its whole commit.
      const again = { events: stamped(3, finished(8)), staged: [{ ...spawn, key: "agent/3" }] };
      await expect(commit(2, again)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
      expect(await store.agent("foo")).toMatchObject({ head: 2 });
    });

    const toNobody = { kind: "send", to: "x", key: "k", message: words("?") } as const;
    const ofNobody = { kind: "spawn", key: "k", spec: { ...SPEC, parent: "x" } } as const;
    it.each<[title: string, change: Partial<Commit>, code: string]>([
      ["a message to an unknown agent", { staged: [toNobody] }, "GOALD_NOT_FOUND"],
      ["a child of an unknown agent", { staged: [ofNobody] }, "GOALD_NOT_FOUND"],
      ["an inbox row that does not exist", { consumed: ["in", "never"] }, "GOALD_CONFLICT"],
      ["an inbox row consumed twice", { consumed: ["in", "in"] }, "GOALD_CONFLICT"],
      ["a memory of a future event", { memories: [memoryOf(2), memoryOf(4)] }, "GOALD_INTERNAL"],
      ["a memory of an earlier commit's event", { memories: [memoryOf(2), memoryOf(1)] }, "GOALD_INTERNAL"],
      ["a memory without an event", { events: [] }, "GOALD_INTERNAL"],
      ["content with another hash", { files: [{ ...wrote("a", "x"), sha256: sha256("y") }] }, "GOALD_INTERNAL"],
      ["an invalid time", { wakeAt: "soon" }, "GOALD_INTERNAL"],
    ])("writes nothing when one part is invalid: %s", async (_title, change, code) => {
      const before = await readEverything(store);
      const parts = full();
      const staged = [...(parts.staged ?? []), ...(change.staged ?? [])];
      await expect(commit(1, { ...parts, ...change, staged })).rejects.toMatchObject({ code });
      expect(await readEverything(store)).toEqual(before);
      await commit(1, parts);
      expect(await store.agent("foo")).toMatchObject({ head: 3 });
    });

    it("rejects a file change without an event", async () => {
      const before = await readEverything(store);
      await expect(commit(1, { files: [wrote("a", "x")] })).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
      expect(await readEverything(store)).toEqual(before);
    });

    it("stores equal content once, and a file's history in order", async () => {
      const files = [wrote("a", "kept"), wrote("b", "kept"), wrote("a", "new"), wrote("a", null)];
      await commit(1, { events: stamped(2, finished(1)), files });
      await commit(2, { events: stamped(3, finished(2)), files: [wrote("a", "kept", "c2")], blobs: [bytesOf("kept")] });
      const history = await store.files("foo");
      const ofFirst = ["a write c1", "b write c1", "a write c1", "a delete c1"];
      const changes = history.map(({ path, operation, callId }) => `${path} ${operation} ${callId}`);
      expect(changes).toEqual([...ofFirst, "a write c2"]);
      expect(history.map(({ at }) => at)).toEqual([...ofFirst.map(() => later(2)), later(3)]);
      expect((await store.verify()).problems).toEqual([]);
      expect(await store.lastFileVersion("foo", "a")).toEqual({ ...(await store.files("foo")).at(-1), seq: 3 });
      expect(await store.lastFileVersion("foo", "b")).toMatchObject({ operation: "write", bytes: 4 });
      expect(await store.lastFileVersion("foo", "A")).toBeUndefined();
      expect(await store.lastFileVersion("bar", "a")).toBeUndefined();
    });

    it("keeps the outside sources of files and memories, binds them to the log, and finds them below a folder", async () => {
      const [page, clone] = [[web("a.example")], [web("b.example"), { from: "agent", name: "x" } as const]];
      const placed = { ...wrote("lib", null), operation: "place" } as const;
      const files = [
        { ...wrote("pages/a", "kept"), outside: page },
        { ...placed, outside: clone },
        wrote("pages", "x"),
      ];
      const memories = [{ ...memoryOf(2), outside: page }];
      await commit(1, { events: stamped(2, finished(1)), files, memories });
      const { sha256: sha, bytes } = wrote("pages/a", "kept");
      const trust = { ...wrote("pages/a", null), operation: "trust", sha256: sha, bytes } as const;
      await commit(2, { events: stamped(3, { type: "words-trusted", what: "file", path: "pages/a" }), files: [trust] });

      const history = (await store.files("foo")).map(({ path, operation, outside }) => [path, operation, outside]);
      expect(history).toEqual([
        ["pages/a", "write", page],
        ["lib", "place", clone],
        ["pages", "write", undefined],
        ["pages/a", "trust", undefined],
      ]);
      expect((await store.memories("foo", 0, 10)).map(({ outside }) => outside)).toEqual([page]);
      expect(await store.outsideBelow("foo", "pages", 0)).toEqual([page]);
      expect(await store.outsideBelow("foo", "", 0)).toEqual(expect.arrayContaining([page, clone]));
      expect(await store.outsideBelow("foo", "", 2)).toEqual([]);
      expect((await store.verify()).problems).toEqual([]);
      const copy = await store.fork("foo", { name: "Copy", head: 3, events: [] }, "copy");
      expect(await store.files(copy.id)).toEqual(await store.files("foo"));
      expect((await store.memories(copy.id, 0, 10)).map(({ outside }) => outside)).toEqual([page]);
      expect((await store.verify()).problems).toEqual([]);
    });

    it("sends and spawns once per sender and key, however often the call is repeated", async () => {
      const child: Commit["staged"][number] = { kind: "spawn", key: "c1", spec: { ...SPEC, name: "Child" } };
      const hello: Commit["staged"][number] = { kind: "send", to: "bar", key: "c1", message: words("hello") };
      for (const head of [1, 2]) await commit(head, { events: stamped(head + 1, said("")), staged: [child, hello] });
      const other = await store.claim("child");
      await store.commit(other, 1, { ...NOTHING, events: stamped(2, said("")), staged: [child, hello] });
      const folders = (await store.agents()).map(({ folder }) => folder);
      expect(folders).toEqual(["foo", "bar", "foo/agents/child", "foo/agents/child/agents/child-2"]);
      expect(await store.inbox("bar")).toHaveLength(2);
    });
  });
}

const web = (name: string) => ({ from: "web", name }) as const;

// Store contract: file versions after an event. See store.ts.

export function fileHistoryContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: the history of files`, () => {
    let store: Store;
    let lease: Lease;
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      lease = await store.claim("foo");
    });
    afterEach(() => store.close());

    it("is read whole, or from the versions that came with later events", async () => {
      const at = (head: number, path: string) =>
        store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said(path)), files: [wrote(path, path)] });
      await at(1, "a");
      await at(2, "b");
      await at(3, "a");
      const paths = async (after?: number) => (await store.files("foo", after)).map(({ path }) => path);
      expect(await paths()).toEqual(["a", "b", "a"]);
      expect(await paths(0)).toEqual(["a", "b", "a"]);
      expect(await paths(2)).toEqual(["b", "a"]);
      expect(await paths(4)).toEqual([]);
    });
  });
}
