/** Store contract: an agent that is forked from another one. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { RecordedEvent } from "#core/event.ts";
import type { ShownRecall } from "#core/ports/memory.ts";
import type { Commit, Fork, Lease, Store } from "#core/ports/store.ts";
import {
  AT,
  asked,
  bytesOf,
  finished,
  later,
  memoryOf,
  NOTHING,
  readEverything,
  SPEC,
  said,
  sha256,
  stamped,
  words,
  wrote,
} from "../helpers/events.ts";

const LONG = "a long text";
const reference = (text: string) => ({ blob: sha256(text), bytes: text.length, head: text.slice(0, 2) });
const putAsideAs = (text: string) => ({ ...said(""), text: reference(text) }) as ReturnType<typeof said>;
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
      await store.commit(lease, 3, { ...NOTHING, events: stamped(4, putAsideAs(LONG)), blobs: [bytesOf(LONG)] });
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

// Store contract: removal of an agent. See store.ts.

export function removalContract(name: string, make: () => Promise<Store>): void {
  describe(`${name} keeps the store contract: removal`, () => {
    let store: Store;
    let lease: Lease;
    beforeEach(async () => {
      store = await make();
      await store.create({ ...SPEC, name: "Bar" }, "key-bar", AT);
      await store.create(SPEC, "key-foo", AT);
      lease = await store.claim("foo");
    });
    afterEach(() => store.close());
    const commit = (head: number, parts: Partial<Commit>): Promise<void> =>
      store.commit(lease, head, { ...NOTHING, ...parts });
    const commitAsBar = async (head: number, parts: Partial<Commit>): Promise<void> =>
      store.commit(await store.claim("bar"), head, { ...NOTHING, ...parts });
    const isKept = async (text: string): Promise<boolean> => (await store.blob(sha256(text))) !== undefined;

    /** Gives the agent rows of every kind. */
    const fill = async (): Promise<void> => {
      await store.deliver("foo", "in", words("go on"), later(1));
      await store.deliver("foo", "waiting", words("and on"), later(1));
      await commit(1, {
        events: stamped(2, finished(7), putAsideAs("spilled")),
        consumed: ["in"],
        memories: [memoryOf(2)],
        files: [wrote("a.txt", "its file", "c7")],
        blobs: [bytesOf("spilled"), bytesOf("kept for nothing")],
        staged: [
          { kind: "timer", key: "c7", at: later(50), message: words("ring") },
          { kind: "memory", text: "noted", importance: 1, memoryKind: "note" },
        ],
        wakeAt: null,
        snapshot: { version: 99, state: {} },
      });
      await commit(3, { consumed: ["waiting"] });
      await store.saveVectors("foo", "e@1", [{ id: "foo/2", vector: Float32Array.of(1) }]);
    };

    it("deletes the agent with all its rows, and nothing of other agents", async () => {
      await store.remove("foo");
      const before = await readEverything(store);
      await store.create(SPEC, "key-foo", AT);
      lease = await store.claim("foo");
      await fill();
      await store.remove("foo");
      expect(await store.agent("foo")).toBeUndefined();
      expect(await store.due(later(99))).toEqual(["bar"]);
      for (const text of ["spilled", "kept for nothing", "its file"]) expect(await isKept(text)).toBe(false);
      expect(await store.verify()).toEqual({ agents: 1, events: 1, problems: [] });
      const staged = [{ kind: "send", to: "bar", key: "k", message: words("late") } as const];
      const late = commit(4, { events: stamped(5, said("late")), staged });
      const calls = [late, store.read("foo", 0, 1), store.load("foo", 1), store.claim("foo"), store.remove("foo")];
      await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" })));
      expect(await readEverything(store)).toEqual(before);
    });

    const answerOf = (text: string) => {
      const observation = { status: "ok", text: reference(text), source: "agent", artifacts: [] } as const;
      return { type: "answer", callId: "c1", observation } as never;
    };
    const ringWith = (text: string) => ({ kind: "timer", key: "t", at: later(99), message: answerOf(text) }) as const;
    it.each<[what: string, share: (text: string) => Promise<unknown>]>([
      ["file", (text) => commitAsBar(1, { events: stamped(2, finished(1)), files: [wrote("b", text)] })],
      ["event", (text) => commitAsBar(1, { events: stamped(2, putAsideAs(text)) })],
      ["commit", (text) => commitAsBar(1, { blobs: [bytesOf(text)] })],
      ["waiting message", (text) => store.deliver("bar", "k", answerOf(text), AT)],
      ["timer", (text) => commitAsBar(1, { events: stamped(2, said("")), staged: [ringWith(text)] })],
    ])("keeps a blob that another agent's %s names until that agent is removed too", async (_what, share) => {
      await commit(1, { events: stamped(2, putAsideAs("shared")), blobs: [bytesOf("shared")] });
      await commit(2, { events: stamped(3, finished(1)), files: [wrote("a", "shared"), wrote("b", "own")] });
      await share("shared");
      await store.remove("foo");
      expect([await isKept("shared"), await isKept("own")]).toEqual([true, false]);
      expect((await store.verify()).problems).toEqual([]);
      await store.remove("bar");
      expect(await isKept("shared")).toBe(false);
      expect(await store.verify()).toEqual({ agents: 0, events: 0, problems: [] });
    });

    it("rejects the removal of an agent with sub-agents, and names them", async () => {
      await store.create({ ...SPEC, name: "Kid", parent: "foo" }, "key-kid", AT);
      await store.create({ ...SPEC, name: "Other", parent: "foo" }, "key-other", AT);
      const before = await readEverything(store);
      const hint = "Remove what it has started first: goald rm other kid";
      const refusal = { code: "GOALD_CONFLICT", message: expect.stringContaining("kid, other"), hint };
      await expect(store.remove("foo")).rejects.toMatchObject(refusal);
      expect(await readEverything(store)).toEqual(before);
      for (const id of ["kid", "other", "foo"]) await store.remove(id);
      expect((await store.agents()).map(({ id }) => id)).toEqual(["bar"]);
    });

    it("frees the name and the key, and the next agent of that name is independent", async () => {
      const staged = [{ kind: "send", to: "bar", key: "c1", message: words("hello") } as const];
      const hello = { events: stamped(2, said("")), staged };
      await commit(1, hello);
      await store.deliver("foo", "k", words("?"), AT);
      expect(await store.hasCreated("key-foo")).toBe(true);
      await store.remove("foo");
      expect(await store.hasCreated("key-foo")).toBe(false);
      expect(await store.create(SPEC, "key-foo", later(1))).toMatchObject({ id: "foo", folder: "foo", head: 1 });
      const next = await store.claim("foo");
      await expect(commit(1, hello)).rejects.toMatchObject({ code: "GOALD_FENCED" });
      expect(await store.deliver("foo", "k", words("?"), AT)).toBe(true);
      await store.commit(next, 1, { ...NOTHING, ...hello });
      expect(await store.inbox("bar")).toHaveLength(2);
      expect(await store.verify()).toEqual({ agents: 2, events: 3, problems: [] });
    });
  });
}
