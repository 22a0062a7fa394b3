/** Store contract: the journal of rows in remote indexes. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { SPEC } from "./store-builders.ts";

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
