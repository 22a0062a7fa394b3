/** memory-version.ts -- names the state of a namespace's memory by the hash chain of the log and the last change by people. */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryVersion } from "#core/ports/memory.ts";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";

type MemoryPlace = Pick<MemoryVersion, "seq" | "curation">;
interface Place {
  readonly no: number;
  /** The link of an event; the key of a change by people, which no other change has. */
  readonly name: string;
}

const BEFORE_ALL: Place = { no: 0, name: "" };
const LAST = Number.MAX_SAFE_INTEGER;

export function openMemoryVersion(database: DatabaseSync): (agentNo: number, at?: MemoryPlace) => MemoryVersion {
  const last = (table: string, column: string, name: string) =>
    prepare<Place>(
      database,
      `SELECT ${column} AS no, ${name} AS name FROM ${table} WHERE agent_no = ? AND ${column} <= ? ORDER BY ${column} DESC LIMIT 1`,
    );
  const lastEvent = last("event", "seq", "sha");
  const lastCuration = last("curation", "no", "key");
  return (agentNo, at = { seq: LAST, curation: LAST }) => {
    const event = lastEvent.get(agentNo, at.seq) ?? BEFORE_ALL;
    const curation = lastCuration.get(agentNo, at.curation) ?? BEFORE_ALL;
    const state = [agentNo, event.no, event.name, curation.no, curation.name];
    return { seq: event.no, curation: curation.no, sha: sha256(JSON.stringify(state)) };
  };
}
