import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { chainLink, snapshotSha, sha256 as storeSha256 } from "#store/chain.ts";
import { openSqliteReader, openSqliteStore } from "#store/sqlite/open-store.ts";
import { NOTHING, said, sha256, stamped, wrote } from "../helpers/events.ts";
import { useFolder, useOpened } from "../helpers/folder.ts";
import { FOO, fill, spilled } from "./made-stores.ts";

/** A state version without snapshots: the whole log is folded. */
const REFOLDED = STATE_VERSION + 1;

const at = useFolder();
const keep = useOpened();
let path: string;
let store: Store;
beforeEach(async () => {
  path = at("goald.db");
  store = keep(await openSqliteStore(path));
  await fill(store);
});

/** Changes the database as no goald does. In a text, FOO stands for the condition of foo's rows. */
function tamper(how: Tampering): void {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  if (typeof how === "string") database.exec(how.replaceAll("FOO", FOO));
  else how(database);
  database.close();
}
type Tampering = string | ((database: DatabaseSync) => void);
const damage = (message: RegExp) => ({ code: "GOALD_STORE_DAMAGED", message: expect.stringMatching(message) });
const restorable = (message: RegExp) => ({ ...damage(message), hint: expect.stringMatching(/restore a backup/i) });
const CHANGED_EVENT_4 = "UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE FOO AND seq = 4";

/** Changes an event and computes its own hash again, but not the following ones. */
function forge(database: DatabaseSync): void {
  const rowOf = (seq: number) => database.prepare(`SELECT data, sha FROM event WHERE ${FOO} AND seq = ?`).get(seq);
  const data = String(rowOf(4)?.data).replace("text 4", "text 5");
  const update = database.prepare(`UPDATE event SET data = ?, sha = ? WHERE ${FOO} AND seq = 4`);
  update.run(data, chainLink(String(rowOf(3)?.sha), data));
}

/** Writes a state that does not follow from the log, with a matching hash. */
function forgeSnapshot(database: DatabaseSync): void {
  const snapshot = database.prepare(`SELECT version, data FROM snapshot WHERE ${FOO} AND seq = 9`).get();
  const link = String(database.prepare(`SELECT sha FROM event WHERE ${FOO} AND seq = 9`).get()?.sha);
  const data = String(snapshot?.data).replace('"approve":"never"', '"approve":"always"');
  const sha = snapshotSha(link, { version: Number(snapshot?.version), data });
  database.prepare(`UPDATE snapshot SET data = ?, sha = ? WHERE ${FOO} AND seq = 9`).run(data, sha);
}

/** Changes a state, and hashes it without the log. */
function rehashSnapshot(database: DatabaseSync): void {
  const { data } = database.prepare(`SELECT data FROM snapshot WHERE ${FOO} AND seq = 9`).get() as { data: string };
  const other = data.replace("One", "Two");
  const update = database.prepare(`UPDATE snapshot SET data = ?, sha = ? WHERE ${FOO} AND seq = 9`);
  update.run(other, storeSha256(other));
}

/** Writes another text with a matching hash. */
function rewriteMemory(database: DatabaseSync): void {
  const update = "UPDATE memory SET text = 'other', salt = '', text_sha = ? WHERE text = 'memory 6'";
  database.prepare(update).run(storeSha256("other"));
}

const MEMORY = "step, namespace, kind, text, text_sha, salt, importance, trust, at";
const addMemory = (seq: number): string =>
  `INSERT INTO memory (agent_no, change, seq, ordinal, ${MEMORY})
   SELECT agent_no, 99, ${seq}, 7, ${MEMORY} FROM memory WHERE seq = 6 AND ordinal = 0`;

const changedRows = (from: number, to: number): RegExp => {
  const events = from === to ? "event" : `the events ${from} to`;
  return new RegExp(`Expected the memories, .* that came with ${events} ${to} of foo as they were written`);
};
const changedText = (id: string) => new RegExp(`Expected the text of the memory ${id.replace("+", "\\+")} as it was`);

const setBlob = (bytes: string, sha: string) => `UPDATE blob SET bytes = ${bytes} WHERE sha = '${sha}'`;
const setMemory = (change: string, where: string) => `UPDATE memory SET ${change} WHERE ${where}`;
const setFile = (change: string, where = "seq = 6") => `UPDATE file_version SET ${change} WHERE ${where}`;
const setAgent = (change: string) => `UPDATE agent SET ${change} WHERE id = 'foo'`;

