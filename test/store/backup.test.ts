import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { backupStore } from "#store/sqlite/backup.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { FOO, fill, spilled } from "./filled-store.ts";

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
    const report = await backupStore(path, target, false);
    expect(report).toEqual({ agents: 2, events: 12, bytes: statSync(target).size });
    expect([filesBeside(), statSync(target).mode & 0o777]).toEqual([["copy.db"], 0o600]);
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
    await refuses("GOALD_CONFLICT", path, at("copies"));
    for (const own of ["", "-wal", "-anchor"]) await refuses("GOALD_USAGE", path, path + own);
    await refuses("GOALD_HOME_UNWRITABLE", path, at("nowhere", "x"), false);
    await refuses("GOALD_NOT_FOUND", at("none.db"), target);
    expect(filesBeside()).toEqual(["copy.db"]);
  });

  it("is not written of a damaged store, or of one that has lost commits, and an earlier one stays", async () => {
    await backupStore(path, target, false);
    const earlier = readFileSync(target);
    const damaged = new DatabaseSync(path);
    damaged.exec(`UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`);
    damaged.close();
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
