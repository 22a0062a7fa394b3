/**
 * commit-rows.ts -- the rows that a commit leaves beside its events, in the one form that is written, read back and hashed.
 *
 * The link of a commit's last event covers a digest of its memories, versions of files and consumed messages, so that none
 * of them can be changed, removed or added unnoticed. Vectors are left out: they are made from the text, and come later.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { DIGESTED } from "./memory-rows.ts";

type Value = string | number | null;
/** The values of one row, the number of its event first. */
export type RowValues = readonly [seq: number, ...rest: Value[]];

export interface CommitRows {
  readonly memories: readonly RowValues[];
  readonly files: readonly RowValues[];
  /** Keys of messages. */
  readonly consumed: readonly string[];
}

const FILE_COLUMNS = "seq, path, operation, bytes, sha, step, call_id, at";

/** Inserts the versions of files of one commit. Those of one event are numbered from 0. */
export type InsertFileVersions = (agentNo: number, files: readonly RowValues[]) => void;

export function openFileInsert(database: DatabaseSync): InsertFileVersions {
  const insert = prepare(
    database,
    `INSERT INTO file_version (agent_no, ordinal, ${FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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

/** Null for a commit without such rows. Those of one event count in the order in which they were written. */
export function digestOf({ memories, files, consumed }: CommitRows): string | null {
  if (memories.length === 0 && files.length === 0 && consumed.length === 0) return null;
  return sha256(JSON.stringify([inOrder(memories), inOrder(files), [...consumed].sort()]));
}

export const inOrder = (rows: readonly RowValues[]): readonly RowValues[] => [...rows].sort((a, b) => a[0] - b[0]);

/** Hands over what belongs to events up to `seq` and was not handed over yet. */
export type TakeRows = (seq: number) => readonly RowValues[];

/** Rows of events after `head` are left out: they were written after the reading began. */
export const readMemories = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeUpTo(
    pages(database, `SELECT ordinal AS place, ${DIGESTED} FROM memory WHERE ordinal IS NOT NULL AND`, agentNo, head),
  );

/** Rows of events after `head` are left out, as above. */
export const readFileVersions = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeUpTo(pages(database, `SELECT ordinal AS place, ${FILE_COLUMNS} FROM file_version WHERE`, agentNo, head));

const PAGE = 500;

/** `select`: a query whose first columns are the ordinal (under another name) and `seq`, up to the condition on the agent and the event. */
function* pages(database: DatabaseSync, select: string, agentNo: number, head: number): Generator<RowValues> {
  const read = prepare<Readonly<Record<string, Value>>>(
    database,
    `${select} agent_no = ?1 AND (seq, ordinal) > (?2, ?3) AND seq <= ?4 ORDER BY seq, ordinal LIMIT ${PAGE}`,
  );
  let [lastSeq, lastOrdinal] = [-1, 0];
  for (;;) {
    const page = read.all(agentNo, lastSeq, lastOrdinal, head);
    if (page.length === 0) return;
    for (const row of page) {
      const [ordinal, seq, ...values] = Object.values(row) as [number, number, ...Value[]];
      [lastSeq, lastOrdinal] = [seq, ordinal];
      yield [seq, ...values];
    }
  }
}

function takeUpTo(rows: Iterator<RowValues>): TakeRows {
  let next = rows.next();
  return (seq) => {
    const taken: RowValues[] = [];
    for (; !next.done && next.value[0] <= seq; next = rows.next()) taken.push(next.value);
    return taken;
  };
}
