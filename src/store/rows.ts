/**
 * rows.ts -- converts rows of tables to values of the ports.
 *
 * Text that is not JSON and vectors of a wrong length throw GOALD_STORE_DAMAGED with their place.
 */
import { endianness } from "node:os";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { AgentRow, FileVersion, InboxRow, LastFileVersion } from "#core/ports/store.ts";
import { type OutsideSource, parseSources, plainSources } from "#core/provenance.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { requireFolder, sha256 } from "./chain.ts";
import { changedError } from "./failure.ts";

/** A row with the columns of `AGENT_COLUMNS`. */
export interface AgentRecord extends AgentRow {
  readonly no: number;
  readonly headSha: string;
  readonly seal: string;
}
export const AGENT_COLUMNS = `agent.no, agent.id, agent.name, agent.folder, parent.id AS parent,
  agent.created_at AS createdAt, agent.head, agent.head_sha AS headSha, agent.updated_at AS updatedAt,
  agent.epoch, agent.seal, agent.wake_at AS wakeAt
  FROM agent LEFT JOIN agent AS parent ON parent.no = agent.parent_no`;

export interface EventRecord {
  readonly seq: number;
  readonly data: string;
}
export interface LinkedRecord extends EventRecord {
  readonly rowsSha: string | null;
  readonly sha: string;
}
export type FileRecord = Omit<LastFileVersion, "outside"> & { readonly outside: string | null };
export interface InboxRecord extends Omit<InboxRow, "message"> {
  readonly message: string;
}
export interface SnapshotRecord {
  readonly seq: number;
  readonly version: number;
  readonly data: string;
  readonly sha: string;
}
export interface MemoryRecord
  extends Omit<MemoryRow, "id" | "vector" | "pinned" | "forgotten" | "outside" | "factKey" | "closed"> {
  readonly ordinal: number | null;
  readonly made: number | null;
  readonly pinned: number;
  readonly forgotten: string | null;
  readonly vector: Uint8Array | null;
  /** JSON list of sources; null for none. */
  readonly outside: string | null;
  readonly factKey: string | null;
  readonly closedBy: string | null;
  readonly closedStep: number | null;
  readonly textSha: string;
  readonly salt: string | null;
}
export const MEMORY_COLUMNS = `seq, ordinal, made, change, step, namespace, kind, text, importance, trust, at, supersedes,
  text_sha AS textSha, salt,
  superseded_by AS supersededBy, key, source, outside, fact_key AS factKey, closed_by AS closedBy, closed_step AS closedStep,
  pinned, forgotten, embedder, vector`;

/** Throws GOALD_STORE_DAMAGED for a folder that an agent cannot have. */
export function toAgentRow({ no: _no, headSha: _headSha, seal: _seal, ...row }: AgentRecord): AgentRow {
  requireFolder(row);
  return row;
}

export function toEvent(agent: string, { seq, data }: EventRecord): RecordedEvent {
  return checkStoredEvent(parseJson(data, `event ${seq} of ${agent}`) as Readonly<Record<string, unknown>>);
}

export function toInboxRow(agent: string, { key, at, message }: InboxRecord): InboxRow {
  return { key, at, message: parseJson(message, `inbox row ${key} of ${agent}`) as InboxRow["message"] };
}

