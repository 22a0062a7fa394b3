/** tampering.ts -- the ways to change a filled store behind goald's back, each of which verify must find. */
import type { DatabaseSync } from "node:sqlite";
import { chainLink, sha256 as storeSha256 } from "#store/chain.ts";
import { sha256 } from "../contracts/store-builders.ts";
import { FOO, spilled } from "./filled-store.ts";

/** Changes an event and its own hash, as one would who knows the method but not all that follows. */
function forge(database: DatabaseSync): void {
  const at = (seq: number) => database.prepare(`SELECT data, sha FROM event WHERE ${FOO} AND seq = ?`).get(seq);
  const data = String(at(4)?.data).replace("text 4", "text 5");
  database
    .prepare(`UPDATE event SET data = ?, sha = ? WHERE ${FOO} AND seq = 4`)
    .run(data, chainLink(String(at(3)?.sha), data));
}

/** A state that no log led to, with the hash of just that state. */
function forgeSnapshot(database: DatabaseSync): void {
  const snapshot = database.prepare(`SELECT data FROM snapshot WHERE ${FOO} AND seq = 9`).get();
  const data = String(snapshot?.data).replace('"approve":"never"', '"approve":"always"');
  database.prepare(`UPDATE snapshot SET data = ?, sha = ? WHERE ${FOO} AND seq = 9`).run(data, storeSha256(data));
}

const CAME_WITH = (from: number, to: number): RegExp =>
  new RegExp(
    `Expected the memories, .* that came with ${from === to ? "event" : `the events ${from} to`} ${to} of foo as they were written`,
  );
const SAYS = (id: string): RegExp => new RegExp(`Expected the text of the memory ${id.replace("+", "\\+")} as it was`);
const WAS_WRITTEN = (id: string): RegExp =>
  new RegExp(`Expected the memory ${id.replace("+", "\\+")} as it was written`);
const ADDED_NOTE = `INSERT INTO memory (agent_no, change, seq, made, namespace, kind, text, text_sha, salt, importance, trust, at)
  SELECT agent_no, 99, seq, 7, namespace, kind, text, text_sha, salt, importance, trust, at FROM memory WHERE ${FOO} AND made = 1`;

/** Another text, with the hash of just that text. */
function rewriteMemory(database: DatabaseSync): void {
  database
    .prepare("UPDATE memory SET text = 'other', salt = '', text_sha = ? WHERE text = 'memory 6'")
    .run(storeSha256("other"));
}
const ADDED_MEMORY = (
  seq: number,
): string => `INSERT INTO memory (agent_no, change, seq, ordinal, step, namespace, kind, text, text_sha, salt, importance, trust, at)
  SELECT agent_no, 99, ${seq}, 7, step, namespace, kind, text, text_sha, salt, importance, trust, at
  FROM memory WHERE seq = 6 AND ordinal = 0`;

