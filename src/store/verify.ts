/**
 * verify.ts -- checks that the store still has the content that goald wrote.
 *
 * It checks every agent, hashes every blob that is referred to, and has SQLite check its pages. It reads in pages up to
 * heads that were read first and pauses in between, so it can check a store that is being written to.
 *
 * It cannot detect a store that somebody replaced as a whole, with every hash computed again.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { isGoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { VerifyReport } from "#core/ports/store.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { folderOf } from "#core/subagent.ts";
import { countNoun, isBlobRef } from "#core/text.ts";
import { canonicalJson } from "#util/json.ts";
import { chainLink, chainStart, isFolderOf, sealOf, sha256, snapshotSha } from "./chain.ts";
import { type CommitRows, digestOf, openCommitRows } from "./commit.ts";
import type { EventlessRecord } from "./log.ts";
import { textShaOf } from "./memory-rows.ts";
import { AGENT_COLUMNS, type AgentRecord, type EventRecord, type LinkedRecord, type SnapshotRecord } from "./rows.ts";
import { prepare } from "./sql.ts";
import { SHARED_NO } from "./tables.ts";

/** Problems of a heavily damaged store that a person needs to see. */
const MAX_PROBLEMS = 100;

/** `whole`: the agents are all agents of the store, so blobs that no agent refers to are checked too. */
export async function verifyStore(
  database: DatabaseSync,
  agents: readonly AgentRecord[],
  whole: boolean,
): Promise<VerifyReport> {
  const findings: VerifyFindings = { problems: [], references: new Map() };
  const { problems } = findings;
  let events = 0;
  const attempt = async (what: string, check: () => void | Promise<void>): Promise<void> => {
    try {
      await check();
    } catch (thrown) {
      if (isGoaldError(thrown) || toError(thrown).message.includes("not open")) throw thrown;
      problems.push(`${what} cannot be read to the end: ${toError(thrown).message}.`);
    }
  };
  await attempt("The database file", () => checkFile(database, problems));
  for (const agent of agents)
    await attempt(`The log of ${agent.id}`, async () => {
      events += await checkAgent(database, agent.no, findings);
      checkReferences(database, agent, findings);
    });
  if (whole) await attempt("The shared memory", () => checkMemories(database, SHARED_NO, SHARED_MEMORY, problems));
  await attempt("The blobs", () => checkBlobs(database, whole, findings));
  const left = problems.length - MAX_PROBLEMS;
  if (left > 0) problems.splice(MAX_PROBLEMS, left, `And ${left} more.`);
  return { agents: agents.length, events, problems };
}

function checkFile(database: DatabaseSync, problems: string[]): void {
  const rows = prepare<{ integrity_check: string }>(database, "PRAGMA integrity_check(20)").all();
  for (const { integrity_check: found } of rows) if (found !== "ok") problems.push(`The database file: ${found}.`);
  for (const { table, rows: lost } of prepare<{ table: string; rows: number }>(database, LOST_ROWS).all())
    problems.push(`The table ${table} has ${countNoun(lost, "row")} of an agent that does not exist.`);
}

/** The shared memory belongs to no agent, so `memory.agent_no` has no foreign key that SQLite could check. */
const LOST_ROWS = `SELECT "table", count(*) AS rows FROM (
    SELECT "table" FROM pragma_foreign_key_check
    UNION ALL SELECT 'memory' FROM memory WHERE agent_no <> ${SHARED_NO} AND agent_no NOT IN (SELECT no FROM agent)
  ) GROUP BY "table"`;

/** Selects rows of the agent `?1` that name an event which is not in its log. */
const STRAY_ROWS = `SELECT seq, what FROM (
    SELECT agent_no, seq, 'A memory' AS what FROM memory WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'A version of the file ' || path FROM file_version WHERE agent_no = ?1
    UNION ALL SELECT agent_no, consumed_by, 'The inbox row ' || key FROM inbox
      WHERE agent_no = ?1 AND consumed_by IS NOT NULL
    UNION ALL SELECT agent_no, seq, 'A snapshot' FROM snapshot WHERE agent_no = ?1
    UNION ALL SELECT agent_no, seq, 'An event' FROM event
      WHERE agent_no = ?1 AND seq > (SELECT head FROM agent WHERE no = ?1)
  ) AS row
  WHERE row.what = 'An event' OR NOT EXISTS (SELECT 1 FROM event WHERE agent_no = row.agent_no AND seq = row.seq)
  LIMIT ${MAX_PROBLEMS}`;

function checkReferences(database: DatabaseSync, agent: AgentRecord, { references, problems }: VerifyFindings): void {
  for (const { seq, what } of prepare<{ seq: number; what: string }>(database, STRAY_ROWS).all(agent.no))
    problems.push(`${what} of ${agent.id} names event ${seq}, which is not in its log.`);
  const files = prepare<{ sha: string; path: string }>(
    database,
    "SELECT DISTINCT sha, path FROM file_version WHERE agent_no = ? AND sha IS NOT NULL",
  );
  for (const { sha, path } of files.all(agent.no))
    if (!references.has(sha)) references.set(sha, `the history of ${path} of ${agent.id}`);
}

/** Reads one blob at a time, because a blob can be as large as a file. */
async function checkBlobs(
  database: DatabaseSync,
  whole: boolean,
  { references, problems }: VerifyFindings,
): Promise<void> {
  const read = prepare<{ bytes: Uint8Array }>(database, "SELECT bytes FROM blob WHERE sha = ?");
  if (whole)
    for (const { sha } of prepare<{ sha: string }>(database, "SELECT sha FROM blob").all())
      if (!references.has(sha)) references.set(sha, "nothing");
  for (const [sha, place] of references) {
    const bytes = read.get(sha)?.bytes;
    if (bytes === undefined) problems.push(`Expected the blob ${sha} (${place}), found none.`);
    else if (sha256(bytes) !== sha) problems.push(`The blob ${sha} (${place}) does not match its hash.`);
    await setImmediate();
  }
}

