/** anchor-check.ts -- compares a store with its anchor, and accepts a loss that a person has decided to accept. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { COMMITS, STORE_ID } from "./anchor.ts";
import { type AnchorContent, type AnchoredAgent, anchorPath, readAnchor } from "./anchor-file.ts";
import { snapshotSha } from "./chain.ts";
import { prepare } from "./connection.ts";
import type { SnapshotRecord } from "./rows.ts";

/** Lost logs that an error names; `verify` names all. */
const MAX_NAMED = 5;

/** Returns sentences about commits that goald had confirmed and the store does not have. `agent` limits them to one agent. */
export function findLosses(database: DatabaseSync, anchor: AnchorContent, agent?: string): readonly string[] {
  const meta = prepare<{ readonly value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const found = meta.get(STORE_ID)?.value ?? "";
  if (anchor.store && anchor.store.id !== found)
    return [`Expected the store ${anchor.store.id}, which this home had; found another one or none.`];
  const ends = prepare<AnchoredAgent>(database, "SELECT no, id, head, head_sha AS headSha FROM agent").all();
  const rows = new Map(ends.map((row) => [row.no, row]));
  const hasLink = openLinks(database);
  const lost = anchor.agents.flatMap((expected) => {
    if (expected.head === 0 || (agent !== undefined && agent !== expected.id)) return [];
    const problem = lossOf(expected, rows.get(expected.no), hasLink);
    return problem === undefined ? [] : [problem];
  });
  const missing = (anchor.store?.commits ?? 0) - Number(meta.get(COMMITS)?.value ?? 0);
  if (missing > 0)
    lost.push(
      `In all, ${countNoun(missing, "confirmed commit")} of this store ${missing === 1 ? "is" : "are"} missing: events, messages, memories or removals.`,
    );
  return lost;
}

type HasLink = (agent: AnchoredAgent) => boolean;

function openLinks(database: DatabaseSync): HasLink {
  const query = prepare<{ readonly seq: number }>(
    database,
    `SELECT seq FROM event WHERE agent_no = ?1 AND seq = ?2 AND sha = ?3
     UNION ALL SELECT seq FROM eventless WHERE agent_no = ?1 AND seq = ?2 AND sha = ?3`,
  );
  return ({ no, head, headSha }) => query.get(no, head, headSha) !== undefined;
}

function lossOf(expected: AnchoredAgent, found: AnchoredAgent | undefined, hasLink: HasLink): string | undefined {
  const { id, head, headSha } = expected;
  if (!found) return `The agent ${id} is missing, with ${countNoun(head, "event")}.`;
  if (found.head < head)
    return found.head === head - 1
      ? `Event ${head} of ${id} is missing.`
      : `Events ${found.head + 1} to ${head} of ${id} are missing.`;
  if ((found.head === head && found.headSha === headSha) || hasLink(expected)) return undefined;
  return `The log of ${id} up to event ${head} is not the one that goald had confirmed.`;
}

/** Looks again before it reports a loss: an agent may have been removed between the reads of the anchor and the store. */
function lossesNow(database: DatabaseSync, path: string, agent?: string): readonly string[] {
  const look = (): readonly string[] => {
    const anchor = readAnchor(path);
    return anchor ? findLosses(database, anchor, agent) : [];
  };
  return look().length > 0 ? look() : [];
}

/** Throws GOALD_STORE_DAMAGED when the store at `path` lost confirmed commits. */
export function requireNothingLost(database: DatabaseSync | undefined, path: string): void {
  const anchor = readAnchor(path);
  if (!anchor) return;
  if (database) throwIfLost(lossesNow(database, path), path);
  else if (anchor.store) throwIfLost([`Expected the store ${anchor.store.id}, which this home had; found none.`], path);
}

function throwIfLost(lost: readonly string[], path: string): void {
  if (lost.length === 0) return;
  const named = lost.slice(0, MAX_NAMED).join(" ");
  const more = lost.length > MAX_NAMED ? ` And ${lost.length - MAX_NAMED} more: goald verify.` : "";
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store ${path} has lost commits that goald had confirmed, so no agent runs. ${named}${more} Restore a backup (see docs/recovery.md), or continue without them: goald verify --accept-loss`,
    { hint: `Copy the folder ${dirname(path)} to another place first.` },
  );
}

/** Returns problems for `verify`, which may run while the store is written to. */
export function checkAnchor(database: DatabaseSync, path: string, agent?: string): readonly string[] {
  const anchor = readAnchor(path);
  if (!anchor) return [];
  const lost = lossesNow(database, path, agent);
  const unreadable = anchor.unreadable.map(
    (no) =>
      `Record ${no} of ${anchorPath(path)} does not match its checksum: a loss of ${no === 0 ? "commits" : `events of agent ${no}`} would not be found.`,
  );
  return [...lost, ...unreadable];
}

/**
 * Returns what was lost, and removes the anchor and damaged snapshots, which the next load computes again. The caller
 * holds the host lock.
 */
export function acceptLoss(database: DatabaseSync, path: string): readonly string[] {
  const problems = [...checkAnchor(database, path)];
  const snapshots = prepare<SnapshotRecord & { no: number; agent: string; link: string | null }>(
    database,
    `SELECT snapshot.agent_no AS no, agent.id AS agent, snapshot.seq, version, snapshot.data, snapshot.sha,
       event.sha AS link FROM snapshot JOIN agent ON agent.no = snapshot.agent_no
     LEFT JOIN event ON event.agent_no = snapshot.agent_no AND event.seq = snapshot.seq`,
  );
  const drop = prepare(database, "DELETE FROM snapshot WHERE agent_no = ? AND seq = ?");
  for (const snapshot of snapshots.all()) {
    if (snapshotSha(snapshot.link ?? "", snapshot) === snapshot.sha) continue;
    problems.push(`The snapshot at ${snapshot.seq} of ${snapshot.agent} does not match its hash.`);
    drop.run(snapshot.no, snapshot.seq);
  }
  rmSync(anchorPath(path), { force: true });
  return problems;
}
