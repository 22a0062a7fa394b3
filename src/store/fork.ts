/**
 * fork.ts -- creates an agent that starts with a copy of another agent's log.
 *
 * Runs inside a transaction. The fork gets the events up to a head, with its own id and its own hash chain, and the memories
 * and versions of files of these events, whose digest is in the last copied event. It also gets all changes of memory by
 * people. Throws GOALD_STORE_DAMAGED when the source's chain breaks up to that head. Blobs are shared. The fork's epoch is at
 * least the highest in its log, so every open intent counts as interrupted.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RecordedEvent } from "#core/event.ts";
import type { ShownRecall } from "#core/ports/memory.ts";
import type { Fork } from "#core/ports/store.ts";
import { wellFormed } from "#core/text.ts";
import { chainStart } from "./chain.ts";
import { digestOf, FILE_COLUMNS, openCommitRows } from "./commit.ts";
import { throwNoAgent } from "./failure.ts";
import { type EventLog, openChain } from "./log.ts";
import { openFactMarks } from "./memory-rows.ts";
import { isoTime, type LinkedRecord, parseJson } from "./rows.ts";
import { freeSlug } from "./slug.ts";
import { type NoteHead, prepare } from "./sql.ts";

/** The function returns the id of the agent that was created with this key, now or earlier. */
export function openForks(database: DatabaseSync, log: EventLog, note: NoteHead) {
  const queries = forkQueries(database);
  const markFacts = openFactMarks(database);
  const startChain = openChain(database);

  return (source: string, fork: Fork, key: string): string => {
    const earlier = log.find(key);
    if (earlier !== undefined) return earlier;
    const found = queries.byId.get(source) ?? throwNoAgent(source);
    const { no: sourceNo } = found;
    const id = freeSlug(fork.name, log.isTaken);
    const chain = startChain(found, 0, chainStart(source));
    const past = queries.events.all(sourceNo, fork.head).map((record) => {
      chain.take(record);
      const event = parseJson(record.data, `event ${record.seq} of ${source}`) as RecordedEvent;
      return adoptEvent(event, source, id, fork.name);
    });
    const [created] = past;
    if (!created) return throwNoAgent(source);
    const name = wellFormed(fork.name);
    const of = { parent: null, createdAt: created.at, epoch: highestEpoch(past), wakeAt: null };
    const no = log.insert({ id, key, name, ...of });
    queries.copyMemories.run(no, id, sourceNo, fork.head);
    markFacts(no);
    queries.copyFiles.run(no, sourceNo, fork.head);
    appendAll(no, id, past, fork);
    return id;
  };

  function appendAll(no: number, id: string, past: readonly RecordedEvent[], { head, events }: Fork): void {
    const rows = { ...openCommitRows(database, no, head)(head), consumed: [] };
    const pastSha = log.append(no, chainStart(id), past, digestOf(rows));
    const sha = log.append(no, pastSha, events, null);
    const last = events.at(-1) ?? past.at(-1);
    queries.setHead.run(last?.seq ?? head, sha, isoTime(last?.at ?? ""), no);
    note({ no, id, head: last?.seq ?? head, headSha: sha });
  }
}

/** Uses `reduce` because a log can have more events than a call can have arguments. */
export const highestEpoch = (events: readonly RecordedEvent[]): number =>
  events.reduce((epoch, event) => ("epoch" in event ? Math.max(epoch, event.epoch) : epoch), 0);

/** Returns an event of the source's log as an event of the fork. */
function adoptEvent(event: RecordedEvent, source: string, id: string, name: string): RecordedEvent {
  if (event.type === "agent-created") {
    const { startedBy } = event;
    // The fork has no parent. It keeps its other settings.
    return { ...event, name: wellFormed(name), ...(startedBy ? { startedBy: { ...startedBy, agent: null } } : {}) };
  }
  if (event.type !== "model-asked") return event;
  const own = (recall: string): string => (recall.startsWith(`${source}/`) ? id + recall.slice(source.length) : recall);
  const ownRow = <Row extends Pick<ShownRecall, "id">>(row: Row): Row => ({ ...row, id: own(row.id) });
  const shown = event.shown?.map((recall) => ({
    ...ownRow(recall),
    ...(recall.with ? { with: recall.with.map(ownRow) } : {}),
    ...(recall.series ? { series: recall.series.map(own) } : {}),
  }));
  return { ...event, recallIds: event.recallIds.map(own), ...(shown ? { shown } : {}) };
}

function forkQueries(database: DatabaseSync) {
  const file = `ordinal, ${FILE_COLUMNS}`;
  return {
    byId: prepare<{ no: number; id: string; head: number; headSha: string }>(
      database,
      "SELECT no, id, head, head_sha AS headSha FROM agent WHERE id = ?",
    ),
    events: prepare<LinkedRecord>(
      database,
      "SELECT seq, data, rows_sha AS rowsSha, sha FROM event WHERE agent_no = ? AND seq <= ? ORDER BY seq",
    ),
    setHead: prepare(database, "UPDATE agent SET head = ?, head_sha = ?, updated_at = ? WHERE no = ?"),
    copyFiles: prepare(
      database,
      `INSERT INTO file_version (agent_no, ${file})
       SELECT ?1, ${file} FROM file_version WHERE agent_no = ?2 AND seq <= ?3 ORDER BY seq, ordinal`,
    ),
    copyMemories: prepare(database, COPY_MEMORIES),
  };
}

const PLAIN =
  "ordinal, made, step, kind, text, text_sha, salt, importance, trust, at, key, source, outside, fact_key, pinned, forgotten, corrected";
/** Names of rows that people added begin with "+", other names with the number of their event. */
const nameIfCopied = (name: string): string =>
  `CASE WHEN row.${name} LIKE '+%' OR CAST(row.${name} AS INTEGER) <= ?4 THEN row.${name} END`;
/**
 * Copies the rows of the copied events, and all that people added or changed, whenever they did it: a memory that was
 * corrected or forgotten must not come back in a fork.
 */
const COPY_MEMORIES = `INSERT INTO memory (agent_no, change, namespace, seq, supersedes, superseded_by, ${PLAIN}, embedder, vector)
  SELECT ?1, row_number() OVER (ORDER BY row.change), ?2, min(row.seq, ?4),
    ${nameIfCopied("supersedes")}, ${nameIfCopied("superseded_by")}, ${PLAIN}, embedder, vector
  FROM memory AS row WHERE row.agent_no = ?3 AND (row.ordinal IS NULL OR row.seq <= ?4) ORDER BY row.change`;
