import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports.ts";
import { chainLink } from "#store/chain.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { bytesOf, memoryOf, NOTHING, SPEC, said, sha256, stamped, words, wrote } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";

const spilled = { blob: sha256("spilled"), bytes: 7, head: "sp" };

/** Two agents; foo has ten events, every third a file, memory and snapshot, and one text put aside. */
async function fill(store: Store): Promise<void> {
  await store.create(SPEC, "k1", AT);
  await store.create({ ...SPEC, name: "Bar" }, "k2", AT);
  await store.deliver("foo", "in", words("hello"), AT);
  const lease = await store.claim("foo");
  for (let seq = 2; seq <= 10; seq++) {
    const text = seq === 5 ? spilled : `text ${seq}`;
    const rich = seq % 3 === 0;
    await store.commit(lease, seq - 1, {
      ...NOTHING,
      events: stamped(seq, { ...said(""), text } as ReturnType<typeof said>),
      consumed: seq === 2 ? ["in"] : [],
      memories: rich ? [memoryOf(seq)] : [],
      files: rich ? [wrote(`${seq}.txt`, `content ${seq}`)] : [],
      blobs: seq === 5 ? [bytesOf("spilled"), bytesOf("of no use")] : [],
      ...(rich ? { snapshot: { version: 1, state: { seq } } } : {}),
    });
  }
  const bar = await store.claim("bar");
  await store.commit(bar, 1, { ...NOTHING, events: stamped(2, said("text 2")) });
}

const FOO = "agent_no = (SELECT no FROM agent WHERE id = 'foo')";

/** Changes an event and its own hash, as one would who knows the method but not all that follows. */
function forge(database: DatabaseSync): void {
  const at = (seq: number) => database.prepare(`SELECT data, sha FROM event WHERE ${FOO} AND seq = ?`).get(seq);
  const data = String(at(4)?.data).replace("text 4", "text 5");
  database
    .prepare(`UPDATE event SET data = ?, sha = ? WHERE ${FOO} AND seq = 4`)
    .run(data, chainLink(String(at(3)?.sha), data));
}

const tampering: [title: string, tamper: string | ((database: DatabaseSync) => void), found: RegExp][] = [
  [
    "a changed event",
    `UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`,
    /event 4 of foo .*changed/,
  ],
  ["a changed event with a hash that fits", forge, /event 5 of foo .*changed/],
  ["a removed event", `DELETE FROM event WHERE ${FOO} AND seq = 4`, /Expected event 4 of foo, found 5/],
  ["a removed last event", `DELETE FROM event WHERE ${FOO} AND seq = 10`, /log of foo to end at 10, found 9/],
  [
    "a log cut short, head and all",
    `DELETE FROM event WHERE ${FOO} AND seq = 10; UPDATE agent SET head = 9 WHERE id = 'foo'`,
    /event 9 of foo with the hash that the agent remembers/,
  ],
  [
    "a swapped pair",
    `UPDATE event SET seq = -4 WHERE ${FOO} AND seq = 4; UPDATE event SET seq = 4 WHERE ${FOO} AND seq = 6;
     UPDATE event SET seq = 6 WHERE ${FOO} AND seq = -4`,
    /event 4 of foo to carry its number, found 6/,
  ],
  [
    "an event of another agent",
    `UPDATE event SET (data, sha) = (SELECT data, sha FROM event WHERE NOT ${FOO} AND seq = 2) WHERE ${FOO} AND seq = 2`,
    /event 2 of foo .*changed/,
  ],
  [
    "an event added by hand",
    `INSERT INTO event SELECT agent_no, 11, data, sha FROM event WHERE ${FOO} AND seq = 10`,
    /An event of foo names event 11/,
  ],
  ["an event that is no JSON", `UPDATE event SET data = '{' WHERE ${FOO} AND seq = 4`, /event 4 of foo to be JSON/],
  [
    "a missing blob",
    `DELETE FROM blob WHERE sha = '${spilled.blob}'`,
    /Expected the blob .*event 5 of foo.*found none/,
  ],
  ["a missing version of a file", `DELETE FROM blob WHERE sha = '${sha256("content 6")}'`, /history of 6.txt of foo/],
  [
    "a flipped byte of a blob",
    `UPDATE blob SET bytes = CAST('spillee' AS BLOB) WHERE sha = '${spilled.blob}'`,
    /The blob .*event 5 of foo.*does not match/,
  ],
  [
    "a flipped byte of a blob that nobody refers to",
    `UPDATE blob SET bytes = x'00' WHERE sha = '${sha256("of no use")}'`,
    /The blob .*\(nothing\) does not match/,
  ],
  ["a memory of no event", `UPDATE memory SET seq = 99 WHERE seq = 6`, /A memory of foo names event 99/],
  ["a file of no event", `UPDATE file_version SET seq = 99 WHERE seq = 6`, /version of the file 6.txt of foo names/],
  ["a message consumed by nothing", `UPDATE inbox SET consumed_by = 99`, /inbox row in of foo names event 99/],
  ["a snapshot of what is to come", `UPDATE snapshot SET seq = 99 WHERE seq = 9`, /A snapshot of foo names event 99/],
  ["a changed snapshot", `UPDATE snapshot SET data = '{"seq":8}' WHERE seq = 9`, /snapshot at 9 of foo does not match/],
  [
    "rows of an agent that is gone",
    `DELETE FROM agent WHERE id = 'bar'`,
    /table event names an agent that is not there/,
  ],
];

