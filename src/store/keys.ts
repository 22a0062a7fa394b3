/**
 * keys.ts -- the keys of rows that are many and belong to one agent each: the agent's number, then a number within the agent.
 *
 * So the table itself has the rows of an agent together, in the order in which they are asked for. An index that says the same
 * would be another page to write at every commit. JavaScript is given the number within the agent only: a whole key may be past
 * what a number holds exactly. All that is here are pieces of SQL; `agent` is an expression, such as `?1`.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";

const LAST = 2 ** 32 - 1;

export const keyOf = (agent: string, number: string): string => `(${agent} << 32 | ${number})`;
/** What stands behind the name of a key: those of one agent, from a number on. */
export const keysAfter = (agent: string, number: string): string =>
  `BETWEEN ${keyOf(agent, number)} + 1 AND ${keyOf(agent, String(LAST))}`;
export const keysOf = (agent: string): string => keysAfter(agent, "0");
export const nextKey = (table: string, agent: string): string =>
  `(SELECT coalesce(max(no), ${agent} << 32) + 1 FROM ${table} WHERE no ${keysOf(agent)})`;
/** The columns that a table with such keys begins with; `number` is that within the agent. */
export const keyColumns = (number: string): string => `
  no       INTEGER PRIMARY KEY CHECK (no >> 32 = agent_no), -- see keys.ts
  ${number} INTEGER NOT NULL AS (no & ${LAST}),`;

/** False for the tables of a goald before version 4. */
export const hasKeys = (database: DatabaseSync): boolean =>
  prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'small_blob'").get() !== undefined;

/** Which rows of `memory` or `file_version` are the agent's, in whatever tables these are. */
export const isOf = (database: DatabaseSync, agent: string): string =>
  hasKeys(database) ? `no ${keysOf(agent)}` : `agent_no = ${agent}`;
