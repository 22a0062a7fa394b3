/** Tampering with corrections and their copies: `verify` compares each replaced row with the chain of curations. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { MemoryChange } from "#core/ports/memory-row.ts";
import { chainLink } from "#store/chain.ts";
import { curationStart } from "#store/curation-chain.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { later, memoryOf, NOTHING, SPEC, said, stamped } from "../contracts/store-builders.ts";
import { AT } from "../helpers/events.ts";

const WRONG = "The code of the gate is 7731.";

let folder: string;
let path: string;
/** foo/2 is corrected by foo/+1, which also replaces its copies foo/3 and, later, foo/5. foo/4 says something else. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goald-corrections-"));
  path = join(folder, "goald.db");
  const store = await openSqliteStore(path);
  await store.create(SPEC, "k", AT);
  const lease = await store.claim("foo");
  const leave = (seq: number, text: string) =>
    store.commit(lease, seq - 1, { ...NOTHING, events: stamped(seq, said("x")), memories: [memoryOf(seq, text)] });
  for (const [at, text] of [WRONG, WRONG, "The gate is green."].entries()) await leave(at + 2, text);
  const base = { op: "add", kind: "fact", importance: 1, trust: "person" } as const;
  const correction = { ...base, text: "The code of the gate is 5005.", supersedes: "foo/2", copies: true };
  await store.curate("foo", [correction], "first", later(60));
  // An import repeats what was corrected, and is replaced in its own link.
  await store.curate("foo", [{ ...base, trust: "file", text: WRONG } satisfies MemoryChange], "second", later(61));
  await store.close();
});
afterEach(() => rm(folder, { recursive: true }));

async function problemsAfter(how: string | ((database: DatabaseSync) => void)): Promise<readonly string[]> {
  const database = new DatabaseSync(path);
  if (typeof how === "string") database.exec(how);
  else how(database);
  database.close();
  const store = await openSqliteStore(path);
  const { problems } = await store.verify();
  await store.close();
  return problems;
}

/** Rewrites the data of one link, and each hash from there on, as somebody does who knows the format. */
const rewriteChain =
  (no: number, edit: (data: string) => string, isHeadToo = true) =>
  (database: DatabaseSync): void => {
    let link = curationStart("foo");
    const links = database.prepare("SELECT no, data FROM curation ORDER BY no").all() as { no: number; data: string }[];
    for (const each of links) {
      const data = each.no === no ? edit(each.data) : each.data;
      link = chainLink(link, data);
      database.prepare("UPDATE curation SET data = ?, sha = ? WHERE no = ?").run(data, link, each.no);
    }
    if (isHeadToo) database.prepare("UPDATE curated SET sha = ?").run(link);
  };
/** Takes the entry about a replaced row out of its link. */
const withoutReplace = (id: string) => (data: string) => {
  const link = JSON.parse(data) as { changes: { op: string; id: string }[] };
  const changes = link.changes.filter((change) => !(change.op === "replace" && change.id === id));
  expect(changes).toHaveLength(link.changes.length - 1);
  return JSON.stringify({ ...link, changes });
};

const superseded = (name: string): RegExp =>
  new RegExp(`^Expected the memory foo/${name.replace("+", "\\+")} superseded by the row that names it`);
const link = (no: number): RegExp => new RegExp(`^Expected change ${no} of the memory of foo as it was written`);

describe("verify of corrections", () => {
  it("finds nothing in a store that nobody changed (control)", async () => {
    expect(await problemsAfter("SELECT 1")).toEqual([]);
    expect(await problemsAfter(rewriteChain(1, (data) => data))).toEqual([]);
  });

  it.each<[title: string, how: Parameters<typeof problemsAfter>[0], found: RegExp]>([
    ["a corrected row that is live again", "UPDATE memory SET superseded_by = NULL WHERE name = '2'", superseded("2")],
    ["a copy that is live again", "UPDATE memory SET superseded_by = NULL WHERE name = '3'", superseded("3")],
    [
      "a copy of a later import that is live again",
      "UPDATE memory SET superseded_by = NULL WHERE name = '+2'",
      superseded("+2"),
    ],
    ["a copy that another row replaces", "UPDATE memory SET superseded_by = '4' WHERE name = '3'", superseded("3")],
    ["a row marked as a copy", "UPDATE memory SET superseded_by = '+1' WHERE name = '4'", superseded("4")],
    [
      "another hash of a corrected text",
      "UPDATE memory SET corrected = 'x' WHERE name = '2'",
      /^Expected the hash of the corrected memory foo\/2/,
    ],
    [
      "a hash on a row that nobody corrected",
      "UPDATE memory SET corrected = (SELECT corrected FROM memory WHERE name = '2') WHERE name = '4'",
      /^Expected the hash of the corrected memory foo\/4/,
    ],
    ["an entry that names another copy", `UPDATE curation SET data = replace(data, '"id":"3"', '"id":"4"')`, link(1)],
    [
      "an entry that names another correction",
      `UPDATE curation SET data = replace(data, '"by":"+1"', '"by":"4"') WHERE no = 2`,
      link(2),
    ],
    [
      "a removed entry",
      (database) => {
        const edit = withoutReplace("3");
        const { data } = database.prepare("SELECT data FROM curation WHERE no = 1").get() as { data: string };
        database.prepare("UPDATE curation SET data = ? WHERE no = 1").run(edit(data));
      },
      link(1),
    ],
    [
      "a removed entry with matching hashes, but for the head",
      rewriteChain(1, withoutReplace("3"), false),
      /^Expected 2 changes of the memory of foo, found 2 or others/,
    ],
    ["a removed entry with all hashes matching", rewriteChain(1, withoutReplace("3")), superseded("3")],
    [
      "an entry about a row that is live, with all hashes matching",
      rewriteChain(1, (data) => data.replace('"id":"3"', '"id":"4"')),
      superseded("4"),
    ],
    ["a removed link", "DELETE FROM curation WHERE no = 1", link(1)],
    ["a removed correction", "DELETE FROM memory WHERE name = '+1'", /^Expected a memory foo\/\+1, found none/],
  ])("finds %s", async (_title, how, found) => {
    expect(await problemsAfter(how)).toContainEqual(expect.stringMatching(found));
  });
});
