import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Store } from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";
import { chainLink, chainStart } from "#store/chain.ts";
import { storeError } from "#store/failure.ts";
import { highestEpoch } from "#store/fork.ts";
import { isoTime } from "#store/rows.ts";
import { freeSlug, slugOf } from "#store/slug.ts";
import { openForReading, openForWriting, requireSqlite } from "#store/sqlite/connection.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { canonicalJson } from "#util/json.ts";
import { storeContract } from "../contracts/store.ts";
import { AT, asked, memoryOf, NOTHING, SPEC, said, stamped, words } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { fill } from "./made-stores.ts";

const at = useFolder();
const keep = useOpened();
let stores = 0;
storeContract("the embedded store", () => openSqliteStore(at(`${++stores}`, "goald.db")));

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the embedded store's file", () => {
  let path: string;
  beforeEach(() => {
    path = at(".goald", "goald.db");
  });
  const openStore = async (): Promise<Store> => keep(await openSqliteStore(path, { busyTimeoutMs: 50 }));
  /** A connection of another program. */
  const raw = (): DatabaseSync => keep(new DatabaseSync(path));
  async function filledStore(events: number): Promise<Store> {
    const store = await openStore();
    await store.create(SPEC, "k", AT);
    const lease = await store.claim("foo");
    const texts = Array.from({ length: events - 1 }, (_, index) => said(`${index} ${"x".repeat(500)}`));
    await store.commit(lease, 1, { ...NOTHING, events: stamped(2, ...texts) });
    return store;
  }

  it("is private to its owner, with -wal and -shm", async () => {
    const store = await filledStore(3);
    const modes = ["", "-wal", "-shm"].map((suffix) => modeOf(path + suffix));
    expect([modeOf(at(".goald")), ...modes]).toEqual(["700", "600", "600", "600"]);
    await store.close();
    chmodSync(path, 0o644);
    await openStore();
    expect(modeOf(path)).toBe("600");
  });

  it("has a WAL with durable commits, and can shrink", async () => {
    await openStore();
    const database = keep(openForWriting(path));
    const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    const names = ["journal_mode", "synchronous", "foreign_keys", "trusted_schema", "cell_size_check", "mmap_size"];
    expect([...names, "auto_vacuum", "busy_timeout"].map(pragma)).toEqual(["wal", 2, 1, 0, 1, 0, 2, 5000]);
    expect(() => keep(openForReading(path)).exec("DELETE FROM event")).toThrow("readonly");
  });

  it("keeps one snapshot of each 2,048 events and the two newest, so that a past state is near one", async () => {
    const store = await filledStore(1);
    const lease = await store.claim("foo");
    for (let head = 1; head < 10_000; head += 256) {
      const events = stamped(head + 1, ...Array.from({ length: 256 }, () => said("x")));
      await store.commit(lease, head, { ...NOTHING, events, snapshot: { version: 1, state: head + 256 } });
    }
    const [{ count } = { count: 0 }] = raw().prepare("SELECT count(*) AS count FROM snapshot").all();
    expect(count).toBe(7);
    for (const seq of [300, 2_500, 5_000, 9_999]) {
      const { snapshot, events } = await store.load("foo", 1, seq);
      expect(snapshot?.state).toBe(snapshot?.seq);
      expect(events.length).toBeLessThan(2_304);
    }
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  it("gets smaller when an agent is removed", async () => {
    const store = await filledStore(2);
    const { size } = statSync(path);
    const lease = await store.claim("foo");
    await store.commit(lease, 2, { ...NOTHING, blobs: [new Uint8Array(5e6)] });
    await store.create({ ...SPEC, name: "Bar" }, "bar", AT);
    await store.remove("foo");
    await store.close();
    expect(statSync(path).size).toBeLessThan(size + 2e5);
  });

  it("has the same content when it is opened again, and can be closed twice and not used after", async () => {
    const first = await filledStore(700);
    const before = await first.load("foo", 1);
    for (let time = 0; time < 2; time++) await first.close();
    const closed = { code: "GOALD_INTERNAL" };
    for (const call of [first.agents(), first.verify()]) await expect(call).rejects.toMatchObject(closed);
    const second = await openStore();
    expect(await second.load("foo", 1)).toEqual(before);
    expect(before.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 700 }, (_, index) => index + 1));
    expect((await second.claim("foo")).epoch).toBe(2);
  });

  it("waits for another writer, reports it, and works when it has finished", async () => {
    const store = await filledStore(2);
    const lease = await store.claim("foo");
    const other = raw();
    other.exec("BEGIN IMMEDIATE");
    const commit = { ...NOTHING, events: stamped(3, said("x")) };
    await expect(store.commit(lease, 2, commit)).rejects.toMatchObject({ code: "GOALD_ALREADY_RUNNING" });
    expect(await store.read("foo", 2, 9)).toEqual([]);
    other.exec("ROLLBACK");
    await store.commit(lease, 2, commit);
    expect(await store.read("foo", 2, 9)).toHaveLength(1);
  });

  it("deletes a timer that has fired", async () => {
    const store = await filledStore(2);
    const staged = [{ kind: "timer", key: "t", at: AT, message: words("ring") } as const];
    await store.commit(await store.claim("foo"), 2, { ...NOTHING, staged });
    const timers = () => raw().prepare("SELECT key FROM timer").all().length;
    expect(timers()).toBe(1);
    await store.due(AT);
    expect(timers()).toBe(0);
  });

  it("reports events of a newer goald as too new, not as damaged", async () => {
    const store = await filledStore(3);
    const events = stamped(4, said("x")).map((event) => ({ ...event, v: 7 as 1 }));
    await store.commit({ agent: "foo", epoch: 1 }, 3, { ...NOTHING, events });
    await expect(store.load("foo", 1)).rejects.toMatchObject({ code: "GOALD_STORE_TOO_NEW" });
    expect(await store.read("foo", 0, 2)).toHaveLength(2);
  });

  it.each<[what: string, damage: () => void]>([
    ["no database", () => writeFileSync(path, "what is this? ".repeat(1000))],
    ["another program's database", () => raw().exec("CREATE TABLE meta (key, value); CREATE TABLE user (name)")],
    ["a database without our tables", () => raw().exec("CREATE TABLE user (name)")],
    ["a store that lost a table", () => raw().exec("PRAGMA foreign_keys = OFF; DROP TABLE event")],
    ["a store with a broken first page", () => overwrite(path, 20, 80)],
    ["a store cut in half", () => writeFileSync(path, readFileSync(path).subarray(0, 3000))],
  ])("is refused with GOALD_STORE_DAMAGED when it is %s", async (what, damage) => {
    mkdirSync(at(".goald"));
    if (what.startsWith("a store")) await (await filledStore(300)).close();
    damage();
    const refusal = { code: "GOALD_STORE_DAMAGED", name: "GoaldError" };
    await expect(openSqliteStore(path)).rejects.toMatchObject(refusal);
    await expect(openSqliteReader(path)).rejects.toMatchObject(refusal);
  });

  it("opens with damaged pages, and reports them when they are read or verified", async () => {
    await (await filledStore(300)).close();
    const { size } = statSync(path);
    overwrite(path, Math.floor(size / 2), Math.floor(size / 4));
    const reader = keep(await openSqliteReader(path));
    await expect(reader.load("foo", 1)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    expect((await reader.verify()).problems.length).toBeGreaterThan(0);
  });

  it.each<[what: string, code: string, place: () => string]>([
    ["a folder", "GOALD_STORE_DAMAGED", () => at()],
    ["below a file", "GOALD_HOME_UNWRITABLE", () => join(path, "goald.db")],
  ])("cannot be %s", async (_what, code, place) => {
    mkdirSync(at(".goald"));
    writeFileSync(path, "");
    await expect(openSqliteStore(place())).rejects.toMatchObject({ code });
  });

  it.each<[what: string, prepare: () => void]>([
    ["no file", () => {}],
    ["an empty file", () => writeFileSync(path, "")],
    ["a file without tables", () => raw().exec("PRAGMA journal_mode = WAL; VACUUM")],
  ])("reads as a home without agents while there is %s, and stays unchanged", async (_what, prepare) => {
    mkdirSync(at(".goald"));
    prepare();
    const before = existsSync(path) && readFileSync(path);
    const reader = keep(await openSqliteReader(path));
    expect(await reader.agents()).toEqual([]);
    expect(await reader.agent("foo")).toBeUndefined();
    expect(await reader.blob("0".repeat(64))).toBeUndefined();
    await expect(reader.read("foo", 0, 1)).rejects.toMatchObject({ code: "GOALD_NOT_FOUND" });
    expect(await reader.verify()).toEqual({ agents: 0, events: 0, problems: [] });
    expect(existsSync(path) && readFileSync(path)).toEqual(before);
  });
});

