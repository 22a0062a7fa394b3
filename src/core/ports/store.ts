/** store.ts -- durable storage of agents, events, inboxes, memory and files. */
import type { AgentSettings } from "../agent-settings.ts";
import type { Observation } from "../call.ts";
import type { EventOf, OfCall, RecordedEvent } from "../event.ts";
import type { GoalCheck } from "../goal-check.ts";
import type { PlanEdit } from "../plan.ts";
import type { OutsideSource, TrustedWords } from "../provenance.ts";
import type { SubagentMessage } from "../subagent.ts";
import type {
  MemoryChange,
  MemoryChanged,
  MemoryKind,
  MemoryRow,
  MemoryVersion,
  NewMemory,
  RemoteRow,
  Trust,
} from "./memory.ts";

export interface Loaded {
  /** The number of the last event. */
  readonly head: number;
  /** The newest snapshot of the requested state version, up to `head`. */
  readonly snapshot: { readonly seq: number; readonly state: unknown } | null;
  /** All events after the snapshot up to `head`, in order. */
  readonly events: readonly RecordedEvent[];
}

export interface VerifyReport {
  readonly agents: number;
  readonly events: number;
  /** Sentences: what was expected, what was found, where. Empty when the store is sound. */
  readonly problems: readonly string[];
}

/** The read-only part of the store, which needs no host lock. */
export interface StoreReader {
  agents(): Promise<readonly AgentRow[]>;
  agent(id: string): Promise<AgentRow | undefined>;
  /** `at`: the number of the last event to load; by default the newest. The cost does not grow with the age of the agent. */
  load(agent: string, stateVersion: number, at?: number): Promise<Loaded>;
  /** A page of events with seq > `after`, oldest first; fewer than `limit` means the end. */
  read(agent: string, after: number, limit: number): Promise<readonly RecordedEvent[]>;
  inbox(agent: string): Promise<readonly InboxRow[]>;
  blob(sha256: string): Promise<Uint8Array | undefined>;
  /**
   * A page of a namespace's rows (an agent's, or `shared`) with `change` > `after`, in the order of their last change;
   * fewer than `limit` means the end. A row that was pinned, forgotten or superseded appears again.
   */
  memories(namespace: string, after: number, limit: number): Promise<readonly MemoryRow[]>;
  /** The state of a namespace's memory now, or after that event and that change by people. */
  memoryVersion(namespace: string, at?: Pick<MemoryVersion, "seq" | "curation">): Promise<MemoryVersion>;
  memory(namespace: string, id: string): Promise<MemoryRow | undefined>;
  /** Changes of files that were committed with events with `after` (default 0) < seq <= `until`, oldest first. */
  files(agent: string, after?: number, until?: number): Promise<readonly FileVersion[]>;
  /** The newest change of one path, in constant time. */
  lastFileVersion(agent: string, path: string): Promise<LastFileVersion | undefined>;
  /**
   * Lists of the sources in any version of a path below the folder ("" for all), each once, up to 32. Reads only versions
   * with sources, and only those after event `after`.
   */
  outsideBelow(agent: string, folder: string, after: number): Promise<readonly (readonly OutsideSource[])[]>;
  /** Bytes of file versions and long texts that the agents in this folder and below have added to the store. */
  storedBytes(folder: string): Promise<number>;
  /** Recomputes the hash chain, refolds to each snapshot, and checks every reference. */
  verify(agent?: string): Promise<VerifyReport>;
  close(): Promise<void>;
}

export interface Store extends StoreReader {
  /** Idempotent by key: the same key returns the same agent. Writes `agent-created` as event 1. */
  create(spec: AgentSpec, key: string, at: string): Promise<AgentRow>;
  /** True when there is an agent that `create` or `fork` made with this key, in constant time. */
  hasCreated(key: string): Promise<boolean>;
  /**
   * Idempotent by key. The new agent gets the other's events up to `head` with their memories and file versions, then
   * `events`; nothing of the inbox. It is not scheduled to run. Throws GOALD_NOT_FOUND.
   */
  fork(agent: string, fork: Fork, key: string): Promise<AgentRow>;
  /** Raises the epoch, which fences every older lease. Throws GOALD_NOT_FOUND. */
  claim(agent: string): Promise<Lease>;
  /** Agents whose wake time has passed, longest waiting first. */
  due(now: string): Promise<readonly string[]>;
  /**
   * Resolves only when everything is durable. Throws GOALD_FENCED when the lease is over, GOALD_CONFLICT when the log
   * does not end at `expectedHead`, GOALD_STORE_FULL when the disk is; never half-done.
   */
  commit(lease: Lease, expectedHead: number, commit: Commit): Promise<void>;
  /** Adds an inbox row and wakes the agent. Anyone may call it; false when this key was delivered before. */
  deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean>;
  /** True when `deliver` had this key before, in constant time. */
  hasMessage(agent: string, key: string): Promise<boolean>;
  /**
   * Deletes an agent with all its rows and the blobs that no other agent references; its folder stays. Its id and key
   * become free. Throws GOALD_NOT_FOUND, and GOALD_CONFLICT while a sub-agent exists.
   */
  remove(agent: string): Promise<void>;
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
}

export interface AgentSpec extends Omit<EventOf<"agent-created">, "type"> {
  readonly parent?: string;
  /** Fixed id for replays and sub-agents; GOALD_CONFLICT when it is taken. Defaults to the slug of the name. */
  readonly id?: string;
}

