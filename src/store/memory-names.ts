/**
 * memory-names.ts -- finding a row of memory by its name, without an index of all names.
 *
 * Rows that came with events and did not change since lie in the order of their events: one in 64 of them is in the index
 * memory_anchor, and a row is looked for between two of these. Those that changed lie elsewhere and are `listed`, in an index
 * of their own, and so are those of people, by the number that they are called by.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { hasKeys, keyOf, keysOf } from "./keys.ts";
import { memoryTable } from "./memory-tables.ts";

/** A row by its name within the namespace. `columns` of the table memory. */
export function openMemoryByName<Row>(
  database: DatabaseSync,
  columns: string,
): (agentNo: number, name: string) => Row | undefined {
  if (!hasKeys(database)) {
    const byName = prepare<Row>(
      database,
      `SELECT ${columns} FROM ${memoryTable(database)} WHERE agent_no = ? AND name = ?`,
    );
    return (agentNo, name) => byName.get(agentNo, name);
  }
  const ofEvent = prepare<Row>(database, `SELECT ${columns} FROM memory WHERE no IN (${PLACED} UNION ALL ${LISTED})`);
  const ofPerson = prepare<Row>(database, `SELECT ${columns} FROM memory WHERE agent_no = ? AND made = ?`);
  return (agentNo, name) => {
    if (name.startsWith("+")) return ofPerson.get(agentNo, Number(name.slice(1)));
    const [seq, ordinal = 0] = name.split(".").map(Number);
    return ofEvent.get(agentNo, seq ?? 0, ordinal);
  };
}

/** The number of a row's last change, which is its key within the namespace. */
export function openMemoryNames(database: DatabaseSync): (agentNo: number, name: string) => number | undefined {
  const find = openMemoryByName<{ readonly change: number }>(database, "change");
  return (agentNo, name) => find(agentNo, name)?.change;
}

const LISTED = "SELECT no FROM memory WHERE listed = 1 AND agent_no = ?1 AND seq = ?2 AND ordinal = ?3";
const ANCHOR = "SELECT no FROM memory WHERE listed = 0 AND ordinal IS NOT NULL AND no & 63 = 0 AND agent_no = ?1";
const BEFORE = `${ANCHOR} AND (seq, ordinal) <= (?2, ?3) ORDER BY seq DESC, ordinal DESC LIMIT 1`;
const BEHIND = `${ANCHOR} AND (seq, ordinal) > (?2, ?3) ORDER BY seq, ordinal LIMIT 1`;
const PLACED = `SELECT no FROM memory WHERE no ${keysOf("?1")} AND no >= coalesce((${BEFORE}), 0)
  AND no < coalesce((${BEHIND}), ${keyOf("?1 + 1", "0")}) AND listed = 0 AND seq = ?2 AND ordinal = ?3`;
