/**
 * fork-memories.ts -- copies the memory of an agent to its fork.
 *
 * The fork gets the rows of the copied events, and all that people added or changed, whenever they did it: a memory that was
 * corrected or forgotten must not come back in a fork.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { openFactMarks } from "./facts.ts";

interface ForkTarget {
  readonly no: number;
  readonly id: string;
  readonly sourceNo: number;
  readonly head: number;
}

export function openForkMemories(database: DatabaseSync): (place: ForkTarget) => void {
  const markFacts = openFactMarks(database);
  const plain =
    "ordinal, made, step, kind, text, text_sha, salt, importance, trust, at, key, source, outside, fact_key, pinned, forgotten, corrected";
  // Names of rows that people added begin with "+", other names with the number of their event.
  const nameIfCopied = (name: string): string =>
    `CASE WHEN row.${name} LIKE '+%' OR CAST(row.${name} AS INTEGER) <= ?4 THEN row.${name} END`;
  const copy = prepare(
    database,
    `INSERT INTO memory (agent_no, change, namespace, seq, supersedes, superseded_by, ${plain}, embedder, vector)
     SELECT ?1, row_number() OVER (ORDER BY row.change), ?2, min(row.seq, ?4),
       ${nameIfCopied("supersedes")}, ${nameIfCopied("superseded_by")}, ${plain}, embedder, vector
     FROM memory AS row WHERE row.agent_no = ?3 AND (row.ordinal IS NULL OR row.seq <= ?4) ORDER BY row.change`,
  );
  return ({ no, id, sourceNo, head }) => {
    copy.run(no, id, sourceNo, head);
    markFacts(no);
  };
}
