/**
 * log.ts -- creates agents and appends to their event logs.
 *
 * Runs inside a transaction. Each event is stored as canonical text with its link in the hash chain. The agent's row
 * keeps the last link: an append reads one row whatever the length of the log, and a truncated log is detected. A
 * commit that consumes messages and appends no event gets a link of its own.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentSpec, Loaded } from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";
import { wellFormed } from "#core/text.ts";
import { canonicalJson } from "#util/json.ts";
import { createTurns } from "#util/turns.ts";
import { chainLink, chainStart, requireSealed, sealOf, sha256, snapshotSha } from "./chain.ts";
import { throwNoAgent } from "./failure.ts";
import { NEXT_AGENT } from "./remove.ts";
import { type AgentRecord, isoTime, type LinkedRecord, parseJson, type SnapshotRecord, toEvent } from "./rows.ts";
import { freeSlug, requireFree } from "./slug.ts";
import { type NoteHead, prepare } from "./sql.ts";

/** `epoch`: the agent gets at least this one. `wakeAt`: null for an agent that is not due. */
interface NewAgent extends Pick<AgentRecord, "id" | "name" | "parent" | "createdAt" | "epoch" | "wakeAt"> {
  readonly key: string;
}

export type EventLog = ReturnType<typeof openLog>;

export function openLog(database: DatabaseSync, noteReference: NoteReference, note: NoteHead) {
  const queries = logQueries(database);

  /** Returns the id of the agent that was created with this key. */
  const find = (key: string): string | undefined => queries.byKey.get(key)?.id;
  const isTaken = (id: string): boolean => queries.byId.get(id) !== undefined;

  /** Inserts an agent without events. Returns its number. */
  function insert({ id, key, name, parent, createdAt, epoch: least, wakeAt }: NewAgent): number {
    const above = parent === null ? null : (queries.byId.get(parent) ?? throwNoAgent(parent));
    const folder = folderOf(id, above?.folder ?? null);
    const { no, epoch: lowest } = queries.next.get() ?? { no: 1, epoch: 0 };
    const epoch = Math.max(lowest, least);
    const seal = sealOf({ id, name, folder, parent, createdAt, epoch });
    const start = chainStart(id);
    queries.insertAgent.run(no, id, key, name, folder, above?.no ?? null, createdAt, start, epoch, seal, wakeAt);
    return no;
  }

  /** Returns the id of the agent that was created with this key, now or earlier. Its wake time is `at`. */
  function create(spec: AgentSpec, key: string, at: string): string {
    const earlier = find(key);
    if (earlier !== undefined) return earlier;
    const created = makeCreatedEvent(spec, isoTime(at));
    const { name, at: createdAt } = created;
    const id = spec.id === undefined ? freeSlug(name, isTaken) : requireFree(spec.id, isTaken);
    const no = insert({ id, key, name, parent: spec.parent ?? null, createdAt, epoch: 0, wakeAt: createdAt });
    const headSha = append(no, chainStart(id), [created], null);
    queries.setHeadSha.run(headSha, no);
    note({ no, id, head: 1, headSha });
    return id;
  }

  /** `rowsSha` is the digest of the commit's other rows. Returns the last link, which the caller stores in the agent's row. */
  function append(
    agentNo: number,
    previousSha: string,
    events: readonly RecordedEvent[],
    rowsSha: string | null,
  ): string {
    let sha = previousSha;
    const last = events.at(-1);
    for (const event of events) {
      const text = canonicalJson(event);
      const covered = event === last ? rowsSha : null;
      sha = chainLink(sha, text, covered);
      queries.insertEvent.run(agentNo, event.seq, text, covered, sha);
      for (const blob of blobsIn(text)) noteReference(agentNo, blob);
    }
    return sha;
  }

  /** Appends the link of a commit without events that consumed these messages after event `seq`. Returns that link. */
  function appendConsumed(agentNo: number, previousSha: string, seq: number, keys: readonly string[]): string {
    const text = canonicalJson([...keys].sort());
    const sha = chainLink(previousSha, text);
    queries.insertEventless.run(agentNo, seq, text, sha);
    return sha;
  }

  return { find, isTaken, insert, create, append, appendConsumed };
}

