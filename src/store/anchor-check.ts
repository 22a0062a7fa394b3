/** anchor-check.ts -- compares a store with its anchor, and accepts a loss that a person has decided to accept. */
import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { COMMITS, STORE_ID } from "./anchor.ts";
import { type AnchorContent, type AnchoredAgent, anchorPath, readAnchor } from "./anchor-file.ts";
import { snapshotSha } from "./chain.ts";
import { openForReading, prepare } from "./connection.ts";
import type { SnapshotRecord } from "./rows.ts";
import { isEmpty, openEmptyTables } from "./schema.ts";

/** Lost logs that an error names; `verify` names all. */
const MAX_NAMED = 5;

/** Returns sentences about commits that goald had confirmed and the store does not have. `agent` limits them to one agent. */
export function findLosses(database: DatabaseSync, anchor: AnchorContent, agent?: string): readonly string[] {
  const meta = prepare<{ readonly value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const isOther = anchor.store !== undefined && anchor.store.id !== (meta.get(STORE_ID)?.value ?? "");
  const ends = prepare<AnchoredAgent>(database, "SELECT no, id, head, head_sha AS headSha FROM agent").all();
  const rows = new Map(isOther ? [] : ends.map((row) => [row.no, row]));
  const hasLink = openLinks(database);
  const lost = anchor.agents.flatMap((expected) => {
    if (expected.head === 0 || (agent !== undefined && agent !== expected.id)) return [];
    const problem = lossOf(expected, rows.get(expected.no), hasLink);
    return problem === undefined ? [] : [problem];
  });
  if (isOther) lost.unshift(`Expected the store ${anchor.store.id}, which this home had; found another one or none.`);
  const missing = (anchor.store?.commits ?? 0) - (isOther ? 0 : Number(meta.get(COMMITS)?.value ?? 0));
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
export function requireNothingLost(database: DatabaseSync, path: string): void {
  const lost = lossesNow(database, path);
  if (lost.length === 0) return;
  const more = lost.length > MAX_NAMED ? [`And ${lost.length - MAX_NAMED} more: goald verify.`] : [];
  throw lossError([...lost.slice(0, MAX_NAMED), ...more], path, "continue without them: goald verify --accept-loss");
}

/** Throws GOALD_STORE_DAMAGED for an agent of which the store has nothing left. */
export function requireNotLost(database: DatabaseSync, path: string, agent: string): void {
  const known = readAnchor(path)?.agents.some(({ id, head }) => id === agent && head > 0);
  if (known) requireNothingLost(database, path);
}

type CheckStore = (database: DatabaseSync) => void;

/**
 * Opens a store for reading, and closes it again when `check` throws. Returns undefined for a store that never had tables;
 * throws GOALD_STORE_DAMAGED when it has lost them, as a young store does with its WAL.
 */
export function openTables(path: string, check: CheckStore): DatabaseSync | undefined {
  const found = lookForTables(path, check);
  const anchor = found ? undefined : readAnchor(path);
  if (!anchor) return found;
  // Looks again: another process may have made them meanwhile, before its anchor.
  const made = lookForTables(path, check);
  const lost = made ? [] : findLosses(openEmptyTables(), anchor);
  if (lost.length === 0) return made;
  // `verify` cannot read such a store, so all losses are named here.
  throw lossError(lost, path, `move the folder ${dirname(path)} away and begin without them.`);
}

function lookForTables(path: string, check: CheckStore): DatabaseSync | undefined {
  // SQLite removes the WAL beside an empty file.
  if (!statSync(path, { throwIfNoEntry: false })?.size) return undefined;
  const database = openForReading(path);
  try {
    const hasTables = !isEmpty(database);
    if (hasTables) check(database);
    else database.close();
    return hasTables ? database : undefined;
  } catch (error) {
    database.close();
    throw error;
  }
}

const lossError = (lost: readonly string[], path: string, otherwise: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store ${path} has lost commits that goald had confirmed, so no agent runs. ${lost.join(" ")} Restore a backup (see docs/recovery.md), or ${otherwise}`,
    { hint: `Copy the folder ${dirname(path)} to another place first.` },
  );

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
