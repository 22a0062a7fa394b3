/**
 * verify-facts.ts -- what the check of one agent compares its log with.
 *
 * What a commit may change without an event is read in one transaction, so that a store that is being written to
 * is seen as it was at one moment; the rest comes in pages, bounded by the head that was read with it.
 */
import type { DatabaseSync } from "node:sqlite";
import { type CommitRows, readFileVersions, readMemories, type TakeRows } from "./commit-rows.ts";
import { prepare } from "./connection.ts";
import { AGENT_COLUMNS, type AgentRecord, type SnapshotRecord } from "./rows.ts";

interface Consumed {
  readonly seq: number;
  readonly key: string;
}
interface Eventless {
  readonly seq: number;
  readonly keys: string;
  readonly sha: string;
}
export interface Facts {
  readonly agent: AgentRecord;
  readonly parentFolder: string | null;
  /** Messages that were consumed by commits with events, by the last of these. */
  readonly consumed: readonly Consumed[];
  readonly eventless: readonly Eventless[];
  readonly snapshots: readonly (SnapshotRecord & { readonly version: number })[];
  /** Blobs that the table `reference` lists for the agent. */
  readonly noted: ReadonlySet<string>;
}

/** Fewer than an agent has events: snapshots are few, messages as many as people sent. */
export function readFacts(database: DatabaseSync, agentNo: number, problems: string[]): Facts {
  const all = <Row>(sql: string): Row[] => prepare<Row>(database, sql).all(agentNo);
  database.exec("BEGIN");
  try {
    const [agent] = all<AgentRecord>(`SELECT ${AGENT_COLUMNS} WHERE agent.no = ?`);
    if (!agent) throw new Error(`there is no agent ${agentNo}`);
    const [parent] = all<{ folder: string }>(
      "SELECT folder FROM agent WHERE no = (SELECT parent_no FROM agent WHERE no = ?)",
    );
    const eventless = all<Eventless>("SELECT seq, keys, sha FROM eventless WHERE agent_no = ? ORDER BY no");
    const rows = all<Consumed>(
      `SELECT consumed_by AS seq, key FROM inbox WHERE agent_no = ? AND consumed_by IS NOT NULL ORDER BY consumed_by`,
    );
    const snapshots = all<Facts["snapshots"][number]>(
      "SELECT seq, version, data, sha FROM snapshot WHERE agent_no = ? ORDER BY seq",
    );
    const consumed = withoutEventless(rows, eventless, agent.id, problems);
    const references = all<{ sha: string }>("SELECT sha FROM reference WHERE agent_no = ?");
    const noted = new Set(references.map(({ sha }) => sha));
    return { agent, parentFolder: parent?.folder ?? null, consumed, eventless, snapshots, noted };
  } finally {
    database.exec("COMMIT");
  }
}

function withoutEventless(
  rows: readonly Consumed[],
  eventless: readonly Eventless[],
  agent: string,
  problems: string[],
): readonly Consumed[] {
  const named = new Map<string, number>();
  for (const { seq, keys } of eventless) for (const key of keysOf(keys)) named.set(key, seq);
  const others = rows.filter(({ seq, key }) => named.get(key) !== seq || !named.delete(key));
  for (const [key, seq] of named)
    problems.push(`Expected the inbox row ${key} of ${agent}, consumed after event ${seq}, found none.`);
  return others;
}

function keysOf(text: string): readonly string[] {
  try {
    return JSON.parse(text) as readonly string[];
  } catch {
    return [];
  }
}

export type RowsOf = (seq: number) => CommitRows;

/** Hands over the rows that came with a commit, by the number of its last event. */
export function rowsOf(database: DatabaseSync, { agent, consumed }: Facts): RowsOf {
  const memories: TakeRows = readMemories(database, agent.no, agent.head);
  const files: TakeRows = readFileVersions(database, agent.no, agent.head);
  let next = 0;
  return (seq) => {
    const from = next;
    while ((consumed[next]?.seq ?? Number.POSITIVE_INFINITY) <= seq) next++;
    return { memories: memories(seq), files: files(seq), consumed: consumed.slice(from, next).map(({ key }) => key) };
  };
}
