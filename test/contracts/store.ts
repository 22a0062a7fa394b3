/**
 * The contract of every Store. It uses the port alone and runs on the embedded store with both of its writers; a store
 * that many hosts share must pass it too.
 */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
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
import { forkContract, removalContract } from "./store-agents.ts";
import { memoryContract } from "./store-memories.ts";

export function storeContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract`, () => generalContract(make));
  describe(`${name} keeps the store contract: memory`, () => memoryContract(make));
  removalContract(name, make);
  forkContract(name, make);
}

const web = (name: string) => ({ from: "web", name }) as const;
const CREATED = { type: "agent-created", v: 1, seq: 1, at: AT, frame: 0, ...SPEC };
/** A state version that this goald does not know, so that it cannot refold to it. */
const OTHER_VERSION = STATE_VERSION + 1;

/** The part of the contract about agents, logs, inbox, timers, remote rows and commits. */
function generalContract(make: () => Promise<Store>): void {
  let store: Store;
  let lease: Lease;
  beforeEach(async () => {
    store = await make();
    await store.create(SPEC, "key-1", AT);
    lease = await store.claim("foo");
  });
  afterEach(async () => {
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
  const commit = (head: number, parts: Partial<Commit>): Promise<void> =>
    store.commit(lease, head, { ...NOTHING, ...parts });

  describe("agents", () => {
    it("creates an agent with its first event, and makes it due", async () => {
      const row = { id: "foo", name: "Foo", folder: "foo", parent: null, createdAt: AT, updatedAt: AT, wakeAt: AT };
      expect(await store.agent("foo")).toEqual({ ...row, head: 1, epoch: 1 });
      expect(await store.read("foo", 0, 10)).toEqual([CREATED]);
      expect(await store.due(AT)).toEqual(["foo"]);
    });

    it("creates one agent per key", async () => {
      const other = await store.create({ ...SPEC, name: "Bar" }, "key-2", AT);
      expect((await store.create({ ...SPEC, name: "Baz" }, "key-2", later(9))).id).toBe(other.id);
      expect((await store.agents()).map(({ id }) => id)).toEqual(["foo", "bar"]);
    });

    it("numbers agents with equal names, and puts children into their parent's folder", async () => {
      await store.create(SPEC, "key-2", AT);
      await store.create({ ...SPEC, name: "foo!", parent: "foo-2" }, "key-3", AT);
      await store.create({ ...SPEC, name: "Größe 7", parent: "foo-3" }, "key-4", AT);
      const rows = (await store.agents()).map(({ id, folder, parent }) => `${id} in ${folder} of ${parent}`);
      expect(rows.slice(0, 2)).toEqual(["foo in foo of null", "foo-2 in foo-2 of null"]);
      expect(rows[2]).toBe("foo-3 in foo-2/agents/foo-3 of foo-2");
      expect(rows.slice(3)).toEqual(["große-7 in foo-2/agents/foo-3/agents/große-7 of foo-3"]);
    });

    it("uses a requested id, and rejects one that is taken or invalid", async () => {
      const asked = await store.create({ ...SPEC, id: "foo-7" }, "key-2", AT);
      expect(asked).toMatchObject({ id: "foo-7", name: "Foo", folder: "foo-7" });
      expect(await store.read("foo-7", 0, 1)).toEqual([CREATED]);
      const conflict = { code: "GOALD_CONFLICT" };
      for (const id of ["foo", "foo-7", "../foo", "Foo 8", ""])
        await expect(store.create({ ...SPEC, id }, `key of ${id}`, AT)).rejects.toMatchObject(conflict);
    });

    it.each<[call: string, make: () => Promise<unknown>]>([
      ["claim", () => store.claim("bar")],
      ["commit", () => store.commit({ agent: "bar", epoch: 1 }, 0, NOTHING)],
      ["load", () => store.load("bar", 1)],
      ["read", () => store.read("bar", 0, 1)],
      ["deliver", () => store.deliver("bar", "k", words("hello"), AT)],
      ["inbox", () => store.inbox("bar")],
      ["memories", () => store.memories("bar", 0, 1)],
      ["saveVectors", () => store.saveVectors("bar", "e", [])],
      ["remove", () => store.remove("bar")],
      ["files", () => store.files("bar")],
      ["lastFileVersion", () => store.lastFileVersion("bar", "a")],
      ["verify", () => store.verify("bar")],
      ["create below it", () => store.create({ ...SPEC, parent: "bar" }, "key-2", AT)],
    ])("%s throws GOALD_NOT_FOUND for an unknown agent", async (_call, make) => {
      await expect(make()).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
      expect(await store.agent("bar")).toBeUndefined();
      expect(await store.agents()).toHaveLength(1);
    });
  });

  describe("the log", () => {
    it("is returned in pages, oldest first", async () => {
      await commit(1, { events: stamped(2, ...Array.from({ length: 9 }, (_, index) => said(`${index}`))) });
      const page = async (after: number) => (await store.read("foo", after, 4)).map(({ seq }) => seq);
      expect([await page(0), await page(4)].flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await page(8)).toEqual([9, 10]);
      expect(await store.read("foo", 10, 4)).toEqual([]);
      expect(await store.read("foo", 0, 0)).toEqual([]);
    });

    it.each<[what: string, text: string]>([
      ["other scripts", "naïve · Ελληνικά · 日本語 · العربية · עברית"],
      ["pairs, joiners and marks", "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \u{10FFFF}"],
      ["controls and separators", "\u0001\b\t\r\n\u001b[31m\u007f\u0085\u2028\u2029\uFEFF\uFFFD"],
      ["quotes and SQL", `"'; DROP TABLE event; -- \\ \${x} %s ?`],
      ["an empty text", ""],
    ])("returns text as it was written: %s", async (_what, text) => {
      await commit(1, { events: stamped(2, said(text)), memories: [memoryOf(2, text)] });
      await store.deliver("foo", text, words(text), AT);
      expect(await store.read("foo", 1, 1)).toMatchObject([{ text }]);
      expect(await store.memories("foo", 0, 1)).toMatchObject([{ text }]);
      expect(await store.inbox("foo")).toMatchObject([{ key: text, message: { text } }]);
    });

    it("replaces NUL and lone surrogates in names and memories, which other back ends reject", async () => {
      const { name } = await store.create({ ...SPEC, name: "a\u0000b\uD800" }, "key-2", AT);
      await commit(1, { events: stamped(2, said("x")), memories: [memoryOf(2, "a\u0000b\uD800")] });
      expect(name).toBe("a\uFFFDb\uFFFD");
      expect(await store.memories("foo", 0, 1)).toMatchObject([{ text: name }]);
    });

    it("is closed to the first lease after a second claim, and open to the second", async () => {
      const second = await store.claim("foo");
      const before = await readEverything(store);
      await expect(commit(1, { events: stamped(2, said("late")) })).rejects.toMatchObject({ code: "GOALD_FENCED" });
      expect(await readEverything(store)).toEqual(before);
      expect(second.epoch).toBeGreaterThan(lease.epoch);
      await store.commit(second, 1, { ...NOTHING, events: stamped(2, said("first")) });
      expect(await store.agent("foo")).toMatchObject({ head: 2, epoch: second.epoch });
    });

    it.each<[title: string, head: number, events: readonly RecordedEvent[], code: string]>([
      ["a head in the past", 1, stamped(2, said("again")), "GOALD_CONFLICT"],
      ["a head in the future", 5, stamped(6, said("early")), "GOALD_CONFLICT"],
      ["events that leave a gap", 2, stamped(4, said("gap")), "GOALD_INTERNAL"],
      ["events that begin too early", 2, stamped(2, said("twice")), "GOALD_INTERNAL"],
    ])("rejects %s", async (_title, head, events, code) => {
      await commit(1, { events: stamped(2, said("here")) });
      const before = await readEverything(store);
      await expect(commit(head, { events })).rejects.toMatchObject({ code });
      expect(await readEverything(store)).toEqual(before);
    });

    it("is loaded whole, or from the newest snapshot of the requested version", async () => {
      const state = (n: number) => ({ version: n < 4 ? 1 : 2, state: { n, deep: ["ü"] } });
      for (let seq = 2; seq <= 5; seq++)
        await commit(seq - 1, { events: stamped(seq, said(`${seq}`)), ...(seq < 5 ? { snapshot: state(seq) } : {}) });
      const seqs = async (version: number) => {
        const { head, snapshot, events } = await store.load("foo", version);
        return [head, snapshot?.seq, snapshot?.state, events.map(({ seq }) => seq)];
      };
      expect(await seqs(2)).toEqual([5, 4, { n: 4, deep: ["ü"] }, [5]]);
      expect(await seqs(1)).toEqual([5, 3, { n: 3, deep: ["ü"] }, [4, 5]]);
      expect(await seqs(3)).toEqual([5, undefined, undefined, [1, 2, 3, 4, 5]]);
    });

    it("is loaded as it was after an event, from a snapshot at or before it", async () => {
      for (let seq = 2; seq <= 9; seq++) {
        const snapshot = seq % 3 === 0 ? { snapshot: { version: 1, state: { seq } } } : {};
        await commit(seq - 1, { events: stamped(seq, said(`${seq}`)), ...snapshot });
      }
      const loaded = async (at: number) => {
        const { head, snapshot, events } = await store.load("foo", 1, at);
        const before = snapshot?.seq ?? 0;
        expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: at - before }, (_none, i) => before + i + 1));
        return [head, before];
      };
      expect(await loaded(0)).toEqual([0, 0]);
      expect(await loaded(2)).toEqual([2, 0]);
      expect(await loaded(7)).toEqual([7, 6]);
      expect(await loaded(9)).toEqual([9, 9]);
      expect((await store.load("foo", 1, 99)).head).toBe(9);
    });

    it("passes verification, unless it names a missing blob", async () => {
      const ref = { blob: sha256("kept"), bytes: 4, head: "ke" };
      await commit(1, { events: stamped(2, { type: "message-received", from: "ada", text: ref }) });
      expect((await store.verify()).problems.join()).toContain(ref.blob);
      await commit(2, { blobs: [bytesOf("kept")] });
      expect(await store.verify()).toEqual({ agents: 1, events: 2, problems: [] });
      expect(await store.read("foo", 1, 1)).toMatchObject([{ text: ref }]);
      expect(new TextDecoder().decode(await store.blob(ref.blob))).toBe("kept");
      expect(await store.blob(sha256("other"))).toBeUndefined();
    });
  });

  describe("the inbox and timers", () => {
    it("accept a message once per key, also after the row was consumed", async () => {
      expect(await store.deliver("foo", "k1", words("one"), AT)).toBe(true);
      expect(await store.deliver("foo", "k1", words("other"), AT)).toBe(false);
      expect(await store.deliver("foo", "k0", words("two"), later(1))).toBe(true);
      const second = { key: "k0", at: later(1), message: words("two") };
      expect(await store.inbox("foo")).toEqual([{ key: "k1", at: AT, message: words("one") }, second]);
      await commit(1, { consumed: ["k1"] });
      expect(await store.deliver("foo", "k1", words("late"), AT)).toBe(false);
      expect([await store.hasMessage("foo", "k1"), await store.hasMessage("foo", "k2")]).toEqual([true, false]);
      expect((await store.inbox("foo")).map(({ key }) => key)).toEqual(["k0"]);
    });

    it("make agents due, longest waiting first, and nobody before the time", async () => {
      await commit(1, { wakeAt: later(30) });
      for (const [name, wakeAt] of Object.entries({ b: later(20), c: null, d: later(25), e: null })) {
        await store.create({ ...SPEC, name }, name, AT);
        await store.commit(await store.claim(name), 1, { ...NOTHING, wakeAt });
      }
      await store.deliver("c", "k", words("?"), later(22));
      await store.deliver("d", "k", words("?"), later(24));
      expect(await store.due(later(19))).toEqual(["c", "d"]);
      expect(await store.due("2026-11-20T11:00:30+01:00")).toEqual(["b", "c", "d", "foo"]);
      await store.commit(await store.claim("c"), 1, { ...NOTHING, consumed: ["k"] });
      expect(await store.due(later(60))).toEqual(["b", "d", "foo"]);
    });

    it("deliver a timer once at its time, move it, and drop a cancelled one", async () => {
      const timer = (key: string, at: string | null) => ({ kind: "timer", key, at, message: words(key) }) as const;
      const set = (head: number, ...staged: Commit["staged"]) =>
        commit(head, { events: stamped(head + 1, said("")), staged, wakeAt: null });
      await set(1, timer("a", later(10)), timer("b", later(10)), timer("c", later(99)));
      await set(2, timer("b", null), timer("c", later(12)));
      expect(await store.due(later(9))).toEqual([]);
      expect(await store.due(later(11))).toEqual(["foo"]);
      expect(await store.due(later(11))).toEqual(["foo"]);
      const [row, ...more] = await store.inbox("foo");
      expect([row?.message, more]).toEqual([words("a"), []]);
      await commit(3, { consumed: [row?.key ?? ""] });
      expect(await store.due(later(11))).toEqual([]);
      await set(3, timer("a", later(11)));
      await store.due(later(12));
      expect((await store.inbox("foo")).map(({ message }) => message)).toEqual([words("a"), words("c")]);
    });
  });

  describe("rows in remote indexes", () => {
    const row = (id: string, version = "1", isSent = true) => ({ id, version, isSent });

    it("are kept in their latest version, by index and namespace, also when their agent is removed", async () => {
      expect(await store.remoteNamespaces("a")).toEqual([]);
      await store.saveRemoteRows("a", "foo", [], ["foo/1"]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([]);
      await store.saveRemoteRows("a", "foo", [row("foo/1", "1", false), row("foo/2")], []);
      await store.saveRemoteRows("a", "shared", [row("shared/1")], []);
      await store.saveRemoteRows("b", "foo", [row("foo/1", "9")], []);
      await store.saveRemoteRows("a", "foo", [row("foo/1", "2")], ["foo/2"]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([row("foo/1", "2")]);
      expect(await store.remoteNamespaces("a")).toEqual(["foo", "shared"]);
      expect(await store.remoteRows("b", "foo", "", 9)).toEqual([row("foo/1", "9")]);
      await store.saveRemoteRows("a", "foo", [], ["foo/1"]);
      expect(await store.remoteNamespaces("a")).toEqual(["shared"]);
      // They must still be deleted remotely.
      await store.remove("foo");
      expect(await store.remoteNamespaces("b")).toEqual(["foo"]);
    });

    it("are listed when their memory was forgotten, until they are deleted there", async () => {
      const note = { op: "add", kind: "note", text: "x", importance: 1, trust: "person" } as const;
      await store.curate("shared", [note, note, note], "k", AT);
      await store.saveRemoteRows("a", "shared", [row("shared/+1"), row("shared/+2", "1", false)], []);
      expect(await store.remoteForgotten("a")).toEqual([]);
      const forget = (id: string) => ({ op: "forget", id, by: "person" }) as const;
      await store.curate("shared", [forget("shared/+2"), forget("shared/+3")], "k 2", AT);
      expect(await store.remoteForgotten("a")).toEqual(["shared/+2"]);
      expect(await store.remoteForgotten("b")).toEqual([]);
      await store.saveRemoteRows("a", "shared", [], ["shared/+2"]);
      expect(await store.remoteForgotten("a")).toEqual([]);
    });

    it("are returned in pages, in the order of ids", async () => {
      const rows = ["c", "a", "d", "b"].map((id) => row(id));
      await store.saveRemoteRows("a", "foo", rows, []);
      const ids = async (after: string) => (await store.remoteRows("a", "foo", after, 3)).map(({ id }) => id);
      expect([await ids(""), await ids("c")]).toEqual([["a", "b", "c"], ["d"]]);
    });
  });

  describe("commits, which are written completely or not at all", () => {
    beforeEach(async () => {
      await store.create({ ...SPEC, name: "Bar" }, "key-bar", AT);
      await store.commit(await store.claim("bar"), 1, { ...NOTHING, wakeAt: null });
      await store.deliver("foo", "in", words("go on"), later(1));
    });

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
    });

    it("starts an agent under the given id, with its parent in its first event", async () => {
      const outside = [{ from: "web", name: "a.example" }] as const;
      const startedBy = { agent: "foo", depth: 1, outside };
      const spec = { ...SPEC, name: "Child", id: "foo-child", startedBy };
      const spawn: Commit["staged"][number] = { kind: "spawn", key: "agent/2", spec };
      await commit(1, { events: stamped(2, finished(7)), staged: [spawn] });
      expect(await store.agent("foo-child")).toMatchObject({ parent: "foo", folder: "foo/agents/foo-child" });
      expect((await store.read("foo-child", 0, 1))[0]).toMatchObject({ type: "agent-created", startedBy });
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

    it("stores equal content once, and a file's history in order, returned whole or after an event", async () => {
      const files = [wrote("a", "kept"), wrote("b", "kept"), wrote("a", "new"), wrote("a", null)];
      await commit(1, { events: stamped(2, finished(1)), files });
      await commit(2, { events: stamped(3, finished(2)), files: [wrote("a", "kept", "c2")], blobs: [bytesOf("kept")] });
      const history = await store.files("foo");
      const ofFirst = ["a write c1", "b write c1", "a write c1", "a delete c1"];
      const changes = history.map(({ path, operation, callId }) => `${path} ${operation} ${callId}`);
      expect(changes).toEqual([...ofFirst, "a write c2"]);
      expect(history.map(({ at }) => at)).toEqual([...ofFirst.map(() => later(2)), later(3)]);
      const since = async (seq: number) => (await store.files("foo", seq)).length;
      expect([await since(0), await since(2), await since(3)]).toEqual([5, 1, 0]);
      expect(await store.lastFileVersion("foo", "a")).toEqual({ ...history.at(-1), seq: 3 });
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
      const copy = await store.fork("foo", { name: "Copy", head: 3, events: [] }, "copy");
      expect(await store.files(copy.id)).toEqual(await store.files("foo"));
      expect((await store.memories(copy.id, 0, 10)).map(({ outside }) => outside)).toEqual([page]);
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
