/**
 * load.ts -- loads what an agent continues from: its newest snapshot and the events after it, checked.
 *
 * A load follows the hash chain from the snapshot, else from the first event, to the link in the agent's row, so nothing
 * that was changed is folded. The cost depends on the events after the snapshot, not on the age of the agent. Earlier
 * events are left to `verify`.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Loaded } from "#core/ports/store.ts";
import { createTurns } from "#util/turns.ts";
import { chainLink, chainStart, snapshotSha } from "./chain.ts";
import { prepare } from "./connection.ts";
import { type AgentRecord, type LinkedRecord, parseJson, type SnapshotRecord, toEvent } from "./rows.ts";
import { requireSealed } from "./seal.ts";

/** Rows of a page. Events of the maximum size take a few milliseconds. */
const PAGE = 64;

/** `requireExisting` throws when the agent was removed meanwhile. */
export type LoadAgent = (agent: AgentRecord, stateVersion: number, requireExisting: () => void) => Promise<Loaded>;

/** A commit that consumed messages and appended nothing. */
interface EventlessRecord {
  readonly seq: number;
  readonly keys: string;
  readonly sha: string;
}

export function openLoad(database: DatabaseSync): LoadAgent {
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

  return async (agent, stateVersion, requireExisting) => {
    requireSealed(agent);
    const { no, id, head } = agent;
    const newest = queries.newest.get(no, stateVersion, head);
    const start = newest ? queries.link.get(no, newest.seq)?.sha : chainStart(id);
    const chain = startChain(agent, newest?.seq ?? 0, start ?? "");
    const snapshot = newest ? readSnapshot(id, newest, start) : null;
    const events: RecordedEvent[] = [];
    const takeTurn = createTurns();
    for (;;) {
      const page = queries.events.all(no, chain.seq, head);
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

/** Returns a check that continues after event `seq`, whose link is `sha`. */
export function openChain(database: DatabaseSync): (agent: ChainEnd, seq: number, sha: string) => ChainCheck {
  const eventless = prepare<EventlessRecord>(
    database,
    "SELECT seq, keys, sha FROM eventless WHERE agent_no = ? AND seq BETWEEN ? AND ? ORDER BY no",
  );
  return (agent, seq, sha) => new ChainCheck(agent, { seq, sha }, eventless.all(agent.no, seq, agent.head));
}

/** Follows the chain over events and commits without events, in order. Throws GOALD_STORE_DAMAGED where it breaks. */
class ChainCheck {
  readonly #agent: ChainEnd;
  readonly #eventless: readonly EventlessRecord[];
  #nextEventless = 0;
  #sha: string;
  /** The number of the last checked event. */
  seq: number;

  constructor(
    agent: ChainEnd,
    { seq, sha }: { readonly seq: number; readonly sha: string },
    eventless: readonly EventlessRecord[],
  ) {
    this.#agent = agent;
    this.seq = seq;
    this.#sha = sha;
    this.#eventless = eventless;
  }

  take({ seq, data, rowsSha, sha }: LinkedRecord): void {
    this.#passEventless();
    if (seq !== this.seq + 1) throw this.#damaged(`event ${this.seq + 1}`, `found event ${seq}`);
    if (chainLink(this.#sha, data, rowsSha) !== sha) throw this.#changed(`event ${seq}`);
    this.seq = seq;
    this.#sha = sha;
  }

  end(): void {
    const { head, headSha } = this.#agent;
    if (this.seq < head) throw this.#damaged(`${head} events`, `found none after event ${this.seq}`);
    // Another process may have committed after the agent's row was read.
    if (this.#sha !== headSha) this.#passEventless(headSha);
    if (this.#sha !== headSha) throw this.#damaged(`the log to end with event ${head}`, "found another end");
  }

  #passEventless(end?: string): void {
    for (let next = this.#eventless[this.#nextEventless]; next?.seq === this.seq && this.#sha !== end; ) {
      if (chainLink(this.#sha, next.keys) !== next.sha)
        throw this.#changed(`the messages consumed after event ${this.seq}`);
      this.#sha = next.sha;
      next = this.#eventless[++this.#nextEventless];
    }
  }

  #changed(what: string): GoaldError {
    return this.#damaged(`${what} as written`, "found a change: the hash does not follow from the log");
  }

  #damaged(expected: string, found: string): GoaldError {
    return damagedError(this.#agent.id, expected, found);
  }
}

const damagedError = (agent: string, expected: string, found: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The log of ${agent} is damaged: expected ${expected}, ${found}. List all damage: goald verify ${agent}`,
    { hint: `goald does not run ${agent}; other agents run. Restore a backup of the store: see docs/recovery.md.` },
  );