/** Throws GOALD_STORE_DAMAGED for a text that does not match its hash. Copies member by member: a spread of SQLite's records costs more than reading them, which delays the start of a long memory. */
export function toMemoryRow(record: MemoryRecord): MemoryRow {
  const { seq, ordinal, made, namespace, supersedes, supersededBy, vector } = record;
  const idOf = (name: string): string => `${namespace}/${name}`;
  const id = idOf(nameOfRow({ seq, ordinal, made }));
  if (record.forgotten === null && sha256(`${record.salt}${record.text}`) !== record.textSha)
    throw changedError(`the text of the memory ${id}`);
  return {
    id,
    namespace,
    seq,
    change: record.change,
    step: record.step,
    kind: record.kind,
    text: record.text,
    importance: record.importance,
    trust: record.trust,
    at: record.at,
    supersedes: supersedes && idOf(supersedes),
    supersededBy: supersededBy && idOf(supersededBy),
    key: record.key,
    source: record.source,
    ...(record.outside === null ? {} : { outside: readSources(record.outside, id) }),
    ...(record.factKey === null ? {} : { factKey: record.factKey }),
    ...(record.closedBy === null ? {} : { closed: { by: idOf(record.closedBy), step: record.closedStep } }),
    pinned: record.pinned === 1,
    forgotten: record.forgotten as MemoryRow["forgotten"],
    embedder: record.embedder,
    vector: vector && bytesToVector(vector, id),
  };
}

/** Returns a row's id without the namespace: the column `name`. */
export const nameOfRow = ({ seq, ordinal, made }: Pick<MemoryRecord, "seq" | "ordinal" | "made">): string =>
  ordinal === null ? `+${made}` : ordinal === 0 ? String(seq) : `${seq}.${ordinal}`;

/** Returns undefined for a text that cannot be the id of a row of this namespace. */
export function nameOf(namespace: string, id: string): string | undefined {
  const name = id.startsWith(`${namespace}/`) ? id.slice(namespace.length + 1) : "";
  return /^(?:\+[1-9]\d*|[1-9]\d*(?:\.[1-9]\d*)?)$/.test(name) ? name : undefined;
}

/** Copies the row, because SQLite's rows have no prototype; member by member, as `toMemoryRow` does. */
export function toFileVersion({ outside, path, operation, bytes, sha256, step, callId, at }: FileRecord): FileVersion {
  const version = { path, operation, bytes, sha256, step, callId, at };
  return outside === null ? version : { ...version, outside: readSources(outside, `the file ${path}`) };
}

/** Throws GOALD_STORE_DAMAGED for a text that is not a list of sources. */
export function readSources(text: string, what: string): readonly OutsideSource[] {
  const sources = parseSources(parseJson(text, `the sources of ${what}`));
  if (sources) return sources;
  throw new GoaldError("GOALD_STORE_DAMAGED", `Expected a list of sources of ${what}, got ${text.slice(0, 80)}.`, {
    hint: "Run `goald verify` to list all damage, then restore a backup.",
  });
}

export const sourcesText = (outside: readonly OutsideSource[] | undefined): string | null =>
  outside === undefined || outside.length === 0 ? null : JSON.stringify(plainSources(outside));

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GoaldError("GOALD_STORE_DAMAGED", `Expected JSON in ${what}, got ${JSON.stringify(text.slice(0, 80))}.`, {
      hint: "Run `goald verify` to list all damage, then restore a backup.",
      cause,
    });
  }
}

export function vectorToBytes(vector: Float32Array): Uint8Array {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return endianness() === "LE" ? bytes : Buffer.from(bytes).swap32();
}

function bytesToVector(bytes: Uint8Array, what: string): Float32Array {
  if (bytes.byteLength % 4 !== 0)
    throw new GoaldError(
      "GOALD_STORE_DAMAGED",
      `Expected whole 4-byte numbers in the vector of ${what}, got ${bytes.byteLength} bytes.`,
    );
  // No copy when aligned: SQLite's buffer belongs to this row, and copying 10,000 vectors costs as much as reading them.
  const own = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  if (endianness() !== "LE") Buffer.from(own.buffer, own.byteOffset, own.byteLength).swap32();
  return new Float32Array(own.buffer, own.byteOffset, own.byteLength / 4);
}

/** Returns a time that Date can parse in the form whose text order is time order. Throws for other texts. */
export function isoTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    throw new GoaldError("GOALD_INTERNAL", `Expected an ISO time, got ${JSON.stringify(time)}.`);
  return date.toISOString();
}