/** Writes zeros over a part of a file. */
function overwrite(path: string, from: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0, from, from + length);
  writeFileSync(path, bytes);
}

/** Rows are found by name after every kind of change, and no query scans a whole table. */

/** The one query that may scan memory: verify looks for rows of removed agents. */
const OF_REMOVED_AGENTS = "NOT IN (SELECT no FROM agent)";

describe("rows of an agent", () => {
  let path: string;
  let store: Store;
  beforeEach(async () => {
    path = at("goald.db");
    store = keep(await openSqliteStore(path));
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
    const text = "the word is Rumpelstiltskin";
    const put = { op: "add", kind: "note", text, importance: 1, trust: "person" } as const;
    const change = (key: string, change: Parameters<Store["curate"]>[1][0]) => store.curate("foo", [change], key, AT);
    await change("m1", put);
    await change("m2", { op: "pin", id: "foo/+1" });
    await store.saveVectors("foo", "e@1536", [{ id: "foo/+1", vector: new Float32Array(1536).fill(0.5) }]);
    await store.saveVectors("foo", "e@1", [{ id: "foo/+1", vector: Float32Array.of(1) }]);
    await change("m3", { ...put, text: "the word is another", supersedes: "foo/+1" });
    const has = (): boolean => readFileSync(path).includes("Rumpelstiltskin");
    const checkpoint = async (): Promise<void> => {
      await store.close();
      store = keep(await openSqliteStore(path));
    };
    await checkpoint();
    expect(has()).toBe(true);
    await change("m4", { op: "forget", id: "foo/+1", by: "person" });
    await checkpoint();
    expect(has()).toBe(false);
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
    const database = keep(new DatabaseSync(path));
    const queries = [...asked].filter((sql) => !/^(PRAGMA|BEGIN|COMMIT|ROLLBACK)/.test(sql));
    const whole = /^SCAN (event|memory|row|file_version|blob|inbox|next|reference|other)$/;
    const scanned = queries
      .filter((sql) => !sql.includes(OF_REMOVED_AGENTS))
      .filter((sql) =>
        database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .some(({ detail }) => whole.test(`${detail}`)),
      );
    expect(asked.size).toBeGreaterThan(60);
    expect(scanned).toEqual([]);
  });

  it("are found through an index: the fact that a new one closes, and the newest one", () => {
    const where = "agent_no = 1 AND fact_key = 'hour' AND trust = 'agent' AND closed_by IS NULL";
    const plan = keep(new DatabaseSync(path)).prepare(`EXPLAIN QUERY PLAN SELECT no FROM memory WHERE ${where}`).all();
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining("USING INDEX memory_fact")]);
  });
});

