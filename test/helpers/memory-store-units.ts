/** memory-store-units.ts -- the state of the store in memory, and its atomic changes. */

import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryChanged, MemoryRow, NewMemory } from "#core/ports/memory.ts";
import type {
  AgentRow,
  AgentSpec,
  Commit,
  FileVersion,
  Fork,
  InboxMessage,
  Lease,
  StagedWrite,
} from "#core/ports/store.ts";
import { folderOf } from "#core/subagent.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "#store/chain.ts";
import { placeOf, requireValidCommit } from "#store/commit.ts";
import { throwNoAgent } from "#store/failure.ts";
import { adoptEvent } from "#store/fork.ts";
import { blobsIn, makeCreatedEvent } from "#store/log.ts";
import { senderKey, timerKey } from "#store/mailbox.ts";
import { stagedMemory, throwNoMemory, throwStrayMemory } from "#store/memory-rows.ts";
import { hasChildrenError } from "#store/remove.ts";
import { isoTime, nameOf, nameOfRow } from "#store/rows.ts";
import { freeSlug, requireFree } from "#store/slug.ts";
import { BLANK, forkMemories, insertRow, isKnownPiece, replacePieces } from "./memory-store-rows.ts";

/** Immutable once it is in the state: a unit changes copies. */
export interface Held {
  /** Never used for another agent. */
  readonly no: number;
  row: AgentRow;
  readonly events: string[];
  readonly inbox: { readonly key: string; readonly at: string; readonly message: string; readonly consumed: boolean }[];
  readonly timers: Map<string, { readonly at: string; readonly message: string }>;
  readonly memories: MemoryRow[];
  /** The result of each curation, by its key. */
  readonly curated: Map<string, readonly MemoryChanged[]>;
  /** `seq`: the last event of the call's commit. */
  readonly files: (FileVersion & { readonly seq: number })[];
  readonly snapshots: { readonly seq: number; readonly version: number; readonly state: string }[];
  /** By name. */
  readonly projections: Map<string, { readonly version: number; readonly seq: number; readonly data: string }>;
  /** Hashes of the blobs that its commits stored. */
  readonly kept: Set<string>;
  /** Bytes of blobs that its commits added. */
  stored: number;
}
export interface State {
  /** Highest number that an agent ever had. */
  highestNo: number;
  /** Highest epoch of all removed agents. */
  highestEpoch: number;
  readonly agents: Map<string, Held>;
  shared: Pick<Held, "memories" | "curated">;
  /** Agent ids by creation key. */
  readonly created: Map<string, string>;
  readonly blobs: Map<string, Uint8Array>;
}
export interface Draft extends State {
  /** Copies that this unit may change. */
  readonly touched: Map<string, Held>;
}

export function touch(draft: Draft, agent: string): Held {
  const touched = draft.touched.get(agent);
  if (touched) return touched;
  const { no, row, events, inbox, timers, memories, curated, files, snapshots, projections, kept, stored } =
    draft.agents.get(agent) ?? throwNoAgent(agent);
  const copy: Held = {
    no,
    row,
    events: [...events],
    inbox: [...inbox],
    timers: new Map(timers),
    memories: [...memories],
    curated: new Map(curated),
    files: [...files],
    snapshots: [...snapshots],
    projections: new Map(projections),
    kept: new Set(kept),
    stored,
  };
  draft.agents.set(agent, copy);
  draft.touched.set(agent, copy);
  return copy;
}

export function create(draft: Draft, spec: AgentSpec, key: string, at: string): AgentRow {
  const earlier = draft.agents.get(draft.created.get(key) ?? "");
  if (earlier) return earlier.row;
  const parent = spec.parent === undefined ? null : touch(draft, spec.parent).row;
  const event = makeCreatedEvent(spec, isoTime(at));
  const isTaken = (taken: string): boolean => draft.agents.has(taken);
  const id = spec.id === undefined ? freeSlug(event.name, isTaken) : requireFree(spec.id, isTaken);
  const folder = folderOf(id, parent?.folder ?? null);
  const times = { createdAt: event.at, updatedAt: event.at, wakeAt: event.at };
  const epoch = draft.highestEpoch;
  const row = { id, name: event.name, folder, parent: parent?.id ?? null, head: 1, epoch, ...times };
  const none = {
    ...{ inbox: [], timers: new Map(), memories: [], curated: new Map(), files: [], snapshots: [] },
    projections: new Map(),
    kept: new Set<string>(),
    stored: 0,
  };
  draft.agents.set(id, { no: ++draft.highestNo, row, events: [JSON.stringify(event)], ...none });
  draft.created.set(key, id);
  return row;
}

