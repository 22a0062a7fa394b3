/**
 * anchor.ts -- records each commit in the anchor file, after it is on the disk and before its writer is answered.
 *
 * So the anchor never claims more than the store has, and after a killed process it has everything that was confirmed.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { type AnchoredAgent, agentRecord, anchorPath, RECORD_BYTES, readAnchor, storeRecord } from "./anchor-file.ts";
import { createPrivateFile, type PreparedQuery, prepare } from "./connection.ts";

/** The ends of logs that the current transaction has written. */
export type NoteHead = (agent: AnchoredAgent) => void;

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
    this.#writeAll(this.#noted.filter(({ head }) => head === 0));
  }

  /** Called when the transaction is on the disk. */
  publish(): void {
    const noted = new Map(this.#noted.splice(0).map((agent) => [agent.no, agent]));
    this.#writeAll([...noted.values()]);
    this.#write(0, storeRecord({ id: this.#storeId, commits: this.#commits }));
  }

  #writeAll(agents: readonly AnchoredAgent[]): void {
    for (const agent of agents) this.#write(agent.no, agentRecord(agent));
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
  #write(no: number, record: Buffer): void {
    if (this.#file === undefined) return;
    try {
      writeSync(this.#file, record, 0, RECORD_BYTES, no * RECORD_BYTES);
    } catch {}
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** Keys in `meta`. */
export const STORE_ID = "store_id";
export const COMMITS = "commits";
const COUNT_COMMIT = `INSERT INTO meta (key, value) VALUES ('${COMMITS}', '1')
  ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1 RETURNING value AS commits`;
