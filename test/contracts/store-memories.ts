/** Store contract: memory rows, their vectors and pieces, and changes of memory by people. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatPiece, isLive } from "#core/memory.ts";
import type { MemoryChange, MemoryKind, MemoryRow, NewMemory } from "#core/ports/memory.ts";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import { AT, finished, later, memoryOf, NOTHING, readEverything, SPEC, said, stamped } from "../helpers/events.ts";

const FILE = "a.md";
/** One line of the file is one piece. */
const piece = (seq: number, line: number, text: string, all = 9): NewMemory => ({
  ...memoryOf(seq, formatPiece(FILE, { first: line, last: line, all }, text)),
  kind: "piece",
  source: FILE,
  key: `${FILE} ${text}`,
});
/** The row of a step that has these lines of the file, and its pieces. Without `lines`: all lines. */
const reading = (seq: number, texts: readonly string[], lines?: { first: number; last: number; all: number }) => [
  { ...memoryOf(seq), source: FILE, replaces: { source: FILE, ...(lines ? { lines } : {}) } },
  ...texts.map((text, at) => piece(seq, (lines?.first ?? 1) + at, text)),
];
const note = (text: string, more: object = {}): MemoryChange => ({
  op: "add",
  kind: "note",
  text,
  importance: 1,
  trust: "person",
  ...more,
});
const chunk = (text: string, more: object = {}): MemoryChange =>
  note(text, { kind: "file_chunk", importance: 0.5, trust: "file", source: "a.md", key: `a.md ${text}`, ...more });
const forget = (id: string, by: "person" | "source" = "person"): MemoryChange => ({ op: "forget", id, by });
const WRONG = "The code of the gate is 7731.";
const RIGHT = "The code of the gate is 5005.";
const step = (thought: string, result = WRONG): string =>
  `Thought: ${thought}\nCommand: read_file {"file":"gate.md"}\nResult (ok): ${result}`;
const correction = (supersedes: string, more: object = {}): MemoryChange =>
  note(RIGHT, { kind: "fact", supersedes, copies: true, ...more });
const forgetAll = (id: string, copies = true): MemoryChange => ({ op: "forget", id, by: "person", copies });

