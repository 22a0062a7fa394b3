/**
 * ports.ts -- the outside world, one narrow interface per thing.
 *
 * Each has one real implementation and one fake in test/helpers, and both pass one
 * contract suite in test/contracts. `core` and `daemon` know only these types.
 * Longer than a file should be, so that the whole outside stands on one page: types and their contracts, no code.
 */
import type { AgentSettings, GivenSettings, Observation, OutputMode, RecordedEvent, Usage } from "./event.ts";
import type { FamilyMessage, Origin } from "./family-event.ts";

export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

// ---------------------------------------------------------------- store

export interface AgentSpec extends GivenSettings {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Agent id of the parent, for a sub-agent. */
  readonly parent?: string;
  /** What it is born with then. */
  readonly startedBy?: Origin;
  /** Its id, for one that is played again or that another agent starts; GOALD_CONFLICT when it is taken. Else the slug of its name. */
  readonly id?: string;
}

/** A new agent with the past of another. */
export interface Fork {
  readonly name: string;
  /** The last event of the past. */
  readonly head: number;
  /** What it goes on with, numbered from `head` + 1. */
  readonly events: readonly RecordedEvent[];
}

export interface AgentRow {
  /** Slug of the name, `-2` and so on when taken. */
  readonly id: string;
  readonly name: string;
  /** Path of its folder below `workspace/`. */
  readonly folder: string;
  readonly parent: string | null;
  readonly createdAt: string;
  /** Last event: number, time. */
  readonly head: number;
  readonly updatedAt: string;
  readonly epoch: number;
  /** When it wants to run next (ISO), or null: not before something arrives. */
  readonly wakeAt: string | null;
}

/** The right to append to one agent's log, until another claim raises the epoch. */
export interface Lease {
  readonly agent: string;
  readonly epoch: number;
}

export type InboxMessage =
  | { readonly type: "say"; readonly from: string; readonly text: string }
  | {
      readonly type: "approval";
      readonly callId: string;
      readonly verdict: "approved" | "denied";
      /** How many commands are approved in all, this one included (AutoGPT's `y -N`). */
      readonly count?: number;
      /** A person's words; with a denial they are the feedback that the model reads. */
      readonly text?: string;
    }
  /** The step under way is finished first. */
  | { readonly type: "pause"; readonly reason: string; readonly code?: "person" | "stopped" }
  | { readonly type: "resume" }
  | ({ readonly type: "settings" } & Partial<AgentSettings>)
  /** In place of those it has; of a finished agent they open the next turn. */
  | { readonly type: "goals"; readonly goals: readonly string[] }
  /** The end of a command's wait: a child's answer, a person's reply. */
  | { readonly type: "answer"; readonly callId: string; readonly observation: Observation }
  /** Between an agent and those that it starts. */
  | FamilyMessage;

export interface InboxRow {
  /** Idempotency key: the same key is delivered once. */
  readonly key: string;
  readonly at: string;
  readonly message: InboxMessage;
}

/** `file`: what a person handed over to be read; `web`: what anybody may have written. */
export type Trust = "person" | "agent" | "goald" | "file" | "web";
export type MemoryKind = "step" | "fact" | "note" | "file_chunk" | "reflection";

