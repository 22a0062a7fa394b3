/**
 * commit.ts -- writes one commit of an agent.
 *
 * Runs inside a transaction, which the caller rolls back when anything throws. It first checks the lease (epoch) and
 * the end of the log (head). The cost of the inserts depends on the commit and never on the age of the agent.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Commit, Lease, StagedWrite } from "#core/ports/store.ts";
import { sha256, snapshotSha } from "./chain.ts";
import { openReplacements } from "./curate.ts";
import { throwNoAgent } from "./failure.ts";
import type { Blobs, EventLog } from "./log.ts";
import { type Mailbox, senderKey } from "./mailbox.ts";
import {
  DIGESTED,
  digestedValues,
  type EventPlace,
  memoriesOf,
  openMemoryInsert,
  openPieces,
  type RowValue,
  type RowValues,
} from "./memory-rows.ts";
import { type AgentRecord, isoTime, sourcesText } from "./rows.ts";
import { type NoteHead, prepare } from "./sql.ts";

const NEWEST_SNAPSHOTS = 2;
/** Of the older ones, the first of each stretch of so many events stays, from which a past state is folded. */
const STRETCH_EVENTS = 2_048;
/** Larger contents are not hashed again: the writer of the file has hashed them, and `verify` does. */
const MAX_CHECKED_BYTES = 64 * 1024;

type AgentHead = Pick<AgentRecord, "no" | "epoch" | "head" | "headSha" | "updatedAt">;

interface CommitParts {
  readonly log: EventLog;
  readonly mailbox: Mailbox;
  readonly blobs: Blobs;
  readonly note: NoteHead;
}

export function openCommits(database: DatabaseSync, { log, mailbox, blobs, note }: CommitParts) {
  const queries = writingQueries(database);
  const insertMemory = openMemoryInsert(database);
  const { replaceAgain } = openReplacements(database);
  const insertFiles = openFileInsert(database);
  const pieces = openPieces(database);

  return (lease: Lease, expectedHead: number, commit: Commit): void => {
    const writer = queries.writer.get(lease.agent) ?? throwNoAgent(lease.agent);
    requireValidCommit(lease, writer, expectedHead, commit.events);
    const place = placeOf(commit, writer);
    const { no } = writer;
    const memories = pieces.withoutKnown(no, memoriesOf(commit, lease.agent, place.result));
    const rows: CommitRows = {
      memories: memories.map(digestedValues),
      files: filesOf(commit, place),
      consumed: commit.consumed,
    };
    const headSha = appendToLog(no, writer, commit, rows);
    const { wakeAt } = commit;
    if (wakeAt === undefined) queries.moveHead.run(place.head, headSha, place.at, no);
    else queries.moveHeadAndWake.run(place.head, headSha, place.at, wakeAt === null ? null : isoTime(wakeAt), no);
    note({ no, id: lease.agent, head: place.head, headSha });
    mailbox.consume(no, commit.consumed, place.head);
    let added = 0;
    for (const bytes of commit.blobs) added += blobs.keepText(no, bytes);
    for (const { content, sha256: sha } of commit.files)
      if (content !== null && sha !== null) added += blobs.keepContent(sha, content);
    if (added > 0) queries.addStored.run(added, no);
    insertFiles(no, rows.files);
    for (const memory of memories) {
      insertMemory(no, memory);
      // A text that a person corrected is never recalled again, also when the agent reads it again.
      replaceAgain(no, memory);
    }
    pieces.supersede(no, commit.memories);
    for (const write of commit.staged) applyStaged(no, lease.agent, write, place.at);
    if (commit.snapshot) keepSnapshot(no, place.head, commit.snapshot);
  };

  function appendToLog(no: number, { head, headSha }: AgentHead, { events }: Commit, rows: CommitRows): string {
    if (events.length > 0) return log.append(no, headSha, events, digestOf(rows));
    return rows.consumed.length === 0 ? headSha : log.appendConsumed(no, headSha, head, rows.consumed);
  }

  function applyStaged(no: number, agent: string, write: StagedWrite, at: string): void {
    switch (write.kind) {
      case "memory":
        return;
      case "send": {
        const to = queries.writer.get(write.to) ?? throwNoAgent(write.to);
        mailbox.deliver(to.no, senderKey(agent, no, write.key), write.message, at);
        return;
      }
      case "spawn":
        log.create({ parent: agent, ...write.spec }, senderKey(agent, no, write.key), at);
        return;
      case "timer":
        mailbox.setTimer(no, write.key, write.at, write.message);
        return;
    }
  }

  function keepSnapshot(no: number, seq: number, { version, state }: NonNullable<Commit["snapshot"]>): void {
    const data = JSON.stringify(state);
    const link = queries.link.get(no, seq)?.sha ?? "";
    queries.keepSnapshot.run(no, seq, version, data, snapshotSha(link, { version, data }));
    queries.dropSnapshot.run(no, NEWEST_SNAPSHOTS, STRETCH_EVENTS);
  }
}