function logQueries(database: DatabaseSync) {
  return {
    insertEvent: prepare(database, "INSERT INTO event (agent_no, seq, data, rows_sha, sha) VALUES (?, ?, ?, ?, ?)"),
    insertEventless: prepare(database, "INSERT INTO eventless (agent_no, seq, keys, sha) VALUES (?, ?, ?, ?)"),
    insertAgent: prepare(
      database,
      `INSERT INTO agent
         (no, id, create_key, name, folder, parent_no, created_at, updated_at, head, head_sha, epoch, seal, wake_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10, ?11)`,
    ),
    next: prepare<{ no: number; epoch: number }>(database, NEXT_AGENT),
    setHeadSha: prepare(database, "UPDATE agent SET head_sha = ? WHERE no = ?"),
    byKey: prepare<{ id: string }>(database, "SELECT id FROM agent WHERE create_key = ?"),
    byId: prepare<{ no: number; folder: string }>(database, "SELECT no, folder FROM agent WHERE id = ?"),
  };
}

function makeCreatedEvent(spec: AgentSpec, at: string): RecordedEvent & { readonly type: "agent-created" } {
  const { name: _name, role: _role, goals: _goals, parent: _parent, id: _id, ...settings } = spec;
  const name = wellFormed(spec.name);
  const role = wellFormed(spec.role);
  const goals = spec.goals.map(wellFormed);
  return { v: EVENT_VERSION, seq: 1, at, frame: 0, type: "agent-created", name, role, goals, ...settings };
}

/** Rows of a page. Events of the maximum size take a few milliseconds. */
const PAGE = 64;

/** A commit that consumed messages and appended nothing. */
export interface EventlessRecord {
  readonly seq: number;
  readonly keys: string;
  readonly sha: string;
}

/**
 * Returns a function that loads what an agent continues from, or a past state: the newest snapshot and the events after
 * it, checked. A load follows the hash chain from the snapshot, else from the first event, to the link in the agent's
 * row or of the last event to load, so nothing that was changed is folded. The cost depends on the events after the
 * snapshot, not on the age of the agent. Earlier events are left to `verify`. `requireExisting` throws when the agent
 * was removed meanwhile. `at`: the last event to load.
 */
export function openLoad(database: DatabaseSync) {
  const queries = {
    newest: prepare<SnapshotRecord>(
      database,
      `SELECT seq, version, data, sha FROM snapshot WHERE agent_no = ? AND version = ? AND seq <= ?
       ORDER BY seq DESC LIMIT 1`,
    ),
    link: prepare<{ readonly sha: string }>(database, "SELECT sha FROM event WHERE agent_no = ? AND seq = ?"),
    events: prepare<LinkedRecord>(
      database,
      `SELECT seq, data, rows_sha AS rowsSha, sha FROM event WHERE agent_no = ? AND seq > ? AND seq <= ?
       ORDER BY seq LIMIT ${PAGE}`,
    ),
  };
  const startChain = openChain(database);

  return async (agent: AgentRecord, stateVersion: number, requireExisting: () => void, at = agent.head) => {
    requireSealed(agent);
    const { no, id } = agent;
    const head = Math.min(at, agent.head);
    const linkOf = (seq: number): string | undefined => (seq === 0 ? chainStart(id) : queries.link.get(no, seq)?.sha);
    const newest = queries.newest.get(no, stateVersion, head);
    const start = linkOf(newest?.seq ?? 0);
    const end = head === agent.head ? agent : { no, id, head, headSha: linkOf(head) ?? "" };
    const chain = startChain(end, newest?.seq ?? 0, start ?? "");
    const snapshot = newest ? readSnapshot(id, newest, start) : null;
    const events: RecordedEvent[] = [];
    const takeTurn = createTurns();
    for (;;) {
      const page = queries.events.all(no, events.at(-1)?.seq ?? newest?.seq ?? 0, head);
      if (page.length === 0) requireExisting();
      if (page.length === 0) break;
      for (const record of page) {
        chain.take(record);
        events.push(toEvent(id, record));
        const pause = takeTurn();
        if (pause) await pause.then(requireExisting);
      }
    }
    chain.end();
    return { head, snapshot, events };
  };
}

function readSnapshot(agent: string, record: SnapshotRecord, link: string | undefined): Loaded["snapshot"] {
  const { seq, data, sha } = record;
  if (link === undefined) throw damagedError(agent, `event ${seq}, which a snapshot names`, "found none");
  if (snapshotSha(link, record) !== sha)
    throw damagedError(agent, `the snapshot at event ${seq} as it was written`, "found it changed");
  return { seq, state: parseJson(data, `snapshot ${seq} of ${agent}`) };
}

