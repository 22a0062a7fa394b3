/** memory-store-rows.ts -- memory rows of the store in memory: added, replaced, pinned, forgotten. */
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { compareWords, isLive, isReplacedPiece, SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, NewMemory } from "#core/ports/memory.ts";
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
import { folderOf, hasChildrenError } from "#core/subagent.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "#store/chain.ts";
import { placeOf, requireValidCommit } from "#store/commit.ts";
import { correctedHash, correctedHashes, forgottenError, supersededError } from "#store/curate.ts";
import { throwNoAgent } from "#store/failure.ts";
import { adoptEvent } from "#store/fork.ts";
import { blobsIn, makeCreatedEvent } from "#store/log.ts";
import { senderKey, timerKey } from "#store/mailbox.ts";
import { stagedMemory, throwNoMemory, throwStrayMemory } from "#store/memory-rows.ts";

import { isoTime, nameOf, nameOfRow } from "#store/rows.ts";
import { freeSlug, requireFree } from "#store/slug.ts";

const nextChange = (memories: readonly MemoryRow[]): number => 1 + Math.max(0, ...memories.map(({ change }) => change));

export function curateOne(
  memories: MemoryRow[],
  namespace: string,
  head: number,
  change: MemoryChange,
  at: string,
): MemoryChanged {
  if (change.op === "add") return addOne(memories, namespace, head, change, at);
  const place = memories.findIndex(({ id }) => id === change.id);
  const row = memories[place] ?? throwNoMemory(change.id);
  const put = (changed: Partial<MemoryRow>): MemoryChanged => {
    memories[place] = { ...row, ...changed, change: nextChange(memories) };
    return { id: row.id, isNew: true };
  };
  if (change.op === "forget") {
    if (row.forgotten === change.by || row.forgotten === "person") return { id: row.id, isNew: false };
    const same = change.copies === true && row.forgotten === null ? sameAs(row, memories) : NOTHING_SAME;
    const gone = { text: "", vector: null, embedder: null, pinned: false, forgotten: change.by };
    const forgotten = put(gone);
    for (const copy of same.copies) changeRow(memories, copy, gone);
    for (const { id, kind } of [row, ...same.copies]) {
      const hidden = memories.find((each) => kind === "forgetting" && each.supersededBy === id);
      if (hidden) changeRow(memories, hidden, { supersededBy: null });
    }
    return { ...forgotten, ...idsOf(same) };
  }
  if (row.forgotten !== null) throw forgottenError(row.id);
  const pinned = change.op === "pin";
  if (row.pinned === pinned) return { id: row.id, isNew: false };
  if (pinned && row.supersededBy !== null) throw supersededError(row.id, row.supersededBy);
  return put({ pinned });
}

/** Finds the row that prevents another one of this key. */
function findKnown(memories: readonly MemoryRow[], key: string | undefined): MemoryRow | undefined {
  const trustOf = (id: string | null) => memories.find((row) => row.id === id)?.trust;
  const prevents = (row: MemoryRow): boolean =>
    row.forgotten === "person" || trustOf(row.supersededBy) === "person" || isLive(row);
  return key === undefined ? undefined : memories.find((row) => row.key === key && prevents(row));
}

const isKnownPiece = (memories: readonly MemoryRow[], { kind, key }: NewMemory): boolean =>
  kind === "piece" && findKnown(memories, key) !== undefined;

function replacePieces(
  memories: MemoryRow[],
  { seq, replaces, namespace }: NewMemory,
  all: readonly NewMemory[],
): void {
  if (!replaces) return;
  const keys = all.filter((memory) => memory.seq === seq).map(({ key }) => key);
  for (const [place, row] of memories.entries()) {
    const isOfSource = row.kind === "piece" && row.source === replaces.source && row.seq < seq && isLive(row);
    if (!isOfSource || keys.includes(row.key ?? undefined) || !isReplacedPiece(row.text, replaces.lines)) continue;
    memories[place] = { ...row, supersededBy: `${namespace}/${seq}`, change: nextChange(memories) };
  }
}

