/** store.ts -- what is kept of agents for good. */
import type { RecordedEvent } from "../event.ts";
import type { AgentRow, AgentSpec, Fork, Lease } from "./agent.ts";
import type { Commit } from "./commit.ts";
import type { FileVersion } from "./file-version.ts";
import type { InboxMessage, InboxRow } from "./inbox.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, RemoteRow } from "./memory-row.ts";

export interface Loaded {
  readonly head: number;
  /** The newest snapshot of this state version, if there is one. */
  readonly snapshot: { readonly seq: number; readonly state: unknown } | null;
  /** All events after the snapshot, in order. */
  readonly events: readonly RecordedEvent[];
}

export interface VerifyReport {
  readonly agents: number;
  readonly events: number;
  /** Each a sentence: what was expected, what was found, where. Empty means sound. */
  readonly problems: readonly string[];
}

export interface Store {
  /** Idempotent by key: the same key returns the same agent. Writes `agent-created` as event 1. */
  create(spec: AgentSpec, key: string, at: string): Promise<AgentRow>;
  /**
   * Idempotent by key. The new agent has the other's events up to `head` with the memories and versions of files that came
   * with them, under its own id, and then `events`; nothing of the inbox. It wants to run at no time. Throws GOALD_NOT_FOUND.
   */
  fork(agent: string, fork: Fork, key: string): Promise<AgentRow>;
  agents(): Promise<readonly AgentRow[]>;
  agent(id: string): Promise<AgentRow | undefined>;
  /** Raises the epoch: every older lease is fenced from now on. Throws GOALD_NOT_FOUND. */
  claim(agent: string): Promise<Lease>;
  /** Agents whose wake time has come, longest waiting first. */
  due(now: string): Promise<readonly string[]>;
  /**
   * Resolves only when everything is durable. Throws GOALD_FENCED when the lease is over,
   * GOALD_CONFLICT when the log does not end at `expectedHead`, GOALD_STORE_FULL when the disk
   * is; never half-done.
   */
  commit(lease: Lease, expectedHead: number, commit: Commit): Promise<void>;
  load(agent: string, stateVersion: number): Promise<Loaded>;
  /** A page of events with seq > `after`, oldest first; fewer than `limit` means the end. */
  read(agent: string, after: number, limit: number): Promise<readonly RecordedEvent[]>;
  /** From anyone, at any time; false when this key was delivered before. Wakes the agent. */
  deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean>;
  /**
   * Forgets an agent with all that belongs to it, the blobs too that no other agent names; its folder is not touched.
   * Its name and key are free again. Throws GOALD_NOT_FOUND, and GOALD_CONFLICT while an agent that it started is there.
   */
  remove(agent: string): Promise<void>;
  inbox(agent: string): Promise<readonly InboxRow[]>;
  blob(sha256: string): Promise<Uint8Array | undefined>;
  /**
   * A page of a namespace's rows (an agent's, or `shared`) whose `change` is > `after`, in the order of their last change;
   * fewer than `limit` means the end. A row that was read before comes again when it was pinned, forgotten or superseded.
   */
  memories(namespace: string, after: number, limit: number): Promise<readonly MemoryRow[]>;
  /** One row by its id; undefined when there is none. */
  memory(namespace: string, id: string): Promise<MemoryRow | undefined>;
  /**
   * From whoever holds the host's lock, at any time, whoever has the lease. All or nothing, idempotent by key: the same key
   * returns what it returned before. Throws GOALD_NOT_FOUND for an id that is not there or was forgotten, GOALD_CONFLICT when
   * a row that is to be superseded already is.
   */
  curate(
    namespace: string,
    changes: readonly MemoryChange[],
    key: string,
    at: string,
  ): Promise<readonly MemoryChanged[]>;
  /** Vectors for rows that have none, or one of another embedder, by `MemoryRow.id`. Durable when resolved. */
  saveVectors(
    agent: string,
    embedder: string,
    vectors: readonly { readonly id: string; readonly vector: Float32Array }[],
  ): Promise<void>;
  /** How many vectors of a namespace each embedder made. */
  vectorCounts(namespace: string): Promise<ReadonlyMap<string, number>>;
  /** Vectors of an embedder to come, beside those in use: the ids of the rows that have one. */
  nextVectorIds(namespace: string, embedder: string): Promise<readonly string[]>;
  /** None for a row that is not there or was forgotten. Durable when resolved. */
  saveNextVectors(
    namespace: string,
    embedder: string,
    vectors: readonly { readonly id: string; readonly vector: Float32Array }[],
  ): Promise<void>;
  /** They take the place of those in use, all at once; what other embedders were to bring is dropped. */
  adoptNextVectors(namespace: string, embedder: string): Promise<void>;
  /** Namespaces of which something may lie in this index, those of removed agents too. */
  remoteNamespaces(index: string): Promise<readonly string[]>;
  /** A page of what may lie there, with id > `after`, in the order of ids; fewer than `limit` means the end. */
  remoteRows(index: string, namespace: string, after: string, limit: number): Promise<readonly RemoteRow[]>;
  /** Durable when resolved. `gone`: ids that are forgotten. */
  saveRemoteRows(index: string, namespace: string, rows: readonly RemoteRow[], gone: readonly string[]): Promise<void>;
  /** Every change of every file, oldest first. */
  files(agent: string): Promise<readonly FileVersion[]>;
  /** The newest change of one path, whatever the number of changes. */
  lastFileVersion(agent: string, path: string): Promise<FileVersion | undefined>;
  /** Recomputes the hash chain with all that hangs on it, refolds to each snapshot, and checks every reference. */
  verify(agent?: string): Promise<VerifyReport>;
  close(): Promise<void>;
}

/** What reading verbs may do: everything that changes nothing, and needs no host lock. */
export type StoreReader = Pick<
  Store,
  | "agents"
  | "agent"
  | "load"
  | "read"
  | "inbox"
  | "blob"
  | "memories"
  | "memory"
  | "files"
  | "lastFileVersion"
  | "verify"
  | "close"
>;
