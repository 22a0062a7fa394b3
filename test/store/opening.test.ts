import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { holdHostLock, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { AT, NOTHING, SPEC, said, stamped } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { readProcessLines } from "../helpers/waits.ts";
import { INFO, useContenders } from "./contenders.ts";
import { fill, makeUnreleasedStore } from "./made-stores.ts";

const SOUND = { agents: 2, events: 12, problems: [] };

const at = useFolder();
const keep = useOpened();
let path: string;
beforeEach(() => {
  path = at("goald.db");
});

it("a store of a newer goald is never written by this one, and read while min_reader allows it", async () => {
  await (await openSqliteStore(path)).close();
  const database = keep(new DatabaseSync(path));
  database.exec("UPDATE meta SET value = '2' WHERE key = 'schema'");
  await expect(openSqliteStore(path)).rejects.toMatchObject({ code: "GOALD_STORE_TOO_NEW" });
  expect(await keep(await openSqliteReader(path)).agents()).toEqual([]);
  database.exec("UPDATE meta SET value = '2' WHERE key = 'min_reader'");
  await expect(openSqliteReader(path)).rejects.toMatchObject({ code: "GOALD_STORE_TOO_NEW" });
});

it.each([0, 0x676f6c64])(
  "a store with the mark %i of a goald before the first release is refused by all that open it, and its bytes stay",
  async (mark) => {
    const bytes = () => ["", "-wal"].map((end) => (existsSync(path + end) ? readFileSync(path + end, "latin1") : ""));
    for (const isClosed of [true, false]) {
      makeUnreleasedStore(path, "4", isClosed, mark);
      const before = bytes();
      for (const openStore of [openSqliteStore, openGroupStore, openSqliteReader])
        await expect(openStore(path)).rejects.toMatchObject({
          code: "GOALD_STORE_TOO_OLD",
          message: `The store ${path} was made by a goald before the first release and cannot be read.`,
          hint: `Move it to another folder: mkdir old-store && mv '${path}'* old-store/`,
        });
      expect(bytes()).toEqual(before);
    }
  },
);

/** A user without rights, because root may write to every folder. */
const NOBODY = 65_534;
async function withoutRights<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe("a store in a folder that cannot be written", () => {
  let store: Store;
  beforeEach(async () => {
    chmodSync(at(".."), 0o755);
    path = at("home", "goald.db");
    store = keep(await openSqliteStore(at("goald.db")));
    await fill(store);
  });
  afterEach(() => chmodSync(at("home"), 0o755));
  function protect(suffixes: readonly string[]): void {
    mkdirSync(at("home"));
    for (const suffix of ["", "-anchor", ...suffixes]) {
      copyFileSync(at(`goald.db${suffix}`), path + suffix);
      chmodSync(path + suffix, 0o444);
    }
    chmodSync(at("home"), 0o555);
  }
  const seen = () =>
    withoutRights(async () => {
      expect(() => writeFileSync(at("home", "x"), "")).toThrow(/EACCES/);
      const reader = keep(await openSqliteReader(path));
      const heads = (await reader.agents()).map(({ id, head }) => `${id} ${head}`);
      const files = (await reader.files("foo")).length;
      return { heads, files, loaded: await reader.load("foo", STATE_VERSION), ...(await reader.verify()) };
    });
  const whole = async () => {
    const loaded = await store.load("foo", STATE_VERSION);
    return { heads: ["foo 10", "bar 2"], files: 3, loaded, ...SOUND };
  };

  it.each<[what: string, files: readonly string[]]>([
    ["a WAL and its index, as a killed process leaves them", ["-wal", "-shm"]],
    ["a WAL without its index", ["-wal"]],
  ])("is read to the last commit with %s", async (_what, files) => {
    protect(files);
    const before = readdirSync(at("home"));
    expect(await seen()).toMatchObject(await whole());
    expect(readdirSync(at("home"))).toEqual(before);
  });

  it("is read after a clean close, without a WAL", async () => {
    const expected = await whole();
    await store.close();
    protect([]);
    expect(await seen()).toMatchObject(expected);
    expect(readdirSync(at("home"))).toEqual(["goald.db", "goald.db-anchor"]);
  });

  it("is refused with its reason when the WAL cannot be read, instead of being shown without it", async () => {
    protect(["-wal"]);
    chmodSync(`${path}-wal`, 0o000);
    await expect(seen()).rejects.toMatchObject({ code: "GOALD_HOME_UNWRITABLE" });
  });

  it("is not opened for writing", async () => {
    protect(["-wal"]);
    await withoutRights(async () =>
      expect(openSqliteStore(path)).rejects.toMatchObject({ code: "GOALD_HOME_UNWRITABLE" }),
    );
  });
});

const WAYS = [
  ["in the calling thread", openSqliteStore],
  ["by the writer thread", (path: string) => openGroupStore(path, { thread: "always" })],
] as const;

describe.each(WAYS)("an open store written %s, whose file changes", (_name, openStore) => {
  let store: Store;
  beforeEach(async () => {
    store = keep(await openStore(path));
    await store.create(SPEC, "k", AT);
  });

  const CHANGES: readonly (readonly [string, string, () => void])[] = [
    ["removed", "does not exist any more", () => rmSync(path)],
    ["removed with its -wal and -shm", "does not exist any more", () => removeAll()],
    ["left without its WAL", "goald.db-wal, which does not exist any more", () => rmSync(`${path}-wal`)],
    ["replaced by a copy", "is another file now", () => replace()],
    ["moved away", "does not exist any more", () => renameSync(path, `${path}.moved`)],
  ];
  function removeAll(): void {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);
  }
  function replace(): void {
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  }

  it.each(CHANGES)("refuses a write when its file was %s", async (_how, words, changeFiles) => {
    const lease = await store.claim("foo");
    changeFiles();
    const write = store.commit(lease, 1, { ...NOTHING, events: stamped(2, said("lost")) });
    await expect(write).rejects.toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining(words),
      hint: expect.stringContaining(`copy it from process ${process.pid} before`),
    });
    expect((await store.load("foo", 1)).head).toBe(1);
  });

  it("accepts writes again when the file is put back", async () => {
    const lease = await store.claim("foo");
    renameSync(path, `${path}.moved`);
    const commit = { ...NOTHING, events: stamped(2, said("kept")) };
    await expect(store.commit(lease, 1, commit)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    renameSync(`${path}.moved`, path);
    await store.commit(lease, 1, commit);
    expect((await store.load("foo", 1)).head).toBe(2);
  });
});

