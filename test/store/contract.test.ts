import { describe, expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { storeContract } from "../contracts/store.ts";
import { AT, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";
import { MemoryStore } from "../helpers/memory-store.ts";

const at = useFolder();
let stores = 0;

storeContract("the embedded store", () => openSqliteStore(at(`${++stores}`, "goald.db")));
// store.long.ts has the store for many agents.
storeContract("the fake", async () => new MemoryStore());

describe("the fake's power cut", () => {
  it.each<["before" | "after", head: number]>([
    ["before", 1],
    ["after", 2],
  ])("comes %s the commit, which is made once", async (when, head) => {
    const store = new MemoryStore();
    const { id } = await store.create(SPEC, "k", AT);
    const lease = await store.claim(id);
    store.failNextCommit(new Error("power cut"), when);
    const commit = { ...NOTHING, events: stamped(2, said("x")) };
    await expect(store.commit(lease, 1, commit)).rejects.toThrow("power cut");
    expect((await store.load(id, 1)).head).toBe(head);
    expect(store.commits).toHaveLength(head - 1);
    await store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said("y")) });
    expect((await store.load(id, 1)).head).toBe(head + 1);
  });
});
