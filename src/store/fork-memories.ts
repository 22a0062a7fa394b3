/**
 * fork-memories.ts -- copies the memory of an agent to its fork.
 *
 * The fork gets the rows of the copied events, and all that people added or changed, whenever they did it: a memory that was
 * corrected or forgotten must not come back in a fork. The first link of the fork's own chain of curations records the
 * state of these rows.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { type Curated, openCurationChain } from "./curation-chain.ts";
import { openFactMarks } from "./facts.ts";
import { DIGESTED } from "./memory-rows.ts";

interface ForkTarget {
  readonly no: number;
  readonly id: string;
  readonly sourceNo: number;
  readonly head: number;
}
type CopiedMemory = Readonly<Record<string, string | number | null>> & {
  readonly name: string;
  readonly made: number | null;
  readonly pinned: number;
  readonly forgotten: string | null;
  readonly replacedBy: string | null;
};

export function openForkMemories(database: DatabaseSync): (place: ForkTarget, key: string, at: string) => void {
  const chain = openCurationChain(database);
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
  const curated = prepare<CopiedMemory>(
    database,
    // A person's correction names one of the rows that it replaced; the chain names the others.
    `SELECT name, made, pinned, forgotten, CASE WHEN superseded_by LIKE '+%' THEN superseded_by END AS replacedBy, ${DIGESTED}
     FROM memory WHERE agent_no = ?
       AND (made IS NOT NULL OR pinned = 1 OR forgotten IS NOT NULL OR superseded_by LIKE '+%') ORDER BY change`,
  );

  return ({ no, id, sourceNo, head }, key, at) => {
    copy.run(no, id, sourceNo, head);
    markFacts(no);
    const changes = curated.all(no).map(({ name, made, pinned, forgotten, replacedBy, ...digested }): Curated => {
      const sha = made === null ? null : sha256(JSON.stringify(Object.values(digested)));
      const replaced = replacedBy === null ? {} : { replacedBy };
      return { op: "copy", id: name, sha, pinned: pinned === 1, forgotten, ...replaced };
    });
    if (changes.length > 0) chain.append(no, id, { at, key, changes });
  };
}