export function fork(draft: Draft, source: string, { name, head, events: own }: Fork, key: string): AgentRow {
  const earlier = draft.agents.get(draft.created.get(key) ?? "");
  if (earlier) return earlier.row;
  const { row: from, events, memories, files } = touch(draft, source);
  const id = freeSlug(name, (taken) => draft.agents.has(taken));
  const past = events.slice(0, head).map((data) => adoptEvent(JSON.parse(data) as RecordedEvent, source, id, name));
  const log = [...past, ...own];
  const epoch = Math.max(draft.highestEpoch, ...log.map((event) => ("epoch" in event ? event.epoch : 0)));
  const updatedAt = log.at(-1)?.at ?? from.createdAt;
  const times = { createdAt: from.createdAt, updatedAt, wakeAt: null };
  const row = {
    id,
    name: wellFormed(name),
    folder: folderOf(id, null),
    parent: null,
    head: log.length,
    epoch,
    ...times,
  };
  const byTime = past.at(-1)?.at ?? "";
  draft.agents.set(id, {
    no: ++draft.highestNo,
    row,
    events: log.map((event) => JSON.stringify(event)),
    inbox: [],
    timers: new Map(),
    memories: forkMemories(memories, source, id, head),
    curated: new Map(),
    files: files.filter(({ at }) => at <= byTime),
    snapshots: [],
    projections: new Map(),
    kept: new Set(past.flatMap((event) => blobsIn(JSON.stringify(event)))),
    stored: 0,
  });
  draft.created.set(key, id);
  return row;
}

export function touchSpace(draft: Draft, namespace: string): Pick<Held, "memories" | "curated"> {
  if (namespace !== SHARED_MEMORY) return touch(draft, namespace);
  const { memories, curated } = draft.shared;
  draft.shared = { memories: [...memories], curated: new Map(curated) };
  return draft.shared;
}

export function deliver({ inbox }: Held, key: string, message: InboxMessage, at: string): boolean {
  if (inbox.some((row) => row.key === key)) return false;
  inbox.push({ key, at: isoTime(at), message: JSON.stringify(message), consumed: false });
  return true;
}

export function fireTimers(held: Held, now: string): void {
  const due = [...held.timers].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => (a.at < b.at ? -1 : 1));
  for (const [key, { at, message }] of due) {
    deliver(held, timerKey(key, at), JSON.parse(message), at);
    held.timers.delete(key);
  }
}

/** Returns the bytes that are new. */
function addBlob(draft: Draft, bytes: Uint8Array): number {
  const sha = sha256(bytes);
  if (draft.blobs.has(sha)) return 0;
  draft.blobs.set(sha, bytes);
  return bytes.length;
}

