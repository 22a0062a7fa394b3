/**
 * verify-agent.ts -- checks that all rows of one agent follow from its log.
 *
 * It recomputes the chain event by event with the rows of each commit, folds the log up to each snapshot, and compares the
 * agent's row with the first event, its parent and its seal. It reads in pages and pauses in between. Rows that can change
 * meanwhile are read first, in one transaction.
 */

import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { folderOf } from "#core/subagent.ts";
import { isBlobRef } from "#core/text.ts";
import { canonicalJson } from "#util/json.ts";
import { chainLink, chainStart, snapshotSha } from "./chain.ts";
import { digestOf } from "./commit-rows.ts";
import { prepare } from "./connection.ts";
import type { EventRecord, LinkedRecord } from "./rows.ts";
import { isFolderOf, sealOf } from "./seal.ts";
import { type AgentFacts, readFacts, rowsOf, type TakeCommitRows } from "./verify-facts.ts";
import { checkMemories } from "./verify-memories.ts";

const PAGE = 500;

export interface VerifyFindings {
  readonly problems: string[];
  /** The first place that refers to each blob, by hash. */
  readonly references: Map<string, string>;
}

/** Returns the number of events. */
export async function checkAgent(database: DatabaseSync, agentNo: number, findings: VerifyFindings): Promise<number> {
  const facts = readFacts(database, agentNo, findings.problems);
  const read = prepare<LinkedRecord>(
    database,
    `SELECT seq, data, rows_sha AS rowsSha, sha FROM event
     WHERE agent_no = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ${PAGE}`,
  );
  const log = new LogCheck(facts, rowsOf(database, facts), findings);
  const { head } = facts.agent;
  for (let page = read.all(agentNo, 0, head); page.length > 0; page = read.all(agentNo, log.seq, head)) {
    for (const record of page) log.take(record);
    await setImmediate();
  }
  log.end();
  await checkMemories(database, agentNo, facts.agent.id, findings.problems);
  checkOwnRow(facts, log, findings.problems);
  return log.events;
}

class LogCheck {
  events = 0;
  /** The number of the last checked event. */
  seq = 0;
  created: Partial<RecordedEvent> | undefined;
  lastAt: unknown;
  /** The highest epoch in an event. */
  epoch = 0;
  readonly #facts: AgentFacts;
  readonly #rowsOf: TakeCommitRows;
  readonly #problems: string[];
  readonly #references: Map<string, string>;
  readonly #snapshots: Map<number, AgentFacts["snapshots"][number]>;
  #sha: string;
  /** The last event whose rows have been checked. */
  #rowsUpTo = 0;
  #nextEventless = 0;
  /** Undefined after the first event that cannot be folded. */
  #state: AgentState | undefined = initialState;

  constructor(facts: AgentFacts, rows: TakeCommitRows, { problems, references }: VerifyFindings) {
    this.#facts = facts;
    this.#rowsOf = rows;
    this.#problems = problems;
    this.#references = references;
    this.#sha = chainStart(facts.agent.id);
    this.#snapshots = new Map(facts.snapshots.map((snapshot) => [snapshot.seq, snapshot]));
  }

