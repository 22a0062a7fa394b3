import { copyFileSync, readFileSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { Commit, Lease, Store } from "#core/ports/store.ts";
import { type GroupAnchor, openGroups, type RunGroup } from "#store/sqlite/group-commit.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { type GroupStoreOptions, openGroupStore } from "#store/sqlite/writer.ts";
import { AT, bytesOf, memoryOf, NOTHING, SPEC, said, sha256, stamped, wrote } from "../helpers/events.ts";
import { useFolder } from "../helpers/folder.ts";
import { waitUntil } from "../helpers/waits.ts";

/** The fake timers replace only performance, setInterval and clearInterval. */
const CLOCKS = ["Date", "hrtime", "setTimeout", "clearTimeout"] as const;
const ALL_BUT_QUIET_TIME = [...CLOCKS, "nextTick", "queueMicrotask", "setImmediate", "clearImmediate"] as const;

describe("the store for many agents", () => {
  const at = useFolder();
  let path: string;
  let store: Store;
  let other: DatabaseSync;
  beforeEach(() => {
    path = at("goald.db");
  });
  afterEach(async () => {
    jest.useRealTimers();
    other.close();
    await store.close();
  });

  async function open(options: GroupStoreOptions = {}): Promise<void> {
    store = await openGroupStore(path, options);
    other = new DatabaseSync(path, { timeout: 5_000 });
  }
  async function begin(name: string): Promise<Lease> {
    const { id } = await store.create({ ...SPEC, name }, name, AT);
    return store.claim(id);
  }
  const append = (lease: Lease, head: number, parts: Partial<Commit> = {}): Promise<void> =>
    store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said(`${head}`)), ...parts });
  const headOf = (id: string): unknown => other.prepare("SELECT head FROM agent WHERE id = ?").get(id)?.head;
  /**
   * A write in the calling thread is over before this thread turns to anything else; the answer of another thread
   * reaches it only then, however soon it was given.
   */
  async function isDirect(write: Promise<unknown>, isDone: () => boolean): Promise<boolean> {
    let direct = false;
    const settled = write.then(() => {
      direct = true;
      expect(isDone()).toBe(true);
    });
    for (let step = 0; step < 50; step++) await null;
    const wasDirect = direct;
    await settled;
    return wasDirect;
  }
  const appendsDirectly = (lease: Lease, head: number): Promise<boolean> =>
    isDirect(append(lease, head), () => headOf(lease.agent) === head + 1);

  it("writes in the calling thread for one agent, in the writer thread for two, and changes back for one", async () => {
    // An agent is quiet some time after its last write: the fake clock moves when the test moves it.
    jest.useFakeTimers({ doNotFake: [...ALL_BUT_QUIET_TIME] });
    await open();
    const foo = await begin("foo");
    for (let head = 1; head < 20; head++) expect(await appendsDirectly(foo, head)).toBe(true);
    const bar = await begin("bar");
    for (let head = 1; head < 20; head++) expect(await appendsDirectly(bar, head)).toBe(false);
    jest.advanceTimersByTime(60_000);
    expect(await appendsDirectly(bar, 20)).toBe(false);
    jest.advanceTimersByTime(60_000);
    for (let head = 21; head < 23; head++) expect(await appendsDirectly(bar, head)).toBe(true);
    expect(await appendsDirectly(foo, 20)).toBe(false);
    expect(await store.verify()).toEqual({ agents: 2, events: 44, problems: [] });
  });

  /** The number of events in a copy of the database file without its WAL. */
  function eventsInFile(): unknown {
    const copy = at("copy.db");
    copyFileSync(path, copy);
    const database = new DatabaseSync(copy);
    try {
      const tables = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.count;
      return tables === 0 ? 0 : database.prepare("SELECT count(*) AS count FROM event").get()?.count;
    } finally {
      database.close();
      for (const suffix of ["", "-wal", "-shm"]) rmSync(copy + suffix, { force: true });
    }
  }

  it.each<GroupStoreOptions["thread"]>(["always", "with-second-agent"])(
    "has every event in the database file when it has rested, and at a close beside a reader (thread: %s)",
    async (thread = "always") => {
      await open({ thread, restMs: 30 });
      const foo = await begin("foo");
      for (let head = 1; head < 10; head++) await append(foo, head);
      await waitUntil("the WAL is empty", () => statSync(`${path}-wal`).size === 0);
      expect(eventsInFile()).toBe(10);
      for (let head = 10; head < 20; head++) await append(foo, head);
      await store.close();
      // `other` is still open, so that SQLite itself leaves the WAL as it is.
      expect(eventsInFile()).toBe(20);
    },
  );

  it("does not wait for a reader when it empties the WAL, and tries again after the next write", async () => {
    await open({ restMs: 30 });
    const foo = await begin("foo");
    other.exec("BEGIN; SELECT * FROM agent");
    for (let head = 1; head < 10; head++) await append(foo, head);
    await sleep(60);
    await append(foo, 10);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    other.exec("COMMIT");
    await append(foo, 11);
    await waitUntil("the WAL is empty", () => statSync(`${path}-wal`).size === 0);
    expect(eventsInFile()).toBe(12);
  });

  it("keeps the order of each agent's writes when it changes threads, awaited or not", async () => {
    await open();
    const leases = [await begin("foo"), await begin("bar"), await begin("baz")];
    const inTurn = async (lease: Lease) => {
      for (let head = 1; head < 300; head++) {
        await append(lease, head);
        expect(headOf(lease.agent)).toBe(head + 1);
        if (head % 10 === 0) await sleep(0);
      }
      await Promise.all(Array.from({ length: 100 }, (_, index) => append(lease, 300 + index)));
    };
    await Promise.all(leases.map(inTurn));
    expect(await store.verify()).toEqual({ agents: 3, events: 1200, problems: [] });
    for (const { agent } of leases) expect((await store.load(agent, 1)).head).toBe(400);
  });

  it("commits forty waiting writes in one transaction, and fails some of them alone", async () => {
    await open({ thread: "always" });
    const leases = await Promise.all(Array.from({ length: 40 }, (_, index) => begin(`a${index}`)));
    other.exec("PRAGMA wal_checkpoint(TRUNCATE); BEGIN IMMEDIATE");
    // The first write starts a group; writes that come meanwhile wait for the next group.
    const first = append(leases[0] as Lease, 1);
    await sleep(20);
    const rest = leases.slice(1).map((lease, index) => append(lease, index % 10 === 0 ? 7 : 1));
    rest.push(append({ agent: "nobody", epoch: 1 }, 1), append({ ...(leases[1] as Lease), epoch: 0 }, 1));
    other.exec("ROLLBACK");
    const settled = await Promise.allSettled([first, ...rest]);
    const failures = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(failures.map(({ code }) => code)).toEqual([
      ...Array(4).fill("GOALD_CONFLICT"),
      "GOALD_NOT_FOUND",
      "GOALD_FENCED",
    ]);
    expect(failures[4]).toMatchObject({ name: "GoaldError", hint: expect.stringContaining("goald ps") });
    expect(transactionsIn(`${path}-wal`)).toBeLessThanOrEqual(2);
    expect((await store.verify()).problems).toEqual([]);
    expect(leases.filter(({ agent }) => headOf(agent) === 2)).toHaveLength(36);
  });

  it("commits each write alone in the calling thread", async () => {
    await open();
    const lease = await begin("foo");
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    await Promise.all(Array.from({ length: 9 }, (_, index) => append(lease, 1 + index)));
    expect(transactionsIn(`${path}-wal`)).toBe(9);
  });

  it("does not block the calling thread while the disk is busy", async () => {
    await open({ thread: "always" });
    const lease = await begin("foo");
    other.exec("BEGIN IMMEDIATE");
    const write = append(lease, 1);
    let turns = 0;
    for (; turns < 20; turns++) await sleep(1);
    expect([turns, (await store.load("foo", 1)).head]).toEqual([20, 1]);
    other.exec("ROLLBACK");
    await write;
    expect((await store.load("foo", 1)).head).toBe(2);
  });

  it("commits every write that was started before close, and none after", async () => {
    await open({ thread: "always" });
    const lease = await begin("foo");
    const writes = Array.from({ length: 50 }, (_, index) => append(lease, 1 + index));
    const closing = store.close();
    await expect(append(lease, 51)).rejects.toMatchObject({ code: "GOALD_INTERNAL", message: /closed/ });
    await Promise.all([...writes, closing, store.close()]);
    const again = await openSqliteStore(path);
    expect(await again.verify()).toEqual({ agents: 1, events: 51, problems: [] });
    await again.close();
  });

  it("leaves the caller its bytes for a retry", async () => {
    await open({ thread: "always" });
    const lease = await begin("foo");
    const file = wrote("a.txt", "content");
    const blobs = [Buffer.from("from a pool that others share")];
    const parts: Partial<Commit> = { files: [file], blobs, memories: [memoryOf(2)] };
    await expect(append(lease, 9, parts)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    await append(lease, 1, parts);
    const vector = Float32Array.of(1, 2, 3, 4).subarray(1, 3);
    for (let time = 0; time < 2; time++) await store.saveVectors("foo", "e@2", [{ id: "foo/2", vector }]);
    expect([file.content, blobs[0]?.toString(), [...vector]]).toEqual([
      bytesOf("content"),
      "from a pool that others share",
      [2, 3],
    ]);
    expect((await store.memories("foo", 0, 9))[0]?.vector).toEqual(Float32Array.of(2, 3));
    expect(Buffer.from((await store.blob(sha256(blobs[0] as Buffer))) ?? "")).toEqual(blobs[0]);
  });

  it("refuses values that cannot be cloned, and continues to work", async () => {
    await open({ thread: "always" });
    const lease = await begin("foo");
    const snapshot = { version: 1, state: { odd: () => 1 } };
    await expect(append(lease, 1, { snapshot })).rejects.toMatchObject({ name: "GoaldError", code: "GOALD_INTERNAL" });
    await append(lease, 1);
    expect(headOf("foo")).toBe(2);
  });

  it("shrinks the file after a removal, and writes meanwhile", async () => {
    await open({ thread: "always" });
    const foo = await begin("foo");
    await append(foo, 1, { blobs: [new Uint8Array(9e6)] });
    const bar = await begin("bar");
    await store.remove("foo");
    const free = () => Number(other.prepare("PRAGMA freelist_count").get()?.freelist_count);
    let head = 1;
    for (; free() > 0; head++) await append(bar, head);
    expect(await store.verify()).toEqual({ agents: 1, events: head, problems: [] });
    await store.close();
    other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(readFileSync(path).length).toBeLessThan(5e5);
  });

  it("never removes an agent in the calling thread, and keeps later writes after the removal", async () => {
    await open();
    const lease = await begin("foo");
    const removal = isDirect(store.remove("foo"), () => headOf("foo") === undefined);
    const late = append(lease, 1);
    await expect(late).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    expect(await removal).toBe(false);
    expect(await appendsDirectly(await begin("foo"), 1)).toBe(false);
  });
});