function addOne(
  memories: MemoryRow[],
  namespace: string,
  seq: number,
  { op: _op, supersedes, key, source, copies = false, ...given }: MemoryChange & { readonly op: "add" },
  at: string,
): MemoryChanged {
  const known = findKnown(memories, key);
  if (known) return { id: known.id, isNew: false };
  const old =
    supersedes === undefined ? undefined : (memories.find(({ id }) => id === supersedes) ?? throwNoMemory(supersedes));
  if (old && old.forgotten !== null) throw forgottenError(old.id);
  if (old?.supersededBy) throw supersededError(old.id, old.supersededBy);
  const made = 1 + Math.max(0, ...memories.map(({ id }) => Number(/\/\+(\d+)$/.exec(id)?.[1] ?? 0)));
  const id = `${namespace}/+${made}`;
  const text = wellFormed(given.text);
  const same = old && copies ? sameAs(old, memories, text) : NOTHING_SAME;
  insertRow(memories, { ...BLANK, ...given, namespace, seq, id, at, text }, { supersedes, key, source });
  for (const copy of same.copies) changeRow(memories, copy, { supersededBy: id });
  return { id, isNew: true, ...idsOf(same) };
}

interface Same {
  readonly copies: readonly MemoryRow[];
  readonly alike: readonly MemoryRow[];
}
const NOTHING_SAME: Same = { copies: [], alike: [] };

function sameAs(wanted: MemoryRow, memories: readonly MemoryRow[], correction?: string): Same {
  const [whole = "", act] = correctedHashes(wanted.text);
  const hash = correction === undefined ? whole : correctedHash(wanted.text, correction);
  const others = memories
    .filter((row) => row !== wanted && row.forgotten === null)
    .filter((row) => correction === undefined || row.supersededBy === null)
    .sort((a, b) => a.change - b.change);
  const isOfEvent = ({ id }: MemoryRow): boolean => !id.includes("/+");
  const same = others.filter((row) => correctedHashes(row.text).includes(hash));
  const events = new Set([wanted, ...same].filter(isOfEvent).map(({ seq }) => seq));
  const isOfSameEvent = (row: MemoryRow): boolean => isOfEvent(row) && events.has(row.seq);
  const isPiece = ({ kind }: MemoryRow): boolean => (kind as string) === "piece";
  const takesPieces = correction === undefined && !isPiece(wanted);
  const copies = others.filter((row) => same.includes(row) || (takesPieces && isPiece(row) && isOfSameEvent(row)));
  const turnOf = ({ seq }: MemoryRow): MemoryRow | undefined =>
    others
      .filter((row) => isOfEvent(row) && row.kind === "turn" && row.seq >= seq)
      .reduce<MemoryRow | undefined>((first, row) => (first && first.seq <= row.seq ? first : row), undefined);
  const turns = new Set([wanted, ...copies].filter(isOfEvent).map(turnOf));
  const likeness = compareWords(wanted.text);
  const isAlike = ({ text }: MemoryRow): boolean =>
    (act !== undefined && correctedHashes(text).includes(act)) || likeness(text) >= 0.7;
  const alike = others.filter(
    (row) =>
      row.supersededBy === null && !copies.includes(row) && (isAlike(row) || isOfSameEvent(row) || turns.has(row)),
  );
  return { copies, alike: alike.slice(-20) };
}

const idsOf = ({ copies, alike }: Same): Partial<MemoryChanged> => ({
  ...(copies.length > 0 ? { copies: copies.map(({ id }) => id) } : {}),
  ...(alike.length > 0 ? { alike: alike.map(({ id }) => id) } : {}),
});

function changeRow(memories: MemoryRow[], { id }: MemoryRow, changed: Partial<MemoryRow>): void {
  const place = memories.findIndex((row) => row.id === id);
  memories[place] = { ...(memories[place] as MemoryRow), ...changed, change: nextChange(memories) };
}

/** Replaces a new row, by others than a person, that says the same as one that a person corrected. */
function replaceAgain(memories: MemoryRow[], added: MemoryRow): void {
  const hashes = correctedHashes(added.text);
  const isSaidAgain = ({ text, change }: MemoryRow): boolean =>
    memories.some(
      (row) =>
        row.trust === "person" && row.change > change && correctedHashes(row.text)[0] === correctedHashes(text)[0],
    );
  const wrong = memories.findLast((row) => {
    const by = memories.find(({ id }) => id === row.supersededBy);
    if (by?.trust !== "person" || row.forgotten !== null || !hashes.includes(correctedHash(row.text, by.text)))
      return false;
    return !isSaidAgain(row);
  });
  if (wrong) changeRow(memories, added, { supersededBy: wrong.supersededBy });
}

