/**
 * tail.ts -- the newest events of an agent, as long as they are few and short: in the agent's own row, which each commit writes anyway.
 *
 * The commit that they become too long with takes them along to the table of events; others cost no page of that table and of
 * its index. They are as durable there, and links of the same chain. Whoever reads events reads both places in one
 * statement, because an event may go from the one to the other meanwhile.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { parseJson } from "./rows.ts";

/** An event as the table has it. */
export type EventValues = readonly [seq: number, data: string, rowsSha: string | null, sha: string];

/**
 * How long the tail of an agent's row may be. While one agent writes, the row may fill its page; of many agents that write
 * together, several rows are to share one.
 */
export const MAX_TAIL_BYTES = { ofOne: 3500, ofMany: 1_200 } as const;

/** What the agent's row keeps of these; undefined when they go to the table. */
export function tailOf(events: readonly EventValues[], maxBytes: number): string | undefined {
  const tail = JSON.stringify(events);
  return tail.length <= maxBytes && Buffer.byteLength(tail) <= maxBytes ? tail : undefined;
}

export const eventsOfTail = (tail: string | null): readonly EventValues[] =>
  tail === null ? [] : (parseJson(tail, "the newest events of an agent") as readonly EventValues[]);

/** A tail that is no JSON holds no events: they are missed as removed ones are. */
const TAIL = `SELECT agent.no AS agent_no, each.value ->> 0 AS seq, each.value ->> 1 AS data, each.value ->> 2 AS rows_sha,
  each.value ->> 3 AS sha FROM agent, json_each(CASE WHEN json_valid(agent.tail) THEN agent.tail ELSE '[]' END) AS each`;

/** A statement that reads events wherever they are; `where` and `columns` are as of the table. */
export function selectEvents(database: DatabaseSync, columns: string, where: string): string {
  const ofTable = `SELECT ${columns} FROM event WHERE ${where}`;
  return hasTails(database) ? `${ofTable} UNION ALL SELECT ${columns} FROM (${TAIL}) WHERE ${where}` : ofTable;
}

/** False for the tables of a goald before version 4. */
const hasTails = (database: DatabaseSync): boolean =>
  prepare(database, "SELECT 1 FROM pragma_table_info('agent') WHERE name = 'tail'").get() !== undefined;
