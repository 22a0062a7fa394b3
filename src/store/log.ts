/**
 * log.ts -- creates agents and appends to their event logs.
 *
 * Runs inside a transaction. Each event is stored as canonical text with its link in the hash chain. The agent's row keeps
 * the last link: an append reads one row whatever the length of the log, and a truncated log is detected. A commit that
 * consumes messages and appends no event gets a link of its own.
 */

import type { DatabaseSync } from "node:sqlite";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentSpec } from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";
import { wellFormed } from "#core/text.ts";
import { canonicalJson } from "#util/json.ts";
import type { NoteHead } from "./anchor.ts";
import { chainLink, chainStart } from "./chain.ts";
import { prepare } from "./connection.ts";
import { throwNoAgent } from "./failure.ts";
import { blobsIn, type References } from "./references.ts";
import { NEXT_AGENT } from "./remove.ts";
import { isoTime } from "./rows.ts";
import { sealOf } from "./seal.ts";
import { freeSlug, requireFree } from "./slug.ts";

export interface EventLog {
  /** Returns the id of the agent that was created with this key, now or earlier. Its wake time is `at`. */
  create(spec: AgentSpec, key: string, at: string): string;
  /** `rowsSha` is the digest of the commit's other rows. Returns the last link, which the caller stores in the agent's row. */
  append(agentNo: number, previousSha: string, events: readonly RecordedEvent[], rowsSha: string | null): string;
  /** Appends the link of a commit without events that consumed these messages after event `seq`. Returns that link. */
  appendConsumed(agentNo: number, previousSha: string, seq: number, keys: readonly string[]): string;
}

export function openLog(database: DatabaseSync, references: References, note: NoteHead): EventLog {
  const queries = logQueries(database);

  function create(spec: AgentSpec, key: string, at: string): string {
    const earlier = queries.byKey.get(key);
    if (earlier) return earlier.id;
    const parent = spec.parent === undefined ? null : (queries.byId.get(spec.parent) ?? throwNoAgent(spec.parent));
    const created = makeCreatedEvent(spec, isoTime(at));
    const isTaken = (id: string): boolean => queries.byId.get(id) !== undefined;
    const id = spec.id === undefined ? freeSlug(created.name, isTaken) : requireFree(spec.id, isTaken);
    const folder = folderOf(id, parent?.folder ?? null);
    const { no, epoch } = queries.next.get() ?? { no: 1, epoch: 0 };
    const start = chainStart(id);
    const { name, at: createdAt } = created;
    const seal = sealOf({ id, name, folder, parent: spec.parent ?? null, createdAt, epoch });
    queries.insertAgent.run(no, id, key, name, folder, parent?.no ?? null, createdAt, start, epoch, seal);
    const headSha = append(no, start, [created], null);
    queries.setHeadSha.run(headSha, no);
    note({ no, id, head: 1, headSha });
    return id;
  }

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
      references.note(agentNo, blobsIn(text));
    }
    return sha;
  }

  function appendConsumed(agentNo: number, previousSha: string, seq: number, keys: readonly string[]): string {
    const text = canonicalJson([...keys].sort());
    const sha = chainLink(previousSha, text);
    queries.insertEventless.run(agentNo, seq, text, sha);
    return sha;
  }

  return { create, append, appendConsumed };
}

function logQueries(database: DatabaseSync) {
  return {
    insertEvent: prepare(database, "INSERT INTO event (agent_no, seq, data, rows_sha, sha) VALUES (?, ?, ?, ?, ?)"),
    insertEventless: prepare(database, "INSERT INTO eventless (agent_no, seq, keys, sha) VALUES (?, ?, ?, ?)"),
    insertAgent: prepare(
      database,
      `INSERT INTO agent
         (no, id, create_key, name, folder, parent_no, created_at, updated_at, head, head_sha, epoch, seal, wake_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10, ?7)`,
    ),
    next: prepare<{ no: number; epoch: number }>(database, NEXT_AGENT),
    setHeadSha: prepare(database, "UPDATE agent SET head_sha = ? WHERE no = ?"),
    byKey: prepare<{ id: string }>(database, "SELECT id FROM agent WHERE create_key = ?"),
    byId: prepare<{ no: number; folder: string }>(database, "SELECT no, folder FROM agent WHERE id = ?"),
  };
}

export function makeCreatedEvent(spec: AgentSpec, at: string): RecordedEvent & { readonly type: "agent-created" } {
  const { name: _name, role: _role, goals: _goals, parent: _parent, id: _id, ...settings } = spec;
  const name = wellFormed(spec.name);
  const role = wellFormed(spec.role);
  const goals = spec.goals.map(wellFormed);
  return { v: EVENT_VERSION, seq: 1, at, frame: 0, type: "agent-created", name, role, goals, ...settings };
}