/** A new agent that continues another agent's log. */
export interface Fork {
  readonly name: string;
  /** Number of the last event that is copied. */
  readonly head: number;
  /** Events appended to the copy, numbered from `head` + 1. */
  readonly events: readonly RecordedEvent[];
}

export interface AgentRow {
  /** Slug of the name, with `-2` and so on when taken. */
  readonly id: string;
  readonly name: string;
  /** Path of its folder below `workspace/`. */
  readonly folder: string;
  readonly parent: string | null;
  readonly createdAt: string;
  /** Number of the last event. */
  readonly head: number;
  readonly updatedAt: string;
  readonly epoch: number;
  /** ISO time of the next run; null means not before a message arrives. */
  readonly wakeAt: string | null;
}

/** The right to append to one agent's log, until another claim raises the epoch. */
export interface Lease {
  readonly agent: string;
  readonly epoch: number;
}

/** Writes committed together with a command's result (`CommandContext.stage`). */
export type StagedWrite =
  | {
      readonly kind: "memory";
      readonly text: string;
      readonly importance: number;
      readonly memoryKind: MemoryKind;
      /** A row of the agent's own, which `refuseMemoryChange` accepts. */
      readonly supersedes?: string;
      readonly factKey?: string;
      /** Set by goald. */
      readonly outside?: readonly OutsideSource[];
    }
  | { readonly kind: "send"; readonly to: string; readonly key: string; readonly message: InboxMessage }
  | { readonly kind: "spawn"; readonly key: string; readonly spec: AgentSpec }
  | { readonly kind: "timer"; readonly key: string; readonly at: string | null; readonly message: InboxMessage };

/** A change with the call that made it, and the sources of the outside words in it; absent: none. */
export interface CommittedFile extends FileChange, OfCall {
  readonly outside?: readonly OutsideSource[];
}

/** One atomic, durable unit: all of it or nothing. */
export interface Commit {
  readonly events: readonly RecordedEvent[];
  /** Keys of the inbox rows that became these events. */
  readonly consumed: readonly string[];
  readonly memories: readonly NewMemory[];
  readonly files: readonly CommittedFile[];
  /** Contents to store by their hash. The store adds those of `files` itself. */
  readonly blobs: readonly Uint8Array[];
  readonly staged: readonly StagedWrite[];
  /** ISO time of the next run; null means when a message arrives. Absent: unchanged. */
  readonly wakeAt?: string | null;
  /** State after the last event: a cache that saves refolding. */
  readonly snapshot?: { readonly version: number; readonly state: unknown };
}

export type InboxMessage =
  | { readonly type: "say"; readonly from: string; readonly text: string }
  | {
      readonly type: "approval";
      readonly callId: string;
      readonly verdict: "approved" | "denied";
      /** Number of approved commands, this one included (AutoGPT's `y -N`). */
      readonly count?: number;
      /** A person's words; with a denial, the feedback that the model reads. */
      readonly text?: string;
    }
  /** The step under way is finished first. */
  | { readonly type: "pause"; readonly reason: string; readonly code?: "person" | "stopped" }
  | { readonly type: "resume" }
  | ({ readonly type: "settings" } & Partial<AgentSettings>)
  /** Replaces the goals. A finished agent starts its next turn with them. */
  | { readonly type: "goals"; readonly goals: readonly string[]; readonly checks?: readonly GoalCheck[] }
  /** A person changes the plan. */
  | { readonly type: "plan"; readonly edits: readonly PlanEdit[] }
  /** A person has looked at the words: all that the agent received so far, or those of one file or placed folder. */
  | ({ readonly type: "trust" } & TrustedWords)
  /** Ends a command's wait. */
  | { readonly type: "answer"; readonly callId: string; readonly observation: Observation }
  /** Between a parent and its sub-agents. */
  | SubagentMessage;

export interface InboxRow {
  /** Idempotency key: the same key is delivered once. */
  readonly key: string;
  readonly at: string;
  readonly message: InboxMessage;
}

/**
 * One entry in the history of a path. The rows and blobs up to an entry restore the file at that point: `write` and
 * `found` contain the whole file; `append` contains the added piece, which is the whole file when `bytes` is its
 * length; after `delete` there is no file. `place` and `trust` hold no content: `place` says that a folder came as a whole, such
 * as a clone, and `trust` that a person trusts the words of the file, or of the files in the placed folder.
 *
 * A person's edit is kept (`found`) before it is overwritten or deleted, and before an append when the file's size
 * differs from the last version. An edit of the same size before an append goes unnoticed: detecting it would
 * require reading the whole file at each append.
 */
export interface FileChange {
  /** Relative to the agent's folder, with forward slashes. */
  readonly path: string;
  /** `found`: existing content that is not in the history, such as a person's edit. */
  readonly operation: "write" | "append" | "delete" | "found" | "place" | "trust";
  /** Size of the file after the change. */
  readonly bytes: number;
  /** Hash of `content`; null for a delete and a folder. */
  readonly sha256: string | null;
  /** The whole file, or the appended piece; stored as a blob. */
  readonly content: Uint8Array | null;
}

export interface FileVersion extends Omit<CommittedFile, "content"> {
  readonly at: string;
}

/** A version with the number of the event that it was committed with. */
export interface LastFileVersion extends FileVersion {
  readonly seq: number;
}

/** False for a row that only says something about the words in a path. */
export const holdsContent = ({ operation }: Pick<FileChange, "operation">): boolean =>
  operation !== "place" && operation !== "trust";
