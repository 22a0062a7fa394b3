/**
 * reader.ts -- all reads of the store, for verbs that only read and for the store itself.
 *
 * Other processes and threads may write meanwhile: each answer comes from one statement, or is bounded by a head that
 * was read first, so it is a state that the log really had. Reads use pages, because an open iterator would keep the
 * WAL from being reset. Long reads pause between pages so that other work runs.
 */
import type { DatabaseSync } from "node:sqlite";
import type { RecordedEvent } from "#core/event.ts";
import type { MemoryVersion } from "#core/ports/memory.ts";
import type { FileVersion, StoreReader } from "#core/ports/store.ts";
import { createTurns } from "#util/turns.ts";
import { sha256 } from "./chain.ts";
import { changedError, throwNoAgent, withStoreErrors } from "./failure.ts";
import { openLoad } from "./log.ts";
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

export function openReader(database: DatabaseSync, path: string): StoreReader {
  const agents = openAgents(database);
  return withStoreErrors(path, {
    ...readAgents(database, path, agents),
    ...readLogs(database, agents),
    ...readMemories(database),
    ...readFiles(database, agents),
    close: async () => {
      if (database.isOpen) database.close();
    },
  });
}

type Agents = ReturnType<typeof openAgents>;

function openAgents(database: DatabaseSync) {
  const all = prepare<AgentRecord>(database, `SELECT ${AGENT_COLUMNS} ORDER BY agent.no`);
  const one = prepare<AgentRecord>(database, `SELECT ${AGENT_COLUMNS} WHERE agent.id = ?`);
  const number = prepare<{ readonly no: number }>(database, "SELECT no FROM agent WHERE id = ?");
  const requireNo = (id: string): number => (number.get(id) ?? throwNoAgent(id)).no;
  return {
    all: () => all.all(),
    find: (id: string) => one.get(id),
    require: (id: string) => one.get(id) ?? throwNoAgent(id),
    requireNo,
    /** Throws GOALD_NOT_FOUND when the agent was removed meanwhile. */
    requireSame: (id: string, no: number): void => {
      if (requireNo(id) !== no) throwNoAgent(id);
    },
  };
}

type Reads<Name extends keyof StoreReader> = Pick<StoreReader, Name>;

function readAgents(
  database: DatabaseSync,
  path: string,
  agents: Agents,
): Reads<"agents" | "agent" | "storedBytes" | "verify"> {
  // "0" follows "/".
  const stored = prepare<{ readonly bytes: number }>(
    database,
    "SELECT coalesce(sum(stored), 0) AS bytes FROM agent WHERE folder = ?1 OR (folder > ?2 AND folder < ?3)",
  );
  return {
    async agents() {
      const records = agents.all();
      // A young store that lost its WAL must not look like a new one.
      if (records.length === 0) requireNothingLost(database, path);
      return records.map(toAgentRow);
    },
    async agent(id) {
      const record = agents.find(id);
      if (!record) requireNotLost(database, path, id);
      return record && toAgentRow(record);
    },
    storedBytes: async (folder) => stored.get(folder, `${folder}/`, `${folder}0`)?.bytes ?? 0,
    async verify(agent) {
      const checked = agent === undefined ? agents.all() : [agents.require(agent)];
      const report = await verifyStore(database, checked, agent === undefined);
      return { ...report, problems: [...checkAnchor(database, path, agent), ...report.problems] };
    },
  };
}

function readLogs(database: DatabaseSync, agents: Agents): Reads<"load" | "read" | "inbox" | "blob"> {
  const load = openLoad(database);
  const pageOf = prepare<EventRecord>(
    database,
    "SELECT seq, data FROM event WHERE agent_no = ? AND seq > ? ORDER BY seq LIMIT 0 + ?",
  );
  // Every step runs this query: one statement takes one transaction. An agent without messages gives one row of nulls.
  const inbox = prepare<InboxRecord | { readonly key: null }>(
    database,
    `SELECT key, at, message FROM agent LEFT JOIN inbox ON inbox.agent_no = agent.no AND consumed_by IS NULL
     WHERE agent.id = ? ORDER BY inbox.no`,
  );
  const blob = prepare<{ readonly bytes: Uint8Array }>(database, "SELECT bytes FROM blob WHERE sha = ?");
  return {
    async load(agent, stateVersion, at) {
      const record = agents.require(agent);
      return load(record, stateVersion, () => agents.requireSame(agent, record.no), at);
    },
    async read(agent, after, limit) {
      const no = agents.requireNo(agent);
      const takeTurn = createTurns();
      const events: RecordedEvent[] = [];
      while (events.length < limit) {
        const page = pageOf.all(no, events.at(-1)?.seq ?? after, Math.min(PAGE, limit - events.length));
        for (const record of page) {
          events.push(toEvent(agent, record));
          const pause = takeTurn();
          if (pause) await pause.then(() => agents.requireSame(agent, no));
        }
        if (page.length === 0) break;
      }
      return events;
    },
    async inbox(agent) {
      const records = inbox.all(agent);
      if (records.length === 0) throwNoAgent(agent);
      return records.flatMap((record) => (record.key === null ? [] : [toInboxRow(agent, record)]));
    },
    async blob(sha) {
      const bytes = blob.get(sha)?.bytes;
      if (bytes && sha256(bytes) !== sha) throw changedError(`the blob ${sha}`);
      return bytes;
    },
  };
}