describe("canonical JSON", () => {
  it("means the same as JSON.stringify for every value", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true }), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value) ?? "null"));
      }),
    );
  });

  it.each<[value: unknown, text: string]>([
    [
      { b: 1, a: [{ d: null, c: undefined, a: {} }], 10: "x", 9: "y" },
      '{"10":"x","9":"y","a":[{"a":{},"d":null}],"b":1}',
    ],
    [{ é: 1, z: 2, Z: 3 }, '{"Z":3,"z":2,"é":1}'],
    ["\u0000\uD800\u2028", '"\\u0000\\ud800\u2028"'],
    [[Number.NaN, -0, 1e21, undefined], "[null,0,1e+21,null]"],
    [JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  ])("%j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

it("the hash chain depends on the agent, on every text and on their order", () => {
  const ends = [
    ["foo", "a", "b"],
    ["bar", "a", "b"],
    ["foo", "b", "a"],
    ["foo", "a", "c"],
    ["foo", "ab", ""],
  ].map(([agent = "", ...texts]) => texts.reduce((link, text) => chainLink(link, text), chainStart(agent)));
  expect(new Set(ends).size).toBe(ends.length);
});

describe("an agent's id", () => {
  it.each<[name: string, id: string]>([
    ["Foo", "foo"],
    ["  Tennis  String-Finder 2.0! ", "tennis-string-finder-2-0"],
    ["Zoë’s Müsli", "zoes-musli"],
    ["日本語エージェント ガ", "日本語エージェント-ガ"],
    ["Мой агент", "мой-агент"],
    ["हिन्दी", "हिन्दी"],
    ["한국어", "한국어"],
    ["İstanbul", "istanbul"],
    ["ﬁne ①", "fine-1"],
    ["🤖", "agent"],
    ["", "agent"],
    ["...", "agent"],
    ["../../etc/passwd", "etc-passwd"],
    ["--help", "help"],
    ["a\u0000b\u202Ec\u200Dd", "a-bcd"],
    ["\u0301\u0301x", "x"],
    ["\uD800", "agent"],
    ["CON", "agent-con"],
    ["com¹", "agent-com1"],
    ["nul.txt", "nul-txt"],
    ["Conrad", "conrad"],
    ["x".repeat(500), "x".repeat(48)],
    [`${"x".repeat(47)} y`, "x".repeat(47)],
  ])("of %j is %s", (name, id) => {
    expect(slugOf(name)).toBe(id);
  });

  it("is a valid file name on every system for every name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const id = slugOf(name);
        expect(id).toMatch(/^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*$/u);
        expect(id).not.toMatch(/-$|^(con|prn|aux|nul|com\d|lpt\d)$/);
        expect(Buffer.byteLength(id)).toBeLessThan(200);
      }),
    );
  });

  it("takes the first free number, and avoids numbers that make a device", () => {
    const taken = new Set(["foo", "foo-2", "foo-4"]);
    expect(freeSlug("Foo", (id) => taken.has(id))).toBe("foo-3");
    expect(freeSlug("COM", (id) => id === "com")).toBe("com-2");
    expect([folderOf("b", null), folderOf("b", "a/agents/x")]).toEqual(["b", "a/agents/x/agents/b"]);
  });
});

