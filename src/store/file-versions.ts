/** file-versions.ts -- the queries that read the history of an agent's files. */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import type { FileRecord } from "./rows.ts";

const COLUMNS = "seq, path, operation, bytes, sha AS sha256, step, call_id AS callId, at, outside";
const MAX_LISTS = 32;

/**
 * `page` reads at most `pageRows` versions after an event and an ordinal; `last` reads the newest version of a path; `outside`
 * reads the different sources of all paths from one text up to another.
 */
export function fileQueries(database: DatabaseSync, pageRows: number) {
  return {
    page: prepare<FileRecord & { readonly ordinal: number }>(
      database,
      `SELECT ordinal, ${COLUMNS} FROM file_version
       WHERE agent_no = ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ${pageRows}`,
    ),
    last: prepare<FileRecord>(
      database,
      `SELECT ${COLUMNS} FROM file_version
       WHERE agent_no = (SELECT no FROM agent WHERE id = ?) AND path = ?
       ORDER BY seq DESC, ordinal DESC LIMIT 1`,
    ),
    outside: prepare<{ readonly outside: string }>(
      database,
      `SELECT DISTINCT outside FROM file_version
       WHERE agent_no = ?1 AND outside IS NOT NULL AND path >= ?2 AND path < ?3 AND seq > ?4 LIMIT ${MAX_LISTS}`,
    ),
  };
}