/** Changes that goald did not make, each with the problem that verify must report. */
const TAMPERING: [title: string, how: Tampering, found: RegExp][] = [
  ["a changed event", CHANGED_EVENT_4, /event 4 of foo .*changed/],
  ["a changed event with a matching hash", forge, /event 5 of foo .*changed/],
  ["a removed event", "DELETE FROM event WHERE FOO AND seq = 4", /Expected event 4 of foo, found 5/],
  ["a removed last event", "DELETE FROM event WHERE FOO AND seq = 10", /log of foo to end at 10, found 9/],
  [
    "a log cut short, head and all",
    `DELETE FROM event WHERE FOO AND seq = 10; ${setAgent("head = 9")}`,
    /event 9 of foo with the link in the agent's row/,
  ],
  [
    "a swapped pair",
    `UPDATE event SET seq = -4 WHERE FOO AND seq = 4; UPDATE event SET seq = 4 WHERE FOO AND seq = 6;
     UPDATE event SET seq = 6 WHERE FOO AND seq = -4`,
    /event 4 of foo to carry its number, found 6/,
  ],
  [
    "a removed digest, with its rows",
    `UPDATE event SET rows_sha = NULL WHERE FOO AND seq = 6; DELETE FROM memory WHERE seq = 6;
     DELETE FROM file_version WHERE seq = 6`,
    /event 6 of foo .*changed/,
  ],
  [
    "an event of another agent",
    `UPDATE event SET (data, sha) = (SELECT data, sha FROM event WHERE NOT FOO AND seq = 2) WHERE FOO AND seq = 2`,
    /event 2 of foo .*changed/,
  ],
  [
    "an event added by hand",
    "INSERT INTO event SELECT agent_no, 11, data, rows_sha, sha FROM event WHERE FOO AND seq = 10",
    /An event of foo names event 11/,
  ],
  ["an event that is no JSON", "UPDATE event SET data = '{' WHERE FOO AND seq = 4", /event 4 of foo to be JSON/],
  ["a missing blob", `DELETE FROM blob WHERE sha = '${spilled.blob}'`, /the blob .*event 5 of foo.*found none/],
  [
    "a blob that the table reference does not list",
    `DELETE FROM reference WHERE sha = '${spilled.blob}'`,
    /Expected a row of the table reference for the blob .* of event 5 of foo/,
  ],
  ["a missing version of a file", `DELETE FROM blob WHERE sha = '${sha256("content 6")}'`, /history of 6.txt of foo/],
  [
    "a flipped byte of a blob",
    setBlob("CAST('spillee' AS BLOB)", spilled.blob),
    /blob .*event 5 of foo.*does not match/,
  ],
  ["a flipped byte of a blob without an agent", setBlob("x'00'", sha256("of no use")), /\(nothing\) does not match/],
  ["a rewritten memory", setMemory("text = 'other'", "text = 'memory 6'"), changedText("foo/6")],
  ["a rewritten staged memory", setMemory("text = 'other'", "text = 'noted 6'"), changedText("foo/6.1")],
  ["a rewritten memory with a matching hash", rewriteMemory, changedRows(4, 6)],
  ["a rewritten note by a person", setMemory("text = 'other'", "text = 'by hand'"), changedText("foo/+1")],
  ["a forgotten memory that is live again", setMemory("forgotten = NULL", "FOO AND seq = 9"), changedText("foo/9")],
  ["a restored text of a forgotten memory", setMemory("text = 'x'", "forgotten IS NOT NULL"), changedText("foo/9")],
  ["a rewritten shared memory", setMemory("text = 'other'", "text = 'for all'"), changedText("shared/+1")],
  ["a memory with more trust", setMemory("trust = 'person'", "seq = 9 AND ordinal = 0"), changedRows(7, 9)],
  ["a removed memory", "DELETE FROM memory WHERE seq = 3 AND ordinal = 0", changedRows(3, 3)],
  ["a memory moved to another event", setMemory("seq = 5", "text = 'memory 6'"), changedRows(4, 6)],
  ["two exchanged memories", setMemory("ordinal = 1 - ordinal + 10", "seq = 6"), changedRows(4, 6)],
  ["an added memory", addMemory(4), changedRows(4, 6)],
  ["a memory added after the last ones", addMemory(10), changedRows(10, 10)],
  ["a rewritten file version", setFile(`sha = '${sha256("content 3")}'`), changedRows(4, 6)],
  ["a renamed file", setFile("path = 'x'"), changedRows(4, 6)],
  ["a file version with another step", setFile("step = 7", "seq = 9"), changedRows(7, 9)],
  ["a removed file version", "DELETE FROM file_version WHERE seq = 6", changedRows(4, 6)],
  ["a file version moved to another event", setFile("seq = 8"), changedRows(4, 6)],
  ["a consumed message that waits again", "UPDATE inbox SET consumed_by = NULL WHERE key = 'in'", changedRows(1, 2)],
  ["a removed consumed message", "DELETE FROM inbox WHERE key = 'in'", changedRows(1, 2)],
  ["a consumed message with another key", "UPDATE inbox SET key = 'other' WHERE key = 'in'", changedRows(1, 2)],
  [
    "a message consumed by a commit without events that waits again",
    "UPDATE inbox SET consumed_by = NULL WHERE key = 'late'",
    /the inbox row late of foo, consumed after event 8, found none/,
  ],
  ["a removed commit without events", "DELETE FROM eventless WHERE seq = 8", /event 9 of foo .*changed/],
  [
    "a removed last commit without events",
    "DELETE FROM eventless WHERE seq = 10",
    /event 10 of foo with the link in the agent's row/,
  ],
  [
    "a commit without events with another message",
    `UPDATE eventless SET keys = '["last"]' WHERE seq = 8`,
    /messages consumed after event 8 of foo as they were/,
  ],
  ["another name", setAgent("name = 'Bob'"), /the name of foo to be "Foo", found "Bob"/],
  ["another folder", setAgent("folder = 'baz'"), /the folder of foo to be "foo", found "baz"/],
  ["a folder outside the workspace", setAgent("folder = '../../etc'"), /"..\/..\/etc" of foo is not in workspace/],
  ["another parent", setAgent("parent_no = 2"), /the folder of foo to be "bar\/agents\/foo"/],
  ["a lowered epoch", setAgent("epoch = 0"), /epoch of foo as they were written/],
  ["a raised epoch", setAgent("epoch = 9"), /epoch of foo as they were written/],
  ["another time of creation", setAgent("created_at = '2020-01-01T00:00:00.000Z'"), /the time of creation of foo/],
  ["another time of the last change", setAgent("updated_at = created_at"), /the time of the last change of foo/],
  ["a memory of a missing event", setMemory("seq = 99", "seq = 6"), /A memory of foo names event 99/],
  ["a file version of a missing event", setFile("seq = 99"), /version of the file 6.txt of foo names/],
  ["a message consumed by a missing event", "UPDATE inbox SET consumed_by = 99", /inbox row in of foo names event 99/],
  ["a snapshot of a missing event", "UPDATE snapshot SET seq = 99 WHERE seq = 9", /A snapshot of foo names event 99/],
  ["a changed snapshot", `UPDATE snapshot SET data = '{"seq":8}' WHERE seq = 9`, /snapshot at 9 of foo does not match/],
  ["a snapshot of another state with a matching hash", forgeSnapshot, /snapshot at 9 of foo is not what its log folds/],
  ["rows of a removed agent", "DELETE FROM agent WHERE id = 'bar'", /event has 2 rows of an agent that does not exist/],
];