function filesOf({ files, events }: Commit, place: CommitPlace): readonly RowValues[] {
  return files.map(({ path, operation, bytes, sha256: sha, content, step, callId, outside }) => {
    if (events.length === 0) throw wrongFile(path, "an event, got none");
    const isWrong =
      content === null
        ? sha !== null && operation !== "trust"
        : content.length <= MAX_CHECKED_BYTES && sha256(content) !== sha;
    if (isWrong) throw wrongFile(path, "the hash of its content, got another");
    const { seq, at } = events.findLast((event) => "callId" in event && event.callId === callId) ?? place.last;
    return [seq, path, operation, bytes, sha, step, callId, at, sourcesText(outside)];
  });
}

function writingQueries(database: DatabaseSync) {
  return {
    writer: prepare<AgentHead>(
      database,
      "SELECT no, epoch, head, head_sha AS headSha, updated_at AS updatedAt FROM agent WHERE id = ?",
    ),
    moveHead: prepare(database, "UPDATE agent SET head = ?, head_sha = ?, updated_at = ? WHERE no = ?"),
    addStored: prepare(database, "UPDATE agent SET stored = stored + ? WHERE no = ?"),
    moveHeadAndWake: prepare(
      database,
      "UPDATE agent SET head = ?, head_sha = ?, updated_at = ?, wake_at = ? WHERE no = ?",
    ),
    link: prepare<{ readonly sha: string }>(database, "SELECT sha FROM event WHERE agent_no = ? AND seq = ?"),
    keepSnapshot: prepare(
      database,
      "INSERT OR REPLACE INTO snapshot (agent_no, seq, version, data, sha) VALUES (?, ?, ?, ?, ?)",
    ),
    dropSnapshot: prepare(
      database,
      `DELETE FROM snapshot AS old WHERE agent_no = ?1
         AND seq = (SELECT seq FROM snapshot WHERE agent_no = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)
         AND EXISTS (SELECT 1 FROM snapshot WHERE agent_no = ?1 AND seq < old.seq AND seq >= old.seq - old.seq % ?3)`,
    ),
  };
}

/** Throws unless the lease is the newest, the log ends at `expectedHead` and the events continue it. */
function requireValidCommit(
  lease: Lease,
  agent: { readonly epoch: number; readonly head: number },
  expectedHead: number,
  events: readonly RecordedEvent[],
): void {
  if (agent.epoch !== lease.epoch)
    throw new GoaldError(
      "GOALD_FENCED",
      `Expected the lease of epoch ${agent.epoch} on ${lease.agent}, got ${lease.epoch}: another host has claimed the agent.`,
    );
  if (agent.head !== expectedHead)
    throw new GoaldError(
      "GOALD_CONFLICT",
      `Expected the log of ${lease.agent} to end at ${expectedHead}, found ${agent.head}: another writer appended. Load it again.`,
    );
  const stray = events.findIndex((event, place) => event.seq !== expectedHead + 1 + place);
  if (stray !== -1)
    throw new GoaldError(
      "GOALD_INTERNAL",
      `Expected event ${expectedHead + 1 + stray} of ${lease.agent} next, got ${events[stray]?.seq}.`,
    );
}

/** The events that the parts of a commit belong to. */
interface CommitPlace {
  /** The head after the commit. */
  readonly head: number;
  readonly at: string;
  readonly last: EventPlace;
  /** The command's result that staged writes belong to, or the last event of a commit without a result. */
  readonly result: EventPlace;
}