/** Memory rows, their vectors and pieces, and changes of memory by people. */
export function memoryContract(make: () => Promise<Store>): void {
  let store: Store;
  let calls: number;
  beforeEach(async () => {
    calls = 0;
    store = await make();
    await store.create(SPEC, "key-1", AT);
  });
  afterEach(async () => {
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
  const curate = (...changes: MemoryChange[]) => store.curate("foo", changes, `call ${++calls}`, later(60));

  describe("memory rows", () => {
    beforeEach(async () => {
      const events = stamped(2, said("2"), said("3"), finished(1));
      const staged = ["x", "y"].map((text) => ({ kind: "memory", text, importance: 1, memoryKind: "fact" }) as const);
      const lease = await store.claim("foo");
      await store.commit(lease, 1, { ...NOTHING, events, memories: [memoryOf(2), memoryOf(3), memoryOf(4)], staged });
    });

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
    });

    const factOf = (value: string, factKey = "depot hour"): Commit["staged"][number] => ({
      kind: "memory",
      memoryKind: "fact",
      text: `depot: hour: ${value}`,
      importance: 0.8,
      factKey,
    });
    async function keep(seq: number, ...staged: Commit["staged"]): Promise<void> {
      const events = stamped(seq, { ...finished(2), step: seq });
      await store.commit(await store.claim("foo"), seq - 1, { ...NOTHING, events, staged });
    }

    it("closes a fact by the next one with its key and trust, and returns it again to readers", async () => {
      expect(await store.newestFact("foo", "depot hour", "agent")).toBeUndefined();
      await keep(5, factOf("6"), factOf("Ida", "depot manager"));
      await keep(6, factOf("7"));
      const fact = { kind: "fact", trust: "file", factKey: "depot hour" };
      for (const hour of [1, 2]) await curate(note(`depot: hour: ${hour}`, fact));
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
    });

    it("marks the facts of a fork by the rows that it copies", async () => {
      for (const [index, value] of ["6", "7", "8"].entries()) await keep(5 + index, factOf(value));
      await store.fork("foo", { name: "Short", head: 6, events: stamped(7, said("here")) }, "f1");
      await store.fork("foo", { name: "Long", head: 7, events: stamped(8, said("here")) }, "f2");
      const marks = async (id: string) =>
        (await store.memories(id, 0, 99))
          .flatMap(({ text, factKey, closed }) => (factKey ? [`${text} by ${closed?.by}`] : []))
          .sort();
      expect(await marks("short")).toEqual(["depot: hour: 6 by short/6.1", "depot: hour: 7 by undefined"]);
      const ofLong = ["6 by long/6.1", "7 by long/7.1", "8 by undefined"];
      expect(await marks("long")).toEqual(ofLong.map((words) => `depot: hour: ${words}`));
    });

    it("shows a row again that a mark of the agent had hidden, when a person forgets the mark", async () => {
      const hiding = { kind: "memory", memoryKind: "forgetting", text: "hid", importance: 0 } as const;
      await keep(5, factOf("6"));
      await keep(6, { ...hiding, supersedes: "foo/5.1" });
      expect(await store.memory("foo", "foo/5.1")).toMatchObject({ supersededBy: "foo/6.1", text: "depot: hour: 6" });
      expect((await store.verify()).problems).toEqual([]);
      await curate(forget("foo/6.1"));
      expect(await store.memory("foo", "foo/5.1")).toMatchObject({ supersededBy: null, text: "depot: hour: 6" });
      expect((await store.memories("foo", 8, 99)).map(({ id }) => id).sort()).toEqual(["foo/5.1", "foo/6.1"]);
    });

    it("names the states of a memory, which stay the same when it goes on", async () => {
      const first = await store.memoryVersion("foo");
      expect(first).toEqual({ seq: 4, curation: 0, sha: expect.stringMatching(/^\w+$/) });
      expect(await store.memoryVersion("foo")).toEqual(first);
      await keep(5, factOf("6"));
      const second = await store.memoryVersion("foo");
      await curate({ op: "pin", id: "foo/2" });
      const third = await store.memoryVersion("foo");
      expect([second, third]).toMatchObject([0, 1].map((curation) => ({ seq: 5, curation })));
      expect(new Set([first, second, third].map(({ sha }) => sha)).size).toBe(3);
      for (const version of [first, second, third]) expect(await store.memoryVersion("foo", version)).toEqual(version);
      await store.curate("shared", [note("x")], "k", AT);
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

  describe("pieces of long texts", () => {
    let lease: Lease;
    beforeEach(async () => {
      lease = await store.claim("foo");
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
      await curate(forget("foo/4.1"));
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

  describe("changes of memory by people", () => {
    beforeEach(async () => {
      const lease = await store.claim("foo");
      const events = stamped(2, said("2"), said("3"));
      await store.commit(lease, 1, { ...NOTHING, events, memories: [memoryOf(2), memoryOf(3)] });
      await store.saveVectors("foo", "e@1", [{ id: "foo/2", vector: Float32Array.of(1) }]);
    });

    /** The ids of the changes, of which some changed nothing. */
    const idsOf = async (changes: ReturnType<Store["curate"]>) =>
      (await changes).map(({ id, isNew }) => (isNew ? id : `known ${id}`));
    const row = async (id: string) => (await store.memory(id.split("/")[0] as string, id)) as MemoryRow;
    const texts = async (namespace = "foo") =>
      (await store.memories(namespace, 0, 99)).filter(isLive).map(({ text }) => text);

    it("adds rows without a step while an agent holds the lease, and fences nobody", async () => {
      const lease = await store.claim("foo");
      expect(await idsOf(curate(note("one"), chunk("two")))).toEqual(["foo/+1", "foo/+2"]);
      const common = { namespace: "foo", seq: 3, step: null, at: later(60), pinned: false, forgotten: null };
      const none = { supersedes: null, supersededBy: null, embedder: null, vector: null };
      const one = { ...common, ...none, kind: "note", text: "one" };
      const two = { ...common, ...none, kind: "file_chunk", text: "two" };
      expect(await store.memories("foo", 2, 9)).toEqual([
        { ...one, id: "foo/+1", change: 3, importance: 1, trust: "person", key: null, source: null },
        { ...two, id: "foo/+2", change: 4, importance: 0.5, trust: "file", key: "a.md two", source: "a.md" },
      ]);
      await store.commit(lease, 3, { ...NOTHING, events: stamped(4, said("4")), memories: [memoryOf(4)] });
      expect((await store.memories("foo", 4, 9)).map(({ id }) => id)).toEqual(["foo/4"]);
    });

    it("applies each call once, even when it is repeated with other changes", async () => {
      const first = await store.curate("foo", [note("one"), forget("foo/2")], "key", AT);
      expect(await store.curate("foo", [note("other")], "key", AT)).toEqual(first);
      expect(await texts()).toEqual(["memory 3", "one"]);
    });

    it("returns a row again to readers when it was pinned or unpinned", async () => {
      expect(await curate({ op: "pin", id: "foo/2" })).toEqual([{ id: "foo/2", isNew: true }]);
      expect(await curate({ op: "pin", id: "foo/2" })).toEqual([{ id: "foo/2", isNew: false }]);
      const pinned = { id: "foo/2", change: 3, pinned: true, text: "memory 2" };
      expect(await store.memories("foo", 2, 9)).toMatchObject([pinned]);
      await curate({ op: "unpin", id: "foo/2" });
      expect(await store.memories("foo", 3, 9)).toMatchObject([{ id: "foo/2", change: 4, pinned: false }]);
    });

    it("adds a row with its pin, and with that of any row that it replaces", async () => {
      await curate(note("Tea", { pinned: true }), note("tea."), note("Cake"));
      const change = note("Coffee", { supersedes: "foo/+2", copies: true });
      expect(await curate(change, note("Pie", { supersedes: "foo/+3" }))).toMatchObject([{ copies: ["foo/+1"] }, {}]);
      const pins = (await store.memories("foo", 0, 9)).filter(({ pinned }) => pinned);
      expect(pins.map(({ text }) => text)).toEqual(["Tea", "Coffee"]);
    });

    it("keeps a forgotten row without its text and vector, for good", async () => {
      await curate({ op: "pin", id: "foo/2" });
      await curate(forget("foo/2"));
      const left = { text: "", vector: null, embedder: null, pinned: false, forgotten: "person", kind: "step", seq: 2 };
      expect(await store.memories("foo", 3, 9)).toMatchObject([{ id: "foo/2", change: 4, ...left }]);
      await store.saveVectors("foo", "e@1", [{ id: "foo/2", vector: Float32Array.of(1) }]);
      expect(await row("foo/2")).toMatchObject(left);
      expect(await curate(forget("foo/2"))).toEqual([{ id: "foo/2", isNew: false }]);
      for (const change of [{ op: "pin", id: "foo/2" }, note("x", { supersedes: "foo/2" })] as const)
        await expect(curate(change)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    });

    it("marks a corrected row as superseded, and allows a correction of the newest row only", async () => {
      await curate(note("right", { supersedes: "foo/2" }));
      expect(await row("foo/2")).toMatchObject({ supersededBy: "foo/+1", text: "memory 2" });
      expect(await row("foo/+1")).toMatchObject({ supersedes: "foo/2", supersededBy: null });
      const again = curate(note("again", { supersedes: "foo/2" }));
      await expect(again).rejects.toMatchObject({ code: "GOALD_CONFLICT", hint: expect.stringContaining("foo/+1") });
      await curate(note("still better", { supersedes: "foo/+1" }));
      expect(await texts()).toEqual(["memory 3", "still better"]);
    });

    it("adds a keyed row once, and again after its source dropped it", async () => {
      await curate(chunk("one"), chunk("two"));
      const again = curate(chunk("one"), chunk("two"), chunk("three"));
      expect(await idsOf(again)).toEqual(["known foo/+1", "known foo/+2", "foo/+3"]);
      await curate(forget("foo/+1", "source"), chunk("deux", { supersedes: "foo/+2" }));
      expect(await texts()).toEqual(["memory 2", "memory 3", "three", "deux"]);
      await curate(forget("foo/+4", "source"), chunk("one"), chunk("two"));
      expect(await texts()).toEqual(["memory 2", "memory 3", "three", "one", "two"]);
    });

    it("does not add a keyed row again that a person forgot or corrected", async () => {
      await curate(chunk("one"), chunk("two"));
      await curate(forget("foo/+1"), note("better", { supersedes: "foo/+2" }));
      await curate(forget("foo/+1", "source"));
      await curate(chunk("one"), chunk("two"));
      expect(await texts()).toEqual(["memory 2", "memory 3", "better"]);
    });

    it("recognizes a key by a row that a person forgot, even when its source dropped a newer one", async () => {
      await curate(chunk("one"));
      await curate(forget("foo/+1", "source"), chunk("one"));
      await curate(forget("foo/+1"), forget("foo/+2", "source"));
      expect(await curate(chunk("one"))).toEqual([{ id: "foo/+1", isNew: false }]);
      expect(await texts()).toEqual(["memory 2", "memory 3"]);
    });

    it.each<[why: string, change: MemoryChange]>([
      ["an unknown row", { op: "pin", id: "foo/9" }],
      ["another agent's row", { op: "pin", id: "bar/2" }],
      ["an invalid id", { op: "pin", id: "foo/../2" }],
      ["an unknown number", forget("foo/+7")],
      ["an unknown superseded row", note("x", { supersedes: "foo/9" })],
    ])("changes nothing at all when one change names %s", async (_why, change) => {
      const before = await readEverything(store);
      await expect(curate(forget("foo/2"), note("x"), change)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
      expect(await readEverything(store)).toEqual(before);
    });

    it("has a shared memory without an owner, and reserves its name", async () => {
      await store.curate("shared", [note("for all"), chunk("two")], "key", AT);
      expect(await store.memories("shared", 0, 9)).toMatchObject([
        { id: "shared/+1", seq: 0, text: "for all", namespace: "shared", change: 1 },
        { id: "shared/+2" },
      ]);
      await store.saveVectors("shared", "e@1", [{ id: "shared/+1", vector: Float32Array.of(1) }]);
      await store.curate("shared", [forget("shared/+2")], "key 2", AT);
      expect(await store.memory("shared", "shared/+1")).toMatchObject({ embedder: "e@1" });
      expect((await store.create({ ...SPEC, name: "Shared" }, "key-2", AT)).id).toBe("agent-shared");
      await store.remove("foo");
      expect(await texts("shared")).toEqual(["for all"]);
      await expect(store.curate("foo", [note("x")], "k", AT)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    });

    it("numbers rows from one again for a new agent with a removed agent's name", async () => {
      await curate(note("one"));
      await store.remove("foo");
      await store.create(SPEC, "key-2", AT);
      expect(await store.memories("foo", 0, 9)).toEqual([]);
      expect(await store.curate("foo", [note("x")], "call 1", AT)).toEqual([{ id: "foo/+1", isNew: true }]);
    });

    it("copies rows and changes by people to a fork, whenever they were made", async () => {
      await curate(note("one", { supersedes: "foo/3" }), { op: "pin", id: "foo/2" }, note("two"), note("three"));
      await curate(forget("foo/+3"), note("four", { supersedes: "foo/+2" }));
      await store.fork("foo", { name: "Bar", head: 2, events: [] }, "fork");
      expect(await store.memories("bar", 0, 9)).toMatchObject([
        { id: "bar/+1", text: "one", seq: 2, supersedes: null },
        { id: "bar/2", pinned: true },
        { id: "bar/+3", text: "", forgotten: "person" },
        { id: "bar/+4", supersedes: "bar/+2" },
        { id: "bar/+2", supersededBy: "bar/+4" },
      ]);
      await store.fork("foo", { name: "Baz", head: 3, events: [] }, "fork 2");
      expect(await store.memory("baz", "baz/3")).toMatchObject({ supersededBy: "baz/+1" });
      expect(await store.curate("bar", [note("own")], "call 1", AT)).toEqual([{ id: "bar/+5", isNew: true }]);
    });
  });

  describe("changes that act on every row that says the same", () => {
    let head: number;
    beforeEach(() => {
      head = 1;
    });

    /** Leaves one row for each text, `foo/2` first. */
    async function leave(...given: (string | Partial<NewMemory>)[]): Promise<void> {
      const lease = await store.claim("foo");
      const events = stamped(head + 1, ...given.map(() => said("x")));
      const memories = given.map((each, place) => ({
        ...memoryOf(head + 1 + place),
        ...(typeof each === "string" ? { text: each } : each),
      }));
      await store.commit(lease, head, { ...NOTHING, events, memories });
      head += given.length;
    }
    const live = async () => (await store.memories("foo", 0, 99)).filter(isLive).map(({ id }) => id.slice(4));

    it("replaces every copy of a corrected row, and lists the copies", async () => {
      await leave(WRONG, "the code of  the gate is 7731", "Another thing", WRONG, "The code of the gate is 7732.");
      expect(await curate(correction("foo/3"))).toEqual([{ id: "foo/+1", isNew: true, copies: ["foo/2", "foo/5"] }]);
      expect(await live()).toEqual(["4", "6", "+1"]);
      expect(await store.memory("foo", "foo/5")).toMatchObject({ supersededBy: "foo/+1", text: WRONG });
    });

    it("lists the memory of the turn that a forgotten or corrected step belongs to", async () => {
      const turn = (text: string) => ({ kind: "turn" as const, text });
      await leave(turn("Turn 1 was for bread."), step("I look."), turn(`Turn 2 was for: ${WRONG}`), turn("Turn 3"));
      expect(await curate(forgetAll("foo/3"))).toEqual([{ id: "foo/3", isNew: true, alike: ["foo/4"] }]);
      await leave(step("I look again.", RIGHT));
      expect(await curate(correction("foo/6"))).toEqual([{ id: "foo/+1", isNew: true }]);
    });

    it("changes one row alone unless copies are asked for", async () => {
      await leave(WRONG, WRONG, "a", "a");
      expect(await curate(correction("foo/2", { copies: false }))).toEqual([{ id: "foo/+1", isNew: true }]);
      expect(await curate(forgetAll("foo/4", false))).toEqual([{ id: "foo/4", isNew: true }]);
      expect(await live()).toEqual(["3", "5", "+1"]);
    });

    it("forgets every copy, also one that was replaced, with its text and vectors", async () => {
      await leave(WRONG, WRONG, "The code of that gate is 7731.", WRONG);
      await curate(correction("foo/2", { copies: false }));
      await store.saveVectors("foo", "e@1", [{ id: "foo/5", vector: Float32Array.of(1) }]);
      const outcome = { id: "foo/3", isNew: true, copies: ["foo/5", "foo/2"], alike: ["foo/4"] };
      expect(await curate(forgetAll("foo/3"))).toEqual([outcome]);
      const gone = { text: "", vector: null, embedder: null, forgotten: "person" };
      for (const id of ["foo/2", "foo/3", "foo/5"]) expect(await store.memory("foo", id)).toMatchObject(gone);
      expect(await live()).toEqual(["4", "+1"]);
    });

    it("returns the copies again when a call is repeated", async () => {
      await leave(WRONG, WRONG, WRONG);
      const first = await store.curate("foo", [forgetAll("foo/2"), forgetAll("foo/3")], "key", AT);
      expect(first).toEqual([
        { id: "foo/2", isNew: true, copies: ["foo/3", "foo/4"] },
        { id: "foo/3", isNew: false },
      ]);
      expect(await store.curate("foo", [forgetAll("foo/2"), forgetAll("foo/3")], "key", AT)).toEqual(first);
    });

    it("takes steps with the same command and result together when the correction is about the result", async () => {
      await leave(step("I look."), step("Which code was it?"), step("The alarm is 1234."), step("I look.", RIGHT));
      expect(await curate(correction("foo/2"))).toEqual([{ id: "foo/+1", isNew: true, copies: ["foo/3"] }]);
      await leave(step("Again."), "Something else");
      expect(await live()).toEqual(["4", "5", "+1", "7"]);
    });

    it("lists steps with another thought when one is forgotten, or when the correction is about the thought", async () => {
      await leave(step("Ada leads it."), step("Which code was it?"));
      const thought = correction("foo/2", { text: "Carla leads it now." });
      expect(await curate(thought)).toEqual([{ id: "foo/+1", isNew: true, alike: ["foo/3"] }]);
      await leave(step("Which code?"));
      expect(await curate(forgetAll("foo/3"))).toEqual([{ id: "foo/3", isNew: true, alike: ["foo/4"] }]);
    });

    it("replaces a later row that repeats what a person corrected, until the person says it again", async () => {
      await leave(WRONG);
      await curate(correction("foo/2"));
      await leave("the code of the gate is 7731", RIGHT);
      expect(await store.memory("foo", "foo/3")).toMatchObject({ supersededBy: "foo/+1" });
      const piece = { kind: "file_chunk", importance: 0.5, trust: "file" };
      expect(await curate(note(WRONG, piece))).toEqual([{ id: "foo/+2", isNew: true }]);
      expect(await live()).toEqual(["+1", "4"]);
      await curate(note(WRONG, { importance: 0.5 }));
      await leave(WRONG);
      expect(await live()).toEqual(["+1", "4", "+3", "5"]);
    });

    it("does not recognize a forgotten text when the agent leaves it again", async () => {
      await leave(WRONG);
      await curate(correction("foo/2"));
      await curate(forgetAll("foo/2"));
      await leave(WRONG);
      expect(await live()).toEqual(["+1", "3"]);
    });

    it("forgets the pieces of a step with it, and lists other rows of the same event", async () => {
      const staged = (text: string, memoryKind: string) =>
        ({ kind: "memory", text, memoryKind: memoryKind as MemoryKind, importance: 0.4 }) as const;
      const lease = await store.claim("foo");
      await store.commit(lease, 1, {
        ...NOTHING,
        events: stamped(2, said("x")),
        memories: [memoryOf(2, "a long result")],
        staged: [staged("its first half", "piece"), staged("its other half", "piece"), staged("a fact", "fact")],
      });
      expect(await curate(correction("foo/2"))).toMatchObject([{ alike: ["foo/2.1", "foo/2.2", "foo/2.3"] }]);
      const outcome = { id: "foo/2", isNew: true, copies: ["foo/2.1", "foo/2.2"], alike: ["foo/2.3"] };
      expect(await curate(forgetAll("foo/2"))).toEqual([outcome]);
      expect(await live()).toEqual(["2.3", "+1"]);
    });

    it("acts on the shared memory by itself", async () => {
      const wrong = note(WRONG, { trust: "agent" });
      await leave(WRONG);
      await store.curate("shared", [wrong, wrong, correction("shared/+1")], "key", AT);
      expect(await store.memory("shared", "shared/+2")).toMatchObject({ supersededBy: "shared/+3" });
      expect(await live()).toEqual(["2"]);
    });

    it("keeps copies replaced in a fork, and replaces later ones there", async () => {
      await leave(WRONG, WRONG, WRONG);
      await curate(correction("foo/2"));
      await curate(forgetAll("foo/4", false));
      await store.fork("foo", { name: "Bar", head: 4, events: [] }, "fork");
      expect(await store.memory("bar", "bar/3")).toMatchObject({ supersededBy: "bar/+1" });
      const lease = await store.claim("bar");
      const memories = [{ ...memoryOf(5, WRONG), namespace: "bar" }];
      await store.commit(lease, 4, { ...NOTHING, events: stamped(5, said("x")), memories });
      expect(await store.memory("bar", "bar/5")).toMatchObject({ supersededBy: "bar/+1" });
    });
  });
}
