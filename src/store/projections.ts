/**
 * projections.ts -- saved folds of agents' logs, such as the facts of a report.
 *
 * A hash binds each to the log, as that of a snapshot does. Projections can be rebuilt: one that does not match its hash
 * counts as missing.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { Lease, Projection } from "#core/ports/store.ts";
import { snapshotSha } from "./chain.ts";
import { requireLease } from "./commit.ts";
import { throwNoAgent } from "./failure.ts";
import { parseJson } from "./rows.ts";
import { prepare } from "./sql.ts";

export type ReadProjection = (agentNo: number, name: string, version: number) => Projection | undefined;
export type SaveProjection = (lease: Lease, name: string, version: number, projection: Projection) => void;

export function openProjectionReader(database: DatabaseSync): ReadProjection {
  const find = prepare<ProjectionRecord>(database, `${LINKED_PROJECTIONS} AND name = ? AND version = ?`);
  return (agentNo, name, version) => {
    const row = find.get(agentNo, name, version);
    if (!row || !isSound(row)) return undefined;
    return { seq: row.seq, data: parseJson(row.data, `the projection ${name}`) };
  };
}

interface ProjectionRecord {
  readonly name: string;
  readonly version: number;
  readonly seq: number;
  readonly data: string;
  readonly sha: string;
  /** The link of event `seq`; null when the log does not have it. */
  readonly link: string | null;
}

/** Selects the projections of an agent. */
const LINKED_PROJECTIONS = `SELECT name, version, projection.seq, projection.data, projection.sha, event.sha AS link
  FROM projection LEFT JOIN event ON event.agent_no = projection.agent_no AND event.seq = projection.seq
  WHERE projection.agent_no = ?`;

const isSound = (row: ProjectionRecord): boolean => row.link !== null && snapshotSha(row.link, row) === row.sha;

/** Returns the names of the projections that do not match their hash. */
export const findDamagedProjections = (database: DatabaseSync, agentNo: number): readonly string[] =>
  prepare<ProjectionRecord>(database, LINKED_PROJECTIONS)
    .all(agentNo)
    .filter((row) => row.link !== null && !isSound(row))
    .map(({ name }) => name);

/** The lease and the head keep the fold of a removed agent away from a new agent with its id. */
export function openProjectionWriter(database: DatabaseSync): SaveProjection {
  const find = prepare<{ readonly no: number; readonly epoch: number; readonly head: number; readonly link: string }>(
    database,
    `SELECT agent.no, epoch, head, event.sha AS link FROM agent
     LEFT JOIN event ON event.agent_no = agent.no AND event.seq = ?2 WHERE agent.id = ?1`,
  );
  const save = prepare(
    database,
    "INSERT OR REPLACE INTO projection (agent_no, name, version, seq, data, sha) VALUES (?, ?, ?, ?, ?, ?)",
  );
  return (lease, name, version, projection) => {
    const agent = find.get(lease.agent, projection.seq) ?? throwNoAgent(lease.agent);
    requireCovered(lease, agent, projection);
    const data = JSON.stringify(projection.data);
    save.run(agent.no, name, version, projection.seq, data, snapshotSha(agent.link, { version, data }));
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
