/**
 * references.ts -- records which agents' events and messages refer to a blob, so that it is deleted with the last of them.
 *
 * Otherwise a removal would have to search all logs. Rows of `file_version` name their blobs themselves.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";

const MARK = '"blob":"';
/** Canonical JSON escapes quotes within texts, so no text can look like a reference. */
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