  /** Checks the next event. After a gap the chain continues with the stored link of the next event. */
  take(record: LinkedRecord): void {
    const { seq, data, rowsSha, sha } = record;
    const { id } = this.#facts.agent;
    const place = `event ${seq} of ${id}`;
    const follows = seq === this.seq + 1 && chainLink(this.#sha, data, rowsSha) === sha;
    if (seq !== this.seq + 1) this.#problems.push(`Expected event ${this.seq + 1} of ${id}, found ${seq}.`);
    else if (!follows)
      this.#problems.push(
        `Expected ${place} as it was written, found it changed: its hash does not follow from the log.`,
      );
    const event = this.#parse(record, place);
    if (event) collectBlobs(event, (sha) => this.#refer(sha, place));
    this.#fold(follows ? event : undefined);
    this.#checkSnapshot(seq, sha);
    if (rowsSha !== null) this.#checkRows(seq, rowsSha);
    this.events++;
    this.seq = seq;
    this.#sha = this.#afterEventless(seq, sha);
  }

  #refer(sha: string, place: string): void {
    if (!this.#references.has(sha)) this.#references.set(sha, place);
    if (!this.#facts.noted.has(sha))
      this.#problems.push(`Expected a row of the table reference for the blob ${sha} of ${place}, found none.`);
  }

  end(): void {
    const { id, head, headSha } = this.#facts.agent;
    this.#checkRows(head, null);
    if (this.seq !== head) this.#problems.push(`Expected the log of ${id} to end at ${head}, found ${this.seq}.`);
    else if (this.#sha !== headSha)
      this.#problems.push(`Expected event ${head} of ${id} with the link in the agent's row, found another.`);
  }

  #parse({ seq, data }: EventRecord, place: string): Partial<RecordedEvent> | undefined {
    let event: (Partial<RecordedEvent> & { readonly epoch?: unknown }) | null;
    try {
      event = JSON.parse(data);
    } catch {
      this.#problems.push(`Expected ${place} to be JSON, found ${JSON.stringify(data.slice(0, 40))}.`);
      return undefined;
    }
    if (event?.seq !== seq)
      this.#problems.push(`Expected ${place} to carry its number, found ${JSON.stringify(event?.seq)}.`);
    if (seq === 1) this.created = event ?? undefined;
    if (typeof event?.epoch === "number") this.epoch = Math.max(this.epoch, event.epoch);
    this.lastAt = event?.at;
    return event ?? undefined;
  }

  /** Folds the state only while there are snapshots to compare with. */
  #fold(event: Partial<RecordedEvent> | undefined): void {
    if (this.#snapshots.size === 0) return;
    try {
      this.#state = this.#state && event && evolve(this.#state, checkStoredEvent(event));
    } catch {
      // This goald cannot read the event, or the event was changed: the chain check reports a change.
      this.#state = undefined;
    }
  }

  #checkSnapshot(seq: number, link: string): void {
    const snapshot = this.#snapshots.get(seq);
    if (!snapshot) return;
    const { id } = this.#facts.agent;
    if (snapshotSha(link, snapshot) !== snapshot.sha)
      this.#problems.push(`The snapshot at ${seq} of ${id} does not match its hash.`);
    // A snapshot of another version is never used; one after damage cannot be compared.
    else if (snapshot.version === STATE_VERSION && this.#state && snapshot.data !== JSON.stringify(this.#state))
      if (canonicalJson(JSON.parse(snapshot.data)) !== canonicalJson(this.#state))
        this.#problems.push(`The snapshot at ${seq} of ${id} is not what its log folds to.`);
  }

  /** `expected`: the digest that the chain covers; null when no more rows are allowed. */
  #checkRows(seq: number, expected: string | null): void {
    const from = this.#rowsUpTo + 1;
    this.#rowsUpTo = seq;
    const rows = this.#rowsOf(seq);
    if (digestOf(rows) === expected) return;
    const events = from >= seq ? `event ${seq}` : `the events ${from} to ${seq}`;
    this.#problems.push(
      `Expected the memories, versions of files and consumed messages that came with ${events} of ${this.#facts.agent.id} as they were written, found them changed.`,
    );
  }

  /** Follows the chain over commits after this event that appended no event. Returns the last link. */
  #afterEventless(seq: number, from: string): string {
    const { eventless, agent } = this.#facts;
    let sha = from;
    for (let next = eventless[this.#nextEventless]; next && next.seq <= seq; next = eventless[this.#nextEventless]) {
      if (chainLink(sha, next.keys) !== next.sha)
        this.#problems.push(
          `Expected the messages consumed after event ${seq} of ${agent.id} as they were, found others.`,
        );
      sha = next.sha;
      this.#nextEventless++;
    }
    return sha;
  }
}

function collectBlobs(value: unknown, found: (sha: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (isBlobRef(value)) found(value.blob);
  else for (const member of Object.values(value)) collectBlobs(member, found);
}

function checkOwnRow({ agent, parentFolder }: AgentFacts, log: LogCheck, problems: string[]): void {
  const { id, folder, epoch } = agent;
  const expect = (what: string, expected: unknown, found: unknown): void => {
    if (found === expected) return;
    problems.push(`Expected ${what} of ${id} to be ${JSON.stringify(expected)}, found ${JSON.stringify(found)}.`);
  };
  if (log.created?.type === "agent-created") {
    expect("the name", log.created.name, agent.name);
    expect("the time of creation", log.created.at, agent.createdAt);
  }
  if (log.lastAt !== undefined) expect("the time of the last change", log.lastAt, agent.updatedAt);
  expect("the folder", folderOf(id, parentFolder), folder);
  if (!isFolderOf(id, folder)) problems.push(`The folder ${JSON.stringify(folder)} of ${id} is not in workspace/.`);
  if (epoch < log.epoch) problems.push(`Expected an epoch of ${id} of at least ${log.epoch}, found ${epoch}.`);
  if (sealOf(agent) !== agent.seal)
    problems.push(
      `Expected the name, folder, parent, creation and epoch of ${id} as they were written, found them changed.`,
    );
}
