/**
 * verify-facts.ts -- reads the rows that the check of one agent compares with its log.
 *
 * Rows that a commit can change without an event are read in one transaction, so that they belong to one moment of a store
 * that is being written to. Other rows are read in pages up to the head of that moment.
 */
import type { DatabaseSync } from "node:sqlite";
import { type CommitRows, readFileVersions, readMemories, type TakeRows } from "./commit-rows.ts";
import { prepare } from "./connection.ts";
import { AGENT_COLUMNS, type AgentRecord, type SnapshotRecord } from "./rows.ts";

interface ConsumedMessage {
  readonly seq: number;
  readonly key: string;
}
interface EventlessCommit {
  readonly seq: number;
  readonly keys: string;
  readonly sha: string;
}
export interface AgentFacts {
  readonly agent: AgentRecord;
  readonly parentFolder: string | null;
  /** Messages consumed by commits with events, with the last event of each commit. */
  readonly consumed: readonly ConsumedMessage[];
  readonly eventless: readonly EventlessCommit[];
  readonly snapshots: readonly SnapshotRecord[];
  /** Blobs that the table `reference` lists for the agent. */
  readonly noted: ReadonlySet<string>;
}

/** Reads all of them at once: there are few snapshots, and only as many messages as were sent. */
export function readFacts(database: DatabaseSync, agentNo: number, problems: string[]): AgentFacts {
  const all = <Row>(sql: string): Row[] => prepare<Row>(database, sql).all(agentNo);
  database.exec("BEGIN");
  try {
    const [agent] = all<AgentRecord>(`SELECT ${AGENT_COLUMNS} WHERE agent.no = ?`);
    if (!agent) throw new Error(`there is no agent ${agentNo}`);
    const [parent] = all<{ folder: string }>(
      "SELECT folder FROM agent WHERE no = (SELECT parent_no FROM agent WHERE no = ?)",
    );
    const eventless = all<EventlessCommit>("SELECT seq, keys, sha FROM eventless WHERE agent_no = ? ORDER BY no");
    const rows = all<ConsumedMessage>(
      `SELECT consumed_by AS seq, key FROM inbox WHERE agent_no = ? AND consumed_by IS NOT NULL ORDER BY consumed_by`,
    );
    const snapshots = all<AgentFacts["snapshots"][number]>(
      "SELECT seq, version, data, sha FROM snapshot WHERE agent_no = ? ORDER BY seq",
    );
    const consumed = dropEventless(rows, eventless, agent.id, problems);
    const references = all<{ sha: string }>("SELECT sha FROM reference WHERE agent_no = ?");
    const noted = new Set(references.map(({ sha }) => sha));
    return { agent, parentFolder: parent?.folder ?? null, consumed, eventless, snapshots, noted };
  } finally {
    database.exec("COMMIT");
  }
}

function dropEventless(
  rows: readonly ConsumedMessage[],
  eventless: readonly EventlessCommit[],
  agent: string,
  problems: string[],
): readonly ConsumedMessage[] {
  const named = new Map<string, number>();
  for (const { seq, keys } of eventless) for (const key of parseKeys(keys)) named.set(key, seq);
  const others = rows.filter(({ seq, key }) => named.get(key) !== seq || !named.delete(key));
  for (const [key, seq] of named)
    problems.push(`Expected the inbox row ${key} of ${agent}, consumed after event ${seq}, found none.`);
  return others;
}

function parseKeys(text: string): readonly string[] {
  try {
    return JSON.parse(text) as readonly string[];
  } catch {
    return [];
  }
}

export type TakeCommitRows = (seq: number) => CommitRows;

/** Returns a function that returns the rows of the next commit, given the number of its last event. */
export function rowsOf(database: DatabaseSync, { agent, consumed }: AgentFacts): TakeCommitRows {
  const memories: TakeRows = readMemories(database, agent.no, agent.head);
  const files: TakeRows = readFileVersions(database, agent.no, agent.head);
  let next = 0;
  return (seq) => {
    const from = next;
    while ((consumed[next]?.seq ?? Number.POSITIVE_INFINITY) <= seq) next++;
    return { memories: memories(seq), files: files(seq), consumed: consumed.slice(from, next).map(({ key }) => key) };
  };
}
