/** tampering.ts -- changes to a filled store that goald did not make. `verify` must find each of them. */
import type { DatabaseSync } from "node:sqlite";
import { chainLink, snapshotSha, sha256 as storeSha256 } from "#store/chain.ts";
import { sha256 } from "../contracts/store-builders.ts";
import { FOO, spilled } from "./filled-store.ts";

/** Changes an event and computes its own hash again, but not the following ones. */
function forge(database: DatabaseSync): void {
  const at = (seq: number) => database.prepare(`SELECT data, sha FROM event WHERE ${FOO} AND seq = ?`).get(seq);
  const data = String(at(4)?.data).replace("text 4", "text 5");
  database
    .prepare(`UPDATE event SET data = ?, sha = ? WHERE ${FOO} AND seq = 4`)
    .run(data, chainLink(String(at(3)?.sha), data));
}

/** Writes a state that does not follow from the log, with a matching hash. */
function forgeSnapshot(database: DatabaseSync): void {
  const snapshot = database.prepare(`SELECT version, data FROM snapshot WHERE ${FOO} AND seq = 9`).get();
  const link = String(database.prepare(`SELECT sha FROM event WHERE ${FOO} AND seq = 9`).get()?.sha);
  const data = String(snapshot?.data).replace('"approve":"never"', '"approve":"always"');
  const sha = snapshotSha(link, { version: Number(snapshot?.version), data });
  database.prepare(`UPDATE snapshot SET data = ?, sha = ? WHERE ${FOO} AND seq = 9`).run(data, sha);
}

const changedRows = (from: number, to: number): RegExp =>
  new RegExp(
    `Expected the memories, .* that came with ${from === to ? "event" : `the events ${from} to`} ${to} of foo as they were written`,
  );
const changedText = (id: string): RegExp =>
  new RegExp(`Expected the text of the memory ${id.replace("+", "\\+")} as it was`);

/** Writes another text with a matching hash. */
function rewriteMemory(database: DatabaseSync): void {
  database
    .prepare("UPDATE memory SET text = 'other', salt = '', text_sha = ? WHERE text = 'memory 6'")
    .run(storeSha256("other"));
}
const addMemory = (
  seq: number,
): string => `INSERT INTO memory (agent_no, change, seq, ordinal, step, namespace, kind, text, text_sha, salt, importance, trust, at)
  SELECT agent_no, 99, ${seq}, 7, step, namespace, kind, text, text_sha, salt, importance, trust, at
  FROM memory WHERE seq = 6 AND ordinal = 0`;

