import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { Anchor } from "#store/sqlite/anchor.ts";
import { backupStore } from "#store/sqlite/backup.ts";
import { openForWriting } from "#store/sqlite/connection.ts";
import { acceptStoreLoss, openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { createTables } from "#store/sqlite/schema.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { openWrites } from "#store/writes.ts";
import { AT, NOTHING, SPEC, said, stamped, words } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { FOO, fill, spilled } from "./made-stores.ts";

function flipBit(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

/** Changes a store as no goald does. */
function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe("the anchor beside the store", () => {
  const at = useFolder();
  const keep = useOpened();
  let path: string;
  beforeEach(() => {
    path = at("goald.db");
  });
  const open = async (database = path): Promise<Store> => keep(await openSqliteStore(database));
  const append = async (store: Store, agent: string, from: number, to: number): Promise<void> => {
    const lease = await store.claim(agent);
    for (let head = from; head < to; head++)
      await store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said(`text ${head + 1}`)) });
  };
  /** Creates foo and bar with ten events each. */
  async function fill(store: Store): Promise<void> {
    for (const name of ["Foo", "Bar"]) await store.create({ ...SPEC, name }, name, AT);
    for (const agent of ["foo", "bar"]) await append(store, agent, 1, 10);
  }
  /** Opens a store with foo and bar. `early` is its WAL. */
  async function openFilled(): Promise<{ readonly store: Store; readonly early: Buffer }> {
    const store = await open();
    await fill(store);
    return { store, early: readFileSync(`${path}-wal`) };
  }
  /** Makes a store with foo and bar, and closes it. */
  async function makeClosed(database: string): Promise<void> {
    const store = await openSqliteStore(database);
    await fill(store);
    await store.close();
  }
  /** Copies the store with its WAL, or with another one, as a killed process leaves it. */
  function copyTo(name: string, wal?: Buffer, files = ["", "-wal", "-anchor"]): string {
    const target = at(name);
    mkdirSync(target);
    for (const suffix of files)
      if (existsSync(path + suffix)) copyFileSync(path + suffix, join(target, `goald.db${suffix}`));
    if (wal) writeFileSync(join(target, "goald.db-wal"), wal);
    return join(target, "goald.db");
  }
  const lossOf = (message: RegExp, otherwise = "goald verify --accept-loss") => ({
    code: "GOALD_STORE_DAMAGED",
    message: expect.stringMatching(new RegExp(`${message.source}.*Restore a backup .*${otherwise}`)),
    hint: expect.stringContaining("Copy the folder"),
  });
  const lossOfTables = (message: RegExp) =>
    lossOf(
      new RegExp(`found another one or none\\. ${message.source}`),
      "or move the folder .* away and begin without them\\.$",
    );
  /** Returns the error when the store is refused. */
  const agentsOf = async (database: string): Promise<unknown> => {
    const reader = await openSqliteReader(database).catch((thrown: unknown) => thrown as Error);
    if (Error.isError(reader)) return reader;
    const agents = await reader.agents().catch((thrown: unknown) => thrown);
    await reader.close();
    return agents;
  };
  const problemsOf = async (database: string): Promise<readonly string[]> => {
    const { problems } = await keep(await openSqliteReader(database)).verify();
    return problems;
  };

  it.each<[how: string, openStore: typeof openGroupStore]>([
    ["the calling thread", (database) => openSqliteStore(database)],
    ["the writer thread", (database) => openGroupStore(database, { thread: "always" })],
  ])("has every commit of %s: 24 flipped bits of a WAL lose nothing without an error", async (_how, openStore) => {
    await fill(keep(await openStore(path)));
    const wal = readFileSync(`${path}-wal`);
    let losses = 0;
    for (let flip = 0; flip < 24; flip++) {
      const copy = copyTo(`flip-${flip}`);
      const changed = Buffer.from(wal);
      const at = Math.floor(((flip + 0.5) / 24) * wal.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << (flip % 8));
      writeFileSync(`${copy}-wal`, changed);
      const heads = new DatabaseSync(copy, { readOnly: true });
      const left = (): unknown => heads.prepare("SELECT sum(head) AS head FROM agent").get()?.head;
      let isWhole = false;
      try {
        isWhole = left() === 20;
      } catch {
        // Not even the tables are left.
      }
      heads.close();
      // What is lost never looks like a home without agents.
      expect(await agentsOf(copy)).not.toEqual([]);
      const refusal = await openSqliteStore(copy).then(
        (store) => store.close(),
        (thrown) => thrown,
      );
      if (isWhole) continue;
      losses++;
      expect(refusal).toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    }
    // The control: without damage the copy opens with everything.
    expect(losses).toBeGreaterThan(12);
    const sound = await open(copyTo("sound"));
    expect(await sound.agents()).toMatchObject([{ head: 10 }, { head: 10 }]);
    expect((await sound.verify()).problems).toEqual([]);
  });

  it.each<[what: string, damage: (copy: string) => void]>([
    ["whose WAL is damaged in its first frame", (copy) => flipBit(`${copy}-wal`, 106)],
    ["that is empty", (copy) => writeFileSync(copy, "")],
    ["that was removed", (copy) => rmSync(copy)],
  ])("refuses a store without tables %s, also for reading, and names what is lost", async (_what, damage) => {
    // Stores that goald made before it emptied the WAL after the tables.
    const database = openForWriting(path);
    keep(database);
    createTables(database);
    await openFilled();
    const copy = copyTo("copy");
    damage(copy);
    const before = readFileSync(`${copy}-wal`);
    const loss = lossOfTables(/The agent foo is missing, with 10 events\. The agent bar is missing, with 10 events\./);
    await expect(openSqliteReader(copy)).rejects.toMatchObject(loss);
    await expect(openSqliteStore(copy)).rejects.toMatchObject(loss);
    await expect(acceptStoreLoss(copy)).rejects.toMatchObject(loss);
    await expect(backupStore(copy, at("copy.db"), false)).rejects.toMatchObject(loss);
    expect(readFileSync(`${copy}-wal`)).toEqual(before);
  });

  it("keeps its tables when the WAL of its first commits is damaged, and names the agents that are lost", async () => {
    await openFilled();
    const copy = copyTo("copy");
    flipBit(`${copy}-wal`, 106);
    const loss = lossOf(/The agent foo is missing, with 10 events\. The agent bar is missing, with 10 events\./);
    const reader = keep(await openSqliteReader(copy));
    await expect(reader.agents()).rejects.toMatchObject(loss);
    await expect(reader.agent("foo")).rejects.toMatchObject(loss);
    expect(await reader.agent("baz")).toBeUndefined();
    await expect(openSqliteStore(copy)).rejects.toMatchObject(loss);
    expect(await acceptStoreLoss(copy)).toHaveLength(3);
    const emptied = await open(copy);
    expect(await emptied.agents()).toEqual([]);
  });

  it("accepts no loss, and makes no store, in a home that has none", async () => {
    expect(await acceptStoreLoss(path)).toEqual([]);
    expect(existsSync(path)).toBe(false);
  });

  it("shows which events and agents are missing, and changes nothing in the store that is refused", async () => {
    const { store, early } = await openFilled();
    await append(store, "foo", 10, 14);
    await append(store, "bar", 10, 11);
    await store.create({ ...SPEC, name: "Baz" }, "Baz", AT);
    const copy = copyTo("cut", early);
    const before = readFileSync(`${copy}-wal`);
    const missing = ["Events 11 to 14 of foo are missing.", "Event 11 of bar is missing."];
    const ofBaz = "The agent baz is missing, with 1 event.";
    await expect(openSqliteStore(copy)).rejects.toMatchObject(lossOf(new RegExp([...missing, ofBaz].join(" "))));
    const total = expect.stringMatching(/^In all, 8 confirmed commits of this store are missing/);
    expect(await problemsOf(copy)).toEqual([...missing, ofBaz, total]);
    const reader = keep(await openSqliteReader(copy));
    expect(await reader.agents()).toMatchObject([{ id: "foo" }, { id: "bar" }]);
    await expect(reader.agent("baz")).rejects.toMatchObject(lossOf(new RegExp(ofBaz)));
    expect(readFileSync(`${copy}-wal`)).toEqual(before);
  });

  it("notices a lost message, which no log shows", async () => {
    const { store, early } = await openFilled();
    await store.deliver("foo", "k", words("hello"), AT);
    const copy = copyTo("cut", early);
    await expect(openSqliteStore(copy)).rejects.toMatchObject(lossOf(/1 confirmed commit of this store is missing/));
  });

  it("accepts a loss that a person accepts, and then protects what is left", async () => {
    const { store, early } = await openFilled();
    await append(store, "foo", 10, 14);
    const copy = copyTo("cut", early);
    expect(await acceptStoreLoss(copy)).toContain("Events 11 to 14 of foo are missing.");
    const rest = await openSqliteStore(copy);
    expect((await rest.verify()).problems).toEqual([]);
    await append(rest, "foo", 10, 12);
    await rest.close();
    rmSync(copy);
    await expect(openSqliteStore(copy)).rejects.toMatchObject(lossOfTables(/The agent foo is missing/));
  });

  it("accepts damaged snapshots too, which the next load computes again", async () => {
    const store = await openSqliteStore(path);
    await fill(store);
    const lease = await store.claim("foo");
    const snapshot = { version: 1, state: { goal: "One" } };
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("x")), snapshot });
    await store.close();
    change(path, "UPDATE snapshot SET data = replace(data, 'One', 'Two')");
    expect(await acceptStoreLoss(path)).toEqual(["The snapshot at 11 of foo does not match its hash."]);
    const again = await open();
    expect(await again.load("foo", 1)).toMatchObject({ snapshot: null, events: { length: 11 } });
  });

  it("refuses another store, an older copy of the same one, and a store that was removed", async () => {
    await makeClosed(path);
    copyFileSync(path, at("backup.db"));
    const later = await openSqliteStore(path);
    await append(later, "foo", 10, 12);
    await later.close();

    rmSync(path);
    await expect(openSqliteStore(path)).rejects.toMatchObject(
      lossOfTables(/The agent foo is missing, with 12 events\. The agent bar is missing/),
    );
    expect(existsSync(path)).toBe(false);
    copyFileSync(at("backup.db"), path);
    await expect(openSqliteStore(path)).rejects.toMatchObject(lossOf(/Events 11 to 12 of foo are missing/));
    const other = at("other.db");
    await makeClosed(other);
    copyFileSync(other, path);
    await expect(openSqliteStore(path)).rejects.toMatchObject(
      lossOf(/found another one or none\. The agent foo is missing, with 12 events\./),
    );
    // Restoring, as documented: every file beside the store is removed.
    copyFileSync(at("backup.db"), path);
    rmSync(`${path}-anchor`);
    const restored = await open();
    expect((await restored.verify()).problems).toEqual([]);
    expect(await restored.agent("foo")).toMatchObject({ head: 10 });
  });

  it("refuses the log of a copy that went another way", async () => {
    await makeClosed(path);
    const copy = copyTo("copy");
    const twin = await openSqliteStore(copy);
    const lease = await twin.claim("foo");
    await twin.commit(lease, 10, { ...NOTHING, events: stamped(11, said("elsewhere")) });
    await append(twin, "foo", 11, 15);
    await twin.close();
    const mine = await openSqliteStore(path);
    await append(mine, "foo", 10, 12);
    await mine.close();
    copyFileSync(copy, path);
    await expect(openSqliteStore(path)).rejects.toMatchObject(lossOf(/log of foo up to event 12 is not the one/));
  });

  it("is missing in a copied home, which opens, and is written there", async () => {
    await openFilled();
    const copy = copyTo("home", undefined, ["", "-wal"]);
    const opened = await openSqliteStore(copy);
    await opened.close();
    expect(readFileSync(`${copy}-anchor`).length).toBe(3 * 512);
    expect(statSync(`${copy}-anchor`).mode & 0o777).toBe(0o600);
    rmSync(copy);
    await expect(openSqliteStore(copy)).rejects.toMatchObject(lossOfTables(/The agent foo is missing/));
  });

  it("may be older than the store, as after a power cut: empty, cut short, with zeros, or of an earlier commit", async () => {
    const { store } = await openFilled();
    const old = readFileSync(`${path}-anchor`);
    await append(store, "foo", 10, 12);
    const older = [Buffer.alloc(0), old.subarray(0, 700), Buffer.alloc(old.length), old];
    for (const [number, bytes] of older.entries()) {
      const copy = copyTo(`cut-${number}`);
      writeFileSync(`${copy}-anchor`, bytes);
      const opened = await openSqliteStore(copy);
      await opened.close();
      expect(await problemsOf(copy)).toEqual([]);
      expect(readFileSync(`${copy}-anchor`)).toEqual(readFileSync(`${path}-anchor`));
    }
  });

  it("does not stop agents when the anchor itself is damaged, and `verify` reports it", async () => {
    await openFilled();
    const copy = copyTo("flip");
    flipBit(`${copy}-anchor`, 520);
    expect(await problemsOf(copy)).toEqual([
      expect.stringMatching(/^Record 1 of .*-anchor does not match its checksum/),
    ]);
    const opened = await open(copy);
    expect((await opened.verify()).problems).toEqual([]);
  });

  it("does not miss a removed agent, and knows forks and agents that were started by others", async () => {
    const store = keep(await openGroupStore(path));
    await fill(store);
    const lease = await store.claim("foo");
    const staged = [{ kind: "spawn", key: "s", spec: { ...SPEC, id: "child" } }] as const;
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("x")), staged });
    await store.fork("foo", { name: "Twin", head: 5, events: [] }, "f");
    await store.remove("bar");
    const copy = copyTo("copy");
    const opened = await openSqliteStore(copy);
    expect((await opened.agents()).map(({ id, head }) => [id, head])).toEqual([
      ["foo", 11],
      ["child", 1],
      ["twin", 5],
    ]);
    expect((await opened.verify()).problems).toEqual([]);
    await opened.close();
    change(copy, "PRAGMA foreign_keys = OFF; DELETE FROM agent WHERE id IN ('child', 'twin')");
    await expect(openSqliteStore(copy)).rejects.toMatchObject(
      lossOf(/The agent child is missing, with 1 event\. The agent twin is missing, with 5 events\./),
    );
  });

  it("is behind the store, never ahead, when the process is killed between a commit and its record", async () => {
    await makeClosed(path);
    const database = openForWriting(path);
    const anchor = new Anchor(database, path);
    const writes = openWrites(database, anchor.note);
    database.exec("BEGIN");
    writes.remove("bar");
    writes.commit(writes.claim("foo"), 10, { ...NOTHING, events: stamped(11, said("x")) });
    anchor.count();
    database.exec("COMMIT");
    anchor.close();
    database.close();
    const opened = await open();
    expect((await opened.agents()).map(({ id, head }) => [id, head])).toEqual([["foo", 11]]);
    expect((await opened.verify()).problems).toEqual([]);
  });

  it("records nothing of a write that was rolled back", async () => {
    const store = keep(await openGroupStore(path, { thread: "always" }));
    await fill(store);
    const lease = await store.claim("foo");
    const before = readFileSync(`${path}-anchor`);
    const bad = { ...NOTHING, events: stamped(11, said("x")), consumed: ["nobody"] };
    await expect(store.commit(lease, 10, bad)).rejects.toMatchObject({ code: "GOALD_CONFLICT" });
    expect(readFileSync(`${path}-anchor`)).toEqual(before);
    await append(store, "foo", 10, 11);
    expect(await problemsOf(path)).toEqual([]);
  });
});

