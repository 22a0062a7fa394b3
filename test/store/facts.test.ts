/** Facts in SQLite: verify finds a row of one, or of a mark that hides a row, that was changed by hand. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { NOTHING, SPEC, stamped } from "../contracts/store-builders.ts";
import { AT, finished } from "../helpers/events.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-facts-"));
  path = join(folder, "goald.db");
  const store = await openSqliteStore(path);
  await store.create(SPEC, "k", AT);
  const lease = await store.claim("foo");
  for (const [index, value] of ["6", "7", "8"].entries())
    await store.commit(lease, index + 1, {
      ...NOTHING,
      events: stamped(index + 2, finished(index + 1)),
      staged: [{ kind: "memory", memoryKind: "fact", text: `depot: hour: ${value}`, importance: 1, factKey: "hour" }],
    });
  const hide = { kind: "memory", memoryKind: "forgetting", text: "hid", importance: 0, supersedes: "foo/2.1" } as const;
  await store.commit(lease, 4, { ...NOTHING, events: stamped(5, finished(4)), staged: [hide] });
  await store.close();
});
afterEach(() => rm(folder, { recursive: true }));

async function problemsAfter(sql: string): Promise<readonly string[]> {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  const store = await openSqliteStore(path);
  const { problems } = await store.verify();
  await store.close();
  return problems;
}

describe("verify", () => {
  it("finds nothing in a store that nobody changed (control)", async () => {
    expect(await problemsAfter("SELECT 1")).toEqual([]);
  });

  it.each([
    ["another key", "UPDATE memory SET fact_key = 'x' WHERE text LIKE '%7'"],
    ["a key where none was", "UPDATE memory SET fact_key = 'x' WHERE kind = 'forgetting'"],
    ["a fact without its key", "UPDATE memory SET fact_key = NULL, closed_by = NULL WHERE text LIKE '%7'"],
    ["a mark that hides another row", "UPDATE memory SET supersedes = '3.1' WHERE kind = 'forgetting'"],
    ["a mark that became a note", "UPDATE memory SET kind = 'note' WHERE kind = 'forgetting'"],
  ])("finds %s", async (_title, sql) => {
    expect(await problemsAfter(sql)).toContainEqual(expect.stringMatching(/came with/));
  });
});

it("the fact that a new one closes, and the newest one, are found through an index", () => {
  const database = new DatabaseSync(path);
  const where = "agent_no = 1 AND fact_key = 'hour' AND trust = 'agent' AND closed_by IS NULL";
  const plan = database.prepare(`EXPLAIN QUERY PLAN SELECT no FROM memory WHERE ${where}`).all();
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining("USING INDEX memory_fact")]);
});
