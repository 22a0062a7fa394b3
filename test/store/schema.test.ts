import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openForReading, openForWriting } from "#store/connection.ts";
import { openGroupStore } from "#store/group-store.ts";
import { prepareSchema, requireReadable } from "#store/schema.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { sha256 } from "../contracts/store-builders.ts";
import { fill } from "./filled-store.ts";
import { FAILING_VERSION_2, VERSION_2 } from "./made-up-schema.ts";
import { makeUnreleasedStore } from "./unreleased-store.ts";

const CHILD = new URL("./opening.child.ts", import.meta.url).pathname;
const SOUND = { agents: 2, events: 12, problems: [] };

let folder: string;
let path: string;
const open: DatabaseSync[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "goald-schema-"));
  path = join(folder, "goald.db");
});
afterEach(() => {
  for (const database of open.splice(0)) database.close();
  rmSync(folder, { recursive: true, force: true });
});
function keep(database: DatabaseSync): DatabaseSync {
  open.push(database);
  return database;
}

describe("a store of an older schema version", () => {
  const versions = (database: DatabaseSync) =>
    database
      .prepare("SELECT value FROM meta WHERE key IN ('schema', 'min_reader') ORDER BY key DESC")
      .all()
      .map(({ value }) => value);
  const columns = (database: DatabaseSync) =>
    database
      .prepare("SELECT name FROM pragma_table_info('agent')")
      .all()
      .map(({ name }) => name);
  beforeEach(async () => {
    const store = await openSqliteStore(path);
    await fill(store);
    await store.close();
  });

  /** Starts `count` upgrades that wait for a transaction, which ends after `meanwhile`. */
  async function upgradeAtOnce(count: number, meanwhile: (database: DatabaseSync) => void): Promise<unknown[]> {
    const children = Array.from({ length: count }, () =>
      spawn(process.execPath, [CHILD, path], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const lines = children.map(({ stdout }) => createInterface({ input: stdout })[Symbol.asyncIterator]());
    for (const line of lines) expect((await line.next()).value).toBe("open");
    const database = keep(new DatabaseSync(path));
    database.exec("BEGIN IMMEDIATE");
    for (const { stdin } of children) stdin.write("\n");
    // They need a few milliseconds to reach the transaction; a late one finds the new version at once.
    await sleep(200);
    meanwhile(database);
    database.exec("COMMIT");
    return Promise.all(lines.map(async (line) => (await line.next()).value));
  }

  it("is upgraded by the first goald that opens it for writing, and keeps its content", async () => {
    const database = keep(openForWriting(path));
    expect(versions(database)).toEqual(["1", "1"]);
    prepareSchema(database, VERSION_2);
    expect(versions(database)).toEqual(["2", "2"]);
    expect(columns(database)).toContain("color");
    // A goald of version 2 writes tables that this one can still read when it lowers min_reader.
    database.exec("UPDATE meta SET value = '1' WHERE key = 'min_reader'");
    const reader = await openSqliteReader(path);
    expect(await reader.verify()).toEqual(SOUND);
    await reader.close();
  });

  it("cannot be read before it is upgraded", () => {
    const refusal = { code: "GOALD_STORE_TOO_OLD", hint: expect.stringContaining("goald up") };
    expect(() => requireReadable(keep(openForReading(path)), VERSION_2)).toThrow(expect.objectContaining(refusal));
  });

  it("stays as it was when a step of the upgrade fails", async () => {
    const database = keep(openForWriting(path));
    expect(() => prepareSchema(database, FAILING_VERSION_2)).toThrow("power cut");
    expect(versions(database)).toEqual(["1", "1"]);
    expect(columns(database)).not.toContain("color");
    const store = await openSqliteStore(path);
    expect(await store.verify()).toEqual(SOUND);
    await store.close();
  });

  it("is upgraded once when several processes open it at the same time", async () => {
    expect(await upgradeAtOnce(3, () => undefined)).toEqual(["upgraded", "upgraded", "upgraded"]);
    expect(versions(keep(new DatabaseSync(path)))).toEqual(["2", "2"]);
  });

  it("is left alone when a newer goald upgrades it first", async () => {
    const upgrade = (database: DatabaseSync) => database.exec("UPDATE meta SET value = '99' WHERE key = 'schema'");
    expect(await upgradeAtOnce(1, upgrade)).toEqual(["GOALD_STORE_TOO_NEW"]);
    const database = keep(new DatabaseSync(path));
    expect(versions(database)).toEqual(["99", "1"]);
    expect(columns(database)).not.toContain("color");
  });
});

describe("a store of a newer goald", () => {
  it("is never written by this one, and read while min_reader allows it", async () => {
    await (await openSqliteStore(path)).close();
    const database = keep(new DatabaseSync(path));
    database.exec("UPDATE meta SET value = '2' WHERE key = 'schema'");
    await expect(openSqliteStore(path)).rejects.toMatchObject({ code: "GOALD_STORE_TOO_NEW" });
    const reader = await openSqliteReader(path);
    expect(await reader.agents()).toEqual([]);
    await reader.close();
    database.exec("UPDATE meta SET value = '2' WHERE key = 'min_reader'");
    await expect(openSqliteReader(path)).rejects.toMatchObject({ code: "GOALD_STORE_TOO_NEW" });
  });
});

describe.each([
  ["1", 0],
  ["4", 0],
  // The last format before the first release.
  ["1", 0x676f6c64],
])("a store of the unreleased schema %s with the mark %i", (version, mark) => {
  const hashes = () =>
    ["", "-wal"].map((suffix) => sha256(existsSync(path + suffix) ? readFileSync(path + suffix) : ""));

  it.each([
    ["the store of one agent", () => openSqliteStore(path)],
    ["the store of many agents", () => openGroupStore(path)],
    ["the reader, which verify and doctor use", () => openSqliteReader(path)],
  ])("is refused by %s, and its bytes stay the same", async (_title, openStore) => {
    for (const isClosed of [true, false]) {
      makeUnreleasedStore(path, version, isClosed, mark);
      const before = hashes();
      await expect(openStore()).rejects.toMatchObject({
        code: "GOALD_STORE_TOO_OLD",
        message: `The store ${path} was made by a goald before the first release and cannot be read.`,
        hint: `Move it to another folder: mkdir old-store && mv '${path}'* old-store/`,
      });
      expect(hashes()).toEqual(before);
    }
  });
});
