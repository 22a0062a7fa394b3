/**
 * anchor.ts -- records each commit in the anchor file, after it is on the disk and before its writer is answered.
 *
 * So the anchor never claims more than the store has, and after a killed process it has everything that was confirmed.
 */
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { codeOf, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { sha256, snapshotSha } from "../chain.ts";
import type { SnapshotRecord } from "../rows.ts";
import { type NoteHead, type PreparedQuery, prepare } from "../sql.ts";
import { createPrivateFile, openForReading } from "./connection.ts";
import { isEmpty, openEmptyTables } from "./schema.ts";

/** Lost logs that an error names; `verify` names all. */
const MAX_NAMED = 5;

/** Returns sentences about commits that goald had confirmed and the store does not have. `agent` limits them to one agent. */
export function findLosses(database: DatabaseSync, anchor: AnchorContent, agent?: string): readonly string[] {
  const meta = prepare<{ readonly value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const isOther = anchor.store !== undefined && anchor.store.id !== (meta.get(STORE_ID)?.value ?? "");
  const ends = prepare<AnchoredAgent>(database, "SELECT no, id, head, head_sha AS headSha FROM agent").all();
  const rows = new Map(isOther ? [] : ends.map((row) => [row.no, row]));
  const hasLink = openLinks(database);
  const lost = anchor.agents.flatMap((expected) => {
    if (expected.head === 0 || (agent !== undefined && agent !== expected.id)) return [];
    return lossOf(expected, rows.get(expected.no), hasLink) ?? [];
  });
  if (isOther) lost.unshift(`Expected the store ${anchor.store.id}, which this home had; found another one or none.`);
  const missing = (anchor.store?.commits ?? 0) - (isOther ? 0 : Number(meta.get(COMMITS)?.value ?? 0));
  if (missing > 0)
    lost.push(
      `In all, ${countNoun(missing, "confirmed commit")} of this store ${missing === 1 ? "is" : "are"} missing: events, messages, memories or removals.`,
    );
  return lost;
}

type HasLink = (agent: AnchoredAgent) => boolean;

function openLinks(database: DatabaseSync): HasLink {
  const query = prepare<{ readonly seq: number }>(
    database,
    `SELECT seq FROM event WHERE agent_no = ?1 AND seq = ?2 AND sha = ?3
     UNION ALL SELECT seq FROM eventless WHERE agent_no = ?1 AND seq = ?2 AND sha = ?3`,
  );
  return ({ no, head, headSha }) => query.get(no, head, headSha) !== undefined;
}

function lossOf(expected: AnchoredAgent, found: AnchoredAgent | undefined, hasLink: HasLink): string | undefined {
  const { id, head, headSha } = expected;
  if (!found) return `The agent ${id} is missing, with ${countNoun(head, "event")}.`;
  if (found.head < head)
    return found.head === head - 1
      ? `Event ${head} of ${id} is missing.`
      : `Events ${found.head + 1} to ${head} of ${id} are missing.`;
  if ((found.head === head && found.headSha === headSha) || hasLink(expected)) return undefined;
  return `The log of ${id} up to event ${head} is not the one that goald had confirmed.`;
}

/** Looks again before it reports a loss: an agent may have been removed between the reads of the anchor and the store. */
function lossesNow(database: DatabaseSync, path: string, agent?: string): readonly string[] {
  const look = (): readonly string[] => {
    const anchor = readAnchor(path);
    return anchor ? findLosses(database, anchor, agent) : [];
  };
  return look().length > 0 ? look() : [];
}

/** Throws GOALD_STORE_DAMAGED when the store at `path` lost confirmed commits. */
export function requireNothingLost(database: DatabaseSync, path: string): void {
  const lost = lossesNow(database, path);
  if (lost.length === 0) return;
  const more = lost.length > MAX_NAMED ? [`And ${lost.length - MAX_NAMED} more: goald verify.`] : [];
  throw lossError([...lost.slice(0, MAX_NAMED), ...more], path, "continue without them: goald verify --accept-loss");
}

/** Throws GOALD_STORE_DAMAGED for an agent of which the store has nothing left. */
export function requireNotLost(database: DatabaseSync, path: string, agent: string): void {
  const known = readAnchor(path)?.agents.some(({ id, head }) => id === agent && head > 0);
  if (known) requireNothingLost(database, path);
}

type CheckStore = (database: DatabaseSync) => void;

/**
 * Opens a store for reading, and closes it again when `check` throws. Returns undefined for a store that never had tables;
 * throws GOALD_STORE_DAMAGED when it has lost them, as a young store does with its WAL.
 */
export function openTables(path: string, check: CheckStore): DatabaseSync | undefined {
  const found = lookForTables(path, check);
  const anchor = found ? undefined : readAnchor(path);
  if (!anchor) return found;
  // Looks again: another process may have made them meanwhile, before its anchor.
  const made = lookForTables(path, check);
  const lost = made ? [] : findLosses(openEmptyTables(), anchor);
  if (lost.length === 0) return made;
  // `verify` cannot read such a store, so all losses are named here.
  throw lossError(lost, path, `move the folder ${dirname(path)} away and begin without them.`);
}

function lookForTables(path: string, check: CheckStore): DatabaseSync | undefined {
  // SQLite removes the WAL beside an empty file.
  if (!statSync(path, { throwIfNoEntry: false })?.size) return undefined;
  const database = openForReading(path);
  try {
    const hasTables = !isEmpty(database);
    if (hasTables) check(database);
    else database.close();
    return hasTables ? database : undefined;
  } catch (error) {
    database.close();
    throw error;
  }
}

const lossError = (lost: readonly string[], path: string, otherwise: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store ${path} has lost commits that goald had confirmed, so no agent runs. ${lost.join(" ")} Restore a backup (see docs/recovery.md), or ${otherwise}`,
    { hint: `Copy the folder ${dirname(path)} to another place first.` },
  );

/** Returns problems for `verify`, which may run while the store is written to. */
export function checkAnchor(database: DatabaseSync, path: string, agent?: string): readonly string[] {
  const anchor = readAnchor(path);
  if (!anchor) return [];
  const lost = lossesNow(database, path, agent);
  const unreadable = anchor.unreadable.map(
    (no) =>
      `Record ${no} of ${anchorPath(path)} does not match its checksum: a loss of ${no === 0 ? "commits" : `events of agent ${no}`} would not be found.`,
  );
  return [...lost, ...unreadable];
}

/**
 * Returns what was lost, and removes the anchor and damaged snapshots, which the next load computes again. The caller
 * holds the host lock.
 */
export function acceptLoss(database: DatabaseSync, path: string): readonly string[] {
  const problems = [...checkAnchor(database, path)];
  const snapshots = prepare<SnapshotRecord & { no: number; agent: string; link: string | null }>(
    database,
    `SELECT snapshot.agent_no AS no, agent.id AS agent, snapshot.seq, version, snapshot.data, snapshot.sha,
       event.sha AS link FROM snapshot JOIN agent ON agent.no = snapshot.agent_no
     LEFT JOIN event ON event.agent_no = snapshot.agent_no AND event.seq = snapshot.seq`,
  );
  const drop = prepare(database, "DELETE FROM snapshot WHERE agent_no = ? AND seq = ?");
  for (const snapshot of snapshots.all()) {
    if (snapshotSha(snapshot.link ?? "", snapshot) === snapshot.sha) continue;
    problems.push(`The snapshot at ${snapshot.seq} of ${snapshot.agent} does not match its hash.`);
    drop.run(snapshot.no, snapshot.seq);
  }
  rmSync(anchorPath(path), { force: true });
  return problems;
}

export class Anchor {
  readonly #path: string;
  /** Undefined after `close`: its number may belong to another file then. */
  #file: number | undefined;
  readonly #read: PreparedQuery<{ readonly value: string }>;
  readonly #storeId: string;
  readonly #count: PreparedQuery<{ readonly commits: string }>;
  #noted: AnchoredAgent[] = [];
  #commits = 0;

  constructor(database: DatabaseSync, path: string) {
    this.#path = path;
    this.#read = prepare(database, "SELECT value FROM meta WHERE key = ?");
    this.#storeId = this.#read.get(STORE_ID)?.value ?? "";
    this.#count = prepare(database, COUNT_COMMIT);
    createPrivateFile(anchorPath(path));
    this.#file = openSync(anchorPath(path), "r+");
  }

  readonly note: NoteHead = (agent) => void this.#noted.push(agent);

  /** Returns a function that forgets what was noted since, for a write that is rolled back. */
  mark(): () => void {
    const { length } = this.#noted;
    return () => void this.#noted.splice(length);
  }

  /**
   * Counts the transaction, as its last statement. Removals are recorded before the commit: the process may be killed
   * after it, and a removed agent must not count as lost.
   */
  count(): void {
    this.#commits = Number(this.#count.get()?.commits);
    for (const agent of this.#noted) if (agent.head === 0) this.#writeEnd(agent);
  }

  /** Called when the transaction is on the disk. */
  publish(): void {
    for (const agent of this.#noted.splice(0)) this.#writeEnd(agent);
    this.#write(0, [FORMAT, this.#storeId, this.#commits]);
  }

  #writeEnd({ no, id, head, headSha }: AnchoredAgent): void {
    this.#write(no, [id, head, headSha]);
  }

  /** Writes the records that are missing, older or unreadable. */
  renew(database: DatabaseSync): void {
    const anchor = readAnchor(this.#path);
    const known = new Map(anchor?.agents.map((agent) => [agent.no, agent]));
    const ends = prepare<AnchoredAgent>(database, "SELECT no, id, head, head_sha AS headSha FROM agent");
    for (const agent of ends.all()) if (known.get(agent.no)?.headSha !== agent.headSha) this.note(agent);
    const commits = Number(this.#read.get(COMMITS)?.value ?? 0);
    if (this.#noted.length === 0 && anchor?.store?.commits === commits) return;
    this.#commits = commits;
    this.publish();
  }

  /** Ignores a failure: the commit is durable without it, and an older record is true too. */
  #write(no: number, values: readonly (string | number)[]): void {
    if (this.#file === undefined) return;
    try {
      writeSync(this.#file, encode(no, values), 0, RECORD_BYTES, no * RECORD_BYTES);
    } catch {}
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** Keys in `meta`. */
const STORE_ID = "store_id";
const COMMITS = "commits";
const COUNT_COMMIT = `INSERT INTO meta (key, value) VALUES ('${COMMITS}', '1')
  ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING value AS commits`;

const RECORD_BYTES = 512;
const CHECKSUM_CHARS = 16;

interface AnchoredStore {
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
interface AnchorContent {
  /** Undefined when record 0 is missing or cannot be read. */
  readonly store: AnchoredStore | undefined;
  readonly agents: readonly AnchoredAgent[];
  /** Numbers of the records that do not match their checksum. */
  readonly unreadable: readonly number[];
}

const anchorPath = (database: string): string => `${database}-anchor`;

const FORMAT = "goald anchor 1";

/** The checksum covers the number of the record, so that records cannot be exchanged. */
const checksumOf = (no: number, text: string): string => sha256(`${no} ${text}`).slice(0, CHECKSUM_CHARS);

function encode(no: number, values: readonly (string | number)[]): Buffer {
  const text = JSON.stringify(values);
  const record = Buffer.alloc(RECORD_BYTES, " ");
  record.write(`${checksumOf(no, text)} ${text}`);
  return record;
}

/**
 * Reads the file `goald.db-anchor`, which records outside the store how far the store had got. SQLite drops the end of
 * a damaged WAL without an error, so the store alone cannot show that commits were lost. Record 0 has the store's id
 * and its number of commits, record n the end of the log of agent number n. Records have a fixed size, a checksum, and
 * one sector each. They are written after the commit and never synced: a power cut leaves older records, which a sound
 * store has passed. Returns undefined when there is no anchor, as in a home that was copied without it.
 */
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
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
