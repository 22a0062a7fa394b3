/**
 * remove.ts -- removes an agent with all its rows, and the blobs that no other agent refers to.
 *
 * Runs inside a transaction. The agent's number is never used again, so a reader never continues in another agent's rows.
 * New agents start above its epoch, so a lease of the removed agent is never valid for a new one.
 */
import type { DatabaseSync } from "node:sqlite";
import { hasChildrenError } from "#core/subagent.ts";
import { throwNoAgent } from "./failure.ts";
import { type NoteHead, prepare } from "./sql.ts";

/** Tables whose rows belong to one agent each. */
const OWNED = ["event", "eventless", "inbox", "snapshot", "memory", "file_version", "curation", "timer", "reference"];

/** Deletes the blobs of the agent `?1` that no other agent names. */
const FORGET_BLOBS = `DELETE FROM blob WHERE sha IN
    (SELECT sha FROM reference WHERE agent_no = ?1 UNION SELECT sha FROM file_version WHERE agent_no = ?1)
  AND NOT EXISTS (SELECT 1 FROM reference AS other WHERE other.sha = blob.sha AND other.agent_no <> ?1)
  AND NOT EXISTS (SELECT 1 FROM file_version AS other WHERE other.sha = blob.sha AND other.agent_no <> ?1)`;

export function openRemove(database: DatabaseSync, note: NoteHead): (id: string) => void {
  const find = prepare<{ no: number; epoch: number }>(database, "SELECT no, epoch FROM agent WHERE id = ?");
  const children = prepare<{ id: string }>(database, "SELECT id FROM agent WHERE parent_no = ? ORDER BY no");
  // Delete blobs first: the rows that name them are deleted below.
  const deletes = [
    FORGET_BLOBS,
    ...OWNED.map((table) => `DELETE FROM ${table} WHERE agent_no = ?1`),
    "DELETE FROM agent WHERE no = ?1",
  ].map((sql) => prepare(database, sql));
  const remember = prepare(
    database,
    `INSERT INTO meta (key, value) VALUES (?1, CAST(?2 AS INTEGER))
     ON CONFLICT (key) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(?2 AS INTEGER))`,
  );

  return (id) => {
    const { no, epoch } = find.get(id) ?? throwNoAgent(id);
    const ids = children.all(no).map((child) => child.id);
    if (ids.length > 0) throw hasChildrenError(id, ids);
    for (const rows of deletes) rows.run(no);
    remember.run(REMOVED_NO, no);
    remember.run(REMOVED_EPOCH, epoch);
    note({ no, id, head: 0, headSha: "" });
  };
}

/** Keys in `meta` of the highest number and the highest epoch of all removed agents. */
const REMOVED_NO = "removed_no";
const REMOVED_EPOCH = "removed_epoch";

/** Selects the number and the first epoch of the next agent. */
export const NEXT_AGENT = `SELECT
    1 + max(coalesce((SELECT max(no) FROM agent), 0), coalesce((SELECT value FROM meta WHERE key = '${REMOVED_NO}'), 0) + 0) AS no,
    coalesce((SELECT value FROM meta WHERE key = '${REMOVED_EPOCH}'), 0) + 0 AS epoch`;
