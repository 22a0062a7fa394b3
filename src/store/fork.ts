/**
 * fork.ts -- a new agent that begins with another's past.
 *
 * Called inside a transaction. Its log is the other's up to an event, in the same words but for its own id, on a hash chain of
 * its own; the memories and versions of files that came with these events come along, all covered by the last of them, and
 * what people put into its memory or changed there, whenever it was. Blobs are shared. Its epoch is as high as any that its log names, so that whatever the past left open counts as interrupted.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RecordedEvent } from "#core/event.ts";
import type { Fork } from "#core/ports/agent.ts";
import { wellFormed } from "#core/text.ts";
import { chainStart } from "./chain.ts";
import { digestOf, readFileVersions, readMemories } from "./commit-rows.ts";
import { prepare } from "./connection.ts";
import { missing } from "./failure.ts";
import { openForkMemories } from "./fork-memories.ts";
import type { Log } from "./log.ts";
import { NEXT_AGENT } from "./remove.ts";
import { isoTime, parseJson } from "./rows.ts";
import { sealOf } from "./seal.ts";
import { folderOf, freeSlug } from "./slug.ts";

/** Returns the id of the agent that this key made, now or before. */
export type WriteFork = (source: string, fork: Fork, key: string) => string;

export function openForks(database: DatabaseSync, log: Log): WriteFork {
  const queries = forkQueries(database);
  const copyMemories = openForkMemories(database);

  return (source, fork, key) => {
    const earlier = queries.byKey.get(key);
    if (earlier) return earlier.id;
    const { no: sourceNo } = queries.byId.get(source) ?? missing(source);
    const id = freeSlug(fork.name, (taken) => queries.byId.get(taken) !== undefined);
    const past = queries.events
      .all(sourceNo, fork.head)
      .map(({ seq, data }) =>
        adopt(parseJson(data, `event ${seq} of ${source}`) as RecordedEvent, source, id, fork.name),
      );
    const [created] = past;
    if (!created) return missing(source);
    const { no, epoch: lowest } = queries.next.get() ?? { no: 1, epoch: 0 };
    const epoch = highestEpoch(past, lowest);
    const row = { id, name: wellFormed(fork.name), folder: folderOf(id, null), parent: null, epoch };
    const createdAt = created.at;
    queries.insert.run(
      no,
      id,
      key,
      row.name,
      row.folder,
      createdAt,
      chainStart(id),
      epoch,
      sealOf({ ...row, createdAt }),
    );
    copyMemories({ no, id, sourceNo, head: fork.head }, `fork ${key}`, createdAt);
    queries.copyFiles.run(no, sourceNo, fork.head);
    appendAll(no, id, past, fork);
    return id;
  };

  function appendAll(no: number, id: string, past: readonly RecordedEvent[], { head, events }: Fork): void {
    const rows = {
      memories: readMemories(database, no, head)(head),
      files: readFileVersions(database, no, head)(head),
      consumed: [],
    };
    const pastSha = log.append(no, chainStart(id), past, digestOf(rows));
    const sha = log.append(no, pastSha, events, null);
    const last = events.at(-1) ?? past.at(-1);
    queries.setHead.run(last?.seq ?? head, sha, isoTime(last?.at ?? ""), no);
  }
}

/** A log may hold more events than a call takes arguments. */
export const highestEpoch = (events: readonly RecordedEvent[], lowest: number): number =>
  events.reduce((epoch, event) => ("epoch" in event ? Math.max(epoch, event.epoch) : epoch), lowest);

/** An event of the other's log as one of the new agent's. */
export function adopt(event: RecordedEvent, source: string, id: string, name: string): RecordedEvent {
  if (event.type === "agent-created") {
    const { startedBy } = event;
    // It answers to nobody; what it was born with it keeps.
    return { ...event, name: wellFormed(name), ...(startedBy ? { startedBy: { ...startedBy, agent: null } } : {}) };
  }
  if (event.type !== "model-asked") return event;
  const own = (recall: string): string => (recall.startsWith(`${source}/`) ? id + recall.slice(source.length) : recall);
  return { ...event, recallIds: event.recallIds.map(own) };
}

function forkQueries(database: DatabaseSync) {
  const file = "seq, ordinal, path, operation, bytes, sha, step, call_id, at";
  return {
    byKey: prepare<{ id: string }>(database, "SELECT id FROM agent WHERE create_key = ?"),
    byId: prepare<{ no: number }>(database, "SELECT no FROM agent WHERE id = ?"),
    next: prepare<{ no: number; epoch: number }>(database, NEXT_AGENT),
    events: prepare<{ seq: number; data: string }>(
      database,
      "SELECT seq, data FROM event WHERE agent_no = ? AND seq <= ? ORDER BY seq",
    ),
    insert: prepare(
      database,
      `INSERT INTO agent
         (no, id, create_key, name, folder, parent_no, created_at, updated_at, head, head_sha, epoch, seal, wake_at)
       VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?6, 1, ?7, ?8, ?9, NULL)`,
    ),
    setHead: prepare(database, "UPDATE agent SET head = ?, head_sha = ?, updated_at = ? WHERE no = ?"),
    copyFiles: prepare(
      database,
      `INSERT INTO file_version (agent_no, ${file})
       SELECT ?1, ${file} FROM file_version WHERE agent_no = ?2 AND seq <= ?3 ORDER BY seq, ordinal`,
    ),
  };
}
