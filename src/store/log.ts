/**
 * log.ts -- appending to event logs, and the agents that they begin with.
 *
 * Called inside a transaction. Each event is stored as its canonical text with its link in
 * the hash chain; the agent's row keeps the last link, so that an append reads one row whatever the
 * log's length, and so that a log that was cut short is found out. A commit that consumes messages and appends
 * no event gets a link of its own.
 */
import type { DatabaseSync } from "node:sqlite";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentSpec } from "#core/ports/agent.ts";
import { wellFormed } from "#core/text.ts";
import { canonicalJson, chainLink, chainStart } from "./chain.ts";
import { prepare } from "./connection.ts";
import { missing } from "./failure.ts";
import { blobsIn, type References } from "./references.ts";
import { NEXT_AGENT } from "./remove.ts";
import { isoTime } from "./rows.ts";
import { sealOf } from "./seal.ts";
import { folderOf, freeSlug, requireFree } from "./slug.ts";

export interface Log {
  /** The id of the agent that this key made, now or before. It wants to run at once. */
  create(spec: AgentSpec, key: string, at: string): string;
  /** `rowsSha`: of the rows that come with the last event. Returns the chain's last link. The caller keeps it in the agent's row. */
  append(agentNo: number, previousSha: string, events: readonly RecordedEvent[], rowsSha: string | null): string;
  /** The link of a commit without events: these messages were consumed after event `seq`. */
  appendConsumed(agentNo: number, previousSha: string, seq: number, keys: readonly string[]): string;
}

export function openLog(database: DatabaseSync, references: References): Log {
  const insertEvent = prepare(
    database,
    "INSERT INTO event (agent_no, seq, data, rows_sha, sha) VALUES (?, ?, ?, ?, ?)",
  );
  const insertEventless = prepare(database, "INSERT INTO eventless (agent_no, seq, keys, sha) VALUES (?, ?, ?, ?)");
  const insertAgent = prepare(
    database,
    `INSERT INTO agent
       (no, id, create_key, name, folder, parent_no, created_at, updated_at, head, head_sha, epoch, seal, wake_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?9, ?10, ?7)`,
  );
  const next = prepare<{ no: number; epoch: number }>(database, NEXT_AGENT);
  const updateHeadSha = prepare(database, "UPDATE agent SET head_sha = ? WHERE no = ?");
  const byKey = prepare<{ id: string }>(database, "SELECT id FROM agent WHERE create_key = ?");
  const byId = prepare<{ no: number; folder: string }>(database, "SELECT no, folder FROM agent WHERE id = ?");

  function create(spec: AgentSpec, key: string, at: string): string {
    const earlier = byKey.get(key);
    if (earlier) return earlier.id;
    const parent = spec.parent === undefined ? null : (byId.get(spec.parent) ?? missing(spec.parent));
    const created = createdEvent(spec, isoTime(at));
    const isTaken = (id: string): boolean => byId.get(id) !== undefined;
    const id = spec.id === undefined ? freeSlug(created.name, isTaken) : requireFree(spec.id, isTaken);
    const folder = folderOf(id, parent?.folder ?? null);
    const { no, epoch } = next.get() ?? { no: 1, epoch: 0 };
    const start = chainStart(id);
    const { name, at: createdAt } = created;
    const seal = sealOf({ id, name, folder, parent: spec.parent ?? null, createdAt, epoch });
    insertAgent.run(no, id, key, name, folder, parent?.no ?? null, createdAt, start, epoch, seal);
    updateHeadSha.run(append(no, start, [created], null), no);
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
      insertEvent.run(agentNo, event.seq, text, covered, sha);
      references.note(agentNo, blobsIn(text));
    }
    return sha;
  }

  function appendConsumed(agentNo: number, previousSha: string, seq: number, keys: readonly string[]): string {
    const text = canonicalJson([...keys].sort());
    const sha = chainLink(previousSha, text);
    insertEventless.run(agentNo, seq, text, sha);
    return sha;
  }

  return { create, append, appendConsumed };
}

export function createdEvent(spec: AgentSpec, at: string): RecordedEvent & { readonly type: "agent-created" } {
  const { name: _name, role: _role, goals: _goals, parent: _parent, id: _id, ...settings } = spec;
  const name = wellFormed(spec.name);
  const role = wellFormed(spec.role);
  const goals = spec.goals.map(wellFormed);
  return { v: EVENT_VERSION, seq: 1, at, frame: 0, type: "agent-created", name, role, goals, ...settings };
}
