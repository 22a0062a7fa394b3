/**
 * reader.ts -- all reads of the store, for verbs that only read and for the store itself.
 *
 * Other processes and threads may write meanwhile: each answer comes from one statement, or is bounded by a head that
 * was read first, so it is a state that the log really had. Reads use pages, because an open iterator would keep the
 * WAL from being reset. Long reads pause between pages so that other work runs.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RecordedEvent } from "#core/event.ts";
import type { MemoryRow, MemoryVersion } from "#core/ports/memory.ts";
import type {
  AgentRow,
  FileVersion,
  InboxRow,
  LastFileVersion,
  Loaded,
  StoreReader,
  VerifyReport,
} from "#core/ports/store.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { createTurns } from "#util/turns.ts";
import { sha256 } from "./chain.ts";
import { changedBlobError, throwNoAgent, wrapStoreErrors, wrapStoreErrorsAsync } from "./failure.ts";
import { type LoadAgent, openLoad } from "./log.ts";
import { openMemoryByName, openNamespaces } from "./memory-rows.ts";
import {
  AGENT_COLUMNS,
  type AgentRecord,
  type EventRecord,
  type FileRecord,
  type InboxRecord,
  MEMORY_COLUMNS,
  type MemoryRecord,
  nameOf,
  readSources,
  toAgentRow,
  toEvent,
  toFileVersion,
  toInboxRow,
  toMemoryRow,
} from "./rows.ts";
import { prepare } from "./sql.ts";
import { checkAnchor, requireNothingLost, requireNotLost } from "./sqlite/anchor.ts";
import { verifyStore } from "./verify.ts";

/** Rows of a page. Events of the maximum size take a few milliseconds. */
const PAGE = 64;
const LAST = Number.MAX_SAFE_INTEGER;

function readingQueries(database: DatabaseSync) {
  return {
    agents: prepare<AgentRecord>(database, `SELECT ${AGENT_COLUMNS} ORDER BY agent.no`),
    agent: prepare<AgentRecord>(database, `SELECT ${AGENT_COLUMNS} WHERE agent.id = ?`),
    agentNo: prepare<{ readonly no: number }>(database, "SELECT no FROM agent WHERE id = ?"),
    events: prepare<EventRecord>(
      database,
      "SELECT seq, data FROM event WHERE agent_no = ? AND seq > ? ORDER BY seq LIMIT 0 + ?",
    ),
    // Every step runs this query: one statement takes one transaction. An agent without messages gives one row of nulls.
    inbox: prepare<InboxRecord | { readonly key: null }>(
      database,
      `SELECT key, at, message FROM agent LEFT JOIN inbox ON inbox.agent_no = agent.no AND consumed_by IS NULL
       WHERE agent.id = ? ORDER BY inbox.no`,
    ),
    // "0" follows "/".
    stored: prepare<{ readonly bytes: number }>(
      database,
      "SELECT coalesce(sum(stored), 0) AS bytes FROM agent WHERE folder = ?1 OR (folder > ?2 AND folder < ?3)",
    ),
    blob: prepare<{ readonly bytes: Uint8Array }>(database, "SELECT bytes FROM blob WHERE sha = ?"),
    memories: prepare<MemoryRecord>(
      database,
      `SELECT ${MEMORY_COLUMNS} FROM memory WHERE agent_no = ? AND change > ? ORDER BY change LIMIT 0 + ?`,
    ),
    memory: openMemoryByName<MemoryRecord>(database, MEMORY_COLUMNS),
    memoryVersion: openMemoryVersion(database),
  };
}

export class SqliteReader implements StoreReader {
  protected readonly database: DatabaseSync;
  protected readonly path: string;
  readonly #queries: ReturnType<typeof readingQueries>;
  readonly #files: ReturnType<typeof fileQueries>;
  readonly #namespaceNo: (namespace: string) => number;
  readonly #load: LoadAgent;

  constructor(database: DatabaseSync, path: string) {
    this.database = database;
    this.path = path;
    this.#namespaceNo = openNamespaces(database);
    this.#queries = readingQueries(database);
    this.#load = openLoad(database);
    this.#files = fileQueries(database, PAGE);
  }

