/**
 * pieces.ts -- stores the pieces of long texts: those that are known are not stored again, and a newer text of a file or page
 * supersedes the older pieces.
 *
 * Runs inside the transaction of a commit. Its cost depends on the pieces of the commit and on the live pieces of its sources.
 */
import type { DatabaseSync } from "node:sqlite";
import { isReplacedPiece } from "#core/memory.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import { prepare } from "./connection.ts";
import { openKnownKeys } from "./known-keys.ts";
import { NEXT_CHANGE, type NewRow } from "./memory-rows.ts";
import { nameOfRow } from "./rows.ts";

export interface Pieces {
  /** Returns the rows without pieces of a key that is known. */
  withoutKnown<Row extends NewRow>(agentNo: number, rows: readonly Row[]): readonly Row[];
  /** Marks the stored pieces that these memories replace. */
  supersede(agentNo: number, memories: readonly NewMemory[]): void;
}

interface LivePiece {
  readonly no: number;
  readonly seq: number;
  readonly key: string | null;
  readonly text: string;
}

export function openPieces(database: DatabaseSync): Pieces {
  const findKnown = openKnownKeys(database);
  const ofSource = prepare<LivePiece>(
    database,
    `SELECT no, seq, key, text FROM memory
     WHERE agent_no = ? AND source = ? AND kind = 'piece' AND superseded_by IS NULL AND forgotten IS NULL`,
  );
  const mark = prepare(database, `UPDATE memory SET superseded_by = ?3, change = ${NEXT_CHANGE} WHERE no = ?2`);

  return {
    withoutKnown(agentNo, rows) {
      const keys = new Set<string>();
      return rows.filter(({ kind, key }) => {
        if (kind !== "piece" || key === null) return true;
        if (keys.has(key) || findKnown(agentNo, key)) return false;
        keys.add(key);
        return true;
      });
    },
    supersede(agentNo, memories) {
      for (const { seq, replaces } of memories) {
        if (!replaces) continue;
        const keys = new Set(memories.filter((memory) => memory.seq === seq).map(({ key }) => key ?? null));
        const replaced = ofSource
          .all(agentNo, replaces.source)
          .filter((piece) => piece.seq < seq && !keys.has(piece.key) && isReplacedPiece(piece.text, replaces.lines));
        if (replaced.length === 0) continue;
        const name = nameOfRow({ seq, ordinal: 0, made: null });
        for (const { no } of replaced) mark.run(agentNo, no, name);
      }
    },
  };
}
