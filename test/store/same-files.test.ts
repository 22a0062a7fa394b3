import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { openGroupStore } from "#store/group-store.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";

const WAYS = [
  ["in the calling thread", openSqliteStore],
  ["by the writer thread", (path: string) => openGroupStore(path, { thread: "always" })],
] as const;

describe.each(WAYS)("an open store written %s, whose file changes", (_name, openStore) => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-same-"));
    path = join(folder, "goald.db");
    store = await openStore(path);
    await store.create(SPEC, "k", AT);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
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
