/** Store contract: memory rows and their vectors. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatPiece, isLive } from "#core/memory.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import { AT, finished, memoryOf, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";

export function memoryContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: memory`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      const events = stamped(2, said("2"), said("3"), finished(1));
      const staged = ["x", "y"].map((text) => ({ kind: "memory", text, importance: 1, memoryKind: "fact" }) as const);
      const lease = await store.claim("foo");
      await store.commit(lease, 1, { ...NOTHING, events, memories: [memoryOf(2), memoryOf(3), memoryOf(4)], staged });
    });
    afterEach(() => store.close());

    it("returns rows in pages, in the order of their creation", async () => {
      const page = async (after: number) => (await store.memories("foo", after, 2)).map(({ text }) => text);
      expect(await page(0)).toEqual(["memory 2", "memory 3"]);
      expect(await page(2)).toEqual(["memory 4", "x"]);
      expect(await page(4)).toEqual(["y"]);
      expect(await page(5)).toEqual([]);
      expect(await store.memories("foo", 0, 0)).toEqual([]);
      const ids = (await store.memories("foo", 0, 99)).map(({ id }) => id);
      expect(new Set(ids).size).toBe(5);
      expect(ids.slice(0, 3)).toEqual(["foo/2", "foo/3", "foo/4"]);
    });

    it("stores vectors bit by bit, and replaces those of another embedder", async () => {
      const vector = Float32Array.of(0.1, -0, 3.4e38, 1e-45, Number.NaN);
      const view = new Float32Array([9, ...vector, 9]).subarray(1, 6);
      await store.saveVectors("foo", "old@2", [{ id: "foo/3", vector: Float32Array.of(1, 2) }]);
      const both = [view, vector].map((each, at) => ({ id: `foo/${2 + at}`, vector: each }));
      await store.saveVectors("foo", "new@5", both);
      const rows = await store.memories("foo", 0, 2);
      for (const row of rows) expect([row.embedder, ...(row.vector ?? [])]).toEqual(["new@5", ...vector]);
      expect(Object.is(rows[0]?.vector?.[1], -0)).toBe(true);
    });

    it("stores each vector with the memory that it names, staged memories included", async () => {
      const rows = await store.memories("foo", 2, 9);
      expect(rows.map(({ id }) => id)).toEqual(["foo/4", "foo/4.1", "foo/4.2"]);
      const vectors = rows.map(({ id }, index) => ({ id, vector: Float32Array.of(index) }));
      await store.saveVectors("foo", "e@1", vectors.slice(1));
      const kept = (await store.memories("foo", 2, 9)).map(({ text, vector }) => `${text}: ${vector?.[0]}`);
      expect(kept).toEqual(["memory 4: undefined", "x: 1", "y: 2"]);
    });

    it.each(["foo/1", "foo/4.3", "foo/99", "foo/4.0", "foo/04", "bar/4", "foo/", "foo", "4", "foo/4 "])(
      "stores no vector at all when one is for %j, which is not a memory of the agent",
      async (id) => {
        const vector = Float32Array.of(1);
        const vectors = ["foo/2", id].map((each) => ({ id: each, vector }));
        const saving = store.saveVectors("foo", "e@1", vectors);
        await expect(saving).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
        expect((await store.memories("foo", 0, 1))[0]?.vector).toBeNull();
      },
    );

    it("marks superseded rows, and returns them again to readers", async () => {
      const lease = await store.claim("foo");
      const newer = { ...memoryOf(5), supersedes: "foo/3", source: "notes.md", key: "k" };
      const staged = [{ kind: "memory", text: "z", importance: 1, memoryKind: "fact", supersedes: "foo/4.1" }] as const;
      await store.commit(lease, 4, { ...NOTHING, events: stamped(5, finished(2)), memories: [newer], staged });
      const rows = await store.memories("foo", 5, 9);
      expect(rows).toMatchObject([
        { id: "foo/5", supersedes: "foo/3", supersededBy: null, source: "notes.md", key: "k" },
        { id: "foo/3", supersedes: null, supersededBy: "foo/5" },
        { id: "foo/5.1", supersedes: "foo/4.1" },
        { id: "foo/4.1", supersededBy: "foo/5.1" },
      ]);
      expect(rows.map(({ change }) => change)).toEqual([6, 7, 8, 9]);
      expect((await store.verify()).problems).toEqual([]);
    });

    const factOf = (value: string, factKey = "depot hour"): Commit["staged"][number] => ({
      ...{ kind: "memory", memoryKind: "fact", text: `depot: hour: ${value}`, importance: 0.8, factKey },
    });
    async function note(store: Store, seq: number, ...staged: Commit["staged"]): Promise<void> {
      const events = stamped(seq, { ...finished(2), step: seq });
      await store.commit(await store.claim("foo"), seq - 1, { ...NOTHING, events, staged });
    }

    it("closes a fact by the next one with its key and trust, and returns it again to readers", async () => {
      expect(await store.newestFact("foo", "depot hour", "agent")).toBeUndefined();
      await note(store, 5, factOf("6"), factOf("Ida", "depot manager"));
      await note(store, 6, factOf("7"));
      const add = { op: "add", kind: "fact", importance: 1, trust: "file", factKey: "depot hour" } as const;
      await store.curate("foo", [{ ...add, text: "depot: hour: 1" }], "k1", AT);
      await store.curate("foo", [{ ...add, text: "depot: hour: 2" }], "k2", AT);
      const rows = (await store.memories("foo", 5, 99)).map(({ id, factKey, closed }) => [id, factKey, closed]);
      expect(rows).toEqual([
        ["foo/5.2", "depot manager", undefined],
        ["foo/5.1", "depot hour", { by: "foo/6.1", step: 6 }],
        ["foo/6.1", "depot hour", undefined],
        ["foo/+1", "depot hour", { by: "foo/+2", step: null }],
        ["foo/+2", "depot hour", undefined],
      ]);
      expect(await store.newestFact("foo", "depot hour", "agent")).toMatchObject({ id: "foo/6.1" });
      expect(await store.newestFact("foo", "depot hour", "file")).toMatchObject({ id: "foo/+2" });
      expect(await store.newestFact("shared", "depot hour", "agent")).toBeUndefined();
      expect((await store.verify()).problems).toEqual([]);
    });

    it("marks the facts of a fork by the rows that it copies", async () => {
      for (const [index, value] of ["6", "7", "8"].entries()) await note(store, 5 + index, factOf(value));
      await store.fork("foo", { name: "Short", head: 6, events: stamped(7, said("here")) }, "f1");
      await store.fork("foo", { name: "Long", head: 7, events: stamped(8, said("here")) }, "f2");
      const marks = async (id: string) =>
        (await store.memories(id, 0, 99))
          .flatMap(({ text, factKey, closed }) => (factKey ? [`${text} by ${closed?.by}`] : []))
          .sort();
      expect(await marks("short")).toEqual(["depot: hour: 6 by short/6.1", "depot: hour: 7 by undefined"]);
      const ofLong = ["6 by long/6.1", "7 by long/7.1", "8 by undefined"];
      expect(await marks("long")).toEqual(ofLong.map((words) => `depot: hour: ${words}`));
      expect((await store.verify()).problems).toEqual([]);
    });

    it("shows a row again that a mark of the agent had hidden, when a person forgets the mark", async () => {
      const hiding = { kind: "memory", memoryKind: "forgetting", text: "hid", importance: 0 } as const;
      await note(store, 5, factOf("6"));
      await note(store, 6, { ...hiding, supersedes: "foo/5.1" });
      expect(await store.memory("foo", "foo/5.1")).toMatchObject({ supersededBy: "foo/6.1", text: "depot: hour: 6" });
      expect((await store.verify()).problems).toEqual([]);
      await store.curate("foo", [{ op: "forget", id: "foo/6.1", by: "person" }], "k", AT);
      expect(await store.memory("foo", "foo/5.1")).toMatchObject({ supersededBy: null, text: "depot: hour: 6" });
      expect((await store.memories("foo", 8, 99)).map(({ id }) => id).sort()).toEqual(["foo/5.1", "foo/6.1"]);
      expect((await store.verify()).problems).toEqual([]);
    });

    it("names the states of a memory, which stay the same when it goes on", async () => {
      const first = await store.memoryVersion("foo");
      expect(first).toEqual({ seq: 4, curation: 0, sha: expect.stringMatching(/^\w+$/) });
      expect(await store.memoryVersion("foo")).toEqual(first);
      await note(store, 5, factOf("6"));
      const second = await store.memoryVersion("foo");
      await store.curate("foo", [{ op: "pin", id: "foo/2" }], "k", AT);
      const third = await store.memoryVersion("foo");
      expect([second, third]).toMatchObject([0, 1].map((curation) => ({ seq: 5, curation })));
      expect(new Set([first, second, third].map(({ sha }) => sha)).size).toBe(3);
      for (const version of [first, second, third]) expect(await store.memoryVersion("foo", version)).toEqual(version);
      await store.curate("shared", [{ op: "add", kind: "note", importance: 1, trust: "person", text: "x" }], "k", AT);
      expect(await store.memoryVersion("shared")).toMatchObject({ seq: 0, curation: 1 });
    });

    it("names another state for another agent of the same id", async () => {
      const { sha } = await store.memoryVersion("foo");
      await store.remove("foo");
      await expect(store.memoryVersion("foo")).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
      await store.create(SPEC, "key-1", AT);
      const events = stamped(2, said("2"), said("3"), finished(1));
      await store.commit(await store.claim("foo"), 1, { ...NOTHING, events });
      expect((await store.memoryVersion("foo")).sha).not.toBe(sha);
    });

    it("rejects a memory of another namespace, or one that supersedes another agent's", async () => {
      const lease = await store.claim("foo");
      const five = { ...NOTHING, events: stamped(5, finished(2)) };
      const commit = (change: object) => store.commit(lease, 4, { ...five, memories: [{ ...memoryOf(5), ...change }] });
      await expect(commit({ namespace: "shared" })).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
      await expect(commit({ supersedes: "bar/2" })).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
      expect(await store.memories("foo", 5, 9)).toEqual([]);
    });
  });
}

// Store contract: pieces of long texts. See store.ts.

const FILE = "a.md";
/** One line of the file is one piece. */
const piece = (seq: number, line: number, text: string, all = 9): NewMemory => ({
  ...memoryOf(seq, formatPiece(FILE, { first: line, last: line, all }, text)),
  ...{ kind: "piece", source: FILE, key: `${FILE} ${text}` },
});
/** The row of a step that has these lines of the file, and its pieces. Without `lines`: all lines. */
const reading = (seq: number, texts: readonly string[], lines?: { first: number; last: number; all: number }) => [
  { ...memoryOf(seq), source: FILE, replaces: { source: FILE, ...(lines ? { lines } : {}) } },
  ...texts.map((text, at) => piece(seq, (lines?.first ?? 1) + at, text)),
];