const BLANK = {
  step: null,
  supersededBy: null,
  pinned: false,
  forgotten: null,
  embedder: null,
  vector: null,
} as const;

type Named = "supersedes" | "key" | "source";

function insertRow(
  memories: MemoryRow[],
  row: Omit<MemoryRow, "change" | Named>,
  { supersedes, key, source }: Partial<Record<Named, string | undefined>>,
): void {
  const more = { supersedes: supersedes ?? null, key: key ?? null, source: source ?? null };
  closeFact(memories, row);
  memories.push({ ...row, ...more, change: nextChange(memories) });
  const place = memories.findIndex(({ id }) => id === supersedes);
  const old = memories[place];
  if (old && old.supersededBy === null && old.forgotten === null)
    memories[place] = { ...old, supersededBy: row.id, change: nextChange(memories) };
  const added = memories.find(({ id }) => id === row.id);
  if (added && added.trust !== "person") replaceAgain(memories, added);
}

function closeFact(memories: MemoryRow[], { id, step, factKey, trust }: Omit<MemoryRow, "change" | Named>): void {
  for (const [place, row] of memories.entries())
    if (factKey !== undefined && row.factKey === factKey && row.trust === trust && row.closed === undefined)
      memories[place] = { ...row, closed: { by: id, step }, change: nextChange(memories) };
}

/** Marks facts as the store does in a fork: in the order of events, a person's rows after those before them. */
function markFacts(memories: readonly MemoryRow[]): MemoryRow[] {
  const place = ({ id }: MemoryRow): readonly number[] => {
    const [, made, ordinal = 0] = /\/(?:\+(\d+)|\d+(?:\.(\d+))?)$/.exec(id) ?? [];
    return made === undefined ? [0, Number(ordinal)] : [1, Number(made)];
  };
  const ordered = memories.toSorted((a, b) => {
    const [[kindA = 0, noA = 0], [kindB = 0, noB = 0]] = [place(a), place(b)];
    return a.seq - b.seq || kindA - kindB || noA - noB;
  });
  return memories.map(({ closed: _closed, ...row }) => {
    if (row.factKey === undefined) return row;
    const next = ordered
      .slice(ordered.findIndex(({ id }) => id === row.id) + 1)
      .find(({ factKey, trust }) => factKey === row.factKey && trust === row.trust);
    return next ? { ...row, closed: { by: next.id, step: next.step } } : row;
  });
}

/** Returns the fork's copies of the rows that belong to the first `head` events. */
function forkMemories(memories: readonly MemoryRow[], source: string, fork: string, head: number): MemoryRow[] {
  const copied = memories.filter(({ id, seq }) => id.includes("/+") || seq <= head).sort((a, b) => a.change - b.change);
  const ids = new Map(copied.map(({ id }) => [id, fork + id.slice(source.length)]));
  const idOf = (id: string | null): string | null => ids.get(id ?? "") ?? null;
  const rows = copied.map((row, place) => ({
    ...row,
    id: idOf(row.id) ?? "",
    namespace: fork,
    seq: Math.min(row.seq, head),
    change: place + 1,
    supersedes: idOf(row.supersedes),
    supersededBy: idOf(row.supersededBy),
  }));
  return markFacts(rows);
}

// The state of the store in memory, and its atomic changes.

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
  const held = draft.agents.get(agent) ?? throwNoAgent(agent);
  const copy: Held = {
    ...held,
    events: [...held.events],
    inbox: [...held.inbox],
    timers: new Map(held.timers),
    files: [...held.files],
    memories: [...held.memories],
    curated: new Map(held.curated),
    snapshots: [...held.snapshots],
    kept: new Set(held.kept),
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
    inbox: [],
    timers: new Map(),
    memories: [],
    curated: new Map(),
    files: [],
    snapshots: [],
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
