import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { openForReading, openForWriting } from "#store/connection.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, SPEC, said, stamped, words } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the embedded store's file", () => {
  let folder: string;
  let path: string;
  const open: { close(): unknown }[] = [];
  const keep = <T extends { close(): unknown }>(resource: T): T => {
    open.push(resource);
    return resource;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-file-"));
    path = join(folder, ".goald", "goald.db");
  });
  afterEach(async () => {
    for (const resource of open.splice(0).reverse()) await resource.close();
    rmSync(folder, { recursive: true, force: true });
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
    expect([modeOf(join(folder, ".goald")), ...modes]).toEqual(["700", "600", "600", "600"]);
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

  it("has the same content when it is opened again", async () => {
    const first = await filledStore(700);
    const before = await first.load("foo", 1);
    await first.close();
    const second = await openStore();
    expect(await second.load("foo", 1)).toEqual(before);
    expect(before.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 700 }, (_, index) => index + 1));
    expect((await second.claim("foo")).epoch).toBe(2);
  });

  it("reports that it is closed, and can be closed twice", async () => {
    const store = await filledStore(2);
    await store.close();
    await store.close();
    await expect(store.agents()).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
    await expect(store.verify()).rejects.toMatchObject({ code: "GOALD_INTERNAL" });
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
    mkdirSync(join(folder, ".goald"));
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
    ["a folder", "GOALD_STORE_DAMAGED", () => folder],
    ["below a file", "GOALD_HOME_UNWRITABLE", () => join(path, "goald.db")],
  ])("cannot be %s", async (_what, code, place) => {
    mkdirSync(join(folder, ".goald"));
    writeFileSync(path, "");
    await expect(openSqliteStore(place())).rejects.toMatchObject({ code });
  });

  it.each<[what: string, prepare: () => void]>([
    ["no file", () => {}],
    ["an empty file", () => writeFileSync(path, "")],
    ["a file without tables", () => raw().exec("PRAGMA journal_mode = WAL; VACUUM")],
  ])("reads as a home without agents while there is %s, and stays unchanged", async (_what, prepare) => {
    mkdirSync(join(folder, ".goald"));
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
