/** Store contract: corrections and wishes to forget that act on every row that says the same. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { isLive } from "#core/memory.ts";
import type { MemoryChange, MemoryKind, NewMemory } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { AT } from "../helpers/events.ts";
import { later, memoryOf, NOTHING, SPEC, said, stamped } from "./store-builders.ts";

const WRONG = "The code of the gate is 7731.";
const RIGHT = "The code of the gate is 5005.";
const step = (thought: string, result = WRONG): string =>
  `Thought: ${thought}\nCommand: read_file {"file":"gate.md"}\nResult (ok): ${result}`;
const correction = (supersedes: string, more: object = {}): MemoryChange => ({
  ...{ op: "add", kind: "fact", text: RIGHT, importance: 1, trust: "person", supersedes, copies: true },
  ...more,
});
const forget = (id: string, more: object = {}): MemoryChange => ({
  ...{ op: "forget", id, by: "person", copies: true },
  ...more,
});

export function sameRowContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: rows that say the same`, () => {
    let store: Store;
    let head: number;
    let calls: number;
    beforeEach(async () => {
      [head, calls] = [1, 0];
      store = await make();
      await store.create(SPEC, "key-1", AT);
    });
    afterEach(async () => {
      expect((await store.verify()).problems).toEqual([]);
      await store.close();
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
    const curate = (...changes: MemoryChange[]) => store.curate("foo", changes, `call ${++calls}`, later(60));
    const live = async () => (await store.memories("foo", 0, 99)).filter(isLive).map(({ id }) => id.slice(4));

    it("replaces every copy of a corrected row, and lists the copies", async () => {
      await leave(WRONG, "the code of  the gate is 7731", "Another thing", WRONG, "The code of the gate is 7732.");
      expect(await curate(correction("foo/2"))).toEqual([{ id: "foo/+1", isNew: true, copies: ["foo/3", "foo/5"] }]);
      expect(await live()).toEqual(["4", "6", "+1"]);
      expect(await store.memory("foo", "foo/5")).toMatchObject({ supersededBy: "foo/+1", text: WRONG });
    });

    it("lists the memory of the turn that a forgotten or corrected step belongs to", async () => {
      const turn = (text: string) => ({ kind: "turn" as const, text });
      await leave(turn("Turn 1 was for bread."), step("I look."), turn(`Turn 2 was for: ${WRONG}`), turn("Turn 3"));
      expect(await curate(forget("foo/3"))).toEqual([{ id: "foo/3", isNew: true, alike: ["foo/4"] }]);
      await leave(step("I look again.", RIGHT));
      expect(await curate(correction("foo/6"))).toEqual([{ id: "foo/+1", isNew: true }]);
    });

    it("changes one row alone unless copies are asked for", async () => {
      await leave(WRONG, WRONG, "a", "a");
      expect(await curate(correction("foo/2", { copies: false }))).toEqual([{ id: "foo/+1", isNew: true }]);
      expect(await curate(forget("foo/4", { copies: false }))).toEqual([{ id: "foo/4", isNew: true }]);
      expect(await live()).toEqual(["3", "5", "+1"]);
    });

    it("forgets every copy, also one that was replaced, with its text and vectors", async () => {
      await leave(WRONG, WRONG, "The code of that gate is 7731.", WRONG);
      await curate(correction("foo/2", { copies: false }));
      await store.saveVectors("foo", "e@1", [{ id: "foo/5", vector: Float32Array.of(1) }]);
      const outcome = { id: "foo/3", isNew: true, copies: ["foo/5", "foo/2"], alike: ["foo/4"] };
      expect(await curate(forget("foo/3"))).toEqual([outcome]);
      const gone = { text: "", vector: null, embedder: null, forgotten: "person" };
      for (const id of ["foo/2", "foo/3", "foo/5"]) expect(await store.memory("foo", id)).toMatchObject(gone);
      expect(await live()).toEqual(["4", "+1"]);
    });

    it("returns the copies again when a call is repeated", async () => {
      await leave(WRONG, WRONG, WRONG);
      const first = await store.curate("foo", [forget("foo/2"), forget("foo/3")], "key", AT);
      expect(first).toEqual([
        { id: "foo/2", isNew: true, copies: ["foo/3", "foo/4"] },
        { id: "foo/3", isNew: false },
      ]);
      expect(await store.curate("foo", [forget("foo/2"), forget("foo/3")], "key", AT)).toEqual(first);
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
      expect(await curate(forget("foo/3"))).toEqual([{ id: "foo/3", isNew: true, alike: ["foo/4"] }]);
    });

    it("replaces a later row that repeats what a person corrected, until the person says it again", async () => {
      await leave(WRONG);
      await curate(correction("foo/2"));
      await leave("the code of the gate is 7731", RIGHT);
      expect(await store.memory("foo", "foo/3")).toMatchObject({ supersededBy: "foo/+1" });
      const piece = { op: "add", kind: "file_chunk", text: WRONG, importance: 0.5, trust: "file" } as const;
      expect(await curate(piece)).toEqual([{ id: "foo/+2", isNew: true }]);
      expect(await live()).toEqual(["+1", "4"]);
      await curate({ ...piece, kind: "note", trust: "person" });
      await leave(WRONG);
      expect(await live()).toEqual(["+1", "4", "+3", "5"]);
    });

    it("does not recognize a forgotten text when the agent leaves it again", async () => {
      await leave(WRONG);
      await curate(correction("foo/2"));
      await curate(forget("foo/2"));
      await leave(WRONG);
      expect(await live()).toEqual(["+1", "3"]);
    });

    it("forgets the pieces of a step with it, and lists other rows of the same event", async () => {
      const staged = (text: string, memoryKind: string) =>
        ({ kind: "memory", text, memoryKind: memoryKind as MemoryKind, importance: 0.4 }) as const;
      const lease = await store.claim("foo");
      await store.commit(lease, 1, {
        ...{ ...NOTHING, events: stamped(2, said("x")), memories: [memoryOf(2, "a long result")] },
        staged: [staged("its first half", "piece"), staged("its other half", "piece"), staged("a fact", "fact")],
      });
      expect(await curate(correction("foo/2"))).toMatchObject([{ alike: ["foo/2.1", "foo/2.2", "foo/2.3"] }]);
      const outcome = { id: "foo/2", isNew: true, copies: ["foo/2.1", "foo/2.2"], alike: ["foo/2.3"] };
      expect(await curate(forget("foo/2"))).toEqual([outcome]);
      expect(await live()).toEqual(["2.3", "+1"]);
    });

    it("acts on the shared memory by itself", async () => {
      const add = (text: string): MemoryChange => ({ op: "add", kind: "note", text, importance: 1, trust: "agent" });
      await leave(WRONG);
      await store.curate("shared", [add(WRONG), add(WRONG), correction("shared/+1")], "key", AT);
      expect(await store.memory("shared", "shared/+2")).toMatchObject({ supersededBy: "shared/+3" });
      expect(await live()).toEqual(["2"]);
    });

    it("keeps copies replaced in a fork, and replaces later ones there", async () => {
      await leave(WRONG, WRONG, WRONG);
      await curate(correction("foo/2"));
      await curate(forget("foo/4", { copies: false }));
      await store.fork("foo", { name: "Bar", head: 4, events: [] }, "fork");
      expect(await store.memory("bar", "bar/3")).toMatchObject({ supersededBy: "bar/+1" });
      const lease = await store.claim("bar");
      const memories = [{ ...memoryOf(5, WRONG), namespace: "bar" }];
      await store.commit(lease, 4, { ...NOTHING, events: stamped(5, said("x")), memories });
      expect(await store.memory("bar", "bar/5")).toMatchObject({ supersededBy: "bar/+1" });
    });
  });
}
