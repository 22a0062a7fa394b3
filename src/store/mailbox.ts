/**
 * mailbox.ts -- inbox rows, and the timers that turn into them.
 *
 * A consumed row stays in the table, so a message that is sent again is delivered once, however late it comes. A timer that
 * has fired is deleted and can be set again.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { InboxMessage } from "#core/ports/store.ts";
import { canonicalJson } from "#util/json.ts";
import { blobsIn, type NoteReference } from "./log.ts";
import { type InboxRecord, isoTime } from "./rows.ts";
import { prepare } from "./sql.ts";

export type Mailbox = ReturnType<typeof openMailbox>;

interface TimerRecord extends InboxRecord {
  readonly agentNo: number;
}

export function openMailbox(database: DatabaseSync, noteReference: NoteReference) {
  const insert = prepare(
    database,
    "INSERT INTO inbox (agent_no, key, at, message) VALUES (?, ?, ?, ?) ON CONFLICT (agent_no, key) DO NOTHING",
  );
  const consumeRow = prepare(
    database,
    "UPDATE inbox SET consumed_by = ? WHERE agent_no = ? AND key = ? AND consumed_by IS NULL",
  );
  const putTimer = prepare(
    database,
    `INSERT INTO timer (agent_no, key, at, message) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (agent_no, key) DO UPDATE SET at = ?3, message = ?4`,
  );
  const removeTimer = prepare(database, "DELETE FROM timer WHERE agent_no = ? AND key = ?");
  const dueTimers = prepare<TimerRecord>(
    database,
    "SELECT agent_no AS agentNo, key, at, message FROM timer WHERE at <= ? ORDER BY at, agent_no, key",
  );

  /** Returns the text to store. A child's answer can refer to blobs of the child. */
  function textOf(agentNo: number, message: InboxMessage): string {
    const text = canonicalJson(message);
    for (const blob of blobsIn(text)) noteReference(agentNo, blob);
    return text;
  }

  return {
    /** Returns false when this key was delivered to this agent before. */
    deliver: (agentNo: number, key: string, message: InboxMessage, at: string): boolean =>
      insert.run(agentNo, key, isoTime(at), textOf(agentNo, message)) === 1,

    /** Throws GOALD_CONFLICT for a key that is not waiting. `head` is the head after the consuming commit. */
    consume(agentNo: number, keys: readonly string[], head: number): void {
      for (const key of keys)
        if (consumeRow.run(head, agentNo, key) === 0)
          throw new GoaldError(
            "GOALD_CONFLICT",
            `Expected a waiting inbox row ${JSON.stringify(key)}, found none: it was consumed before or never delivered.`,
          );
    },

    /** Sets or replaces the timer of this key. `at` null deletes it. */
    setTimer(agentNo: number, key: string, at: string | null, message: InboxMessage): void {
      if (at === null) removeTimer.run(agentNo, key);
      else putTimer.run(agentNo, key, isoTime(at), textOf(agentNo, message));
    },

    fireTimers(now: string): void {
      for (const { agentNo, key, at, message } of dueTimers.all(now)) {
        // A timer that is set again after it fired is delivered again.
        insert.run(agentNo, `timer:${key}@${at}`, at, message);
        removeTimer.run(agentNo, key);
      }
    },
  };
}

/**
 * Returns the key of a message that an agent sends, or of a child that it starts. Such keys come from call ids, which are
 * unique within one agent only; an agent's id can be used again after a removal, its number cannot.
 */
export const senderKey = (agent: string, agentNo: number, key: string): string => `${agent}#${agentNo}/${key}`;