/** Each change, with the problem that verify must report. */
export const tampering: [title: string, tamper: string | ((database: DatabaseSync) => void), found: RegExp][] = [
  [
    "a changed event",
    `UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`,
    /event 4 of foo .*changed/,
  ],
  ["a changed event with a matching hash", forge, /event 5 of foo .*changed/],
  ["a removed event", `DELETE FROM event WHERE ${FOO} AND seq = 4`, /Expected event 4 of foo, found 5/],
  ["a removed last event", `DELETE FROM event WHERE ${FOO} AND seq = 10`, /log of foo to end at 10, found 9/],
  [
    "a log cut short, head and all",
    `DELETE FROM event WHERE ${FOO} AND seq = 10; UPDATE agent SET head = 9 WHERE id = 'foo'`,
    /event 9 of foo with the link in the agent's row/,
  ],
  [
    "a swapped pair",
    `UPDATE event SET seq = -4 WHERE ${FOO} AND seq = 4; UPDATE event SET seq = 4 WHERE ${FOO} AND seq = 6;
     UPDATE event SET seq = 6 WHERE ${FOO} AND seq = -4`,
    /event 4 of foo to carry its number, found 6/,
  ],
  [
    "a removed digest, with its rows",
    `UPDATE event SET rows_sha = NULL WHERE ${FOO} AND seq = 6; DELETE FROM memory WHERE seq = 6;
     DELETE FROM file_version WHERE seq = 6`,
    /event 6 of foo .*changed/,
  ],
  [
    "an event of another agent",
    `UPDATE event SET (data, sha) = (SELECT data, sha FROM event WHERE NOT ${FOO} AND seq = 2) WHERE ${FOO} AND seq = 2`,
    /event 2 of foo .*changed/,
  ],
  [
    "an event added by hand",
    `INSERT INTO event SELECT agent_no, 11, data, rows_sha, sha FROM event WHERE ${FOO} AND seq = 10`,
    /An event of foo names event 11/,
  ],
  ["an event that is no JSON", `UPDATE event SET data = '{' WHERE ${FOO} AND seq = 4`, /event 4 of foo to be JSON/],
  [
    "a missing blob",
    `DELETE FROM blob WHERE sha = '${spilled.blob}'`,
    /Expected the blob .*event 5 of foo.*found none/,
  ],
  [
    "a blob that the table reference does not list",
    `DELETE FROM reference WHERE sha = '${spilled.blob}'`,
    /Expected a row of the table reference for the blob .* of event 5 of foo/,
  ],
  ["a missing version of a file", `DELETE FROM blob WHERE sha = '${sha256("content 6")}'`, /history of 6.txt of foo/],
  [
    "a flipped byte of a blob",
    `UPDATE blob SET bytes = CAST('spillee' AS BLOB) WHERE sha = '${spilled.blob}'`,
    /The blob .*event 5 of foo.*does not match/,
  ],
  [
    "a flipped byte of a blob that no agent refers to",
    `UPDATE blob SET bytes = x'00' WHERE sha = '${sha256("of no use")}'`,
    /The blob .*\(nothing\) does not match/,
  ],
  ["a rewritten memory", `UPDATE memory SET text = 'other' WHERE text = 'memory 6'`, changedText("foo/6")],
  ["a rewritten staged memory", `UPDATE memory SET text = 'other' WHERE text = 'noted 6'`, changedText("foo/6.1")],
  ["a rewritten memory with a matching hash", rewriteMemory, changedRows(4, 6)],
  ["a rewritten note by a person", `UPDATE memory SET text = 'other' WHERE text = 'by hand'`, changedText("foo/+1")],
  [
    "a forgotten memory that is live again",
    `UPDATE memory SET forgotten = NULL WHERE ${FOO} AND seq = 9`,
    changedText("foo/9"),
  ],
  [
    "a restored text of a forgotten memory",
    `UPDATE memory SET text = 'x' WHERE forgotten IS NOT NULL`,
    changedText("foo/9"),
  ],
  ["a rewritten shared memory", `UPDATE memory SET text = 'other' WHERE text = 'for all'`, changedText("shared/+1")],
  ["a memory with more trust", `UPDATE memory SET trust = 'person' WHERE seq = 9 AND ordinal = 0`, changedRows(7, 9)],
  ["a removed memory", `DELETE FROM memory WHERE seq = 3 AND ordinal = 0`, changedRows(3, 3)],
  ["a memory moved to another event", `UPDATE memory SET seq = 5 WHERE text = 'memory 6'`, changedRows(4, 6)],
  ["two exchanged memories", `UPDATE memory SET ordinal = 1 - ordinal + 10 WHERE seq = 6`, changedRows(4, 6)],
  ["an added memory", addMemory(4), changedRows(4, 6)],
  ["a memory added after the last ones", addMemory(10), changedRows(10, 10)],
  [
    "a rewritten file version",
    `UPDATE file_version SET sha = '${sha256("content 3")}' WHERE seq = 6`,
    changedRows(4, 6),
  ],
  ["a renamed file", `UPDATE file_version SET path = 'x' WHERE seq = 6`, changedRows(4, 6)],
  ["a file version with another step", `UPDATE file_version SET step = 7 WHERE seq = 9`, changedRows(7, 9)],
  ["a removed file version", `DELETE FROM file_version WHERE seq = 6`, changedRows(4, 6)],
  ["a file version moved to another event", `UPDATE file_version SET seq = 8 WHERE seq = 6`, changedRows(4, 6)],
  ["a consumed message that waits again", `UPDATE inbox SET consumed_by = NULL WHERE key = 'in'`, changedRows(1, 2)],
  ["a removed consumed message", `DELETE FROM inbox WHERE key = 'in'`, changedRows(1, 2)],
  ["a consumed message with another key", `UPDATE inbox SET key = 'other' WHERE key = 'in'`, changedRows(1, 2)],
  [
    "a message consumed by a commit without events that waits again",
    `UPDATE inbox SET consumed_by = NULL WHERE key = 'late'`,
    /the inbox row late of foo, consumed after event 8, found none/,
  ],
  ["a removed commit without events", `DELETE FROM eventless WHERE seq = 8`, /event 9 of foo .*changed/],
  [
    "a removed last commit without events",
    `DELETE FROM eventless WHERE seq = 10`,
    /event 10 of foo with the link in the agent's row/,
  ],
  [
    "a commit without events with another message",
    `UPDATE eventless SET keys = '["last"]' WHERE seq = 8`,
    /messages consumed after event 8 of foo as they were/,
  ],
  ["another name", `UPDATE agent SET name = 'Bob' WHERE id = 'foo'`, /the name of foo to be "Foo", found "Bob"/],
  ["another folder", `UPDATE agent SET folder = 'baz' WHERE id = 'foo'`, /the folder of foo to be "foo", found "baz"/],
  [
    "a folder outside the workspace",
    `UPDATE agent SET folder = '../../etc' WHERE id = 'foo'`,
    /"..\/..\/etc" of foo is not in workspace/,
  ],
  ["another parent", `UPDATE agent SET parent_no = 2 WHERE id = 'foo'`, /the folder of foo to be "bar\/agents\/foo"/],
  ["a lowered epoch", `UPDATE agent SET epoch = 0 WHERE id = 'foo'`, /epoch of foo as they were written/],
  ["a raised epoch", `UPDATE agent SET epoch = 9 WHERE id = 'foo'`, /epoch of foo as they were written/],
  [
    "another time of creation",
    `UPDATE agent SET created_at = '2020-01-01T00:00:00.000Z'`,
    /the time of creation of foo/,
  ],
  ["another time of the last change", `UPDATE agent SET updated_at = created_at`, /the time of the last change of foo/],
  ["a memory of a missing event", `UPDATE memory SET seq = 99 WHERE seq = 6`, /A memory of foo names event 99/],
  [
    "a file version of a missing event",
    `UPDATE file_version SET seq = 99 WHERE seq = 6`,
    /version of the file 6.txt of foo names/,
  ],
  ["a message consumed by a missing event", `UPDATE inbox SET consumed_by = 99`, /inbox row in of foo names event 99/],
  ["a snapshot of a missing event", `UPDATE snapshot SET seq = 99 WHERE seq = 9`, /A snapshot of foo names event 99/],
  ["a changed snapshot", `UPDATE snapshot SET data = '{"seq":8}' WHERE seq = 9`, /snapshot at 9 of foo does not match/],
  [
    "a snapshot of another state with a matching hash",
    forgeSnapshot,
    /snapshot at 9 of foo is not what its log folds to/,
  ],
  [
    "rows of a removed agent",
    `DELETE FROM agent WHERE id = 'bar'`,
    /The table event has 2 rows of an agent that does not exist/,
  ],
];