describe("verify", () => {
  it("finds no problem in an unchanged store", async () => {
    expect(await store.verify()).toEqual({ agents: 2, events: 12, problems: [] });
    expect(await store.verify("foo")).toEqual({ agents: 1, events: 10, problems: [] });
    const reader = keep(await openSqliteReader(path));
    expect(await reader.verify()).toEqual({ agents: 2, events: 12, problems: [] });
  });

  it.each(TAMPERING)("finds %s", async (_title, how, found) => {
    tamper(how);
    const { problems } = await store.verify();
    expect(problems.join("\n")).toMatch(found);
    // A swapped pair breaks three links, two numbers and the rows of three commits.
    expect(problems.length).toBeLessThan(11);
  });

  it.each([
    ["another key", "fact_key = 'x' WHERE text LIKE '%7'"],
    ["a key where none was", "fact_key = 'x' WHERE kind = 'forgetting'"],
    ["a fact without its key", "fact_key = NULL, closed_by = NULL WHERE text LIKE '%7'"],
    ["a mark that hides another row", "supersedes = '3.1' WHERE kind = 'forgetting'"],
    ["a mark that became a note", "kind = 'note' WHERE kind = 'forgetting'"],
  ])("finds %s among the facts of an agent", async (_title, change) => {
    const lease = await store.claim("foo");
    const fact = { kind: "memory", memoryKind: "fact", importance: 1, factKey: "hour" } as const;
    for (const [index, value] of ["6", "7", "8"].entries()) {
      const staged = [{ ...fact, text: `depot: hour: ${value}` }];
      await store.commit(lease, 10 + index, { ...NOTHING, events: stamped(11 + index, said("x")), staged });
    }
    const hide = {
      kind: "memory",
      memoryKind: "forgetting",
      text: "hid",
      importance: 0,
      supersedes: "foo/11.1",
    } as const;
    await store.commit(lease, 13, { ...NOTHING, events: stamped(14, said("x")), staged: [hide] });
    expect((await store.verify()).problems).toEqual([]);
    tamper(`UPDATE memory SET ${change}`);
    expect((await store.verify()).problems).toContainEqual(expect.stringMatching(/came with/));
  });

  it("checks only one agent when it gets its id", async () => {
    tamper(CHANGED_EVENT_4);
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

  it.each(["../../etc", "/etc", "foo/../../x/agents/foo", "", ".", "..", "a\\agents\\foo", "foo/", "agents/foo"])(
    "reports the folder %j, which no read returns",
    async (folder) => {
      tamper(setAgent(`folder = '${folder}'`));
      await expect(store.agent("foo")).rejects.toMatchObject(damage(/workspace\//));
      await expect(store.agents()).rejects.toMatchObject(damage(/workspace\//));
      expect((await store.verify()).problems.join()).toContain("is not in workspace/");
    },
  );
});

describe("without verify, a damaged store", () => {
  it("returns the newest snapshot and the events after it when nothing was changed (control)", async () => {
    expect(await store.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 }, events: [{ seq: 10 }] });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: null, events: { length: 10 } });
    const reader = keep(await openSqliteReader(path));
    expect(await reader.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 } });
  });

  const setEvent = (change: string, seq: number) => `UPDATE event SET ${change} WHERE FOO AND seq = ${seq}`;
  const setSnapshot = (change: string) => `UPDATE snapshot SET ${change} WHERE FOO AND seq = 9`;
  const exchange = (text: string, other: string) => `data = replace(data, '${text}', '${other}')`;
  const OF_EVENT_6 = "(data, sha) = (SELECT data, sha FROM snapshot WHERE FOO AND seq = 6)";
  const NO_EVENT_10 = "DELETE FROM event WHERE FOO AND seq = 10";
  const changed = (seq: number) => new RegExp(`expected event ${seq} as written, found a change`);
  const CHANGED_SNAPSHOT = /expected the snapshot at event 9 as it was written, found it changed/;
  it.each<[what: string, how: Tampering, version: number, message: RegExp]>([
    ["a changed goal in event 1", setEvent(exchange("One", "Two"), 1), REFOLDED, changed(1)],
    ["an event changed after the snapshot", setEvent(exchange("10", "11"), 10), STATE_VERSION, changed(10)],
    ["a changed goal in the snapshot", setSnapshot(exchange("One", "Two")), STATE_VERSION, CHANGED_SNAPSHOT],
    ["a snapshot of another event", setSnapshot(OF_EVENT_6), STATE_VERSION, CHANGED_SNAPSHOT],
    ["a changed event that the snapshot is bound to", setEvent("sha = '00'", 9), STATE_VERSION, CHANGED_SNAPSHOT],
    [
      "a snapshot of a missing event",
      `${setSnapshot("seq = 10")}; ${NO_EVENT_10}`,
      STATE_VERSION,
      /expected event 10, which a snapshot names, found none/,
    ],
    ["a missing event", NO_EVENT_10, STATE_VERSION, /10 events, found none after event 9/],
    ["a missing event among others", "DELETE FROM event WHERE FOO AND seq = 4", REFOLDED, /event 4, found event 5/],
    ["a missing half of the log", "DELETE FROM event WHERE FOO AND seq >= 4", REFOLDED, /none after event 3/],
    ["a removed digest of a commit's rows", setEvent("rows_sha = NULL", 6), REFOLDED, /expected event 6 as written/],
    [
      "a changed commit without events",
      `UPDATE eventless SET keys = '["other"]' WHERE seq = 10`,
      STATE_VERSION,
      /expected the messages consumed after event 10 as written/,
    ],
    [
      "a removed last commit without events",
      "DELETE FROM eventless WHERE seq = 10",
      STATE_VERSION,
      /expected the log to end with event 10, found another end/,
    ],
    ["another end of the log", `${setEvent("sha = ''", 10)}; DELETE FROM eventless`, STATE_VERSION, /./],
    ["a log cut short, head and all", `${NO_EVENT_10}; ${setAgent("head = 9")}`, STATE_VERSION, /./],
    ["a head of another log", setAgent("head_sha = (SELECT head_sha FROM agent WHERE id = 'bar')"), STATE_VERSION, /./],
    ["another name in the agent's row", setAgent("name = 'Bob'"), STATE_VERSION, /./],
    ["a snapshot whose own hash was computed again without the log", rehashSnapshot, STATE_VERSION, CHANGED_SNAPSHOT],
  ])("is not loaded with %s", async (_what, how, version, message) => {
    tamper(how);
    await expect(store.load("foo", version)).rejects.toMatchObject(restorable(message));
    expect(await store.load("bar", version)).toMatchObject({ head: 2 });
  });

  it.each(["epoch = 0", "name = 'Bob'", "folder = 'baz'", "folder = '/etc'"])(
    "is not written for an agent with another %s",
    async (change) => {
      tamper(setAgent(change));
      await expect(store.claim("foo")).rejects.toMatchObject({ code: "GOALD_STORE_DAMAGED" });
      expect((await store.verify()).problems).not.toEqual([]);
    },
  );

  it("does not show in what a load does not use: an old event is found when it is folded again", async () => {
    tamper(CHANGED_EVENT_4);
    expect(await store.load("foo", STATE_VERSION)).toMatchObject({ snapshot: { seq: 9 } });
    await expect(store.load("foo", REFOLDED)).rejects.toMatchObject(restorable(/event 4 as written/));
  });

  it("refuses to copy a changed event into a fork", async () => {
    tamper(CHANGED_EVENT_4);
    const fork = (head: number) =>
      store.fork("foo", { name: "Baz", head, events: stamped(head + 1, said("x")) }, `f${head}`);
    await expect(fork(4)).rejects.toMatchObject(restorable(/event 4 as written/));
    expect(await fork(3)).toMatchObject({ id: "baz", head: 4 });
  });

  it("reports an unreadable event with its place", async () => {
    tamper("UPDATE event SET data = '{' WHERE FOO AND seq = 4");
    await expect(store.read("foo", 0, 9)).rejects.toMatchObject(damage(/event 4 of foo/));
  });

  it("returns no blob that does not match its hash", async () => {
    expect(Buffer.from((await store.blob(spilled.blob)) ?? []).toString()).toBe("spilled");
    tamper(setBlob("CAST('spillee' AS BLOB)", spilled.blob));
    await expect(store.blob(spilled.blob)).rejects.toMatchObject(damage(/found it changed/));
  });

  it("returns no memory whose text does not match its hash", async () => {
    const rows = await store.memories("foo", 0, 100);
    expect(rows.map(({ text }) => text)).toContain("memory 6");
    tamper(setMemory("text = 'memory 7'", "text = 'memory 6'"));
    const refusal = damage(/the memory foo\/6 as it was written, found it changed/);
    await expect(store.memories("foo", 0, 100)).rejects.toMatchObject(refusal);
    await expect(store.memory("foo", "foo/6")).rejects.toMatchObject(refusal);
    expect(await store.memory("foo", "foo/3")).toMatchObject({ text: "memory 3" });
    expect(await store.memories("shared", 0, 100)).toHaveLength(1);
  });

  it("is not what goald makes: the chain goes through its commits with and without events", async () => {
    const lease = await store.claim("foo");
    const wake = (key: string) => store.deliver("foo", key, { type: "wake" } as never, "2026-01-01T00:00:00.000Z");
    await wake("k");
    await store.commit(lease, 10, { ...NOTHING, consumed: ["k"] });
    const snapshot = { version: REFOLDED, state: { any: "state" } };
    await wake("l");
    await store.commit(lease, 10, { ...NOTHING, consumed: ["l"], snapshot });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: { seq: 10 }, events: [] });
    await store.commit(lease, 10, { ...NOTHING, events: stamped(11, said("x")) });
    expect(await store.load("foo", REFOLDED)).toMatchObject({ snapshot: { seq: 10 }, events: [{ seq: 11 }] });
  });
});