  async agents(): Promise<readonly AgentRow[]> {
    return wrapStoreErrors(this.path, () => {
      const records = this.#queries.agents.all();
      // A young store that lost its WAL must not look like a new one.
      if (records.length === 0) requireNothingLost(this.database, this.path);
      return records.map(toAgentRow);
    });
  }

  async agent(id: string): Promise<AgentRow | undefined> {
    return wrapStoreErrors(this.path, () => {
      const record = this.#queries.agent.get(id);
      if (!record) requireNotLost(this.database, this.path, id);
      return record && toAgentRow(record);
    });
  }

  load(agent: string, stateVersion: number, at?: number): Promise<Loaded> {
    return wrapStoreErrorsAsync(this.path, async () => {
      const record = this.requireAgent(agent);
      return this.#load(record, stateVersion, () => this.#requireSame(agent, record.no), at);
    });
  }

  async #readEvents(agent: string, no: number, after: number, limit: number): Promise<RecordedEvent[]> {
    const takeTurn = createTurns();
    const events: RecordedEvent[] = [];
    while (events.length < limit) {
      const page = this.#queries.events.all(no, events.at(-1)?.seq ?? after, Math.min(PAGE, limit - events.length));
      for (const record of page) {
        events.push(toEvent(agent, record));
        const pause = takeTurn();
        if (pause) await pause.then(() => this.#requireSame(agent, no));
      }
      if (page.length === 0) break;
    }
    return events;
  }

