/** Rows without an index of their own are found, whatever became of them, and by no search of a whole table. */
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

/** What verify looks for in the whole of the memory: rows of agents that are gone. */
const OF_NOBODY = "NOT IN (SELECT no FROM agent)";

describe("rows that lie by their agent's number", () => {
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

  /** Two agents take turns; each step has a memory, every fifth two notes beside it. */
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

  it("finds each memory by its name, those that changed since and those that people put there too", async () => {
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

  it("leaves no text of a memory lying where it was before it changed, so that forgetting is for good", async () => {
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

  it("keeps a content as long as any agent's history has it, whoever wrote it first, small or large", async () => {
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

  it("searches no table whole, neither for a commit nor for a page of what is read", async () => {
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
      .filter((sql) => !/^(PRAGMA|BEGIN|COMMIT|ROLLBACK)/.test(sql) && !sql.includes(OF_NOBODY))
      .flatMap((sql) =>
        database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .filter(({ detail }) =>
            /^SCAN (event|memory|row|file_version|blob|inbox|next|next_vector|reference|other)$/.test(String(detail)),
          )
          .map(({ detail }) => `${detail}: ${sql}`),
      );
    database.close();
    expect(asked.size).toBeGreaterThan(60);
    expect(scanned).toEqual([]);
  });
});