export function pieceContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: pieces`, () => {
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
    const commit = (seq: number, memories: readonly NewMemory[]): Promise<void> =>
      store.commit(lease, seq - 1, { ...NOTHING, events: stamped(seq, said(String(seq))), memories });
    const live = async (id = "foo") =>
      (await store.memories(id, 0, 99))
        .filter((row) => isLive(row) && row.kind === "piece")
        .map((row) => `${row.id.slice(id.length + 1)} ${row.text.split("\n")[1]}`);

    it("numbers the memories of one event, staged ones last", async () => {
      const staged = [{ kind: "memory", text: "noted", importance: 1, memoryKind: "note" }] as const;
      const memories = reading(2, ["one", "two"]);
      await store.commit(lease, 1, { ...NOTHING, events: stamped(2, said("2")), memories, staged });
      const rows = await store.memories("foo", 0, 9);
      expect(rows.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
        ...["foo/2 step", "foo/2.1 piece", "foo/2.2 piece", "foo/2.3 note"],
      ]);
    });

    it("stores a known piece once, and supersedes those that a newer text of the file does not have", async () => {
      await commit(2, reading(2, ["one", "two", "three"]));
      await commit(3, reading(3, ["one", "2", "three", "one"]));
      expect(await live()).toEqual(["2.1 one", "2.3 three", "3.2 2"]);
      const [old] = (await store.memories("foo", 0, 99)).filter(({ id }) => id === "foo/2.2");
      expect(old).toMatchObject({ supersededBy: "foo/3", text: expect.stringContaining("two") });
    });

    it("supersedes only the lines that are read again", async () => {
      await commit(2, reading(2, ["one", "two", "three"]));
      await commit(3, reading(3, ["2"], { first: 2, last: 2, all: 9 }));
      expect(await live()).toEqual(["2.1 one", "2.3 three", "3.1 2"]);
      await commit(4, reading(4, ["1"], { first: 1, last: 1, all: 2 }));
      expect(await live()).toEqual(["3.1 2", "4.1 1"]);
    });

    it("stores a piece again that was there before, but none that a person forgot", async () => {
      await commit(2, reading(2, ["one", "two"]));
      await commit(3, reading(3, []));
      expect(await live()).toEqual([]);
      await commit(4, reading(4, ["one", "two"]));
      expect(await live()).toEqual(["4.1 one", "4.2 two"]);
      await store.curate("foo", [{ op: "forget", id: "foo/4.1", by: "person" }], "k", AT);
      await commit(5, reading(5, ["one", "two"]));
      expect(await live()).toEqual(["4.2 two"]);
    });

    it("keeps pieces of other files, and of other agents", async () => {
      await commit(2, [memoryOf(2), { ...piece(2, 1, "other"), source: "b.md" }]);
      await store.create({ ...SPEC, name: "Bar" }, "key-2", AT);
      const other = reading(2, ["theirs"]).map((memory) => ({ ...memory, namespace: "bar" }));
      const bar = await store.claim("bar");
      await store.commit(bar, 1, { ...NOTHING, events: stamped(2, said("2")), memories: other });
      await commit(3, reading(3, ["one"]));
      expect([await live(), await live("bar")]).toEqual([["2.1 other", "3.1 one"], ["2.1 theirs"]]);
    });

    it("gives a fork the pieces that were live at its event", async () => {
      await commit(2, reading(2, ["one", "two"]));
      await commit(3, reading(3, ["one", "2"]));
      await store.fork("foo", { name: "Foo", head: 2, events: [] }, "fork-1");
      expect(await live("foo-2")).toEqual(["2.1 one", "2.2 two"]);
      await store.fork("foo", { name: "Foo", head: 3, events: [] }, "fork-2");
      expect(await live("foo-3")).toEqual(["2.1 one", "3.2 2"]);
    });
  });
}

// Store contract: the journal of rows in remote indexes. See store.ts.

export function remoteContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: rows in remote indexes`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await make();
    });
    afterEach(() => store.close());
    const row = (id: string, version = "1", isSent = true) => ({ id, version, isSent });

    it("are empty at first, and removing an unknown one has no effect", async () => {
      expect(await store.remoteNamespaces("a")).toEqual([]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([]);
      await store.saveRemoteRows("a", "foo", [], ["foo/1"]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([]);
    });

    it("are kept in their latest version, by index and namespace", async () => {
      await store.saveRemoteRows("a", "foo", [row("foo/1", "1", false), row("foo/2")], []);
      await store.saveRemoteRows("a", "shared", [row("shared/1")], []);
      await store.saveRemoteRows("b", "foo", [row("foo/1", "9")], []);
      await store.saveRemoteRows("a", "foo", [row("foo/1", "2")], ["foo/2"]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([row("foo/1", "2")]);
      expect(await store.remoteNamespaces("a")).toEqual(["foo", "shared"]);
      expect(await store.remoteRows("b", "foo", "", 9)).toEqual([row("foo/1", "9")]);
      await store.saveRemoteRows("a", "foo", [], ["foo/1"]);
      expect(await store.remoteNamespaces("a")).toEqual(["shared"]);
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

    it("are kept when their agent is removed, because they must still be deleted remotely", async () => {
      await store.create(SPEC, "key-1", AT);
      await store.saveRemoteRows("a", "foo", [row("foo/1")], []);
      await store.remove("foo");
      expect(await store.remoteNamespaces("a")).toEqual(["foo"]);
    });
  });
}