interface MemoryContent {
  readonly kind: MemoryKind;
  readonly text: string;
  /** 0..1, by rule, never by a model. */
  readonly importance: number;
  readonly trust: Trust;
  /** `MemoryRow.id` of a row of the same namespace that this one takes the place of: that one is never recalled again. */
  readonly supersedes?: string;
  /** What it is known by, such as a hash of where it was read and what it says. */
  readonly key?: string;
  /** The file or page that it was read from. */
  readonly source?: string;
}
export interface NewMemory extends MemoryContent {
  /** The event that it was made from, one of the same commit. */
  readonly seq: number;
  readonly step: number;
  /** The agent's id. */
  readonly namespace: string;
}
export interface MemoryRow extends Required<Omit<NewMemory, "step" | "supersedes" | "key" | "source">> {
  /**
   * `<agent>/<seq>`; for those that were staged with the event `<agent>/<seq>.<n>`, n from 1; for those that a person
   * put there `<namespace>/+<n>`. `seq` is then the last event before it, 0 in the shared memory.
   */
  readonly id: string;
  /** Null for what no step left. */
  readonly step: number | null;
  readonly at: string;
  /** Counted within the namespace, never given twice; a row that changes gets the next one, all but its vector. */
  readonly change: number;
  readonly supersedes: string | null;
  /** The row that took its place: this one is not to be recalled. */
  readonly supersededBy: string | null;
  readonly key: string | null;
  readonly source: string | null;
  /** A person wants it recalled whatever the question. */
  readonly pinned: boolean;
  /** Not to be recalled, and its text and vector are gone: a person said so, or its source says it no more. */
  readonly forgotten: "person" | "source" | null;
  /** Which embedder made the vector; null while it is pending. */
  readonly embedder: string | null;
  readonly vector: Float32Array | null;
}

/**
 * What a person, or the reading of files, changes in a namespace. A row that is known by a key is added once: while one with
 * this key lives, and for ever when a person forgot or corrected one.
 */
export type MemoryChange =
  | ({ readonly op: "add" } & MemoryContent)
  | { readonly op: "pin" | "unpin"; readonly id: string }
  | { readonly op: "forget"; readonly id: string; readonly by: "person" | "source" };

