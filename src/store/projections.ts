/**
 * projections.ts -- saved folds of agents' logs, such as the facts of a report. They can be rebuilt: one that does not match
 * its hash counts as missing.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { Lease } from "#core/ports/agent.ts";
import type { Projection } from "#core/ports/store.ts";
import { sha256 } from "./chain.ts";
import { requireLease } from "./commit.ts";
import { prepare } from "./connection.ts";
import { throwNoAgent } from "./failure.ts";
import { parseJson } from "./rows.ts";

export type ReadProjection = (agentNo: number, name: string, version: number) => Projection | undefined;
export type SaveProjection = (lease: Lease, name: string, version: number, projection: Projection) => void;

export function openProjectionReader(database: DatabaseSync): ReadProjection {
  const find = prepare<{ readonly seq: number; readonly data: string; readonly sha: string }>(
    database,
    "SELECT seq, data, sha FROM projection WHERE agent_no = ? AND name = ? AND version = ?",
  );
  return (agentNo, name, version) => {
    const row = find.get(agentNo, name, version);
    if (!row || sha256(row.data) !== row.sha) return undefined;
    return { seq: row.seq, data: parseJson(row.data, `the projection ${name}`) };
  };
}

/** The lease and the head keep the fold of a removed agent away from a new agent with its id. */
export function openProjectionWriter(database: DatabaseSync): SaveProjection {
  const find = prepare<{ readonly no: number; readonly epoch: number; readonly head: number }>(
    database,
    "SELECT no, epoch, head FROM agent WHERE id = ?",
  );
  const save = prepare(
    database,
    "INSERT OR REPLACE INTO projection (agent_no, name, version, seq, data, sha) VALUES (?, ?, ?, ?, ?, ?)",
  );
  return (lease, name, version, projection) => {
    const agent = find.get(lease.agent) ?? throwNoAgent(lease.agent);
    requireCovered(lease, agent, projection);
    const data = JSON.stringify(projection.data);
    save.run(agent.no, name, version, projection.seq, data, sha256(data));
  };
}

/** Throws unless the lease is the newest and the log has the events that the projection covers. */
export function requireCovered(
  lease: Lease,
  agent: { readonly epoch: number; readonly head: number },
  { seq }: Projection,
): void {
  requireLease(lease, agent);
  if (seq <= agent.head) return;
  throw new GoaldError(
    "GOALD_CONFLICT",
    `Expected a projection of at most ${agent.head} events of ${lease.agent}, got one of ${seq}.`,
  );
}
