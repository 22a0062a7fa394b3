/** open-memories.ts -- what commands see of the agent's own memory. */
import { hash } from "node:crypto";
import { GoaldError } from "#core/errors.ts";
import {
  identifyFact,
  isLive,
  type MemoryBook,
  namespaceOf,
  readMemoryId,
  refuseMemoryChange,
  sourcesOfRecall,
} from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { StagedWrite, Store } from "#core/ports/store.ts";
import { outsideOf } from "#core/provenance.ts";

export type OwnMemories = Pick<Store, "memory" | "newestFact">;

/** `trustedSeq`: the event up to which a person trusts the agent's own words. */
export function openMemories(agent: string, trustedSeq: number, store: OwnMemories): MemoryBook {
  const asReceived = (row: MemoryRow): MemoryRow => {
    const { outside: _outside, ...rest } = row;
    return { ...rest, ...outsideOf(sourcesOfRecall(row, agent, trustedSeq)) };
  };
  return {
    async findFact(fact) {
      const identity = identifyFact(fact);
      if (identity === "")
        throw new GoaldError("GOALD_MEMORY", "Expected a subject and an attribute with letters or digits.");
      const key = hash("sha256", identity, "hex");
      const row = await store.newestFact(agent, key, "agent");
      if (!row) return { key };
      if (isLive(row)) return { key, holds: asReceived(row) };
      const by = row.supersededBy === null ? undefined : await findRow(row.supersededBy, agent, store);
      return by?.trust === "person" && by.forgotten === null
        ? { key, corrected: { row: asReceived(row), by } }
        : { key };
    },
    async findOwn(written) {
      const id = readMemoryId(written, agent);
      const row = await findRow(id, agent, store);
      const problem = refuseMemoryChange(id, row, agent);
      if (!row || problem !== undefined) throw new GoaldError("GOALD_MEMORY", problem ?? "");
      return asReceived(row);
    },
  };
}

/** Returns why a staged memory may not replace a row, for commands that do not ask `findOwn`; undefined when all may. */
export async function refuseMemories(
  staged: readonly StagedWrite[],
  agent: string,
  store: OwnMemories,
): Promise<string | undefined> {
  for (const write of staged) {
    if (write.kind !== "memory" || write.supersedes === undefined) continue;
    const problem = refuseMemoryChange(write.supersedes, await findRow(write.supersedes, agent, store), agent);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const findRow = async (id: string, agent: string, store: OwnMemories): Promise<MemoryRow | undefined> =>
  namespaceOf(id) === agent ? store.memory(agent, id) : undefined;