const PAGE = 500;

interface VerifyFindings {
  readonly problems: string[];
  /** The first place that refers to each blob, by hash. */
  readonly references: Map<string, string>;
}

/**
 * Checks that all rows of one agent follow from its log, and returns the number of events. Recomputes the chain event
 * by event with the rows of each commit, folds the log up to each snapshot, and compares the agent's row with the first
 * event, its parent and its seal.
 */
async function checkAgent(database: DatabaseSync, agentNo: number, findings: VerifyFindings): Promise<number> {
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
  readonly #snapshots: Map<number, SnapshotRecord>;
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

interface ConsumedMessage {
  readonly seq: number;
  readonly key: string;
}
interface AgentFacts {
  readonly agent: AgentRecord;
  readonly parentFolder: string | null;
  /** Messages consumed by commits with events, with the last event of each commit. */
  readonly consumed: readonly ConsumedMessage[];
  readonly eventless: readonly EventlessRecord[];
  readonly snapshots: readonly SnapshotRecord[];
  /** Blobs that the table `reference` lists for the agent. */
  readonly noted: ReadonlySet<string>;
}

/**
 * Reads the rows that a commit can change without an event, in one transaction, so that they belong to one moment of a
 * store that is being written to. Reads all of them at once: there are few snapshots, and only as many messages as were
 * sent. Other rows that are compared with the log are read in pages up to the head of that moment.
 */
function readFacts(database: DatabaseSync, agentNo: number, problems: string[]): AgentFacts {
  const all = <Row>(sql: string): Row[] => prepare<Row>(database, sql).all(agentNo);
  database.exec("BEGIN");
  try {
    const [agent] = all<AgentRecord>(`SELECT ${AGENT_COLUMNS} WHERE agent.no = ?`);
    if (!agent) throw new Error(`there is no agent ${agentNo}`);
    const [parent] = all<{ folder: string }>(
      "SELECT folder FROM agent WHERE no = (SELECT parent_no FROM agent WHERE no = ?)",
    );
    const eventless = all<EventlessRecord>("SELECT seq, keys, sha FROM eventless WHERE agent_no = ? ORDER BY no");
    const rows = all<ConsumedMessage>(
      `SELECT consumed_by AS seq, key FROM inbox WHERE agent_no = ? AND consumed_by IS NOT NULL ORDER BY consumed_by`,
    );
    const snapshots = all<SnapshotRecord>(
      "SELECT seq, version, data, sha FROM snapshot WHERE agent_no = ? ORDER BY seq",
    );
    const consumed = dropEventless(rows, eventless, agent.id, problems);
    const references = all<{ sha: string }>("SELECT sha FROM reference WHERE agent_no = ?");
    const noted = new Set(references.map(({ sha }) => sha));
    return { agent, parentFolder: parent?.folder ?? null, consumed, eventless, snapshots, noted };
  } finally {
    database.exec("COMMIT");
  }
}

function dropEventless(
  rows: readonly ConsumedMessage[],
  eventless: readonly EventlessRecord[],
  agent: string,
  problems: string[],
): readonly ConsumedMessage[] {
  const named = new Map<string, number>();
  for (const { seq, keys } of eventless) for (const key of parseKeys(keys)) named.set(key, seq);
  const others = rows.filter(({ seq, key }) => named.get(key) !== seq || !named.delete(key));
  for (const [key, seq] of named)
    problems.push(`Expected the inbox row ${key} of ${agent}, consumed after event ${seq}, found none.`);
  return others;
}

function parseKeys(text: string): readonly string[] {
  try {
    return JSON.parse(text) as readonly string[];
  } catch {
    return [];
  }
}

type TakeCommitRows = (seq: number) => CommitRows;

/** Returns a function that returns the rows of the next commit, given the number of its last event. */
function rowsOf(database: DatabaseSync, { agent, consumed }: AgentFacts): TakeCommitRows {
  const rowsUpTo = openCommitRows(database, agent.no, agent.head);
  let next = 0;
  return (seq) => {
    const from = next;
    while ((consumed[next]?.seq ?? Number.POSITIVE_INFINITY) <= seq) next++;
    return { ...rowsUpTo(seq), consumed: consumed.slice(from, next).map(({ key }) => key) };
  };
}

interface MemoryText {
  readonly change: number;
  readonly name: string;
  readonly text: string;
  readonly salt: string | null;
  readonly textSha: string;
  readonly forgotten: string | null;
}

/**
 * Checks that the texts of a namespace are those that were written: digests of commits cover the rows of events with
 * the hashes of their texts. Who pinned, replaced or forgot a row is not checked. `agentNo` is the number of the
 * namespace in the tables.
 */
async function checkMemories(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  problems: string[],
): Promise<void> {
  const read = prepare<MemoryText>(
    database,
    `SELECT change, name, text, salt, text_sha AS textSha, forgotten FROM memory
     WHERE agent_no = ? AND change > ? ORDER BY change LIMIT ${PAGE}`,
  );
  for (let page = read.all(agentNo, 0); page.length > 0; page = read.all(agentNo, page.at(-1)?.change ?? 0)) {
    for (const { name, text, salt, textSha, forgotten } of page)
      if (forgotten === null ? salt === null || textShaOf(salt, text) !== textSha : text !== "" || salt !== null)
        problems.push(`Expected the text of the memory ${namespace}/${name} as it was written, found it changed.`);
    await setImmediate();
  }
}
