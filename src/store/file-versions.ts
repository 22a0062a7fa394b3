/** file-versions.ts -- the queries that read the history of an agent's files. */
import type { DatabaseSync } from "node:sqlite";
import type { FileVersion } from "#core/ports/file-version.ts";
import { prepare } from "./connection.ts";
import type { FileRecord } from "./rows.ts";

const COLUMNS = "path, operation, bytes, sha AS sha256, step, call_id AS callId, at";

/** `page` reads at most `pageRows` versions after an event and an ordinal; `last` reads the newest version of a path. */
export function fileQueries(database: DatabaseSync, pageRows: number) {
  return {
    page: prepare<FileRecord>(
      database,
      `SELECT seq, ordinal, ${COLUMNS} FROM file_version
       WHERE agent_no = ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ${pageRows}`,
    ),
    last: prepare<FileVersion>(
      database,
      `SELECT ${COLUMNS} FROM file_version
       WHERE agent_no = (SELECT no FROM agent WHERE id = ?) AND path = ?
       ORDER BY seq DESC, ordinal DESC LIMIT 1`,
    ),
  };
}
