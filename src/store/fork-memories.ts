/**
 * fork-memories.ts -- the memory of an agent that begins with another's past.
 *
 * It has what came with the events of that past. What people put there, and what they said of its rows, holds whenever they
 * did it: a memory that was found to be wrong, or was to be forgotten, does not come back because an agent was forked. The
 * first link of its own chain of curations says how these rows stood.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { type Curated, openCurationChain } from "./curate.ts";
import { DIGESTED } from "./memory-rows.ts";

interface Place {
  readonly no: number;
  readonly id: string;
  readonly sourceNo: number;
  readonly head: number;
}
type Stands = Readonly<Record<string, string | number | null>> & {
  readonly name: string;
  readonly made: number | null;
  readonly pinned: number;
  readonly forgotten: string | null;
};

export function openForkMemories(database: DatabaseSync): (place: Place, key: string, at: string) => void {
  const chain = openCurationChain(database);
  const plain =
    "ordinal, made, step, kind, text, text_sha, salt, importance, trust, at, key, source, pinned, forgotten";
  // Names of people's rows begin with "+", those of others with the number of their event.
  const ifComes = (name: string): string =>
    `CASE WHEN row.${name} LIKE '+%' OR CAST(row.${name} AS INTEGER) <= ?4 THEN row.${name} END`;
  const copy = prepare(
    database,
    `INSERT INTO memory (agent_no, change, namespace, seq, supersedes, superseded_by, ${plain}, embedder, vector)
     SELECT ?1, row_number() OVER (ORDER BY row.change), ?2, min(row.seq, ?4),
       ${ifComes("supersedes")}, ${ifComes("superseded_by")}, ${plain}, embedder, vector
     FROM memory AS row WHERE row.agent_no = ?3 AND (row.ordinal IS NULL OR row.seq <= ?4) ORDER BY row.change`,
  );
  const curated = prepare<Stands>(
    database,
    `SELECT name, made, pinned, forgotten, ${DIGESTED} FROM memory
     WHERE agent_no = ? AND (made IS NOT NULL OR pinned = 1 OR forgotten IS NOT NULL) ORDER BY change`,
  );

  return ({ no, id, sourceNo, head }, key, at) => {
    copy.run(no, id, sourceNo, head);
    const changes = curated.all(no).map(({ name, made, pinned, forgotten, ...digested }): Curated => {
      const sha = made === null ? null : sha256(JSON.stringify(Object.values(digested)));
      return { op: "copy", id: name, sha, pinned: pinned === 1, forgotten };
    });
    if (changes.length > 0) chain.append(no, id, { at, key, changes });
  };
}