/** Counts the commits in a WAL: frames of the newest round with the size of the database. */
function transactionsIn(path: string): number {
  const wal = readFileSync(path);
  const frameBytes = 24 + wal.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frameBytes <= wal.length; at += frameBytes) {
    const isCurrent = wal.subarray(at + 8, at + 16).equals(wal.subarray(16, 24));
    if (isCurrent && wal.readUInt32BE(at + 4) !== 0) commits++;
  }
  return commits;
}

const NO_ANCHOR: GroupAnchor = { mark: () => () => undefined, count: () => undefined, publish: () => undefined };

describe("a group of writes", () => {
  let database: DatabaseSync;
  let run: RunGroup;
  beforeEach(() => {
    database = new DatabaseSync(":memory:");
    database.exec(`CREATE TABLE parent (no INTEGER PRIMARY KEY);
      CREATE TABLE row (no INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`);
    run = openGroups(database, "x.db", NO_ANCHOR);
  });
  afterEach(() => database.close());

  const insert = (no: number, how = "INSERT", parent: number | null = null) =>
    database.prepare(`${how} INTO row VALUES (?, ?)`).run(no, parent).changes;
  const kept = (): unknown[] =>
    database
      .prepare("SELECT no FROM row ORDER BY no")
      .all()
      .map(({ no }) => no);
  const codes = (outcomes: ReturnType<RunGroup>) =>
    outcomes.map((outcome) => ("error" in outcome ? outcome.error.code : outcome.value));

  it("runs in one transaction and returns an outcome for each write in order", () => {
    let within = 0;
    const write = (no: number) => () => {
      within += Number(database.isTransaction);
      return insert(no) && `wrote ${no}`;
    };
    expect(codes(run([write(3), write(1), write(2)]))).toEqual(["wrote 3", "wrote 1", "wrote 2"]);
    expect([kept(), within, database.isTransaction]).toEqual([[1, 2, 3], 3, false]);
    expect(run([])).toEqual([]);
  });

  it("rolls back a write that throws, and no other one", () => {
    const halfDone = () => {
      insert(7);
      insert(1);
    };
    expect(codes(run([() => insert(1), halfDone, () => insert(2)]))).toEqual([1, "GOALD_CONFLICT", 1]);
    expect(kept()).toEqual([1, 2]);
  });

  it("runs the other writes again when SQLite rolls back the transaction, as it can on a full disk", () => {
    insert(9);
    const undoAll = (no: number) => () => insert(no, "INSERT OR ROLLBACK");
    const outcomes = run([() => insert(1), undoAll(9), () => insert(2), undoAll(1), () => insert(3), () => insert(2)]);
    expect(codes(outcomes)).toEqual([1, "GOALD_CONFLICT", 1, "GOALD_CONFLICT", 1, "GOALD_CONFLICT"]);
    expect(kept()).toEqual([1, 2, 3, 9]);
  });

  it("fails as a whole when BEGIN or COMMIT fails, and the next group works", () => {
    const withoutParent = () => insert(2, "INSERT", 99);
    const failure = ["GOALD_INTERNAL", "GOALD_INTERNAL"];
    expect(codes(run([() => insert(1), withoutParent]))).toEqual(failure);
    expect([kept(), database.isTransaction]).toEqual([[], false]);
    database.exec("PRAGMA query_only = ON");
    expect(codes(run([() => insert(1), () => insert(2)]))).toEqual(["GOALD_HOME_UNWRITABLE", "GOALD_HOME_UNWRITABLE"]);
    database.exec("PRAGMA query_only = OFF");
    expect(codes(run([() => insert(1)]))).toEqual([1]);
  });
});
