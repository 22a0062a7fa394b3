/**
 * commit-rows.ts -- the rows that a commit leaves beside its events, in the one form that is written, read back and hashed.
 *
 * The link of a commit's last event covers a digest of its memories, versions of files and consumed messages, so that none
 * of them can be changed, removed or added unnoticed. Vectors are left out: they are made from the text, and come later.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare, type Query } from "./connection.ts";
import { DIGESTED, memoryTable } from "./memory-rows.ts";

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

export const prepareFileInsert = (database: DatabaseSync): Query =>
  prepare(database, `INSERT INTO file_version (agent_no, ${FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);

/** Null for a commit without such rows. Those of one event count in the order in which they were written. */
export function digestOf({ memories, files, consumed }: CommitRows): string | null {
  if (memories.length === 0 && files.length === 0 && consumed.length === 0) return null;
  return sha256(JSON.stringify([inOrder(memories), inOrder(files), [...consumed].sort()]));
}

const inOrder = (rows: readonly RowValues[]): readonly RowValues[] => [...rows].sort((a, b) => a[0] - b[0]);

/** Hands over what belongs to events up to `seq` and was not handed over yet. */
export type TakeRows = (seq: number) => readonly RowValues[];

/** Rows of events after `head` are left out: they were written after the reading began. */
export function readMemories(database: DatabaseSync, agentNo: number, head: number): TakeRows {
  const columns = `${DIGESTED.replace("text_sha", "coalesce(text_sha, text) AS said")}, text_sha IS NULL AS isOld`;
  const table = `(SELECT * FROM ${memoryTable(database)} WHERE ordinal IS NOT NULL)`;
  return takeUpTo(pages(database, table, columns, "ordinal", agentNo, head).map(asWritten));
}

/** A row of version 2 was hashed with its text, and had no more columns. */
function asWritten(values: RowValues): RowValues {
  return values.slice(0, values.at(-1) === 1 ? 9 : -1) as unknown as RowValues;
}

export const readFileVersions = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeUpTo(pages(database, "file_version", FILE_COLUMNS, "no", agentNo, head));

const PAGE = 500;

/** `order`: the column that tells the order of an event's rows. */
function* pages(
  database: DatabaseSync,
  table: string,
  columns: string,
  order: string,
  agentNo: number,
  head: number,
): Generator<RowValues> {
  const read = prepare<Readonly<Record<string, Value>> & { readonly place: number }>(
    database,
    `SELECT ${order} AS place, ${columns} FROM ${table}
     WHERE agent_no = ? AND (seq, ${order}) > (?, ?) AND seq <= ? ORDER BY seq, ${order} LIMIT ${PAGE}`,
  );
  let last: { readonly seq: number; readonly place: number } | undefined = { seq: -1, place: 0 };
  while (last) {
    const page = read.all(agentNo, last.seq, last.place, head);
    last = undefined;
    for (const row of page) {
      const [place, ...values] = Object.values(row) as [number, number, ...Value[]];
      last = { seq: values[0], place };
      yield values;
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
