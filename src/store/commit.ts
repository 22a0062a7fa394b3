/**
 * commit.ts -- one unit of an agent's work, written all together.
 *
 * Called inside a transaction: whatever throws here leaves nothing behind. First it is
 * settled that this writer may write (epoch) and writes where it thinks it does (head); the rest is
 * inserts whose cost depends on what the commit carries, never on how old the agent is.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Commit, Lease, NewMemory, StagedWrite } from "#core/ports.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { missing } from "./failure.ts";
import type { Log } from "./log.ts";
import { type Mailbox, senderKey } from "./mailbox.ts";
import { isoTime } from "./rows.ts";

const SNAPSHOTS_KEPT = 2;

interface Writer {
  readonly no: number;
  readonly epoch: number;
  readonly head: number;
  readonly headSha: string;
  readonly updatedAt: string;
}

export type WriteCommit = (lease: Lease, expectedHead: number, commit: Commit) => void;

export function openCommits(database: DatabaseSync, log: Log, mailbox: Mailbox): WriteCommit {
  const queries = writingQueries(database);

  return (lease, expectedHead, commit) => {
    const writer = queries.writer.get(lease.agent) ?? missing(lease.agent);
    requireRight(lease, writer, expectedHead, commit.events);
    const place = placeOf(commit, writer);
    const { no } = writer;
    const headSha = log.append(no, writer.headSha, commit.events);
    queries.moveHead.run(place.head, headSha, place.at, no);
    mailbox.consume(no, commit.consumed, place.head);
    for (const bytes of commit.blobs) queries.keepBlob.run(sha256(bytes), bytes);
    recordFiles(no, commit, place);
    // An event's own memory has the ordinal 0; those that were staged with it come after.
    for (const memory of commit.memories) remember(no, memory, 0, commit.events, place);
    let ordinal = 0;
    for (const write of commit.staged)
      if (write.kind === "memory")
        remember(no, stagedMemory(write, lease.agent, place.result), ++ordinal, commit.events, place);
      else applyStaged(no, lease.agent, write, place.at);
    if (commit.wakeAt !== undefined) queries.wake.run(commit.wakeAt === null ? null : isoTime(commit.wakeAt), no);
    if (commit.snapshot) keepSnapshot(no, place.head, commit.snapshot);
  };

  function recordFiles(no: number, { files, events }: Commit, place: Place): void {
    for (const file of files) {
      const { path, operation, bytes, sha256: sha, content, step, callId } = file;
      if (content === null ? sha !== null : sha256(content) !== sha) throw wrongHash(path);
      if (content !== null) queries.keepBlob.run(sha, content);
      const { seq, at } = events.findLast((event) => "callId" in event && event.callId === callId) ?? place.last;
      queries.recordFile.run(no, seq, path, operation, bytes, sha, step, callId, at);
    }
  }

  function remember(no: number, memory: NewMemory, ordinal: number, events: Commit["events"], place: Place): void {
    const { seq, step, namespace, kind, text, importance, trust } = memory;
    if (seq < 1 || seq > place.head) throw strayMemory(seq, place.head);
    const at = events.find((event) => event.seq === seq)?.at ?? place.at;
    queries.remember.run(no, seq, ordinal, step, namespace, kind, wellFormed(text), importance, trust, at);
  }

  function applyStaged(no: number, agent: string, write: StagedWrite, at: string): void {
    switch (write.kind) {
      case "memory":
        return;
      case "send": {
        const to = queries.writer.get(write.to) ?? missing(write.to);
        mailbox.deliver(to.no, senderKey(agent, write.key), write.message, at);
        return;
      }
      case "spawn":
        log.create({ parent: agent, ...write.spec }, senderKey(agent, write.key), at);
        return;
      case "timer":
        mailbox.setTimer(no, write.key, write.at, write.message);
        return;
    }
  }

  function keepSnapshot(no: number, seq: number, { version, state }: NonNullable<Commit["snapshot"]>): void {
    const data = JSON.stringify(state);
    queries.keepSnapshot.run(no, seq, version, data, sha256(data));
    queries.dropSnapshots.run(no, SNAPSHOTS_KEPT);
  }
}

function writingQueries(database: DatabaseSync) {
  return {
    writer: prepare<Writer>(
      database,
      "SELECT no, epoch, head, head_sha AS headSha, updated_at AS updatedAt FROM agent WHERE id = ?",
    ),
    moveHead: prepare(database, "UPDATE agent SET head = ?, head_sha = ?, updated_at = ? WHERE no = ?"),
    wake: prepare(database, "UPDATE agent SET wake_at = ? WHERE no = ?"),
    keepBlob: prepare(database, "INSERT INTO blob (sha, bytes) VALUES (?, ?) ON CONFLICT (sha) DO NOTHING"),
    recordFile: prepare(
      database,
      `INSERT INTO file_version (agent_no, seq, path, operation, bytes, sha, step, call_id, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    remember: prepare(
      database,
      `INSERT INTO memory (agent_no, seq, ordinal, step, namespace, kind, text, importance, trust, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    keepSnapshot: prepare(
      database,
      "INSERT OR REPLACE INTO snapshot (agent_no, seq, version, data, sha) VALUES (?, ?, ?, ?, ?)",
    ),
    dropSnapshots: prepare(
      database,
      `DELETE FROM snapshot WHERE agent_no = ?1 AND seq NOT IN
         (SELECT seq FROM snapshot WHERE agent_no = ?1 ORDER BY seq DESC LIMIT ?2)`,
    ),
  };
}

/** Throws unless the lease is the newest, the log ends where the writer thinks, and the events continue it. */
export function requireRight(
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
      `Expected the log of ${lease.agent} to end at ${expectedHead}, found ${agent.head}: somebody else appended. Load it again.`,
    );
  const stray = events.findIndex((event, place) => event.seq !== expectedHead + 1 + place);
  if (stray !== -1)
    throw new GoaldError(
      "GOALD_INTERNAL",
      `Expected event ${expectedHead + 1 + stray} of ${lease.agent} next, got ${events[stray]?.seq}.`,
    );
}

type EventPlace = { readonly seq: number; readonly at: string; readonly step: number };
/** Where in the log, and when, a commit's parts belong. */
interface Place {
  /** After the commit. */
  readonly head: number;
  readonly at: string;
  readonly last: EventPlace;
  /** The result that staged writes ride with; the last event when there is none. */
  readonly result: EventPlace;
}

export function placeOf({ events }: Commit, before: { readonly head: number; readonly updatedAt: string }): Place {
  const toPlace = (event: RecordedEvent): EventPlace => ({ step: 0, ...event });
  const newest = events.at(-1);
  const last = newest ? toPlace(newest) : { seq: before.head, at: before.updatedAt, step: 0 };
  const result = events.findLast(({ type }) => type === "command-finished" || type === "command-waiting");
  return { head: last.seq, at: last.at, last, result: result ? toPlace(result) : last };
}

export function stagedMemory(
  { text, importance, memoryKind }: Extract<StagedWrite, { kind: "memory" }>,
  agent: string,
  { seq, step }: EventPlace,
): NewMemory {
  return { seq, step, namespace: agent, kind: memoryKind, text, importance, trust: "agent" };
}

const wrongHash = (path: string): GoaldError =>
  new GoaldError(
    "GOALD_INTERNAL",
    `Expected the change of ${JSON.stringify(path)} with the hash of its content, got another.`,
  );

const strayMemory = (seq: number, head: number): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `Expected a memory of an event from 1 to ${head}, got one of ${seq}.`);