it("times are converted to the form whose text order is time order", () => {
  expect(isoTime("2026-11-20T11:00:00+01:00")).toBe("2026-11-20T10:00:00.000Z");
  expect(() => isoTime("tomorrow")).toThrow('got "tomorrow"');
});

it.each<[title: string, thrown: object, code: string]>([
  ["no space", { errcode: 13 }, "GOALD_STORE_FULL"],
  ["a refused write", { errcode: 778 }, "GOALD_STORE_FULL"],
  ["a quota", { code: "EDQUOT" }, "GOALD_STORE_FULL"],
  ["a refused read", { errcode: 266 }, "GOALD_STORE_DAMAGED"],
  ["a broken page", { errcode: 11 }, "GOALD_STORE_DAMAGED"],
  ["a table that is gone", { errcode: 1, message: "no such table: event" }, "GOALD_STORE_DAMAGED"],
  ["a read-only file", { errcode: 8 }, "GOALD_HOME_UNWRITABLE"],
  ["a folder of another user", { code: "EACCES" }, "GOALD_HOME_UNWRITABLE"],
  ["another writer", { errcode: 5 }, "GOALD_ALREADY_RUNNING"],
  ["a row that is there", { errcode: 1555 }, "GOALD_CONFLICT"],
  ["a mistake of ours", { errcode: 1 }, "GOALD_INTERNAL"],
  ["anything else", {}, "GOALD_INTERNAL"],
])("failures of the machine get their own code: %s", (_title, thrown, code) => {
  const error = storeError(Object.assign(new Error("as SQLite says"), thrown), "/home/goald.db");
  expect(error).toMatchObject({ code, message: expect.stringContaining("(") });
});

it("an SQLite with the WAL-reset bug is refused, and a newer one is accepted", () => {
  for (const version of ["3.51.2", "3.9.9", "3.50.99", "2.99.99"])
    expect(() => requireSqlite(version)).toThrow(`or newer, got ${version}.`);
  for (const version of ["3.51.3", "3.51.4", "3.52.0", "4.0.0"]) expect(() => requireSqlite(version)).not.toThrow();
});

it("finds the highest epoch of a long log", () => {
  const [word, question] = stamped(1, said("x"), { ...asked(), epoch: 7 });
  if (!word || !question) throw new Error("Expected two events.");
  const log = Array.from({ length: 300_000 }, (_, at) => (at === 5 ? question : word));
  expect([highestEpoch(log), highestEpoch([])]).toEqual([7, 0]);
});