function placeOf({ events }: Commit, before: { readonly head: number; readonly updatedAt: string }): CommitPlace {
  const toPlace = (event: RecordedEvent): EventPlace => {
    const { seq, at } = event;
    return { seq, at, step: "step" in event ? event.step : 0 };
  };
  const newest = events.at(-1);
  const last = newest ? toPlace(newest) : { seq: before.head, at: before.updatedAt, step: 0 };
  const result = events.findLast(({ type }) => type === "command-finished" || type === "command-waiting");
  return { head: last.seq, at: last.at, last, result: result ? toPlace(result) : last };
}

const wrongFile = (path: string, expected: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `Expected the change of ${JSON.stringify(path)} with ${expected}.`);

/**
 * The rows that a commit writes beside its events, as they are written, read and hashed. The link of a commit's last
 * event covers a digest of its memories, versions of files and consumed messages, so verify finds every change to them.
 * The digest leaves out vectors, which are computed from the text later.
 */
export interface CommitRows {
  readonly memories: readonly RowValues[];
  readonly files: readonly RowValues[];
  /** Keys of consumed messages. */
  readonly consumed: readonly string[];
}

export const FILE_COLUMNS = "seq, path, operation, bytes, sha, step, call_id, at, outside";

/** The versions of files of one commit. Those of one event are numbered from 0. */
function openFileInsert(database: DatabaseSync): (agentNo: number, files: readonly RowValues[]) => void {
  const insert = prepare(
    database,
    `INSERT INTO file_version (agent_no, ordinal, ${FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (agentNo, files) => {
    const counts = new Map<number, number>();
    for (const values of files) {
      const ordinal = counts.get(values[0]) ?? 0;
      counts.set(values[0], ordinal + 1);
      insert.run(agentNo, ordinal, ...values);
    }
  };
}

/** Returns null for a commit without such rows. Rows of one event keep the order in which they were written. */
export function digestOf({ memories, files, consumed }: CommitRows): string | null {
  if (memories.length === 0 && files.length === 0 && consumed.length === 0) return null;
  return sha256(JSON.stringify([sortBySeq(memories), sortBySeq(files), [...consumed].sort()]));
}

const sortBySeq = (rows: readonly RowValues[]): readonly RowValues[] => [...rows].sort((a, b) => a[0] - b[0]);

/**
 * The function returns the rows of events up to `seq` that no earlier call returned. Rows of events after `head`, which were
 * committed after the check began, are left out.
 */
export function openCommitRows(database: DatabaseSync, agentNo: number, head: number) {
  const read = (select: string): TakeRows => takeRowsUpTo(readPages(database, select, agentNo, head));
  const memories = read(`SELECT ordinal AS place, ${DIGESTED} FROM memory WHERE ordinal IS NOT NULL AND`);
  const files = read(`SELECT ordinal AS place, ${FILE_COLUMNS} FROM file_version WHERE`);
  return (seq: number): Pick<CommitRows, "memories" | "files"> => ({ memories: memories(seq), files: files(seq) });
}

type TakeRows = (seq: number) => readonly RowValues[];

const PAGE = 500;

/** `select`: a query without its conditions on agent and event. Its first columns are `place` (the ordinal) and `seq`. */
function* readPages(database: DatabaseSync, select: string, agentNo: number, head: number): Generator<RowValues> {
  const read = prepare<Readonly<Record<string, RowValue>>>(
    database,
    `${select} agent_no = ?1 AND (seq, ordinal) > (?2, ?3) AND seq <= ?4 ORDER BY seq, ordinal LIMIT ${PAGE}`,
  );
  let lastSeq = -1;
  let lastOrdinal = 0;
  for (;;) {
    const page = read.all(agentNo, lastSeq, lastOrdinal, head);
    if (page.length === 0) return;
    for (const row of page) {
      const [ordinal, seq, ...values] = Object.values(row) as [number, number, ...RowValue[]];
      [lastSeq, lastOrdinal] = [seq, ordinal];
      yield [seq, ...values];
    }
  }
}

function takeRowsUpTo(rows: Iterator<RowValues>): TakeRows {
  let next = rows.next();
  return (seq) => {
    const taken: RowValues[] = [];
    for (; !next.done && next.value[0] <= seq; next = rows.next()) taken.push(next.value);
    return taken;
  };
}
