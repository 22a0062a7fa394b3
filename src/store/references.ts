/**
 * references.ts -- which agents refer to a blob, so that one can be forgotten with its last agent.
 *
 * It would have to be searched for in all logs, so it is noted when it is written: a row per blob and agent. These are few:
 * of events and messages only long text becomes a blob, and a version of a file is noted only for who is not the blob's
 * owner (blobs.ts).
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";

const MARK = '"blob":"';
/** In canonical JSON the quotes of a text are escaped, so that no text is taken for a reference. */
const REFERENCE = /"blob":"([0-9a-f]{64})"/g;

export const blobsIn = (json: string): readonly string[] =>
  json.includes(MARK) ? [...json.matchAll(REFERENCE)].map(([, sha = ""]) => sha) : [];

export interface References {
  note(agentNo: number, shas: readonly string[]): void;
}

export function openReferences(database: DatabaseSync): References {
  const insert = prepare(database, "INSERT INTO reference (sha, agent_no) VALUES (?, ?) ON CONFLICT DO NOTHING");
  return {
    note(agentNo, shas) {
      for (const sha of shas) insert.run(sha, agentNo);
    },
  };
}
