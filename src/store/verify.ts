/**
 * verify.ts -- checks that the store still has the content that goald wrote.
 *
 * It checks every agent (verify-agent.ts), hashes every blob that is referred to, and has SQLite check its pages. It reads
 * in pages up to heads that were read first and pauses in between, so it can check a store that is being written to.
 *
 * It cannot detect a store that somebody replaced as a whole, with every hash computed again.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { isGoaldError, toError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { VerifyReport } from "#core/ports/store.ts";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { findDamagedProjections } from "./projections.ts";
import type { AgentRecord } from "./rows.ts";
import { SHARED_NO } from "./tables.ts";
import { checkAgent, type VerifyFindings } from "./verify-agent.ts";
import { checkMemories } from "./verify-memories.ts";

/** Problems of a heavily damaged store that a person needs to see. */
const MAX_PROBLEMS = 100;

/** `whole`: the agents are all agents of the store, so blobs that no agent refers to are checked too. */
export async function verifyStore(
  database: DatabaseSync,
  agents: readonly AgentRecord[],
  whole: boolean,
): Promise<VerifyReport> {
  const findings: VerifyFindings = { problems: [], references: new Map() };
  const { problems } = findings;
  let events = 0;
  const checks: (readonly [what: string, check: () => void | Promise<void>])[] = [
    ["The database file", () => checkFile(database, problems)],
    ...agents.map((agent): readonly [string, () => Promise<void>] => [
      `The log of ${agent.id}`,
      async () => {
        events += await checkAgent(database, agent.no, findings);
        checkReferences(database, agent, findings);
      },
    ]),
    ...(whole
      ? [["The shared memory", () => checkMemories(database, SHARED_NO, SHARED_MEMORY, problems)] as const]
      : []),
    ["The blobs", () => checkBlobs(database, whole, findings)],
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
  for (const { table, rows: lost } of prepare<{ table: string; rows: number }>(database, LOST_ROWS).all())
    problems.push(`The table ${table} has ${lost === 1 ? "1 row" : `${lost} rows`} of an agent that does not exist.`);
}

/** The shared memory belongs to no agent, so `memory.agent_no` has no foreign key that SQLite could check. */
const LOST_ROWS = `SELECT "table", count(*) AS rows FROM (
    SELECT "table" FROM pragma_foreign_key_check
    UNION ALL SELECT 'memory' FROM memory WHERE agent_no <> ${SHARED_NO} AND agent_no NOT IN (SELECT no FROM agent)
  ) GROUP BY "table"`;

interface StrayRow {
  readonly seq: number;
  readonly what: string;
}
/** Selects rows of the agent `?1` that name an event which is not in its log. */
const STRAY_ROWS = `SELECT seq, what FROM (
    SELECT agent_no, seq, 'A memory' AS what FROM memory WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'A version of the file ' || path FROM file_version WHERE agent_no = ?1
    UNION ALL SELECT agent_no, consumed_by, 'The inbox row ' || key FROM inbox
      WHERE agent_no = ?1 AND consumed_by IS NOT NULL
    UNION ALL SELECT agent_no, seq, 'A snapshot' FROM snapshot WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'The projection ' || name FROM projection WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'An event' FROM event
      WHERE agent_no = ?1 AND seq > (SELECT head FROM agent WHERE no = ?1)
  ) AS row
  WHERE row.what = 'An event' OR NOT EXISTS (SELECT 1 FROM event WHERE agent_no = row.agent_no AND seq = row.seq)
  LIMIT ${MAX_PROBLEMS}`;

function checkReferences(database: DatabaseSync, agent: AgentRecord, { references, problems }: VerifyFindings): void {
  for (const { seq, what } of prepare<StrayRow>(database, STRAY_ROWS).all(agent.no))
    problems.push(`${what} of ${agent.id} names event ${seq}, which is not in its log.`);
  for (const name of findDamagedProjections(database, agent.no))
    problems.push(`The projection ${name} of ${agent.id} does not match its hash.`);
  const files = prepare<{ sha: string; path: string }>(
    database,
    "SELECT DISTINCT sha, path FROM file_version WHERE agent_no = ? AND sha IS NOT NULL",
  );
  for (const { sha, path } of files.all(agent.no))
    if (!references.has(sha)) references.set(sha, `the history of ${path} of ${agent.id}`);
}

/** Reads one blob at a time, because a blob can be as large as a file. */
async function checkBlobs(
  database: DatabaseSync,
  whole: boolean,
  { references, problems }: VerifyFindings,
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
