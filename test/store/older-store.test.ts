/** test/data/store-version-1.sql is what the goald of schema version 1 wrote when it was given `fill` of tampering.ts. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { sha256 } from "../contracts/store-builders.ts";

const CHILD = new URL("./opening.child.ts", import.meta.url).pathname;
const SOUND = { agents: 2, events: 12, problems: [] };

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

  it("is brought up to date once when several open it at once, and serves them all", async () => {
    expect(await renewAtOnce(3, () => undefined)).toEqual([SOUND, SOUND, SOUND]);
    expect(version()).toBe("3");
  });

  it("is left alone when a newer goald was faster", async () => {
    const renew = () => database.exec("UPDATE meta SET value = '99' WHERE key = 'schema'");
    expect(await renewAtOnce(1, renew)).toEqual([["GOALD_STORE_TOO_NEW", expect.stringContaining("99")]]);
    expect(version()).toBe("99");
  });
});