/** Of one `MemoryChange`: the row that it is about, and whether that row is other than before. */
export interface MemoryChanged {
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * One link in the history of a path. Any version can be restored from the rows and blobs up to it: a `write` or
 * `found` is the whole file; an `append` is what was there before, then the piece, and the piece alone when
 * `bytes` is its length; after a `delete` there is nothing.
 *
 * What a person put in place is kept (`found`) before it is overwritten or deleted, and before an append when the
 * file's size is not that of the last version. An edit of the same size that is then only appended to is not
 * noticed: telling it would take reading the whole file at each append.
 */
export interface FileChange {
  /** Relative to the agent's folder, with forward slashes. */
  readonly path: string;
  /** `found`: what lay there and is not the last version in the history (a person's edit). */
  readonly operation: "write" | "append" | "delete" | "found";
  /** Size of the file afterwards. */
  readonly bytes: number;
  /** Hash of `content`; for an append that is the piece added. Null for a delete. Computed where the change is made. */
  readonly sha256: string | null;
  /** The whole file, or the piece added; kept as a blob, so that any version can be restored. */
  readonly content: Uint8Array | null;
}
export interface FileVersion extends Omit<FileChange, "content"> {
  readonly step: number;
  readonly callId: string;
  readonly at: string;
}

/** Writes that ride in the commit of a command's result (see `stage`). */
export type StagedWrite =
  | {
      readonly kind: "memory";
      readonly text: string;
      readonly importance: number;
      readonly memoryKind: MemoryKind;
      readonly supersedes?: string;
    }
  | { readonly kind: "send"; readonly to: string; readonly key: string; readonly message: InboxMessage }
  | { readonly kind: "spawn"; readonly key: string; readonly spec: AgentSpec }
  | { readonly kind: "timer"; readonly key: string; readonly at: string | null; readonly message: InboxMessage };

/** One atomic, durable unit: all of it or nothing. */
export interface Commit {
  readonly events: readonly RecordedEvent[];
  /** Keys of inbox rows that these events answer. */
  readonly consumed: readonly string[];
  readonly memories: readonly NewMemory[];
  readonly files: readonly (FileChange & { readonly step: number; readonly callId: string })[];
  /** Bytes to keep by their hash; those of `files` come by themselves. */
  readonly blobs: readonly Uint8Array[];
  readonly staged: readonly StagedWrite[];
  /** When the agent wants to run next: ISO time; null for "when something arrives". Absent: unchanged. */
  readonly wakeAt?: string | null;
  /** A fold of everything up to the last event, to spare refolding. Never needed for truth. */
  readonly snapshot?: { readonly version: number; readonly state: unknown };
}

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

/** A memory that may lie in an index of somebody else's: noted before it is sent there, until it is deleted there. */
export interface RemoteRow {
  /** `MemoryRow.id`. */
  readonly id: string;
  /** Of what was sent: its embedder, text and vector. */
  readonly version: string;
  /** Whether it was seen to arrive. */
  readonly isSent: boolean;
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

// ---------------------------------------------------------------- model

export interface PromptMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  /** Absent: plain. */
  readonly mode?: OutputMode;
  /** What the reply must be, in mode `json_schema`; absent: thoughts and one command. */
  readonly schema?: object;
}
/** `failed` covers everything but a bug: no server, refused, cut off, no finish_reason. */
export type ModelAnswer =
  | { readonly kind: "replied"; readonly text: string; readonly finishReason: string; readonly usage: Usage | null }
  | {
      readonly kind: "failed";
      /** Kebab-case, such as `unauthorized`, `rate-limited`, `server-error`, `no-connection`, `incomplete-reply`. */
      readonly code: string;
      /** For people; no secrets in it. */
      readonly message: string;
      /** With `context-overflow`: how many tokens the server says that it takes. */
      readonly limitTokens?: number;
      /** Whether trying again may help, and not before how many milliseconds (null: the caller's own rule). */
      readonly retry: {
        readonly afterMs: number | null;
        /** The server refused a part of the request: the next one is asked on other terms, at once. */
        readonly isChanged?: boolean;
      } | null;
    };
export interface ModelTerms {
  readonly mode: OutputMode;
  /** null: not known. */
  readonly contextTokens: number | null;
  /** What the form of the reply takes of a request in this mode, beside its messages. */
  readonly formatTokens?: number;
}
export interface LanguageModel {
  /**
   * Contract: resolves for every failure outside; rejects only when `signal` is aborted, with its reason. `onText` is
   * told the pieces of the reply's text as they arrive; they are nothing to act on, and may belong to no reply at all.
   */
  complete(request: ModelRequest, signal: AbortSignal, onText?: (piece: string) => void): Promise<ModelAnswer>;
  /** How the server takes requests for this model, as far as it is known; absent: in plain text, whatever their length. */
  terms?(model: string): Promise<ModelTerms>;
  /** Told whether a reply that was asked for in this mode could be read. */
  noteReply?(model: string, mode: OutputMode, isReadable: boolean): Promise<void>;
  /** Told how many tokens, request and reply together, the server is believed to take; null: that was no help. */
  noteContext?(model: string, tokens: number | null): Promise<void>;
}

// ---------------------------------------------------------------- memory

export interface Embedder {
  /** Stored with each vector: two embedders are never compared. Such as `hash-v2@512`. */
  readonly id: string;
  readonly dimensions: number;
  /** False when it asks a server: recall then leaves the machine. */
  readonly local: boolean;
  /** True when texts of one meaning come near each other whatever their words: then nearness ranks beside shared words. */
  readonly semantic: boolean;
  /** Unit vectors, one per text, in order. Rejects when the server cannot be had. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}
/** Vectors by slot number; the caller keeps what a slot means. */
export interface VectorIndex {
  readonly size: number;
  add(slot: number, vector: Float32Array): Promise<void>;
  remove(slot: number): Promise<void>;
  /** The `count` nearest by cosine, best first; fewer when there are fewer. */
  search(query: Float32Array, count: number): Promise<readonly { readonly slot: number; readonly score: number }[]>;
  /** Gives back all that it holds, and keeps on disk what would be dear to make again. It is not used afterwards. */
  close(): Promise<void>;
}
/** What an index is of. Vectors of two embedders never lie in one. */
export interface IndexScope {
  readonly namespace: string;
  readonly embedder: string;
  readonly dimensions: number;
}
/** The rows behind the slots, for an index that has to tell somebody else what they are. */
export interface IndexedRows {
  at(slot: number): Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text">;
  /** Whether this row is to be found, its vector made or not; true of rows that were read. */
  has(id: string): boolean;
}
export type OpenIndex = (scope: IndexScope, rows: IndexedRows) => VectorIndex;
export interface Recall {
  readonly id: string;
  /** Null for what no step left. */
  readonly step: number | null;
  readonly at: string;
  readonly kind: MemoryKind;
  readonly trust: Trust;
  readonly text: string;
  /** Of a long text, what the question is about. */
  readonly excerpt?: string;
  /** Higher is nearer; comparable only within one answer. */
  readonly score: number;
}
export interface RecallQuery {
  readonly agent: string;
  /** Namespaces that it may read beside its own. */
  readonly others?: readonly string[];
  /** What the agent is busy with, newest last. */
  readonly texts: readonly string[];
  /** How much each text counts, 0 to 1; without them each counts a little less than the next newer one. */
  readonly weights?: readonly number[];
  readonly count: number;
  /** Steps whose messages the prompt shows already: never recalled. */
  readonly excludeSteps: ReadonlySet<number>;
}
export interface LongTermMemory {
  /** True when recalling may ask a server. */
  readonly remote: boolean;
  /** Best first. Degrades, never fails: without an embedder it answers with what it has. */
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]>;
}

// ---------------------------------------------------------------- workspace

export interface FileStat {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: string;
}
/**
 * One agent's folder. Every path is relative to it and stays inside it whatever
 * links lie there. Failures are GoaldErrors: GOALD_PATH_REFUSED, GOALD_FILE_MISSING,
 * GOALD_FILE_TOO_LARGE, GOALD_FILE; GOALD_STORE_FULL when the disk is full.
 * Each change is told to the `onChange` that the workspace was opened with.
 */
export interface Workspace {
  /** Absolute path, for people. */
  readonly folder: string;
  /** undefined when nothing lies there; throws for a directory where a file was expected. */
  stat(path: string): Promise<FileStat | undefined>;
  /** Bytes `offset` to `offset + length` of a regular file; the whole file by default, up to 64 MB. */
  read(path: string, range?: { readonly offset: number; readonly length: number }): Promise<Uint8Array>;
  /** The whole new content: temporary file, fsync, rename. Makes folders. A file that is replaced keeps its mode. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** Adds to the end, creating the file; all of it or nothing: its size then. Keeps what lay there when the history does not have it. */
  append(path: string, content: string | Uint8Array): Promise<Pick<FileStat, "path" | "bytes">>;
  /** Cuts the file to `bytes`, to take back a torn append. */
  truncate(path: string, bytes: number): Promise<void>;
  /**
   * Removes one file; false when there was none. `wasThere`: the file was there when the call began, so its
   * end is told even when it is gone already (a crash came between deleting and telling).
   */
  remove(path: string, options?: { readonly wasThere?: boolean }): Promise<boolean>;
  /**
   * A new folder with what `fill` puts into it, in one step: `fill` is given the absolute path of an empty folder, which
   * gets its name when `fill` is done and goes away when it fails. GOALD_FILE when something lies there already. The
   * files in it are not told to `onChange`.
   */
  place<T>(path: string, fill: (folder: string) => Promise<T>): Promise<T>;
  /** Keeps what lies there now in the file history, unless it is the last version there. undefined when there is nothing. */
  preserve(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined>;
  /** Regular files below a folder, sorted by path, links not followed; "" is the root. */
  list(directory: string): AsyncIterable<FileStat>;
}
/** What the history of the folder last says about a path, which is in the form that changes are told in. */
export type LastVersion = (path: string) => Promise<Pick<FileVersion, "operation" | "bytes" | "sha256"> | undefined>;
/** Without `lastVersion`, everything that is preserved is told, and nothing is kept before an append. */
export type OpenWorkspace = (
  folder: string,
  onChange?: (change: FileChange) => void,
  options?: { readonly lastVersion?: LastVersion },
) => Workspace;