describe("verify", () => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-verify-"));
    path = join(folder, "goald.db");
    store = await openSqliteStore(path);
    await fill(store);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tamper = (how: string | ((database: DatabaseSync) => void)): void => {
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    if (typeof how === "string") database.exec(how);
    else how(database);
    database.close();
  };

  it("finds nothing in a store that nobody touched", async () => {
    expect(await store.verify()).toEqual({ agents: 2, events: 12, problems: [] });
    expect(await store.verify("foo")).toEqual({ agents: 1, events: 10, problems: [] });
    const reader = await openSqliteReader(path);
    expect(await reader.verify()).toEqual({ agents: 2, events: 12, problems: [] });
    await reader.close();
  });

  it.each(tampering)("finds %s", async (_title, how, found) => {
    tamper(how);
    const { problems } = await store.verify();
    expect(problems.join("\n")).toMatch(found);
    // A swapped pair breaks three links and two numbers at most.
    expect(problems.length).toBeLessThan(7);
  });

  it("looks at one agent only when it is asked to", async () => {
    tamper(`UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`);
    expect((await store.verify("bar")).problems).toEqual([]);
    expect((await store.verify("foo")).problems).toHaveLength(1);
  });

  it("keeps its list short when everything is broken", async () => {
    tamper(`UPDATE event SET sha = ''; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
      INSERT INTO blob SELECT i, x'00' FROM n`);
    const { problems } = await store.verify();
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toMatch(/^And \d+ more\.$/);
  });

  it("reads an event that was made unreadable as damage, with the place", async () => {
    tamper(`UPDATE event SET data = '{' WHERE ${FOO} AND seq = 4`);
    const damage = { code: "GOALD_STORE_DAMAGED", message: expect.stringContaining("event 4 of foo") };
    await expect(store.read("foo", 0, 9)).rejects.toMatchObject(damage);
    await expect(store.load("foo", 2)).rejects.toMatchObject(damage);
    tamper(`DELETE FROM event WHERE ${FOO} AND seq >= 4`);
    await expect(store.load("foo", 2)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
  });

  it("lets a damaged snapshot be passed over for the one before, and keeps two", async () => {
    expect((await store.load("foo", 1)).snapshot).toEqual({ seq: 9, state: { seq: 9 } });
    tamper(`UPDATE snapshot SET data = '{"seq":8}' WHERE seq = 9`);
    expect((await store.load("foo", 1)).snapshot).toEqual({ seq: 6, state: { seq: 6 } });
    tamper(`UPDATE snapshot SET data = '' WHERE seq = 6`);
    expect(await store.load("foo", 1)).toMatchObject({ snapshot: null, events: { length: 10 } });
  });
});
