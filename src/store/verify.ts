/**
 * verify.ts -- whether the store still says what was written to it.
 *
 * Recomputes every hash chain, finds gaps, follows every reference to a blob and hashes its bytes, and
 * has SQLite check its own pages. It goes by pages and lets others run in between, bounded by
 * the heads that it read first, so that it can check a store that is being written to.
 */

import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { isGoaldError, toError } from "#core/errors.ts";
import type { VerifyReport } from "#core/ports.ts";
import { isBlobRef } from "#core/text.ts";
import { chainLink, chainStart, sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import type { AgentRecord, EventRecord, SnapshotRecord } from "./rows.ts";

const PAGE = 500;
/** Of a store that is broken all over, a person needs no longer list. */
const MAX_PROBLEMS = 100;

/** `whole`: these are all agents, so blobs that nobody refers to are checked as well. */
export async function verifyStore(
  database: DatabaseSync,
  agents: readonly AgentRecord[],
  whole: boolean,
): Promise<VerifyReport> {
  const problems: string[] = [];
  /** Which blobs are referred to, and the first place that does. */
  const references = new Map<string, string>();
  let events = 0;
  const checks: [what: string, check: () => void | Promise<void>][] = [
    ["The database file", () => checkFile(database, problems)],
    ...agents.map((agent): [string, () => Promise<void>] => [
      `The log of ${agent.id}`,
      async () => {
        events += await checkLog(database, agent, references, problems);
        checkRows(database, agent, references, problems);
      },
    ]),
    ["The blobs", () => checkBlobs(database, whole, references, problems)],
  ];
  for (const [what, check] of checks) {
    try {
      await check();
    } catch (thrown) {
      if (isGoaldError(thrown) || toError(thrown).message.includes("not open")) throw thrown;
      problems.push(`${what} cannot be read to the end: ${toError(thrown).message}.`);
    }
  }
  const left = problems.length - MAX_PROBLEMS;
  if (left > 0) problems.splice(MAX_PROBLEMS, left, `And ${left} more.`);
  return { agents: agents.length, events, problems };
}

function checkFile(database: DatabaseSync, problems: string[]): void {
  const rows = prepare<{ integrity_check: string }>(database, "PRAGMA integrity_check(20)").all();
  for (const { integrity_check: found } of rows) if (found !== "ok") problems.push(`The database file: ${found}.`);
  const lost = prepare<{ table: string; rowid: number }>(database, "PRAGMA foreign_key_check").all();
  for (const { table, rowid } of lost.slice(0, MAX_PROBLEMS))
    problems.push(`Row ${rowid} of the table ${table} names an agent that is not there.`);
}

/** Every event there, numbered without gaps, chained to the one before. Returns how many there are. */
async function checkLog(
  database: DatabaseSync,
  agent: AgentRecord,
  references: Map<string, string>,
  problems: string[],
): Promise<number> {
  const read = prepare<EventRecord>(
    database,
    "SELECT seq, data, sha FROM event WHERE agent_no = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
  );
  let events = 0;
  let seq = 0;
  let sha = chainStart(agent.id);
  for (let page = read.all(agent.no, 0, agent.head, PAGE); page.length > 0; ) {
    for (const record of page) {
      const place = `event ${record.seq} of ${agent.id}`;
      if (record.seq !== seq + 1) problems.push(`Expected event ${seq + 1} of ${agent.id}, found ${record.seq}.`);
      // After a gap the chain cannot be followed; it is taken up again from what the next event claims.
      else if (chainLink(sha, record.data) !== record.sha)
        problems.push(`Expected ${place} as it was written, found it changed: its hash does not follow from the log.`);
      checkEvent(record, place, references, problems);
      events++;
      ({ seq, sha } = record);
    }
    await setImmediate();
    page = read.all(agent.no, seq, agent.head, PAGE);
  }
  if (seq !== agent.head) problems.push(`Expected the log of ${agent.id} to end at ${agent.head}, found ${seq}.`);
  else if (sha !== agent.headSha)
    problems.push(`Expected event ${seq} of ${agent.id} with the hash that the agent remembers, found another.`);
  return events;
}

function checkEvent(record: EventRecord, place: string, references: Map<string, string>, problems: string[]): void {
  let event: unknown;
  try {
    event = JSON.parse(record.data);
  } catch {
    problems.push(`Expected ${place} to be JSON, found ${JSON.stringify(record.data.slice(0, 40))}.`);
    return;
  }
  const claimed = (event as { readonly seq?: unknown } | null)?.seq;
  if (claimed !== record.seq) problems.push(`Expected ${place} to carry its number, found ${JSON.stringify(claimed)}.`);
  collectBlobs(event, place, references);
}

function collectBlobs(value: unknown, place: string, references: Map<string, string>): void {
  if (typeof value !== "object" || value === null) return;
  if (isBlobRef(value)) {
    if (!references.has(value.blob)) references.set(value.blob, place);
    return;
  }
  for (const member of Object.values(value)) collectBlobs(member, place, references);
}

interface Reference {
  readonly seq: number;
  readonly what: string;
}
/** Rows that name an event which is not in the log. */
const STRAYS = `SELECT seq, what FROM (
    SELECT agent_no, seq, 'A memory' AS what FROM memory WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'A version of the file ' || path FROM file_version WHERE agent_no = ?1
    UNION ALL SELECT agent_no, consumed_by, 'The inbox row ' || key FROM inbox
      WHERE agent_no = ?1 AND consumed_by IS NOT NULL
    UNION ALL SELECT agent_no, seq, 'A snapshot' FROM snapshot WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'An event' FROM event
      WHERE agent_no = ?1 AND seq > (SELECT head FROM agent WHERE no = ?1)
  ) AS row
  WHERE row.what = 'An event' OR NOT EXISTS (SELECT 1 FROM event WHERE agent_no = row.agent_no AND seq = row.seq)
  LIMIT ${MAX_PROBLEMS}`;

function checkRows(
  database: DatabaseSync,
  agent: AgentRecord,
  references: Map<string, string>,
  problems: string[],
): void {
  for (const { seq, what } of prepare<Reference>(database, STRAYS).all(agent.no))
    problems.push(`${what} of ${agent.id} names event ${seq}, which is not in its log.`);
  const snapshots = prepare<SnapshotRecord>(database, "SELECT seq, data, sha FROM snapshot WHERE agent_no = ?");
  for (const { seq, data, sha } of snapshots.all(agent.no))
    if (sha256(data) !== sha) problems.push(`The snapshot at ${seq} of ${agent.id} does not match its hash.`);
  const files = prepare<{ sha: string; path: string }>(
    database,
    "SELECT DISTINCT sha, path FROM file_version WHERE agent_no = ? AND sha IS NOT NULL",
  );
  for (const { sha, path } of files.all(agent.no))
    if (!references.has(sha)) references.set(sha, `the history of ${path} of ${agent.id}`);
}

/** One at a time: a blob may be as large as a file. */
async function checkBlobs(
  database: DatabaseSync,
  whole: boolean,
  references: Map<string, string>,
  problems: string[],
): Promise<void> {
  const read = prepare<{ bytes: Uint8Array }>(database, "SELECT bytes FROM blob WHERE sha = ?");
  if (whole)
    for (const { sha } of prepare<{ sha: string }>(database, "SELECT sha FROM blob").all())
      if (!references.has(sha)) references.set(sha, "nothing");
  for (const [sha, place] of references) {
    const bytes = read.get(sha)?.bytes;
    if (bytes === undefined) problems.push(`Expected the blob ${sha} (${place}), found none.`);
    else if (sha256(bytes) !== sha) problems.push(`The blob ${sha} (${place}) does not match its hash.`);
    await setImmediate();
  }
}
