/** Store contract: an agent that is forked from another one. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import type { ShownRecall } from "#core/ports/memory.ts";
import type { Fork, Lease, Store } from "#core/ports/store.ts";
import { AT, asked, finished } from "../helpers/events.ts";
import { bytesOf, later, memoryOf, NOTHING, SPEC, said, sha256, stamped, words, wrote } from "./store-builders.ts";

const LONG = "a long text";
const text = { blob: sha256(LONG), bytes: LONG.length, head: "a " };
const putAside = { ...said(""), text } as ReturnType<typeof said>;
const [end] = stamped(5, said("here it parts"));
const FORK: Fork = { name: "Foo", head: 4, events: [end as RecordedEvent] };

/** What a prompt showed of memories of this agent and of another one. */
const shownIn = (id: string): readonly ShownRecall[] => [
  { id: `${id}/2`, ranges: [[0, 3]], with: [{ id: `${id}/3` }], series: [`${id}/3`, "elsewhere/3"] },
  { id: "elsewhere/7", with: [{ id: "elsewhere/6" }] },
];

export function forkContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: forks`, () => {
    let store: Store;
    let lease: Lease;
    beforeEach(async () => {
      store = await make();
      await store.create(SPEC, "key-1", AT);
      await store.claim("foo");
      lease = await store.claim("foo");
      await store.deliver("foo", "word", words("hello"), AT);
      const question = { ...asked(1), epoch: 2, recallIds: ["foo/2", "elsewhere/7"], shown: shownIn("foo") };
      const memories = [memoryOf(2), memoryOf(3)];
      const rows = { consumed: ["word"], memories, files: [wrote("a.txt", "one")] };
      await store.commit(lease, 1, { ...NOTHING, ...rows, events: stamped(2, question, finished(1)) });
      await store.commit(lease, 3, { ...NOTHING, events: stamped(4, putAside), blobs: [bytesOf(LONG)] });
      const more = { memories: [memoryOf(5)], files: [wrote("a.txt", "two", "c2")] };
      await store.commit(lease, 4, { ...NOTHING, ...more, events: stamped(5, finished(2)) });
    });
    afterEach(() => store.close());

    it("has no parent when it is forked from a sub-agent, and keeps the sub-agent's depth and outside sources", async () => {
      const outside = [{ from: "web", name: "a.example" }] as const;
      const startedBy = { agent: "foo", depth: 1, outside };
      await store.create({ ...SPEC, name: "Child", parent: "foo", startedBy }, "key-2", AT);
      await store.fork("child", { name: "Child", head: 1, events: [] }, "fork-2");
      const [first] = await store.read("child-2", 0, 1);
      expect(first).toMatchObject({ startedBy: { ...startedBy, agent: null } });
      expect(await store.agent("child-2")).toMatchObject({ parent: null, folder: "child-2" });
    });

    it("begins with the original's events, memories and files up to the fork, under its own id", async () => {
      const row = await store.fork("foo", FORK, "fork-1");
      const times = { createdAt: AT, updatedAt: later(5), wakeAt: null };
      expect(row).toEqual({ id: "foo-2", name: "Foo", folder: "foo-2", parent: null, head: 5, epoch: 2, ...times });
      const [first, question, ...others] = (await store.read("foo", 0, 4)) as RecordedEvent[];
      const own = { ...question, recallIds: ["foo-2/2", "elsewhere/7"], shown: shownIn("foo-2") };
      expect(await store.read("foo-2", 0, 10)).toEqual([first, own, ...others, end]);
      const memories = await store.memories("foo-2", 0, 10);
      const copied = [2, 3].map((seq) => ({ id: `foo-2/${seq}`, text: `memory ${seq}`, namespace: "foo-2" }));
      expect(memories).toMatchObject(copied);
      expect(await store.files("foo-2")).toEqual((await store.files("foo")).slice(0, 1));
      expect(await store.inbox("foo-2")).toEqual([]);
      expect(await store.due(later(1_000))).not.toContain("foo-2");
    });

    it("is sound, leaves the original unchanged, and survives the original's removal", async () => {
      const before = await store.read("foo", 0, 10);
      await store.fork("foo", FORK, "fork-1");
      expect(await store.read("foo", 0, 10)).toEqual(before);
      expect(await store.verify()).toMatchObject({ agents: 2, problems: [] });
      await store.remove("foo");
      expect(await store.verify()).toMatchObject({ agents: 1, problems: [] });
      expect(await store.blob(sha256(LONG))).toBeDefined();
      expect(await store.blob(sha256("one"))).toBeDefined();
    });

    it("can be claimed with a higher epoch, appended to and forked again", async () => {
      await store.fork("foo", { ...FORK, name: "Bar" }, "fork-1");
      const own = await store.claim("bar");
      expect(own.epoch).toBe(3);
      const memories = [{ ...memoryOf(6), namespace: "bar" }];
      await store.commit(own, 5, { ...NOTHING, events: stamped(6, said("on")), memories });
      await store.fork("bar", { name: "Bar", head: 6, events: [] }, "fork-2");
      const typesOf = async (id: string) => (await store.read(id, 0, 10)).map(({ type }) => type);
      expect(await typesOf("bar-2")).toEqual(await typesOf("bar"));
      expect(await store.read("bar", 0, 1)).toMatchObject([{ name: "Bar" }]);
      expect((await store.verify()).problems).toEqual([]);
    });

    it("is made once per key, and only of a known agent", async () => {
      await store.fork("foo", FORK, "fork-1");
      expect((await store.fork("foo", FORK, "fork-1")).id).toBe("foo-2");
      expect(await store.agents()).toHaveLength(2);
      await expect(store.fork("nobody", FORK, "fork-2")).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    });
  });
}
