/** Store contract: vectors of the next embedder. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "./store-builders.ts";

export function nextVectorsContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: vectors of the next embedder`, () => {
    let store: Store;
    const vector = (value: number) => Float32Array.of(value, 1);
    const inUse = async () =>
      (await store.memories("foo", 0, 99)).map(({ id, embedder, vector: used }) => [id, embedder, used?.[0]]);
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      const lease = await store.claim("foo");
      const events = stamped(2, said("2"), said("3"), said("4"));
      await store.commit(lease, 1, { ...NOTHING, events, memories: [memoryOf(2), memoryOf(3), memoryOf(4)] });
      await store.saveVectors(
        "foo",
        "old@2",
        ["foo/2", "foo/3"].map((id) => ({ id, vector: vector(7) })),
      );
    });
    afterEach(() => store.close());

    it("are kept apart from those in use until all are adopted at once", async () => {
      expect([...(await store.vectorCounts("foo"))]).toEqual([["old@2", 2]]);
      expect(await store.nextVectorIds("foo", "new@2")).toEqual([]);
      await store.adoptNextVectors("foo", "new@2");
      await store.saveNextVectors("foo", "new@2", [{ id: "foo/2", vector: vector(1) }]);
      await store.saveNextVectors("foo", "new@2", [{ id: "foo/4", vector: vector(2) }]);
      await store.saveNextVectors("foo", "third@2", [{ id: "foo/3", vector: vector(3) }]);
      expect([...(await store.nextVectorIds("foo", "new@2"))].sort()).toEqual(["foo/2", "foo/4"]);
      const before = [
        ["foo/2", "old@2", 7],
        ["foo/3", "old@2", 7],
        ["foo/4", null, undefined],
      ];
      expect(await inUse()).toEqual(before);
      await store.adoptNextVectors("foo", "new@2");
      expect(await inUse()).toEqual([
        ["foo/2", "new@2", 1],
        ["foo/3", "old@2", 7],
        ["foo/4", "new@2", 2],
      ]);
      expect([await store.nextVectorIds("foo", "new@2"), await store.nextVectorIds("foo", "third@2")]).toEqual([
        [],
        [],
      ]);
    });

    it("are not kept for forgotten memories", async () => {
      await store.saveNextVectors("foo", "new@2", [{ id: "foo/2", vector: vector(1) }]);
      const forgotten = { op: "forget", by: "person" } as const;
      await store.curate(
        "foo",
        [
          { ...forgotten, id: "foo/2" },
          { ...forgotten, id: "foo/3" },
        ],
        "k",
        AT,
      );
      await store.saveNextVectors("foo", "new@2", [{ id: "foo/3", vector: vector(1) }]);
      expect(await store.nextVectorIds("foo", "new@2")).toEqual([]);
      await store.adoptNextVectors("foo", "new@2");
      expect((await inUse()).filter(([, embedder]) => embedder === "new@2")).toEqual([]);
    });

    it("are removed with their agent", async () => {
      await store.saveNextVectors("foo", "new@2", [{ id: "foo/2", vector: vector(1) }]);
      await store.remove("foo");
      await store.create(SPEC, "key-2", AT);
      expect(await store.nextVectorIds("foo", "new@2")).toEqual([]);
    });
  });
}
