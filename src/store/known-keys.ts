/** known-keys.ts -- finds the row of a key that prevents another row of this key. */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryRow } from "#core/ports/memory.ts";
import { prepare } from "./connection.ts";
import { openMemoryByName } from "./memory-rows.ts";

interface KeyedRow extends Pick<MemoryRow, "forgotten" | "supersededBy"> {
  readonly change: number;
  readonly name: string;
}

export type FindKnownKey = (agentNo: number, key: string) => Pick<KeyedRow, "name"> | undefined;

export function openKnownKeys(database: DatabaseSync): FindKnownKey {
  const keyed = prepare<KeyedRow>(
    database,
    `SELECT change, name, forgotten, superseded_by AS supersededBy FROM memory
     WHERE agent_no = ? AND key = ? AND change < ? ORDER BY change DESC LIMIT 1`,
  );
  const trusted = openMemoryByName<Pick<MemoryRow, "trust">>(database, "trust");

  /** True for a live row, and for one that a person forgot or corrected. */
  function preventsAdd(agentNo: number, { forgotten, supersededBy }: KeyedRow): boolean {
    if (forgotten === "person" || (forgotten === null && supersededBy === null)) return true;
    return supersededBy !== null && trusted(agentNo, supersededBy)?.trust === "person";
  }

  // Nearly always the newest row is the first that prevents another.
  return (agentNo, key) => {
    let row = keyed.get(agentNo, key, Number.MAX_SAFE_INTEGER);
    while (row && !preventsAdd(agentNo, row)) row = keyed.get(agentNo, key, row.change);
    return row;
  };
}
