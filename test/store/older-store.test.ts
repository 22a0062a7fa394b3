/**
 * test/data/store-version-1.sql is what the goald of schema version 1 wrote when it was given `fill` of filled-store.ts, and
 * store-version-3.sql what that of version 3 did, with vectors in use for foo/3 and vectors to come for foo/3 and foo/6.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { StoreReader } from "#core/ports/store.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { memoryOf, NOTHING, said, sha256, stamped, wrote } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";

const CHILD = new URL("./opening.child.ts", import.meta.url).pathname;
const SOUND = { agents: 2, events: 12, problems: [] };

async function saidBy(store: StoreReader) {
  const memories = [...(await store.memories("foo", 0, 99)), ...(await store.memories("shared", 0, 99))];
  return {
    memories,
    byName: await Promise.all(memories.map(({ namespace, id }) => store.memory(namespace, id))),
    files: await store.files("foo"),
    last: await store.lastFileVersion("foo", "6.txt"),
    blobs: await Promise.all(["spilled", "content 6"].map((text) => store.blob(sha256(text)))),
    events: [await store.read("foo", 0, 99), await store.read("bar", 0, 99)],
    found: await store.verify(),
  };
}

describe("a store of an older goald", () => {
  let folder: string;
  let path: string;
  let database: DatabaseSync;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "goald-older-"));
    path = join(folder, "goald.db");
    database = new DatabaseSync(path);
    database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    database.exec(readFileSync("test/data/store-version-1.sql", "utf8"));
  });
  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const version = () => database.prepare("SELECT value FROM meta WHERE key = 'schema'").get()?.value;

  /** What each of so many processes says that find the old version, and may change it only when `meanwhile` is over. */
  async function renewAtOnce(count: number, meanwhile: () => void): Promise<readonly unknown[]> {
    const children = Array.from({ length: count }, () =>
      spawn(process.execPath, [CHILD, path], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const lines = children.map(({ stdout }) => createInterface({ input: stdout })[Symbol.asyncIterator]());
    for (const line of lines) expect((await line.next()).value).toBe("open");
    database.exec("BEGIN IMMEDIATE");
    for (const { stdin } of children) stdin.write("\n");
    // From here to where they wait it is a few milliseconds; one that is late finds the new version at once.
    await sleep(200);
    meanwhile();
    database.exec("COMMIT");
    return Promise.all(lines.map(async (line) => JSON.parse(String((await line.next()).value))));
  }

  it("is read as it is, and brought up to date by the first that writes", async () => {
    const reader = await openSqliteReader(path);
    expect(await reader.verify()).toEqual(SOUND);
    await reader.close();
    expect(version()).toBe("1");
    const store = await openSqliteStore(path);
    expect(await store.verify()).toEqual(SOUND);
    expect((await store.memories("foo", 0, 9)).map(({ id, text }) => [id, text])).toEqual(
      ["3", "3.1", "6", "6.1", "9", "9.1"].map((name) => [
        `foo/${name}`,
        `${name.endsWith(".1") ? "noted" : "memory"} ${name[0]}`,
      ]),
    );
    await store.remove("foo");
    const isKept = async (text: string) => (await store.blob(sha256(text))) !== undefined;
    expect([await isKept("spilled"), await isKept("content 3"), await isKept("late")]).toEqual([false, false, true]);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  it("of version 3 says the same before and after it is brought up to date, and goes on as it was", async () => {
    database.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    database = new DatabaseSync(path);
    database.exec(readFileSync("test/data/store-version-3.sql", "utf8"));
    const reader = await openSqliteReader(path);
    const before = await saidBy(reader);
    expect(before.memories).toHaveLength(9);
    expect(before.byName).toEqual(before.memories);
    expect(before.found).toEqual(SOUND);
    await reader.close();
    expect(version()).toBe("3");
    const store = await openSqliteStore(path);
    expect(version()).toBe("4");
    expect(await saidBy(store)).toEqual(before);
    expect(await store.nextVectorIds("foo", "e@2")).toEqual(["foo/3", "foo/6"]);
    await store.curate("foo", [{ op: "forget", id: "foo/6", by: "person" }], "after", AT);
    expect(await store.nextVectorIds("foo", "e@2")).toEqual(["foo/3"]);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const file = readFileSync(path);
    expect(["memory 3", "memory 6"].map((text) => file.includes(text))).toEqual([true, false]);
    const lease = await store.claim("foo");
    const files = [wrote("again.txt", "content 3")];
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("x")), files, memories: [memoryOf(11)] });
    await store.fork("foo", { name: "Baz", head: 11, events: [] }, "fork");
    expect((await store.verify()).problems).toEqual([]);
    const isKept = async () => (await store.blob(sha256("content 3"))) !== undefined;
    await store.remove("foo");
    expect(await isKept()).toBe(true);
    await store.remove("baz");
    expect(await isKept()).toBe(false);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  it("is brought up to date once when several open it at once, and serves them all", async () => {
    expect(await renewAtOnce(3, () => undefined)).toEqual([SOUND, SOUND, SOUND]);
    expect(version()).toBe("4");
  });

  it("is left alone when a newer goald was faster", async () => {
    const renew = () => database.exec("UPDATE meta SET value = '99' WHERE key = 'schema'");
    expect(await renewAtOnce(1, renew)).toEqual([["GOALD_STORE_TOO_NEW", expect.stringContaining("99")]]);
    expect(version()).toBe("99");
  });
});