export function write(draft: Draft, lease: Lease, expectedHead: number, commit: Commit): void {
  const held = touch(draft, lease.agent);
  requireValidCommit(lease, held.row, expectedHead, commit.events);
  const { head, at, result } = placeOf(commit, held.row);
  const { wakeAt = held.row.wakeAt, snapshot } = commit;
  held.events.push(...commit.events.map((event) => JSON.stringify(event)));
  held.row = { ...held.row, head, updatedAt: at, wakeAt: wakeAt === null ? null : isoTime(wakeAt) };
  for (const key of commit.consumed) consume(held, key);
  for (const bytes of commit.blobs) {
    held.stored += addBlob(draft, bytes);
    held.kept.add(sha256(bytes));
  }
  for (const { content, ...file } of commit.files) {
    if (commit.events.length === 0)
      throw new GoaldError("GOALD_INTERNAL", "Expected a change of a file with an event.");
    if (file.operation !== "trust" && (content && sha256(content)) !== file.sha256)
      throw new GoaldError("GOALD_INTERNAL", "Expected another hash.");
    if (content) held.stored += addBlob(draft, content);
    const event = commit.events.findLast((each) => "callId" in each && each.callId === file.callId);
    held.files.push({ ...file, at: event?.at ?? at, seq: event?.seq ?? head });
  }
  const seqs = new Set(commit.events.map(({ seq }) => seq));
  const counts = new Map<number, number>();
  const number = (seq: number, least: number): number => {
    const ordinal = Math.max(least, counts.get(seq) ?? 0);
    counts.set(seq, ordinal + 1);
    return ordinal;
  };
  for (const memory of commit.memories) {
    const ordinal = number(memory.seq, 0);
    if (!isKnownPiece(held.memories, memory)) remember(held, memory, ordinal, seqs);
  }
  for (const staged of commit.staged)
    if (staged.kind === "memory")
      remember(held, stagedMemory(staged, lease.agent, result), number(result.seq, 1), seqs);
    else applyStaged(draft, lease.agent, staged, at);
  for (const memory of commit.memories) replacePieces(held.memories, memory, commit.memories);
  if (snapshot) held.snapshots.push({ seq: head, version: snapshot.version, state: JSON.stringify(snapshot.state) });
}

export function remove(draft: Draft, agent: string): void {
  const held = draft.agents.get(agent) ?? throwNoAgent(agent);
  const children = [...draft.agents.values()].filter(({ row }) => row.parent === agent).map(({ row }) => row.id);
  if (children.length > 0) throw hasChildrenError(agent, children);
  draft.agents.delete(agent);
  for (const [key, id] of draft.created) if (id === agent) draft.created.delete(key);
  draft.highestEpoch = Math.max(draft.highestEpoch, held.row.epoch);
  const others = new Set([...draft.agents.values()].flatMap(namedBlobs));
  for (const sha of namedBlobs(held)) if (!others.has(sha)) draft.blobs.delete(sha);
}

function namedBlobs({ kept, files, events, inbox, timers }: Held): readonly string[] {
  const texts = [
    ...events,
    ...inbox.map(({ message }) => message),
    ...[...timers.values()].map(({ message }) => message),
  ];
  return [...kept, ...files.map(({ sha256: sha }) => sha ?? ""), ...texts.flatMap(blobsIn)];
}

function consume({ inbox }: Held, key: string): void {
  const place = inbox.findIndex((row) => row.key === key && !row.consumed);
  const row = inbox[place];
  if (!row) throw new GoaldError("GOALD_CONFLICT", `Expected an inbox row ${key} that waits, found none.`);
  inbox[place] = { ...row, consumed: true };
}

function remember(
  { row, events, memories }: Held,
  memory: NewMemory,
  ordinal: number,
  seqs: ReadonlySet<number>,
): void {
  const { replaces: _replaces, ...kept } = memory;
  const { seq, text } = memory;
  const id = `${row.id}/${nameOfRow({ seq, ordinal, made: null })}`;
  if (!seqs.has(seq)) throwStrayMemory(seq);
  if (memory.supersedes !== undefined && nameOf(row.id, memory.supersedes) === undefined)
    throwNoMemory(memory.supersedes);
  if (memory.namespace !== row.id) throw new GoaldError("GOALD_INTERNAL", `Expected a memory of ${row.id}.`);
  if (memories.some((each) => each.id === id)) throw new GoaldError("GOALD_CONFLICT", `There is a memory ${id}.`);
  const { at } = JSON.parse(events[seq - 1] ?? "null") as RecordedEvent;
  insertRow(memories, { ...BLANK, ...kept, text: wellFormed(text), id, at }, memory);
}

function applyStaged(draft: Draft, agent: string, write: StagedWrite, at: string): void {
  switch (write.kind) {
    case "memory":
      return;
    case "send":
      deliver(touch(draft, write.to), senderKey(agent, touch(draft, agent).no, write.key), write.message, at);
      return;
    case "spawn":
      create(draft, { parent: agent, ...write.spec }, senderKey(agent, touch(draft, agent).no, write.key), at);
      return;
    case "timer": {
      const { timers } = touch(draft, agent);
      if (write.at === null) timers.delete(write.key);
      else timers.set(write.key, { at: isoTime(write.at), message: JSON.stringify(write.message) });
    }
  }
}
