/** store.ts -- durable storage of agents, events, inbox, memory and files. */
import type { RecordedEvent } from "../event.ts";
import type { OutsideSource } from "../provenance.ts";
import type { AgentRow, AgentSpec, Fork, Lease } from "./agent.ts";
import type { Commit } from "./commit.ts";
import type { FileVersion, LastFileVersion } from "./file-version.ts";
import type { InboxMessage, InboxRow } from "./inbox.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, MemoryVersion, RemoteRow, Trust } from "./memory-row.ts";

export interface Loaded {
  readonly head: number;
  /** The newest snapshot of the requested state version. */
  readonly snapshot: { readonly seq: number; readonly state: unknown } | null;
  /** All events after the snapshot, in order. */
  readonly events: readonly RecordedEvent[];
}

/** A saved fold of an agent's log, which can be rebuilt from the log. */
export interface Projection {
  /** Number of the last event that it covers. */
  readonly seq: number;
  /** Plain JSON. */
  readonly data: unknown;
}

export interface VerifyReport {
  readonly agents: number;
  readonly events: number;
  /** Sentences: what was expected, what was found, where. Empty when the store is sound. */
  readonly problems: readonly string[];
}

export interface Store {
  /** Idempotent by key: the same key returns the same agent. Writes `agent-created` as event 1. */
  create(spec: AgentSpec, key: string, at: string): Promise<AgentRow>;
  /**
   * Idempotent by key. The new agent gets the other's events up to `head` with their memories and file versions, then
   * `events`; nothing of the inbox. It is not scheduled to run. Throws GOALD_NOT_FOUND.
   */
  fork(agent: string, fork: Fork, key: string): Promise<AgentRow>;
  agents(): Promise<readonly AgentRow[]>;
  agent(id: string): Promise<AgentRow | undefined>;
  /** Raises the epoch, which fences every older lease. Throws GOALD_NOT_FOUND. */
  claim(agent: string): Promise<Lease>;
  /** Agents whose wake time has passed, longest waiting first. */
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
  /** Adds an inbox row and wakes the agent. Anyone may call it; false when this key was delivered before. */
  deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean>;
  /**
   * Deletes an agent with all its rows and the blobs that no other agent references; its folder stays. Its id and key
   * become free. Throws GOALD_NOT_FOUND, and GOALD_CONFLICT while a sub-agent exists.
   */
  remove(agent: string): Promise<void>;
  inbox(agent: string): Promise<readonly InboxRow[]>;
  blob(sha256: string): Promise<Uint8Array | undefined>;
  /**
   * A page of a namespace's rows (an agent's, or `shared`) with `change` > `after`, in the order of their last change;
   * fewer than `limit` means the end. A row that was pinned, forgotten or superseded appears again.
   */
  memories(namespace: string, after: number, limit: number): Promise<readonly MemoryRow[]>;
  /** The state of a namespace's memory now, or after that event and that change by people. */
  memoryVersion(namespace: string, at?: Pick<MemoryVersion, "seq" | "curation">): Promise<MemoryVersion>;
  /** One row by its id; undefined when there is none. */
  memory(namespace: string, id: string): Promise<MemoryRow | undefined>;
  /** The newest row with this key and trust, which may be forgotten or superseded, in constant time. */
  newestFact(namespace: string, factKey: string, trust: Trust): Promise<MemoryRow | undefined>;
  /**
   * Changes memory rows; requires the host lock, not the lease. All or nothing, and idempotent by key: a repeated key
   * returns the earlier result. Throws GOALD_NOT_FOUND for a missing or forgotten id, GOALD_CONFLICT when a row to
   * supersede is superseded already.
   */
  curate(
    namespace: string,
    changes: readonly MemoryChange[],
    key: string,
    at: string,
  ): Promise<readonly MemoryChanged[]>;
  /** Saves vectors by `MemoryRow.id`, replacing those of other embedders. Durable when resolved. */
  saveVectors(
    agent: string,
    embedder: string,
    vectors: readonly { readonly id: string; readonly vector: Float32Array }[],
  ): Promise<void>;
  /** Namespaces that may have rows in this remote index, including those of removed agents. */
  remoteNamespaces(index: string): Promise<readonly string[]>;
  /** A page of the rows that may exist there, with id > `after`, ordered by id; fewer than `limit` means the end. */
  remoteRows(index: string, namespace: string, after: string, limit: number): Promise<readonly RemoteRow[]>;
  /** Ids of the rows that may exist there although they were forgotten. */
  remoteForgotten(index: string): Promise<readonly string[]>;
  /** Durable when resolved. `gone`: ids to delete from the record. */
  saveRemoteRows(index: string, namespace: string, rows: readonly RemoteRow[], gone: readonly string[]): Promise<void>;
  /** Changes of files that were committed with events with seq > `after` (default 0), oldest first. */
  files(agent: string, after?: number): Promise<readonly FileVersion[]>;
  /** The newest change of one path, in constant time. */
  lastFileVersion(agent: string, path: string): Promise<LastFileVersion | undefined>;
  /**
   * Lists of the sources in any version of a path below the folder ("" for all), each once, up to 32. Reads only versions
   * with sources, and only those after event `after`.
   */
  outsideBelow(agent: string, folder: string, after: number): Promise<readonly (readonly OutsideSource[])[]>;
  /** Bytes of file versions and long texts that the agents in this folder and below have added to the store. */
  storedBytes(folder: string): Promise<number>;
  /** The saved projection of this name and version; undefined when there is none, or when it is damaged. */
  projection(agent: string, name: string, version: number): Promise<Projection | undefined>;
  /** Replaces the projection of this name. Durable when resolved. Throws GOALD_FENCED when the lease is over. */
  saveProjection(lease: Lease, name: string, version: number, projection: Projection): Promise<void>;
  /** Recomputes the hash chain, refolds to each snapshot, and checks every reference. */
  verify(agent?: string): Promise<VerifyReport>;
  close(): Promise<void>;
}

/** The read-only part of the store, which needs no host lock. */
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
  | "memoryVersion"
  | "files"
  | "lastFileVersion"
  | "outsideBelow"
  | "storedBytes"
  | "projection"
  | "verify"
  | "close"
>;
