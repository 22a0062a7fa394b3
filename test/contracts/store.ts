/**
 * The contract of every Store. It uses the port alone and runs on the embedded store and the fake;
 * a store that many hosts share must pass it too.
 */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import {
  AT,
  bytesOf,
  later,
  memoryOf,
  NOTHING,
  readEverything,
  SPEC,
  said,
  sha256,
  stamped,
  words,
} from "../helpers/events.ts";
import { forkContract, removalContract } from "./store-agents.ts";
import { commitContract, fileHistoryContract } from "./store-commits.ts";
import { curationContract, sameRowContract } from "./store-curations.ts";
import { memoryContract, pieceContract, remoteContract } from "./store-memories.ts";

export function storeContract(name: string, make: () => Promise<Store>): void {
  commitContract(name, make);
  describe(`${name} keeps the store contract`, () => generalContract(make));
  memoryContract(name, make);
  pieceContract(name, make);
  curationContract(name, make);
  sameRowContract(name, make);
  remoteContract(name, make);
  removalContract(name, make);
  fileHistoryContract(name, make);
  forkContract(name, make);
}

/** The part of the contract about agents, logs, commits, inbox and timers. */
function generalContract(make: () => Promise<Store>): void {
  let store: Store;
  let lease: Lease;
  beforeEach(async () => {
    store = await make();
    await store.create(SPEC, "key-1", AT);
    lease = await store.claim("foo");
  });
  afterEach(() => store.close());
  const commit = (head: number, parts: Partial<Commit>): Promise<void> =>
    store.commit(lease, head, { ...NOTHING, ...parts });

  describe("agents", () => {
    it("creates an agent with its first event, and makes it due", async () => {
      const row = { id: "foo", name: "Foo", folder: "foo", parent: null, createdAt: AT, updatedAt: AT, wakeAt: AT };
      expect(await store.agent("foo")).toEqual({ ...row, head: 1, epoch: 1 });
      const created = { type: "agent-created", v: 1, seq: 1, at: AT, frame: 0, ...SPEC };
      expect(await store.read("foo", 0, 10)).toEqual([created]);
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
      const created = { type: "agent-created", v: 1, seq: 1, at: AT, frame: 0, ...SPEC };
      expect(await store.read("foo-7", 0, 1)).toEqual([created]);
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
}
