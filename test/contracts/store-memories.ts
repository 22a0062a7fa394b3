/** Store contract: memory rows and their vectors. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Commit, Store } from "#core/ports/store.ts";
import { AT, finished } from "../helpers/events.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "./store-builders.ts";

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
