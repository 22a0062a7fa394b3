/**
 * commit-rows.ts -- the rows that a commit leaves beside its events, in the one form that is written, read back and hashed.
 *
 * The link of a commit's last event covers a digest of its memories, versions of files and consumed messages, so that none
 * of them can be changed, removed or added unnoticed. Vectors are left out: they are made from the text, and come later.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare, type Query } from "./connection.ts";
import { hasKeys, keysAfter, nextKey } from "./keys.ts";
import { DIGESTED } from "./memory-rows.ts";
import { memoryTable } from "./memory-tables.ts";

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

/** In the order of their events: so they lie in the table. */
export const prepareFileInsert = (database: DatabaseSync): Query =>
  prepare(
    database,
    `INSERT INTO file_version (no, agent_no, ${FILE_COLUMNS})
     VALUES (${nextKey("file_version", "?1")}, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
  );

/** Null for a commit without such rows. Those of one event count in the order in which they were written. */
export function digestOf({ memories, files, consumed }: CommitRows): string | null {
  if (memories.length === 0 && files.length === 0 && consumed.length === 0) return null;
  return sha256(JSON.stringify([inOrder(memories), inOrder(files), [...consumed].sort()]));
}

export const inOrder = (rows: readonly RowValues[]): readonly RowValues[] => [...rows].sort((a, b) => a[0] - b[0]);

/** Hands over what belongs to events up to `seq` and was not handed over yet. */
export type TakeRows = (seq: number) => readonly RowValues[];

/** Rows of events after `head` are left out: they were written after the reading began. */
export function readMemories(database: DatabaseSync, agentNo: number, head: number): TakeRows {
  const columns = `${DIGESTED.replace("text_sha", "coalesce(text_sha, text) AS said")}, text_sha IS NULL AS isOld`;
  const select = (place: string): string =>
    `SELECT ${place} AS place, ${columns} FROM ${memoryTable(database)} WHERE ordinal IS NOT NULL AND seq <= ?4`;
  const take = (sql: string): TakeRows => takeUpTo(pages(database, sql, agentNo, head).map(asWritten));
  const byEvent = "agent_no = ?1 AND (seq, ordinal) > (?2, ?3) ORDER BY seq, ordinal";
  if (!hasKeys(database)) return take(`${select("ordinal")} AND ${byEvent}`);
  const placed = take(`${select("change")} AND listed = 0 AND no ${keysAfter("?1", "?3")} ORDER BY no`);
  const listed = take(`${select("ordinal")} AND listed = 1 AND ${byEvent}`);
  return (seq) => [...placed(seq), ...listed(seq)].sort((a, b) => a[0] - b[0] || Number(a[1]) - Number(b[1]));
}

/** A row of version 2 was hashed with its text, and had no more columns. */
function asWritten(values: RowValues): RowValues {
  return values.slice(0, values.at(-1) === 1 ? 9 : -1) as unknown as RowValues;
}

export const readFileVersions = (database: DatabaseSync, agentNo: number, head: number): TakeRows =>
  takeUpTo(pages(database, filesAfter(database, FILE_COLUMNS, "AND seq <= ?4"), agentNo, head));

/** Of the agent `?1`, after what has the columns `seq` = `?2` and `place` = `?3`, oldest first. */
export const filesAfter = (database: DatabaseSync, columns: string, also = ""): string =>
  hasKeys(database)
    ? `SELECT number AS place, ${columns} FROM file_version WHERE no ${keysAfter("?1", "?3")} ${also} ORDER BY no`
    : `SELECT no AS place, ${columns} FROM file_version
       WHERE agent_no = ?1 AND (seq, no) > (?2, ?3) ${also} ORDER BY seq, no`;

const PAGE = 500;

/** `sql`: the rows of the agent `?1` up to the event `?4`, after what has the first columns `place` = `?3` and `seq` = `?2`. */
function* pages(database: DatabaseSync, sql: string, agentNo: number, head: number): Generator<RowValues> {
  const read = prepare<Readonly<Record<string, Value>> & { readonly place: number }>(database, `${sql} LIMIT ${PAGE}`);
  interface Placed {
    readonly seq: number;
    readonly place: number;
    readonly values: RowValues;
  }
  let last: Pick<Placed, "seq" | "place"> | undefined = { seq: -1, place: 0 };
  while (last) {
    const page: Placed[] = read.all(agentNo, last.seq, last.place, head).map((row) => {
      const [place, ...values] = Object.values(row) as [number, number, ...Value[]];
      return { place, seq: values[0], values };
    });
    last = page.at(-1);
    // They lie in this order, unless somebody moved one: the others are then still found with their events.
    for (const { values } of page.sort((a, b) => a.seq - b.seq)) yield values;
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
