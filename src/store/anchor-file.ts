/**
 * anchor-file.ts -- the file `goald.db-anchor`: how far the store had got, recorded outside the store.
 *
 * SQLite drops the end of a damaged WAL without an error, so the store alone cannot show that commits were lost. Record 0
 * has the store's id and its number of commits, record n the end of the log of agent number n. Records have a fixed size,
 * a checksum, and one sector each. They are written after the commit and never synced: a power cut leaves older records,
 * which a sound store has passed.
 */
import { readFileSync } from "node:fs";
import { sha256 } from "./chain.ts";

export const RECORD_BYTES = 512;
const CHECKSUM_CHARS = 16;

export interface AnchoredStore {
  readonly id: string;
  readonly commits: number;
}
export interface AnchoredAgent {
  readonly no: number;
  readonly id: string;
  /** Number of the last event; 0 when the agent was removed. */
  readonly head: number;
  readonly headSha: string;
}
export interface AnchorContent {
  /** Undefined when record 0 is missing or cannot be read. */
  readonly store: AnchoredStore | undefined;
  readonly agents: readonly AnchoredAgent[];
  /** Numbers of the records that do not match their checksum. */
  readonly unreadable: readonly number[];
}

export const anchorPath = (database: string): string => `${database}-anchor`;

const FORMAT = "goald anchor 1";

export const storeRecord = ({ id, commits }: AnchoredStore): Buffer => encode(0, [FORMAT, id, commits]);
export const agentRecord = ({ no, id, head, headSha }: AnchoredAgent): Buffer => encode(no, [id, head, headSha]);

/** The checksum covers the number of the record, so that records cannot be exchanged. */
const checksumOf = (no: number, text: string): string => sha256(`${no} ${text}`).slice(0, CHECKSUM_CHARS);

function encode(no: number, values: readonly (string | number)[]): Buffer {
  const text = JSON.stringify(values);
  const record = Buffer.alloc(RECORD_BYTES, " ");
  record.write(`${checksumOf(no, text)} ${text}`);
  return record;
}

/** Returns undefined when there is no anchor, as in a home that was copied without it. */
export function readAnchor(database: string): AnchorContent | undefined {
  const bytes = readIfExists(anchorPath(database));
  if (bytes === undefined) return undefined;
  const agents: AnchoredAgent[] = [];
  const unreadable: number[] = [];
  let store: AnchoredStore | undefined;
  for (let no = 0; no * RECORD_BYTES < bytes.length; no++) {
    const text = bytes.toString("utf8", no * RECORD_BYTES, (no + 1) * RECORD_BYTES).trimEnd();
    // A file that grew before a power cut can have records of zeros.
    if (/^\0*$/.test(text)) continue;
    const values = decode(no, text);
    if (!values) unreadable.push(no);
    else if (no === 0) store = { id: String(values[1]), commits: Number(values[2]) };
    else agents.push({ no, id: String(values[0]), head: Number(values[1]), headSha: String(values[2]) });
  }
  return { store, agents, unreadable };
}

function decode(no: number, text: string): readonly unknown[] | undefined {
  const json = text.slice(CHECKSUM_CHARS + 1);
  return text.slice(0, CHECKSUM_CHARS) === checksumOf(no, json) ? (JSON.parse(json) as unknown[]) : undefined;
}

function readIfExists(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (Error.isError(error) && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