const PROGRAM = fileURLToPath(new URL("./many-committing.child.ts", import.meta.url));

it("the embedded store lets another process read during writes", async () => {
  const writer = readProcessLines(spawn(process.execPath, [PROGRAM, path], { stdio: ["ignore", "pipe", "inherit"] }));
  await writer.reach(1);
  const reader = keep(await openSqliteReader(path));
  let after = 0;
  while (after < 60) {
    const page = await reader.read("agent-0", after, 7);
    expect(page.map(({ seq }) => seq)).toEqual(page.map((_, index) => after + index + 1));
    after += page.length;
    if (page.length === 0) await sleep(1);
  }
  const { problems } = await reader.verify();
  writer.child.kill("SIGKILL");
  await writer.ended;
  expect(problems).toEqual([]);
});

describe("the host lock", () => {
  beforeEach(() => {
    path = at(".goald", "lock.db");
  });
  const { start, contend, end } = useContenders(() => path);

  it("has one holder, which errors name, is free after its release, and leaves no temporary file", () => {
    expect(isHostHeld(path)).toBe(false);
    const lock = holdHostLock(path, INFO);
    expect(isHostHeld(path)).toBe(true);
    expect(() => holdHostLock(path, INFO)).toThrow(`run by process ${process.pid} (goald 1.2.3, since 2026-11-20T`);
    expect(readHostInfo(path)).toEqual(INFO);
    const files = [path, at(".goald", "daemon.json")];
    expect(files.map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(["600", "600"]);
    lock.release();
    lock.release();
    expect(isHostHeld(path)).toBe(false);
    expect(readHostInfo(path)).toBeUndefined();
    // JSON has no such numbers, so the info of this one cannot be written.
    expect(() => holdHostLock(path, { ...INFO, pid: process.ppid, socket: 1n })).toThrow("BigInt");
    holdHostLock(path, INFO)[Symbol.dispose]();
    holdHostLock(path, INFO).release();
    expect(readdirSync(at(".goald"))).toEqual(["lock.db"]);
  });

  it("is refused while its holder lives and only the lock file was removed", async () => {
    const contender = await start();
    expect(await contend(contender)).toBe("won");
    const pid = readHostInfo(path)?.pid;
    rmSync(path);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining(`Process ${pid} `) };
    expect(() => holdHostLock(path, INFO)).toThrow(expect.objectContaining(refusal));
    expect(existsSync(path)).toBe(false);
    await end(contender);
    holdHostLock(path, INFO).release();
  });

  it("leaves the next holder's info when the lock file was removed meanwhile", () => {
    const first = holdHostLock(path, INFO);
    rmSync(at(".goald"), { recursive: true });
    const next = { ...INFO, pid: process.ppid };
    using _second = holdHostLock(path, next);
    first.release();
    expect(readHostInfo(path)).toEqual(next);
  });

  it("reports a lock file that cannot be read, that it holds no data, and a folder that cannot be made", () => {
    holdHostLock(path, INFO).release();
    writeFileSync(path, "x".repeat(5_000));
    expect(() => holdHostLock(path, INFO)).toThrow(
      expect.objectContaining({ code: "GOALD_STORE_DAMAGED", hint: expect.stringContaining(`rm ${path}`) }),
    );
    const below = join(path, "lock.db");
    expect(() => holdHostLock(below, INFO)).toThrow(expect.objectContaining({ code: "GOALD_HOME_UNWRITABLE" }));
  });

  it.each<[what: string, content: string]>([
    ["nothing", ""],
    ["no JSON", "{"],
    ["no process", '{"pid":-1}'],
    ["a process that is gone", '{"pid":4194999,"version":"0","startedAt":"?"}'],
  ])("does not depend on the content of daemon.json: %s", async (_what, content) => {
    const other = await start();
    expect(await contend(other)).toBe("won");
    writeFileSync(at(".goald", "daemon.json"), content);
    const refusal = { code: "GOALD_ALREADY_RUNNING", message: expect.stringContaining("run by another process") };
    expect(() => holdHostLock(path, INFO)).toThrow(expect.objectContaining(refusal));
    expect(isHostHeld(path)).toBe(true);
    await end(other);
    const lock = holdHostLock(path, INFO);
    expect(readHostInfo(path)).toEqual(INFO);
    lock.release();
  });
});
