/**
 * commit-rows.ts -- the rows that a commit writes beside its events, as they are written, read and hashed.
 *
 * The link of a commit's last event covers a digest of its memories, versions of files and consumed messages, so verify
 * finds every change to them. The digest leaves out vectors, which are computed from the text later.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { DIGESTED, type RowValue, type RowValues } from "./memory-rows.ts";

export interface CommitRows {
  readonly memories: readonly RowValues[];
  readonly files: readonly RowValues[];
  /** Keys of consumed messages. */
  readonly consumed: readonly string[];
}

export const FILE_COLUMNS = "seq, path, operation, bytes, sha, step, call_id, at, outside";

/** Inserts the versions of files of one commit. Those of one event are numbered from 0. */
export type InsertFileVersions = (agentNo: number, files: readonly RowValues[]) => void;

export function openFileInsert(database: DatabaseSync): InsertFileVersions {
  const insert = prepare(
    database,
    `INSERT INTO file_version (agent_no, ordinal, ${FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (agentNo, files) => {
    const counts = new Map<number, number>();
    for (const values of files) {
      const ordinal = counts.get(values[0]) ?? 0;
      counts.set(values[0], ordinal + 1);
      insert.run(agentNo, ordinal, ...values);
    }
  };
}

/** Returns null for a commit without such rows. Rows of one event keep the order in which they were written. */
export function digestOf({ memories, files, consumed }: CommitRows): string | null {
  if (memories.length === 0 && files.length === 0 && consumed.length === 0) return null;
  return sha256(JSON.stringify([sortBySeq(memories), sortBySeq(files), [...consumed].sort()]));
}

export const sortBySeq = (rows: readonly RowValues[]): readonly RowValues[] => [...rows].sort((a, b) => a[0] - b[0]);

/** Returns the rows of events up to `seq` that no earlier call returned. */
export type TakeRows = (seq: number) => readonly RowValues[];

/** Leaves out rows of events after `head`, which were committed after the check began. */
export const readMemories = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeRowsUpTo(
    readPages(
      database,
      `SELECT ordinal AS place, ${DIGESTED} FROM memory WHERE ordinal IS NOT NULL AND`,
      agentNo,
      head,
    ),
  );

/** Leaves out rows of events after `head`, as `readMemories` does. */
export const readFileVersions = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeRowsUpTo(readPages(database, `SELECT ordinal AS place, ${FILE_COLUMNS} FROM file_version WHERE`, agentNo, head));

const PAGE = 500;

/** `select`: a query without its conditions on agent and event. Its first columns are `place` (the ordinal) and `seq`. */
function* readPages(database: DatabaseSync, select: string, agentNo: number, head: number): Generator<RowValues> {
  const read = prepare<Readonly<Record<string, RowValue>>>(
    database,
    `${select} agent_no = ?1 AND (seq, ordinal) > (?2, ?3) AND seq <= ?4 ORDER BY seq, ordinal LIMIT ${PAGE}`,
  );
  let [lastSeq, lastOrdinal] = [-1, 0];
  for (;;) {
    const page = read.all(agentNo, lastSeq, lastOrdinal, head);
    if (page.length === 0) return;
    for (const row of page) {
      const [ordinal, seq, ...values] = Object.values(row) as [number, number, ...RowValue[]];
      [lastSeq, lastOrdinal] = [seq, ordinal];
      yield [seq, ...values];
    }
  }
}

function takeRowsUpTo(rows: Iterator<RowValues>): TakeRows {
  let next = rows.next();
  return (seq) => {
    const taken: RowValues[] = [];
    for (; !next.done && next.value[0] <= seq; next = rows.next()) taken.push(next.value);
    return taken;
  };
}
