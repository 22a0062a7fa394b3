/** Rows are found by name after every kind of change, and no query scans a whole table. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { memoryOf, NOTHING, SPEC, said, stamped, wrote } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";
import { fill } from "./filled-store.ts";

/** The one query that may scan memory: verify looks for rows of removed agents. */
const OF_REMOVED_AGENTS = "NOT IN (SELECT no FROM agent)";

describe("rows of an agent", () => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-keys-"));
    path = join(folder, "goald.db");
    store = await openSqliteStore(path);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Two agents commit in turn. Each step has a memory, every fifth step also two notes. */
  async function remember(steps: number): Promise<void> {
    const names = ["Foo", "Bar"];
    for (const [place, name] of names.entries()) await store.create({ ...SPEC, name }, `k${place}`, AT);
    const leases = [await store.claim("foo"), await store.claim("bar")];
    for (let seq = 2; seq <= steps; seq++)
      for (const lease of leases) {
        const note = { kind: "memory", text: `note ${seq}`, importance: 1, memoryKind: "note" } as const;
        await store.commit(lease, seq - 1, {
          ...NOTHING,
          events: stamped(seq, said("x")),
          memories: [{ ...memoryOf(seq), namespace: lease.agent }],
          staged: seq % 5 === 0 ? [note, note] : [],
        });
      }
  }

  it("are found by name: memories of events, changed ones and those that people added", async () => {
    await remember(150);
    const put = { op: "add", kind: "note", importance: 1, trust: "person" } as const;
    const change = (key: string, ...changes: Parameters<Store["curate"]>[1]) => store.curate("foo", changes, key, AT);
    await change("m1", { ...put, text: "by hand" }, { ...put, text: "better", supersedes: "foo/64" });
    for (const name of ["2", "63", "65", "100.1", "150", "150.2"])
      await change(`pin ${name}`, { op: "pin", id: `foo/${name}` });
    await change("m2", { op: "forget", id: "foo/128", by: "person" }, { op: "unpin", id: "foo/65" });
    await store.commit({ agent: "foo", epoch: 1 }, 150, {
      ...NOTHING,
      events: stamped(151, said("x")),
      memories: [{ ...memoryOf(151), supersedes: "foo/66" }],
    });
    const rows = await store.memories("foo", 0, 999);
    expect(rows).toHaveLength(150 + 60 + 2);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    for (const row of rows) expect(await store.memory("foo", row.id)).toEqual(row);
    expect(await store.memory("foo", "foo/66")).toMatchObject({ supersededBy: "foo/151" });
    for (const name of ["1", "2.1", "5.3", "152", "+3"])
      expect(await store.memory("foo", `foo/${name}`)).toBeUndefined();
    await store.fork("foo", { name: "Baz", head: 120, events: [] }, "fork");
    for (const row of await store.memories("baz", 0, 999)) expect(await store.memory("baz", row.id)).toEqual(row);
    expect((await store.verify()).problems).toEqual([]);
  });

  it("leave no copy of a forgotten text in the file, however often the row changed before", async () => {
    await remember(20);
    const put = {
      op: "add",
      kind: "note",
      text: "the word is Rumpelstiltskin",
      importance: 1,
      trust: "person",
    } as const;
    const change = (key: string, change: Parameters<Store["curate"]>[1][0]) => store.curate("foo", [change], key, AT);
    await change("m1", put);
    await change("m2", { op: "pin", id: "foo/+1" });
    await store.saveVectors("foo", "e@1536", [{ id: "foo/+1", vector: new Float32Array(1536).fill(0.5) }]);
    await store.saveVectors("foo", "e@1", [{ id: "foo/+1", vector: Float32Array.of(1) }]);
    await change("m3", { ...put, text: "the word is another", supersedes: "foo/+1" });
    const has = (): boolean => readFileSync(path).includes("Rumpelstiltskin");
    const checkpoint = async (): Promise<void> => {
      await store.close();
      store = await openSqliteStore(path);
    };
    await checkpoint();
    expect(has()).toBe(true);
    await change("m4", { op: "forget", id: "foo/+1", by: "person" });
    await checkpoint();
    expect(has()).toBe(false);
  });

  it("keep a content as long as any agent's history names it, whichever agent wrote it first", async () => {
    const texts = ["small", "large ".repeat(500)];
    const has = async () =>
      Promise.all(texts.map(async (text) => (await store.blob(wrote("f", text).sha256 ?? "")) !== undefined));
    for (const name of ["Foo", "Bar"]) {
      await store.create({ ...SPEC, name }, name, AT);
      for (const [place, text] of [...texts, ...texts].entries())
        await store.commit(
          place === 0 ? await store.claim(name.toLowerCase()) : { agent: name.toLowerCase(), epoch: 1 },
          place + 1,
          {
            ...NOTHING,
            events: stamped(place + 2, said("x")),
            files: [wrote("f", text)],
          },
        );
    }
    await store.fork("bar", { name: "Baz", head: 5, events: [] }, "fork");
    expect((await store.verify()).problems).toEqual([]);
    for (const [gone, left] of [
      ["foo", true],
      ["bar", true],
      ["baz", false],
    ] as const) {
      await store.remove(gone);
      expect(await has()).toEqual([left, left]);
      expect((await store.verify()).problems).toEqual([]);
    }
  });

  it("are found without a scan of a whole table, for commits and for pages of reads", async () => {
    await fill(store);
    const { prepare } = DatabaseSync.prototype;
    const asked = new Set<string>();
    DatabaseSync.prototype.prepare = function (sql, ...options): StatementSync {
      asked.add(sql);
      return prepare.call(this, sql, ...options);
    };
    try {
      await (await openSqliteStore(path)).verify("foo");
    } finally {
      DatabaseSync.prototype.prepare = prepare;
    }
    const database = new DatabaseSync(path);
    const scanned = [...asked]
      .filter((sql) => !/^(PRAGMA|BEGIN|COMMIT|ROLLBACK)/.test(sql) && !sql.includes(OF_REMOVED_AGENTS))
      .flatMap((sql) =>
        database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .filter(({ detail }) =>
            /^SCAN (event|memory|row|file_version|blob|inbox|next|reference|other)$/.test(String(detail)),
          )
          .map(({ detail }) => `${detail}: ${sql}`),
      );
    database.close();
    expect(asked.size).toBeGreaterThan(60);
    expect(scanned).toEqual([]);
  });
});
