/**
 * log.ts -- appending to event logs, and the agents that they begin with.
 *
 * Called inside a transaction. Each event is stored as its canonical text with its link in
 * the hash chain; the agent's row keeps the last link, so that an append reads one row whatever the
 * log's length, and so that a log that was cut short is found out.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RecordedEvent } from "#core/event.ts";
import { EVENT_VERSION } from "#core/event.ts";
import type { AgentSpec } from "#core/ports.ts";
import { wellFormed } from "#core/text.ts";
import { canonicalJson, chainLink, chainStart } from "./chain.ts";
import { prepare } from "./connection.ts";
import { missing } from "./failure.ts";
import { isoTime } from "./rows.ts";
import { folderOf, freeSlug } from "./slug.ts";

export interface Log {
  /** The id of the agent that this key made, now or before. It wants to run at once. */
  create(spec: AgentSpec, key: string, at: string): string;
  /** Returns the chain's last link. The caller keeps it in the agent's row. */
  append(agentNo: number, previousSha: string, events: readonly RecordedEvent[]): string;
}

export function openLog(database: DatabaseSync): Log {
  const insertEvent = prepare(database, "INSERT INTO event (agent_no, seq, data, sha) VALUES (?, ?, ?, ?)");
  const insertAgent = prepare(
    database,
    `INSERT INTO agent (no, id, create_key, name, folder, parent_no, created_at, updated_at, head, head_sha, wake_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 1, ?8, ?7)`,
  );
  const nextNo = prepare<{ no: number }>(database, "SELECT coalesce(max(no), 0) + 1 AS no FROM agent");
  const updateHeadSha = prepare(database, "UPDATE agent SET head_sha = ? WHERE no = ?");
  const byKey = prepare<{ id: string }>(database, "SELECT id FROM agent WHERE create_key = ?");
  const byId = prepare<{ no: number; folder: string }>(database, "SELECT no, folder FROM agent WHERE id = ?");

  function create(spec: AgentSpec, key: string, at: string): string {
    const earlier = byKey.get(key);
    if (earlier) return earlier.id;
    const parent = spec.parent === undefined ? null : (byId.get(spec.parent) ?? missing(spec.parent));
    const created = createdEvent(spec, isoTime(at));
    const id = freeSlug(created.name, (taken) => byId.get(taken) !== undefined);
    const folder = folderOf(id, parent?.folder ?? null);
    const no = nextNo.get()?.no ?? 1;
    const start = chainStart(id);
    insertAgent.run(no, id, key, created.name, folder, parent?.no ?? null, created.at, start);
    updateHeadSha.run(append(no, start, [created]), no);
    return id;
  }

  function append(agentNo: number, previousSha: string, events: readonly RecordedEvent[]): string {
    let sha = previousSha;
    for (const event of events) {
      const text = canonicalJson(event);
      sha = chainLink(sha, text);
      insertEvent.run(agentNo, event.seq, text, sha);
    }
    return sha;
  }

  return { create, append };
}

export function createdEvent(spec: AgentSpec, at: string): RecordedEvent & { readonly type: "agent-created" } {
  const { approve, stepLimit } = spec;
  const name = wellFormed(spec.name);
  const role = wellFormed(spec.role);
  const goals = spec.goals.map(wellFormed);
  return { v: EVENT_VERSION, seq: 1, at, frame: 0, type: "agent-created", name, role, goals, approve, stepLimit };
}