type ChainEnd = Pick<AgentRecord, "no" | "id" | "head" | "headSha">;

/**
 * The function returns a check of events and commits without events, in order, after event `lastSeq`, whose link is `lastSha`.
 * It throws GOALD_STORE_DAMAGED where the chain breaks.
 */
export function openChain(database: DatabaseSync) {
  const eventlessOf = prepare<EventlessRecord>(
    database,
    "SELECT seq, keys, sha FROM eventless WHERE agent_no = ? AND seq BETWEEN ? AND ? ORDER BY no",
  );
  return ({ no, id, head, headSha }: ChainEnd, lastSeq: number, lastSha: string) => {
    const eventless = eventlessOf.all(no, lastSeq, head);
    let nextEventless = 0;
    const damaged = (expected: string, found: string): GoaldError => damagedError(id, expected, found);
    const changed = (what: string): GoaldError =>
      damaged(`${what} as written`, "found a change: the hash does not follow from the log");

    function passEventless(end?: string): void {
      for (let next = eventless[nextEventless]; next?.seq === lastSeq && lastSha !== end; ) {
        if (chainLink(lastSha, next.keys) !== next.sha) throw changed(`the messages consumed after event ${lastSeq}`);
        lastSha = next.sha;
        next = eventless[++nextEventless];
      }
    }
    return {
      take({ seq, data, rowsSha, sha }: LinkedRecord): void {
        passEventless();
        if (seq !== lastSeq + 1) throw damaged(`event ${lastSeq + 1}`, `found event ${seq}`);
        if (chainLink(lastSha, data, rowsSha) !== sha) throw changed(`event ${seq}`);
        lastSeq = seq;
        lastSha = sha;
      },
      end(): void {
        if (lastSeq < head) throw damaged(`${head} events`, `found none after event ${lastSeq}`);
        // Another process may have committed after the agent's row was read.
        if (lastSha !== headSha) passEventless(headSha);
        if (lastSha !== headSha) throw damaged(`the log to end with event ${head}`, "found another end");
      },
    };
  };
}

const damagedError = (agent: string, expected: string, found: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The log of ${agent} is damaged: expected ${expected}, ${found}. List all damage: goald verify ${agent}`,
    { hint: `goald does not run ${agent}; other agents run. Restore a backup of the store: see docs/recovery.md.` },
  );

export type Blobs = ReturnType<typeof openBlobs>;

/** Stores contents of files and long texts, each once under its hash, whichever agent wrote it. */
export function openBlobs(database: DatabaseSync, noteReference: NoteReference) {
  const insert = prepare(database, "INSERT INTO blob (sha, bytes) VALUES (?, ?) ON CONFLICT (sha) DO NOTHING");
  return {
    /** Stores the content of a version of a file, whose row in `file_version` names the hash. Returns the bytes that are new. */
    keepContent: (sha: string, bytes: Uint8Array): number => insert.run(sha, bytes) * bytes.length,
    /** Stores a long text and records that the agent refers to it. Returns the bytes that are new. */
    keepText(agentNo: number, bytes: Uint8Array): number {
      const sha = sha256(bytes);
      const added = insert.run(sha, bytes) * bytes.length;
      noteReference(agentNo, sha);
      return added;
    },
  };
}

const MARK = '"blob":"';
/** Canonical JSON escapes quotes within texts, so no text can look like a reference. */
const REFERENCE = /"blob":"([0-9a-f]{64})"/g;

export const blobsIn = (json: string): readonly string[] =>
  json.includes(MARK) ? [...json.matchAll(REFERENCE)].map(([, sha = ""]) => sha) : [];

export type NoteReference = (agentNo: number, blob: string) => void;

/**
 * Records which agents' events and messages refer to a blob, so that it is deleted with the last of them. Otherwise a
 * removal would have to search all logs. Rows of `file_version` name their blobs themselves.
 */
export function openReferences(database: DatabaseSync): NoteReference {
  const insert = prepare(database, "INSERT INTO reference (sha, agent_no) VALUES (?, ?) ON CONFLICT DO NOTHING");
  return (agentNo, blob) => void insert.run(blob, agentNo);
}