  /** Throws GOALD_NOT_FOUND when the agent was removed meanwhile. */
  #requireSame(agent: string, no: number): void {
    if (this.requireAgentNo(agent) !== no) throwNoAgent(agent);
  }

  read(agent: string, after: number, limit: number): Promise<readonly RecordedEvent[]> {
    return wrapStoreErrorsAsync(this.path, async () =>
      this.#readEvents(agent, this.requireAgentNo(agent), after, limit),
    );
  }

  async inbox(agent: string): Promise<readonly InboxRow[]> {
    return wrapStoreErrors(this.path, () => {
      const records = this.#queries.inbox.all(agent);
      if (records.length === 0) throwNoAgent(agent);
      return records.flatMap((record) => (record.key === null ? [] : [toInboxRow(agent, record)]));
    });
  }

  async blob(sha: string): Promise<Uint8Array | undefined> {
    return wrapStoreErrors(this.path, () => {
      const bytes = this.#queries.blob.get(sha)?.bytes;
      if (bytes && sha256(bytes) !== sha) throw changedBlobError(sha);
      return bytes;
    });
  }

  async memories(namespace: string, after: number, limit: number): Promise<readonly MemoryRow[]> {
    return wrapStoreErrors(this.path, () => {
      const no = this.#namespaceNo(namespace);
      return this.#queries.memories.all(no, after, Math.max(0, limit)).map(toMemoryRow);
    });
  }

  async memory(namespace: string, id: string): Promise<MemoryRow | undefined> {
    return wrapStoreErrors(this.path, () => {
      const no = this.#namespaceNo(namespace);
      const name = nameOf(namespace, id);
      const record = name === undefined ? undefined : this.#queries.memory(no, name);
      return record && toMemoryRow(record);
    });
  }

  async memoryVersion(namespace: string, at?: Pick<MemoryVersion, "seq" | "curation">): Promise<MemoryVersion> {
    return wrapStoreErrors(this.path, () => this.#queries.memoryVersion(this.#namespaceNo(namespace), at));
  }

  files(agent: string, after = 0, until = LAST): Promise<readonly FileVersion[]> {
    return wrapStoreErrorsAsync(this.path, async () => {
      const agentNo = this.requireAgentNo(agent);
      const takeTurn = createTurns();
      const versions: FileVersion[] = [];
      let page = this.#files.page.all(agentNo, until, after + 1, -1);
      for (let last = page.at(-1); last; last = page.at(-1)) {
        for (const { ordinal: _ordinal, ...record } of page) {
          const { seq: _seq, ...version } = toFileVersion(record);
          versions.push(version);
        }
        const pause = takeTurn();
        if (pause) await pause.then(() => this.#requireSame(agent, agentNo));
        page = this.#files.page.all(agentNo, until, last.seq, last.ordinal);
      }
      return versions;
    });
  }

  async lastFileVersion(agent: string, path: string): Promise<LastFileVersion | undefined> {
    return wrapStoreErrors(this.path, () => {
      const row = this.#files.last.get(agent, path);
      if (!row) this.requireAgentNo(agent);
      return row && toFileVersion(row);
    });
  }

  async storedBytes(folder: string): Promise<number> {
    return wrapStoreErrors(this.path, () => this.#queries.stored.get(folder, `${folder}/`, `${folder}0`)?.bytes ?? 0);
  }

  async outsideBelow(agent: string, folder: string, after: number): Promise<readonly (readonly OutsideSource[])[]> {
    return wrapStoreErrors(this.path, () => {
      // "0" follows "/", and "\u{10ffff}" every character of a path.
      const [from, end] = folder === "" ? ["", "\u{10ffff}"] : [`${folder}/`, `${folder}0`];
      const rows = this.#files.outside.all(this.requireAgentNo(agent), from, end, after);
      return rows.map(({ outside }) => readSources(outside, `files below ${JSON.stringify(folder)}`));
    });
  }

  verify(agent?: string): Promise<VerifyReport> {
    return wrapStoreErrorsAsync(this.path, async () => {
      const agents = agent === undefined ? this.#queries.agents.all() : [this.requireAgent(agent)];
      const report = await verifyStore(this.database, agents, agent === undefined);
      const anchored = checkAnchor(this.database, this.path, agent);
      return { ...report, problems: [...anchored, ...report.problems] };
    });
  }

  async close(): Promise<void> {
    wrapStoreErrors(this.path, () => {
      if (this.database.isOpen) this.database.close();
    });
  }

  protected requireAgent(id: string): AgentRecord {
    return this.#queries.agent.get(id) ?? throwNoAgent(id);
  }

  protected requireAgentNo(id: string): number {
    return (this.#queries.agentNo.get(id) ?? throwNoAgent(id)).no;
  }
}

// The queries that read the history of an agent's files.

const COLUMNS = "seq, path, operation, bytes, sha AS sha256, step, call_id AS callId, at, outside";
const MAX_LISTS = 32;

/**
 * `page` reads at most `pageRows` versions after an event and an ordinal; `last` reads the newest version of a path; `outside`
 * reads the different sources of all paths from one text up to another.
 */
function fileQueries(database: DatabaseSync, pageRows: number) {
  return {
    page: prepare<FileRecord & { readonly ordinal: number }>(
      database,
      `SELECT ordinal, ${COLUMNS} FROM file_version
       WHERE agent_no = ? AND seq <= ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ${pageRows}`,
    ),
    last: prepare<FileRecord>(
      database,
      `SELECT ${COLUMNS} FROM file_version
       WHERE agent_no = (SELECT no FROM agent WHERE id = ?) AND path = ?
       ORDER BY seq DESC, ordinal DESC LIMIT 1`,
    ),
    outside: prepare<{ readonly outside: string }>(
      database,
      `SELECT DISTINCT outside FROM file_version
       WHERE agent_no = ?1 AND outside IS NOT NULL AND path >= ?2 AND path < ?3 AND seq > ?4 LIMIT ${MAX_LISTS}`,
    ),
  };
}

// Names the state of a namespace's memory by the hash chain of the log and the last change by people.

type MemoryPlace = Pick<MemoryVersion, "seq" | "curation">;
interface Place {
  readonly no: number;
  /** The link of an event; the key of a change by people, which no other change has. */
  readonly name: string;
}

const BEFORE_ALL: Place = { no: 0, name: "" };

function openMemoryVersion(database: DatabaseSync): (agentNo: number, at?: MemoryPlace) => MemoryVersion {
  const last = (table: string, column: string, name: string) =>
    prepare<Place>(
      database,
      `SELECT ${column} AS no, ${name} AS name FROM ${table} WHERE agent_no = ? AND ${column} <= ? ORDER BY ${column} DESC LIMIT 1`,
    );
  const lastEvent = last("event", "seq", "sha");
  const lastCuration = last("curation", "no", "key");
  return (agentNo, at = { seq: LAST, curation: LAST }) => {
    const event = lastEvent.get(agentNo, at.seq) ?? BEFORE_ALL;
    const curation = lastCuration.get(agentNo, at.curation) ?? BEFORE_ALL;
    const state = [agentNo, event.no, event.name, curation.no, curation.name];
    return { seq: event.no, curation: curation.no, sha: sha256(JSON.stringify(state)) };
  };
}