/** What somebody did to the database behind goald's back, and the words in which verify must say so. */
export const tampering: [title: string, tamper: string | ((database: DatabaseSync) => void), found: RegExp][] = [
  [
    "a changed event",
    `UPDATE event SET data = replace(data, 'text 4', 'text 5') WHERE ${FOO}`,
    /event 4 of foo .*changed/,
  ],
  ["a changed event with a hash that fits", forge, /event 5 of foo .*changed/],
  ["a removed event", `DELETE FROM event WHERE ${FOO} AND seq = 4`, /Expected event 4 of foo, found 5/],
  ["a removed last event", `DELETE FROM event WHERE ${FOO} AND seq = 10`, /log of foo to end at 10, found 9/],
  [
    "a log cut short, head and all",
    `DELETE FROM event WHERE ${FOO} AND seq = 10; UPDATE agent SET head = 9 WHERE id = 'foo'`,
    /event 9 of foo with the hash that the agent remembers/,
  ],
  [
    "a swapped pair",
    `UPDATE event SET seq = -4 WHERE ${FOO} AND seq = 4; UPDATE event SET seq = 4 WHERE ${FOO} AND seq = 6;
     UPDATE event SET seq = 6 WHERE ${FOO} AND seq = -4`,
    /event 4 of foo to carry its number, found 6/,
  ],
  [
    "a digest taken away, with the rows that it was of",
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
    "a blob that nobody is noted to refer to",
    `DELETE FROM reference WHERE sha = '${spilled.blob}'`,
    /Expected a note that event 5 of foo refers to the blob/,
  ],
  [
    "a missing version of a file",
    `DELETE FROM blob WHERE sha = '${sha256("content 6")}'`,
    /history of 6.txt of foo/,
  ],
  [
    "a flipped byte of a blob",
    `UPDATE blob SET bytes = CAST('spillee' AS BLOB) WHERE sha = '${spilled.blob}'`,
    /The blob .*event 5 of foo.*does not match/,
  ],
  [
    "a flipped byte of a blob that nobody refers to",
    `UPDATE blob SET bytes = x'00' WHERE sha = '${sha256("of no use")}'`,
    /The blob .*\(nothing\) does not match/,
  ],
  ["a rewritten memory", `UPDATE memory SET text = 'other' WHERE text = 'memory 6'`, SAYS("foo/6")],
  ["a rewritten staged memory", `UPDATE memory SET text = 'other' WHERE text = 'noted 6'`, SAYS("foo/6.1")],
  ["a rewritten memory with a hash that fits", rewriteMemory, CAME_WITH(4, 6)],
  ["a rewritten note of a person", `UPDATE memory SET text = 'other' WHERE text = 'by hand'`, SAYS("foo/+1")],
  ["a person's note that is trusted less", `UPDATE memory SET trust = 'web' WHERE made = 1`, WAS_WRITTEN("foo/+1")],
  [
    "a person's note that is gone",
    `DELETE FROM memory WHERE ${FOO} AND made = 1`,
    /Expected a memory foo\/\+1, found none/,
  ],
  ["a note that nobody wrote", ADDED_NOTE, WAS_WRITTEN("foo/+7")],
  [
    "a memory pinned by nobody",
    `UPDATE memory SET pinned = 1 WHERE text = 'memory 6'`,
    /foo\/6 pinned or forgotten as/,
  ],
  [
    "a memory not pinned any more",
    `UPDATE memory SET pinned = 0 WHERE text = 'memory 3'`,
    /foo\/3 pinned or forgotten as/,
  ],
  [
    "a memory that comes back",
    `UPDATE memory SET forgotten = NULL WHERE ${FOO} AND seq = 9`,
    /foo\/9 pinned or forgotten/,
  ],
  ["a forgotten text put back", `UPDATE memory SET text = 'x' WHERE forgotten IS NOT NULL`, SAYS("foo/9")],
  [
    "a corrected memory that is alive again",
    `UPDATE memory SET superseded_by = NULL WHERE superseded_by IS NOT NULL`,
    /foo\/3.1 superseded by what says so/,
  ],
  [
    "a memory said to be superseded",
    `UPDATE memory SET superseded_by = '3' WHERE text = 'memory 6'`,
    /foo\/6 superseded by/,
  ],
  [
    "a change of memory rewritten",
    `UPDATE curation SET data = replace(data, '"pin"', '"unpin"')`,
    /change 2 of the memory of foo/,
  ],
  ["a change of memory removed", `DELETE FROM curation WHERE no = 2`, /Expected change 2 of the memory of foo/],
  [
    "the last change of memory removed",
    `DELETE FROM curation WHERE no = 3`,
    /Expected 3 changes of the memory of foo, found 2/,
  ],
  ["a shared memory rewritten", `UPDATE memory SET text = 'other' WHERE text = 'for all'`, SAYS("shared/+1")],
  ["a memory trusted more", `UPDATE memory SET trust = 'person' WHERE seq = 9 AND ordinal = 0`, CAME_WITH(7, 9)],
  ["a removed memory", `DELETE FROM memory WHERE seq = 3 AND ordinal = 0`, CAME_WITH(3, 3)],
  ["a memory moved to another event", `UPDATE memory SET seq = 5 WHERE text = 'memory 6'`, CAME_WITH(4, 6)],
  ["two memories exchanged", `UPDATE memory SET ordinal = 1 - ordinal + 10 WHERE seq = 6`, CAME_WITH(4, 6)],
  ["an added memory", ADDED_MEMORY(4), CAME_WITH(4, 6)],
  ["a memory added after the last ones", ADDED_MEMORY(10), CAME_WITH(10, 10)],
  ["a rewritten file version", `UPDATE file_version SET sha = '${sha256("content 3")}' WHERE seq = 6`, CAME_WITH(4, 6)],
  ["a renamed file", `UPDATE file_version SET path = 'x' WHERE seq = 6`, CAME_WITH(4, 6)],
  ["a file said to be of another step", `UPDATE file_version SET step = 7 WHERE seq = 9`, CAME_WITH(7, 9)],
  ["a removed file version", `DELETE FROM file_version WHERE seq = 6`, CAME_WITH(4, 6)],
  ["a file version moved to another event", `UPDATE file_version SET seq = 8 WHERE seq = 6`, CAME_WITH(4, 6)],
  ["a message that waits again", `UPDATE inbox SET consumed_by = NULL WHERE key = 'in'`, CAME_WITH(1, 2)],
  ["a consumed message that is gone", `DELETE FROM inbox WHERE key = 'in'`, CAME_WITH(1, 2)],
  ["a consumed message of another name", `UPDATE inbox SET key = 'other' WHERE key = 'in'`, CAME_WITH(1, 2)],
  [
    "a message that waits again and was consumed by a commit without events",
    `UPDATE inbox SET consumed_by = NULL WHERE key = 'late'`,
    /the inbox row late of foo, consumed after event 8, found none/,
  ],
  ["such a commit that is gone", `DELETE FROM eventless WHERE seq = 8`, /event 9 of foo .*changed/],
  ["the last of such commits gone", `DELETE FROM eventless WHERE seq = 10`, /event 10 of foo with the hash that/],
  [
    "such a commit of another message",
    `UPDATE eventless SET keys = '["last"]' WHERE seq = 8`,
    /messages consumed after event 8 of foo as they were/,
  ],
  ["another name", `UPDATE agent SET name = 'Bob' WHERE id = 'foo'`, /the name of foo to be "Foo", found "Bob"/],
  ["another folder", `UPDATE agent SET folder = 'baz' WHERE id = 'foo'`, /the folder of foo to be "foo", found "baz"/],
  [
    "a folder that leaves the workspace",
    `UPDATE agent SET folder = '../../etc' WHERE id = 'foo'`,
    /"..\/..\/etc" of foo does not lie in workspace/,
  ],
  ["another parent", `UPDATE agent SET parent_no = 2 WHERE id = 'foo'`, /the folder of foo to be "bar\/agents\/foo"/],
  ["an epoch set back", `UPDATE agent SET epoch = 0 WHERE id = 'foo'`, /epoch of foo as they were written/],
  ["an epoch set ahead", `UPDATE agent SET epoch = 9 WHERE id = 'foo'`, /epoch of foo as they were written/],
  [
    "another time of creation",
    `UPDATE agent SET created_at = '2020-01-01T00:00:00.000Z'`,
    /the time of creation of foo/,
  ],
  ["another time of the last change", `UPDATE agent SET updated_at = created_at`, /the time of the last change of foo/],
  ["a memory of no event", `UPDATE memory SET seq = 99 WHERE seq = 6`, /A memory of foo names event 99/],
  ["a file of no event", `UPDATE file_version SET seq = 99 WHERE seq = 6`, /version of the file 6.txt of foo names/],
  ["a message consumed by nothing", `UPDATE inbox SET consumed_by = 99`, /inbox row in of foo names event 99/],
  ["a snapshot of what is to come", `UPDATE snapshot SET seq = 99 WHERE seq = 9`, /A snapshot of foo names event 99/],
  ["a changed snapshot", `UPDATE snapshot SET data = '{"seq":8}' WHERE seq = 9`, /snapshot at 9 of foo does not match/],
  [
    "a snapshot with a hash that fits, of another state",
    forgeSnapshot,
    /snapshot at 9 of foo is not what its log folds to/,
  ],
  [
    "rows of an agent that is gone",
    `DELETE FROM agent WHERE id = 'bar'`,
    /The table event has 2 rows of an agent that does not exist/,
  ],
];
