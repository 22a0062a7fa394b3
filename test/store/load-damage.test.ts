import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { sha256 } from "#store/chain.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, said, stamped } from "../contracts/store-builders.ts";
import { FOO, fill, spilled } from "./filled-store.ts";

/** A state version without snapshots: the whole log is folded. */
const REFOLDED = STATE_VERSION + 1;

describe("loading an agent from a damaged store", () => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-load-"));
    path = join(folder, "goald.db");
    store = await openSqliteStore(path);
    await fill(store);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tamper = (sql: string, ...values: string[]): void => {
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    if (values.length === 0) database.exec(sql);
    else database.prepare(sql).run(...values);
    database.close();
  };
  const damage = (message: RegExp) => ({
    code: "GOALD_STORE_DAMAGED",
    message: expect.stringMatching(message),
    hint: expect.stringContaining("Restore a backup"),
  });

  it("returns the newest snapshot and the events after it when nothing was changed", async () => {
    expect(await store.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 }, events: [{ seq: 10 }] });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: null, events: { length: 10 } });
    const reader = await openSqliteReader(path);
    expect(await reader.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 } });
    await reader.close();
  });

  it.each<[what: string, how: string, version: number, message: RegExp]>([
    [
      "one changed letter of a goal in event 1",
      `UPDATE event SET data = replace(data, 'One', 'Two') WHERE ${FOO} AND seq = 1`,
      REFOLDED,
      /expected event 1 as written, found a change/,
    ],
    [
      "an event changed after the snapshot",
      `UPDATE event SET data = replace(data, 'text 10', 'text 11') WHERE ${FOO} AND seq = 10`,
      STATE_VERSION,
      /expected event 10 as written, found a change/,
    ],
    [
      "a changed goal in the snapshot",
      `UPDATE snapshot SET data = replace(data, 'One', 'Two') WHERE ${FOO} AND seq = 9`,
      STATE_VERSION,
      /expected the snapshot at event 9 as it was written, found it changed/,
    ],
    [
      "a snapshot of another event",
      `UPDATE snapshot SET (data, sha) = (SELECT data, sha FROM snapshot WHERE ${FOO} AND seq = 6) WHERE ${FOO} AND seq = 9`,
      STATE_VERSION,
      /expected the snapshot at event 9 as it was written/,
    ],
    [
      "a changed event that the snapshot is bound to",
      `UPDATE event SET sha = '00' WHERE ${FOO} AND seq = 9`,
      STATE_VERSION,
      /expected the snapshot at event 9 as it was written/,
    ],
    [
      "a snapshot of a missing event",
      `UPDATE snapshot SET seq = 10 WHERE ${FOO} AND seq = 9; DELETE FROM event WHERE ${FOO} AND seq = 10`,
      STATE_VERSION,
      /expected event 10, which a snapshot names, found none/,
    ],
    [
      "a missing event",
      `DELETE FROM event WHERE ${FOO} AND seq = 10`,
      STATE_VERSION,
      /10 events, found none after event 9/,
    ],
    [
      "a removed digest of a commit's rows",
      `UPDATE event SET rows_sha = NULL WHERE ${FOO} AND seq = 6`,
      REFOLDED,
      /expected event 6 as written/,
    ],
    [
      "a changed commit without events",
      `UPDATE eventless SET keys = '["other"]' WHERE seq = 10`,
      STATE_VERSION,
      /expected the messages consumed after event 10 as written/,
    ],
    [
      "a removed last commit without events",
      "DELETE FROM eventless WHERE seq = 10",
      STATE_VERSION,
      /expected the log to end with event 10, found another end/,
    ],
  ])("refuses %s", async (_what, how, version, message) => {
    tamper(how);
    await expect(store.load("foo", version)).rejects.toMatchObject(damage(message));
    expect(await store.load("bar", version)).toMatchObject({ head: 2 });
  });

  it("refuses a changed snapshot whose own hash was computed again without the log", async () => {
    const database = new DatabaseSync(path);
    const { data } = database.prepare(`SELECT data FROM snapshot WHERE ${FOO} AND seq = 9`).get() as { data: string };
    database.close();
    const changed = data.replace("One", "Two");
    tamper(`UPDATE snapshot SET data = ?, sha = ? WHERE ${FOO} AND seq = 9`, changed, sha256(changed));
    await expect(store.load("foo", STATE_VERSION)).rejects.toMatchObject(damage(/the snapshot at event 9/));
  });

  it("refuses another name in the agent's row", async () => {
    tamper("UPDATE agent SET name = 'Bob' WHERE id = 'foo'");
    await expect(store.load("foo", STATE_VERSION)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
  });

  it("does not read what it does not use: an old event is found when it is folded again", async () => {
    tamper(`UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO} AND seq = 4`);
    expect(await store.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 } });
    await expect(store.load("foo", REFOLDED)).rejects.toMatchObject(damage(/event 4 as written/));
  });

  it("refuses to copy a changed event into a fork", async () => {
    tamper(`UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO} AND seq = 4`);
    const fork = (head: number) =>
      store.fork("foo", { name: "Baz", head, events: stamped(head + 1, said("x")) }, `f${head}`);
    await expect(fork(4)).rejects.toMatchObject(damage(/event 4 as written/));
    expect(await fork(3)).toMatchObject({ id: "baz", head: 4 });
  });

  it("returns no blob that does not match its hash", async () => {
    expect(Buffer.from((await store.blob(spilled.blob)) ?? []).toString()).toBe("spilled");
    tamper(`UPDATE blob SET bytes = CAST('spillee' AS BLOB) WHERE sha = '${spilled.blob}'`);
    await expect(store.blob(spilled.blob)).rejects.toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining("found it changed"),
    });
  });

  it("returns no memory whose text does not match its hash", async () => {
    const rows = await store.memories("foo", 0, 100);
    expect(rows.map(({ text }) => text)).toContain("memory 6");
    tamper("UPDATE memory SET text = 'memory 7' WHERE text = 'memory 6'");
    const refusal = {
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining("the memory foo/6 as it was written, found it changed"),
    };
    await expect(store.memories("foo", 0, 100)).rejects.toMatchObject(refusal);
    await expect(store.memory("foo", "foo/6")).rejects.toMatchObject(refusal);
    expect(await store.memory("foo", "foo/3")).toMatchObject({ text: "memory 3" });
    expect(await store.memories("shared", 0, 100)).toHaveLength(1);
  });

  it("follows the chain through commits that it makes itself, with and without events", async () => {
    const lease = await store.claim("foo");
    await store.deliver("foo", "k", { type: "wake" } as never, "2026-01-01T00:00:00.000Z");
    await store.commit(lease, 10, { ...NOTHING, consumed: ["k"] });
    const snapshot = { version: REFOLDED, state: { any: "state" } };
    await store.deliver("foo", "l", { type: "wake" } as never, "2026-01-01T00:00:00.000Z");
    await store.commit(lease, 10, { ...NOTHING, consumed: ["l"], snapshot });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: { seq: 10 }, events: [] });
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("x")) });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: { seq: 10 }, events: [{ seq: 11 }] });
  });
});
