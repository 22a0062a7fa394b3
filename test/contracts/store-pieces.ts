/** Store contract: pieces of long texts. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatPiece, isLive } from "#core/memory.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { Lease, Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "./store-builders.ts";

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
