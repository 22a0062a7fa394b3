/** The part of the store contract that is about the journal of what lies in remote indexes. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { SPEC } from "./store-builders.ts";

export function remoteContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: what lies in remote indexes`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await make();
    });
    afterEach(() => store.close());
    const row = (id: string, version = "1", isSent = true) => ({ id, version, isSent });

    it("knows of nothing at first, and forgets what is not there", async () => {
      expect(await store.remoteNamespaces("a")).toEqual([]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([]);
      await store.saveRemoteRows("a", "foo", [], ["foo/1"]);
      expect(await store.remoteRows("a", "foo", "", 9)).toEqual([]);
    });

    it("keeps the last word on each id, by index and namespace", async () => {
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

    it("reads in pages, in the order of ids", async () => {
      await store.saveRemoteRows(
        "a",
        "foo",
        ["c", "a", "d", "b"].map((id) => row(id)),
        [],
      );
      const ids = async (after: string) => (await store.remoteRows("a", "foo", after, 3)).map(({ id }) => id);
      expect([await ids(""), await ids("c")]).toEqual([["a", "b", "c"], ["d"]]);
    });

    it("keeps them when their agent is removed: they must still be deleted there", async () => {
      await store.create(SPEC, "key-1", AT);
      await store.saveRemoteRows("a", "foo", [row("foo/1")], []);
      await store.remove("foo");
      expect(await store.remoteNamespaces("a")).toEqual(["foo"]);
    });
  });
}