describe("a backup of the store", () => {
  const at = useFolder();
  let path: string;
  let target: string;
  let store: Store;
  beforeEach(async () => {
    path = at(".goald", "goald.db");
    target = at("copies", "copy.db");
    mkdirSync(at("copies"));
    store = keep(await openGroupStore(path, { thread: "always" }));
    await fill(store);
  });
  const keep = useOpened();
  const filesBeside = (): readonly string[] => readdirSync(at("copies"));
  function restored(): Promise<Store> {
    const place = at("restored.db");
    copyFileSync(target, place);
    return openSqliteStore(place).then(keep);
  }

  it("has everything, is private, and is one file", async () => {
    // Copies that were not finished: process 1 runs, the other one has ended.
    const left = ["copy.db.1.tmp", "copy.db.old.tmp", "copy.db.9999999.tmp", "copy.db.9999999.tmp-journal"];
    for (const name of left) writeFileSync(at("copies", name), "");
    const report = await backupStore(path, target, false);
    expect(report).toEqual({ agents: 2, events: 12, bytes: statSync(target).size });
    expect([filesBeside(), statSync(target).mode & 0o777]).toEqual([["copy.db", ...left.slice(0, 2)], 0o600]);
    const copy = await restored();
    expect((await copy.verify()).problems).toEqual([]);
    expect(await copy.load("foo", STATE_VERSION)).toEqual(await store.load("foo", STATE_VERSION));
    expect(await copy.files("foo")).toEqual(await store.files("foo"));
    expect(await copy.blob(spilled.blob)).toEqual(await store.blob(spilled.blob));
    const lease = await copy.claim("foo");
    await copy.commit(lease, 10, { ...NOTHING, events: stamped(11, said("on")) });
  });

  it("is consistent while an agent writes", async () => {
    const lease = await store.claim("bar");
    let head = 2;
    let isOver = false;
    const writing = (async () => {
      for (; !isOver; head++)
        await store.commit(lease, head, { ...NOTHING, events: stamped(head + 1, said("x".repeat(900))) });
    })();
    const heads: number[] = [];
    for (let round = 0; round < 5; round++) {
      const before = head;
      const { events } = await backupStore(path, target, round > 0);
      heads.push(events - 10 - before);
    }
    isOver = true;
    await writing;
    // Each copy has what was confirmed before it began.
    expect(heads.filter((ahead) => ahead < 0)).toEqual([]);
    expect(head).toBeGreaterThan(10);
    expect((await (await restored()).verify()).problems).toEqual([]);
  });

  const refuses = async (code: string, from: string, to: string, mayReplace = true) =>
    expect(backupStore(from, to, mayReplace)).rejects.toMatchObject({ code });

  it("never replaces a file without being told, and never the store itself", async () => {
    writeFileSync(target, "precious");
    await refuses("GOALD_CONFLICT", path, target, false);
    expect(readFileSync(target, "utf8")).toBe("precious");
    chmodSync(target, 0o644);
    await backupStore(path, target, true);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    const folder = { code: "GOALD_CONFLICT", hint: expect.stringContaining("A folder is there") };
    await expect(backupStore(path, at("copies"), true)).rejects.toMatchObject(folder);
    for (const own of ["", "-wal", "-anchor"]) await refuses("GOALD_USAGE", path, path + own);
    const message = expect.stringContaining(`${at("nowhere", "x")} cannot be written`);
    await expect(backupStore(path, at("nowhere", "x"), false)).rejects.toMatchObject({ code: "GOALD_FILE", message });
    await refuses("GOALD_NOT_FOUND", at("none.db"), target);
    expect(filesBeside()).toEqual(["copy.db"]);
    symlinkSync(target, at("link"));
    await backupStore(path, at("link"), true);
    rmSync(target);
    await refuses("GOALD_CONFLICT", path, at("link"));
    expect(existsSync(at("link"))).toBe(false);
  });

  it("is not written of a damaged store, or of one that has lost commits, and an earlier one stays", async () => {
    await backupStore(path, target, false);
    const earlier = readFileSync(target);
    change(path, `UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`);
    const refusal = (message: RegExp) => ({ code: "GOALD_STORE_DAMAGED", message: expect.stringMatching(message) });
    await expect(backupStore(path, target, true)).rejects.toMatchObject(refusal(/event 4 of foo/));

    const other = at("other.db");
    const lossy = await openSqliteStore(other);
    await lossy.create(SPEC, "k", AT);
    await lossy.close();
    const complete = readFileSync(other);
    const again = await openSqliteStore(other);
    const lease = await again.claim("foo");
    await again.commit(lease, 1, { ...NOTHING, events: stamped(2, said("x")) });
    await again.close();
    writeFileSync(other, complete);
    await expect(backupStore(other, target, true)).rejects.toMatchObject(refusal(/Event 2 of foo is missing/));
    expect([filesBeside(), readFileSync(target).equals(earlier)]).toEqual([["copy.db"], true]);
    expect(existsSync(`${target}-anchor`)).toBe(false);
  });
});
