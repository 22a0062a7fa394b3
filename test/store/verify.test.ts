import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, said, sha256, stamped, wrote } from "../contracts/store-builders.ts";
import { FOO, fill } from "./filled-store.ts";
import { tampering } from "./tampering.ts";

describe("verify", () => {
  let folder: string;
  let path: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "goald-verify-"));
    path = join(folder, "goald.db");
    store = await openSqliteStore(path);
    await fill(store);
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tamper = (how: string | ((database: DatabaseSync) => void)): void => {
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    if (typeof how === "string") database.exec(how);
    else how(database);
    database.close();
  };

  it("finds no problem in an unchanged store", async () => {
    expect(await store.verify()).toEqual({ agents: 2, events: 12, problems: [] });
    expect(await store.verify("foo")).toEqual({ agents: 1, events: 10, problems: [] });
    const reader = await openSqliteReader(path);
    expect(await reader.verify()).toEqual({ agents: 2, events: 12, problems: [] });
    await reader.close();
  });

  it.each(tampering)("finds %s", async (_title, how, found) => {
    tamper(how);
    const { problems } = await store.verify();
    expect(problems.join("\n")).toMatch(found);
    // A swapped pair breaks three links, two numbers and the rows of three commits.
    expect(problems.length).toBeLessThan(11);
  });

  it("finds a damaged projection, which readers skip, and one of events that the log does not have", async () => {
    await store.saveProjection(await store.claim("foo"), "report", 1, { seq: 10, data: { count: 1 } });
    expect((await store.verify()).problems).toEqual([]);
    tamper(`UPDATE projection SET data = '{"count":2}'`);
    expect((await store.verify()).problems).toEqual(["The projection report of foo does not match its hash."]);
    expect(await store.projection("foo", "report", 1)).toBeUndefined();
    tamper(`UPDATE projection SET data = '{"count":1}', seq = 99`);
    expect((await store.verify("foo")).problems).toEqual([
      "The projection report of foo names event 99, which is not in its log.",
    ]);
  });

  it("checks only one agent when it gets its id", async () => {
    tamper(`UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`);
    expect((await store.verify("bar")).problems).toEqual([]);
    expect((await store.verify("foo")).problems).toHaveLength(1);
  });

  it("limits its list when everything is damaged", async () => {
    tamper(`UPDATE event SET sha = ''; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
      INSERT INTO blob SELECT i, x'00' FROM n`);
    const { problems } = await store.verify();
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toMatch(/^And \d+ more\.$/);
  });

  it("finds large content with a wrong hash, which a commit does not check", async () => {
    const file = { ...wrote("big", "x".repeat(65 * 1024)), sha256: sha256("y") };
    const lease = await store.claim("foo");
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("")), files: [file] });
    expect((await store.verify()).problems).toEqual([expect.stringMatching(/history of big of foo.*does not match/)]);
  });

  it("reports an unreadable event as damage, with its place", async () => {
    tamper(`UPDATE event SET data = '{' WHERE ${FOO} AND seq = 4`);
    const damage = { code: "GOALD_STORE_DAMAGED", message: expect.stringContaining("event 4 of foo") };
    await expect(store.read("foo", 0, 9)).rejects.toMatchObject(damage);
    tamper(`DELETE FROM event WHERE ${FOO} AND seq >= 4`);
    await expect(store.load("foo", STATE_VERSION + 1)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
  });

  it("does not fold a log with a missing event, which may hold costs or approvals", async () => {
    tamper(`DELETE FROM event WHERE ${FOO} AND seq = 4`);
    await expect(store.load("foo", STATE_VERSION + 1)).rejects.toMatchObject({
      code: "GOALD_STORE_DAMAGED",
      message: expect.stringContaining("expected event 4, found event 5"),
    });
  });

  it.each<[what: string, how: string]>([
    ["another end of the log", `UPDATE event SET sha = '' WHERE ${FOO} AND seq = 10; DELETE FROM eventless`],
    ["a log cut short, head and all", `DELETE FROM event WHERE ${FOO} AND seq = 10; UPDATE agent SET head = 9`],
    ["a head of another log", `UPDATE agent SET head_sha = (SELECT head_sha FROM agent WHERE id = 'bar')`],
  ])("is not needed to detect %s: the agent cannot be loaded", async (_what, how) => {
    tamper(how);
    await expect(store.load("foo", STATE_VERSION)).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
  });

  it.each<[what: string, how: string]>([
    ["epoch", "epoch = 0"],
    ["name", "name = 'Bob'"],
    ["folder", "folder = 'baz'"],
    ["folder outside", "folder = '/etc'"],
  ])("is not needed to detect another %s: the agent cannot be claimed", async (_what, how) => {
    tamper(`UPDATE agent SET ${how} WHERE id = 'foo'`);
    await expect(store.claim("foo")).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
    expect((await store.verify()).problems).not.toEqual([]);
  });

  it.each(["../../etc", "/etc", "foo/../../x/agents/foo", "", ".", "..", "a\\agents\\foo", "foo/", "agents/foo"])(
    "reports the folder %j, which no read returns",
    async (folder) => {
      tamper(`UPDATE agent SET folder = '${folder}' WHERE id = 'foo'`);
      const damage = { code: "GOALD_STORE_DAMAGED", message: expect.stringContaining("workspace/") };
      await expect(store.agent("foo")).rejects.toMatchObject(damage);
      await expect(store.agents()).rejects.toMatchObject(damage);
      expect((await store.verify()).problems.join()).toContain("is not in workspace/");
    },
  );
});
