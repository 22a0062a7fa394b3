/**
 * facts.ts -- which facts of a namespace hold: of the rows with one key and trust each is closed by the next.
 *
 * The mark of a closed row follows from the rows, so that a fork can set it anew. Rows made from
 * events come in the order of their events; one that a person added comes after the events before it.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { MEMORY_COLUMNS, type MemoryRecord } from "./rows.ts";

/** The facts of the agent `?1` with the row that closes each, null for one that holds. */
const CLOSINGS = `SELECT no, lead(name) OVER fact AS closed_by, lead(step) OVER fact AS closed_step
  FROM memory WHERE agent_no = ?1 AND fact_key IS NOT NULL
  WINDOW fact AS (PARTITION BY fact_key, trust ORDER BY seq, ordinal IS NULL, coalesce(ordinal, made))`;

/** Marks all closed facts of an agent whose rows were copied. */
export function openFactMarks(database: DatabaseSync): (agentNo: number) => void {
  const mark = prepare(
    database,
    `UPDATE memory SET (closed_by, closed_step) = (closing.closed_by, closing.closed_step)
     FROM (${CLOSINGS}) AS closing WHERE memory.no = closing.no`,
  );
  return (agentNo) => void mark.run(agentNo);
}

/** Finds the newest row with a key and a trust. */
export function openNewestFact(
  database: DatabaseSync,
): (agentNo: number, factKey: string, trust: string) => MemoryRecord | undefined {
  const find = prepare<MemoryRecord>(
    database,
    `SELECT ${MEMORY_COLUMNS} FROM memory WHERE agent_no = ? AND fact_key = ? AND trust = ? AND closed_by IS NULL`,
  );
  return (...given) => find.get(...given);
}
