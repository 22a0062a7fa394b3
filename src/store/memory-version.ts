/** memory-version.ts -- names the state of a namespace's memory by the hash chains of the log and of people's changes. */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryVersion } from "#core/ports/memory-row.ts";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";

type MemoryPlace = Pick<MemoryVersion, "seq" | "curation">;
interface Link {
  readonly no: number;
  readonly sha: string;
}

const BEFORE_ALL: Link = { no: 0, sha: "" };
const LAST = Number.MAX_SAFE_INTEGER;

export function openMemoryVersion(database: DatabaseSync): (agentNo: number, at?: MemoryPlace) => MemoryVersion {
  const last = (table: string, column: string) =>
    prepare<Link>(
      database,
      `SELECT ${column} AS no, sha FROM ${table} WHERE agent_no = ? AND ${column} <= ? ORDER BY ${column} DESC LIMIT 1`,
    );
  const lastEvent = last("event", "seq");
  const lastCuration = last("curation", "no");
  return (agentNo, at = { seq: LAST, curation: LAST }) => {
    const event = lastEvent.get(agentNo, at.seq) ?? BEFORE_ALL;
    const curation = lastCuration.get(agentNo, at.curation) ?? BEFORE_ALL;
    const state = [agentNo, event.no, event.sha, curation.no, curation.sha];
    return { seq: event.no, curation: curation.no, sha: sha256(JSON.stringify(state)) };
  };
}