function readMemories(database: DatabaseSync): Reads<"memories" | "memory" | "memoryVersion"> {
  const namespaceNo = openNamespaces(database);
  const pageOf = prepare<MemoryRecord>(
    database,
    `SELECT ${MEMORY_COLUMNS} FROM memory WHERE agent_no = ? AND change > ? ORDER BY change LIMIT 0 + ?`,
  );
  const byName = openMemoryByName<MemoryRecord>(database, MEMORY_COLUMNS);
  const versionOf = openMemoryVersion(database);
  return {
    memories: async (namespace, after, limit) =>
      pageOf.all(namespaceNo(namespace), after, Math.max(0, limit)).map(toMemoryRow),
    async memory(namespace, id) {
      const no = namespaceNo(namespace);
      const name = nameOf(namespace, id);
      const record = name === undefined ? undefined : byName(no, name);
      return record && toMemoryRow(record);
    },
    memoryVersion: async (namespace, at) => versionOf(namespaceNo(namespace), at),
  };
}

const COLUMNS = "seq, path, operation, bytes, sha AS sha256, step, call_id AS callId, at, outside";
const MAX_LISTS = 32;

function readFiles(database: DatabaseSync, agents: Agents): Reads<"files" | "lastFileVersion" | "outsideBelow"> {
  const pageOf = prepare<FileRecord & { readonly ordinal: number }>(
    database,
    `SELECT ordinal, ${COLUMNS} FROM file_version
     WHERE agent_no = ? AND seq <= ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ${PAGE}`,
  );
  const newest = prepare<FileRecord>(
    database,
    `SELECT ${COLUMNS} FROM file_version
     WHERE agent_no = (SELECT no FROM agent WHERE id = ?) AND path = ?
     ORDER BY seq DESC, ordinal DESC LIMIT 1`,
  );
  const outside = prepare<{ readonly outside: string }>(
    database,
    `SELECT DISTINCT outside FROM file_version
     WHERE agent_no = ?1 AND outside IS NOT NULL AND path >= ?2 AND path < ?3 AND seq > ?4 LIMIT ${MAX_LISTS}`,
  );
  return {
    async files(agent, after = 0, until = LAST) {
      const agentNo = agents.requireNo(agent);
      const takeTurn = createTurns();
      const versions: FileVersion[] = [];
      let page = pageOf.all(agentNo, until, after + 1, -1);
      for (let last = page.at(-1); last; last = page.at(-1)) {
        versions.push(...page.map(toFileVersion));
        const pause = takeTurn();
        if (pause) await pause.then(() => agents.requireSame(agent, agentNo));
        page = pageOf.all(agentNo, until, last.seq, last.ordinal);
      }
      return versions;
    },
    async lastFileVersion(agent, path) {
      const row = newest.get(agent, path);
      if (!row) agents.requireNo(agent);
      return row && { ...toFileVersion(row), seq: row.seq };
    },
    async outsideBelow(agent, folder, after) {
      // "0" follows "/", and "\u{10ffff}" every character of a path.
      const [from, end] = folder === "" ? ["", "\u{10ffff}"] : [`${folder}/`, `${folder}0`];
      const rows = outside.all(agents.requireNo(agent), from, end, after);
      return rows.map(({ outside: sources }) => readSources(sources, `files below ${JSON.stringify(folder)}`));
    },
  };
}

type MemoryPlace = Pick<MemoryVersion, "seq" | "curation">;
interface Place {
  readonly no: number;
  /** The link of an event; the key of a change by people, which no other change has. */
  readonly name: string;
}

const BEFORE_ALL: Place = { no: 0, name: "" };

/** Names the state of a namespace's memory by the hash chain of the log and the last change by people. */
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
