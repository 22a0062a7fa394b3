/** Store contract: removal of an agent. See store.ts. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import { AT, finished } from "../helpers/events.ts";
import {
  bytesOf,
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
} from "./store-builders.ts";

const reference = (text: string) => ({ blob: sha256(text), bytes: text.length, head: text.slice(0, 2) });
const putAside = (text: string) => ({ ...said(""), text: reference(text) }) as ReturnType<typeof said>;

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
        events: stamped(2, finished(7), putAside("spilled")),
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
      expect(await readEverything(store)).toEqual(before);
      expect(await store.agent("foo")).toBeUndefined();
      expect(await store.due(later(99))).toEqual(["bar"]);
      for (const text of ["spilled", "kept for nothing", "its file"]) expect(await isKept(text)).toBe(false);
      expect(await store.verify()).toEqual({ agents: 1, events: 1, problems: [] });
      for (const read of [store.read("foo", 0, 1), store.load("foo", 1), store.claim("foo"), store.remove("foo")])
        await expect(read).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    });

    const answerOf = (text: string) => {
      const observation = { status: "ok", text: reference(text), source: "agent", artifacts: [] } as const;
      return { type: "answer", callId: "c1", observation } as never;
    };
    const ringWith = (text: string) => ({ kind: "timer", key: "t", at: later(99), message: answerOf(text) }) as const;
    it.each<[what: string, share: (text: string) => Promise<unknown>]>([
      ["file", (text) => commitAsBar(1, { events: stamped(2, finished(1)), files: [wrote("b", text)] })],
      ["event", (text) => commitAsBar(1, { events: stamped(2, putAside(text)) })],
      ["commit", (text) => commitAsBar(1, { blobs: [bytesOf(text)] })],
      ["waiting message", (text) => store.deliver("bar", "k", answerOf(text), AT)],
      ["timer", (text) => commitAsBar(1, { events: stamped(2, said("")), staged: [ringWith(text)] })],
    ])("keeps a blob that another agent's %s names until that agent is removed too", async (_what, share) => {
      await commit(1, { events: stamped(2, putAside("shared")), blobs: [bytesOf("shared")] });
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
      const hint = "Remove what it has started first: goald rm other && goald rm kid";
      const refusal = { code: "GOALD_CONFLICT", message: expect.stringContaining("kid, other"), hint };
      await expect(store.remove("foo")).rejects.toMatchObject(refusal);
      expect(await readEverything(store)).toEqual(before);
      for (const id of ["kid", "other", "foo"]) await store.remove(id);
      expect((await store.agents()).map(({ id }) => id)).toEqual(["bar"]);
    });

    it("rejects a commit with the removed agent's lease, and writes nothing of it", async () => {
      await store.remove("foo");
      const before = await readEverything(store);
      const staged = [{ kind: "send", to: "bar", key: "k", message: words("late") } as const];
      await expect(commit(1, { events: stamped(2, said("late")), staged })).rejects.toMatchObject({
        code: "GOALD_NOT_FOUND",
      });
      expect(await readEverything(store)).toEqual(before);
    });

    it("frees the name and the key, and the next agent of that name is independent", async () => {
      const staged = [{ kind: "send", to: "bar", key: "c1", message: words("hello") } as const];
      const hello = { events: stamped(2, said("")), staged };
      await commit(1, hello);
      await store.deliver("foo", "k", words("?"), AT);
      await store.remove("foo");
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
