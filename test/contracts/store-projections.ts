/** Store contract: saved projections, and file versions after an event. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Lease, Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { NOTHING, SPEC, said, stamped, wrote } from "./store-builders.ts";

export function projectionContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: projections`, () => {
    let store: Store;
    let lease: Lease;
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      lease = await store.claim("foo");
    });
    afterEach(() => store.close());

    it("are returned as they were saved, by name and version; the newest replaces the one before", async () => {
      expect(await store.projection("foo", "report", 1)).toBeUndefined();
      await store.saveProjection(lease, "report", 1, { seq: 1, data: { n: 1 } });
      await store.saveProjection(lease, "report", 1, { seq: 1, data: { n: 2, list: ["ä", null] } });
      expect(await store.projection("foo", "report", 1)).toEqual({ seq: 1, data: { n: 2, list: ["ä", null] } });
      expect(await store.projection("foo", "report", 2)).toBeUndefined();
      expect(await store.projection("foo", "other", 1)).toBeUndefined();
    });

    it("are refused from a host that lost the agent, and gone with the agent", async () => {
      await store.saveProjection(lease, "report", 1, { seq: 1, data: 1 });
      const newer = await store.claim("foo");
      const late = store.saveProjection(lease, "report", 1, { seq: 1, data: 2 });
      await expect(late).rejects.toMatchObject({ code: "GOALD_FENCED" });
      expect((await store.projection("foo", "report", 1))?.data).toBe(1);
      await store.remove("foo");
      await expect(store.projection("foo", "report", 1)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
      await store.create(SPEC, "key-2", AT);
      expect(await store.projection("foo", "report", 1)).toBeUndefined();
      const save = (seq: number) => store.saveProjection(newer, "report", 1, { seq, data: 3 });
      await expect(save(2)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
      await store.claim("foo");
      await expect(save(1)).rejects.toMatchObject({ code: "GOALD_FENCED" });
    });

    it("do not belong to a fork", async () => {
      await store.saveProjection(lease, "report", 1, { seq: 1, data: 1 });
      await store.fork("foo", { name: "Copy", head: 1, events: [] }, "fork-1");
      expect(await store.projection("copy", "report", 1)).toBeUndefined();
    });

    it("catch up with the file versions that came with later events", async () => {
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
