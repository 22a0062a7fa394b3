import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { type GroupStoreOptions, openGroupStore } from "#store/sqlite/writer.ts";
import { storeContract } from "../contracts/store.ts";
import { NOTHING, SPEC, said, stamped, wrote } from "../contracts/store-builders.ts";
import { AT, finished } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";

const at = useFolder();
const keep = useOpened();
const cache = mkdtempSync(join(tmpdir(), "goald-compile-cache-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

describe("long reads of the embedded store", () => {
  let store: Store;
  beforeEach(async () => {
    store = keep(await openSqliteStore(at("goald.db")));
  });
  const EVENTS = 30_000;
  async function fillLong(): Promise<void> {
    await store.create(SPEC, "k", AT);
    const lease = await store.claim("foo");
    const texts = Array.from({ length: EVENTS - 1 }, (_, index) => said(`${index} ${"x".repeat(500)}`));
    await store.commit(lease, 1, { ...NOTHING, events: stamped(2, ...texts) });
  }
  /** Counts how often other work ran. */
  async function turnsDuring<T>(work: Promise<T>): Promise<{ readonly turns: number; readonly result: T }> {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const result = await work.finally(() => {
      isOver = true;
    });
    return { turns, result };
  }

  it("let other work run in between and return the same", async () => {
    await fillLong();
    const loaded = await turnsDuring(store.load("foo", 1));
    expect(loaded.turns).toBeGreaterThan(3);
    expect(loaded.result.events.map(({ seq }) => seq)).toEqual(Array.from({ length: EVENTS }, (_, index) => index + 1));
    const read = await turnsDuring(store.read("foo", 10, EVENTS));
    expect(read.turns).toBeGreaterThan(3);
    expect(read.result).toEqual(loaded.result.events.slice(10));
    expect((await turnsDuring(store.read("foo", 10, 20))).turns).toBe(0);
  });

  it("return a state that the log really had while it grows, and fail when the agent is removed", async () => {
    await fillLong();
    const lease = await store.claim("foo");
    const loading = store.load("foo", 1);
    await store.commit(lease, EVENTS, { ...NOTHING, events: stamped(EVENTS + 1, said("meanwhile")) });
    expect(await loading).toMatchObject({ head: EVENTS, events: { length: EVENTS } });
    const late = expect(store.load("foo", 1)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    await store.remove("foo");
    await store.create(SPEC, "k", AT);
    await late;
  });

  it("return a long history of files complete and in order", async () => {
    await store.create(SPEC, "k", AT);
    const lease = await store.claim("foo");
    for (let head = 1; head <= 5; head++)
      await store.commit(lease, head, {
        ...NOTHING,
        events: stamped(head + 1, finished(head)),
        files: Array.from({ length: 199 + head }, (_, index) => wrote(`${head}-${index}`, "same", `c${head}`)),
      });
    const paths = (await store.files("foo")).map((file) => file.path);
    expect(paths).toEqual(
      [1, 2, 3, 4, 5].flatMap((n) => Array.from({ length: 199 + n }, (_, index) => `${n}-${index}`)),
    );
    expect(Object.keys((await store.files("foo"))[0] ?? {}).sort()).toEqual(
      ["at", "bytes", "callId", "operation", "path", "sha256", "step"].sort(),
    );
  });
});

let stores = 0;
// Each test starts a thread of its own, which compiles for itself.
process.env.NODE_COMPILE_CACHE = cache;

/** The store for many agents, in the calling thread and in one of its own. */
const openMany = (options: GroupStoreOptions = {}) => openGroupStore(at(`${++stores}`, "goald.db"), options);
storeContract("the store for many agents", openMany);
storeContract("the store for many agents, in its thread", () => openMany({ thread: "always" }));
