/**
 * memory-store.ts -- a Store in memory, for tests of what stands on one.
 *
 * Held to the same contract as the real one. It keeps JSON text, not objects, so that nothing is shared
 * with the caller and nothing comes back that JSON would not bring back. `failNextCommit` is
 * the power cut: before the commit nothing was kept, after it everything was, and nobody was told.
 */

import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow, AgentSpec, Fork, Lease } from "#core/ports/agent.ts";
import type { Commit, StagedWrite } from "#core/ports/commit.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { InboxMessage, InboxRow } from "#core/ports/inbox.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, NewMemory, RemoteRow } from "#core/ports/memory-row.ts";
import type { Loaded, Store, VerifyReport } from "#core/ports/store.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "#store/chain.ts";
import { placeOf, requireRight } from "#store/commit.ts";
import { isSuperseded, wasForgotten } from "#store/curate.ts";
import { missing } from "#store/failure.ts";
import { adopt } from "#store/fork.ts";
import { createdEvent } from "#store/log.ts";
import { senderKey, timerKey } from "#store/mailbox.ts";
import { noMemory, stagedMemory, strayMemory } from "#store/memory-rows.ts";
import { blobsIn } from "#store/references.ts";
import { hasChildren } from "#store/remove.ts";
import { isoTime, nameOf, nameOfRow, toEvent } from "#store/rows.ts";
import { folderOf, freeSlug, requireFree } from "#store/slug.ts";

/** Never changed once it is in the state: a unit changes copies. */
interface Held {
  /** Never given twice. */
  readonly no: number;
  row: AgentRow;
  readonly events: string[];
  readonly inbox: { readonly key: string; readonly at: string; readonly message: string; readonly consumed: boolean }[];
  readonly timers: Map<string, { readonly at: string; readonly message: string }>;
  readonly memories: MemoryRow[];
  /** What each curation returned, by its key. */
  readonly curated: Map<string, readonly MemoryChanged[]>;
  readonly files: FileVersion[];
  readonly snapshots: { readonly seq: number; readonly version: number; readonly state: string }[];
  /** Hashes of the blobs that its commits kept. */
  readonly kept: Set<string>;
}
interface State {
  /** Of all agents that ever were. */
  highestNo: number;
  /** Of all that were removed. */
  highestEpoch: number;
  readonly agents: Map<string, Held>;
  shared: Pick<Held, "memories" | "curated">;
  /** Agent ids by the key that they were created with. */
  readonly created: Map<string, string>;
  readonly blobs: Map<string, Uint8Array>;
}
type Vectors = Parameters<Store["saveVectors"]>[2];
interface Draft extends State {
  /** The copies that this unit may change. */
  readonly touched: Map<string, Held>;
}

export class MemoryStore implements Store {
  /** Every commit that was kept, oldest first. */
  readonly commits: Commit[] = [];
  #state: State = {
    highestNo: 0,
    highestEpoch: 0,
    agents: new Map(),
    shared: { memories: [], curated: new Map() },
    created: new Map(),
    blobs: new Map(),
  };
  /** By namespace and embedder, then by id. */
  readonly #next = new Map<string, Map<string, Float32Array>>();
  /** By index and namespace, then by id. */
  readonly #remote = new Map<string, Map<string, Map<string, RemoteRow>>>();
  #failure: { readonly error: Error; readonly when: "before" | "after" } | null = null;

  /** The next commit rejects with `error`: before anything was kept, or after everything was. */
  failNextCommit(error: Error, when: "before" | "after" = "before"): void {
    this.#failure = { error, when };
  }

  async create(spec: AgentSpec, key: string, at: string): Promise<AgentRow> {
    return this.#unit((draft) => create(draft, spec, key, at));
  }

  async fork(agent: string, given: Fork, key: string): Promise<AgentRow> {
    return this.#unit((draft) => fork(draft, agent, given, key));
  }

  async agents(): Promise<readonly AgentRow[]> {
    return [...this.#state.agents.values()].map(({ row }) => row);
  }

  async agent(id: string): Promise<AgentRow | undefined> {
    return this.#state.agents.get(id)?.row;
  }

  async claim(agent: string): Promise<Lease> {
    return this.#unit((draft) => {
      const held = touch(draft, agent);
      held.row = { ...held.row, epoch: held.row.epoch + 1 };
      return { agent, epoch: held.row.epoch };
    });
  }

  async due(now: string): Promise<readonly string[]> {
    const time = isoTime(now);
    this.#unit((draft) => {
      for (const id of draft.agents.keys()) fireTimers(touch(draft, id), time);
    });
    return [...this.#state.agents.values()]
      .map(({ row, inbox }) => {
        const wake = row.wakeAt !== null && row.wakeAt <= time ? [row.wakeAt] : [];
        const since = [...wake, ...inbox.filter(({ consumed }) => !consumed).map(({ at }) => at)].sort()[0];
        return { id: row.id, since: since ?? "" };
      })
      .filter(({ since }) => since !== "")
      .sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0))
      .map(({ id }) => id);
  }

  async commit(lease: Lease, expectedHead: number, commit: Commit): Promise<void> {
    const failure = this.#failure;
    this.#failure = null;
    if (failure?.when === "before") throw failure.error;
    this.#unit((draft) => write(draft, lease, expectedHead, commit));
    this.commits.push(commit);
    if (failure) throw failure.error;
  }

  async load(agent: string, stateVersion: number): Promise<Loaded> {
    const { row, snapshots } = this.#held(agent);
    const kept = snapshots.findLast(({ version }) => version === stateVersion);
    const snapshot = kept ? { seq: kept.seq, state: JSON.parse(kept.state) as unknown } : null;
    return { head: row.head, snapshot, events: await this.read(agent, snapshot?.seq ?? 0, row.head) };
  }

  async read(agent: string, after: number, limit: number): Promise<readonly RecordedEvent[]> {
    const page = this.#held(agent).events.slice(after, after + Math.max(0, limit));
    return page.map((data, place) => toEvent(agent, { seq: after + place + 1, data, sha: "" }));
  }

  async deliver(agent: string, key: string, message: InboxMessage, at: string): Promise<boolean> {
    return this.#unit((draft) => deliver(touch(draft, agent), key, message, at));
  }

  async remove(agent: string): Promise<void> {
    this.#unit((draft) => remove(draft, agent));
  }

  async inbox(agent: string): Promise<readonly InboxRow[]> {
    const waiting = this.#held(agent).inbox.filter(({ consumed }) => !consumed);
    return waiting.map(({ key, at, message }) => ({ key, at, message: JSON.parse(message) as InboxMessage }));
  }

  async blob(sha: string): Promise<Uint8Array | undefined> {
    return this.#state.blobs.get(sha);
  }

  async memories(namespace: string, after: number, limit: number): Promise<readonly MemoryRow[]> {
    const later = this.#space(namespace).memories.filter(({ change }) => change > after);
    return later.sort((a, b) => a.change - b.change).slice(0, Math.max(0, limit));
  }

  async memory(namespace: string, id: string): Promise<MemoryRow | undefined> {
    return this.#space(namespace).memories.find((row) => row.id === id);
  }

  async saveVectors(namespace: string, embedder: string, vectors: Parameters<Store["saveVectors"]>[2]): Promise<void> {
    this.#unit((draft) => {
      const { memories } = touchSpace(draft, namespace);
      for (const { id, vector } of vectors) {
        const place = memories.findIndex((each) => each.id === id);
        const memory = memories[place] ?? noMemory(id);
        if (memory.forgotten === null) memories[place] = { ...memory, embedder, vector: new Float32Array(vector) };
      }
    });
  }

  async curate(
    namespace: string,
    changes: readonly MemoryChange[],
    key: string,
    at: string,
  ): Promise<readonly MemoryChanged[]> {
    return this.#unit((draft) => {
      const space = touchSpace(draft, namespace);
      const head = draft.agents.get(namespace)?.row.head ?? 0;
      const earlier = space.curated.get(key);
      const changed =
        earlier ?? changes.map((change) => curateOne(space.memories, namespace, head, change, isoTime(at)));
      space.curated.set(key, changed);
      return changed;
    });
  }

  async vectorCounts(namespace: string): Promise<ReadonlyMap<string, number>> {
    const embedders = this.#space(namespace).memories.flatMap(({ embedder }) => embedder ?? []);
    return new Map(
      Map.groupBy(embedders, (id) => id)
        .entries()
        .map(([id, rows]) => [id, rows.length]),
    );
  }

  async nextVectorIds(namespace: string, embedder: string): Promise<readonly string[]> {
    this.#space(namespace);
    const rows = new Map(this.#space(namespace).memories.map((row) => [row.id, row]));
    const ids = [...(this.#next.get(`${namespace} ${embedder}`)?.keys() ?? [])];
    return ids.filter((id) => rows.get(id)?.forgotten === null).sort();
  }

  async saveNextVectors(namespace: string, embedder: string, vectors: Vectors): Promise<void> {
    const key = `${namespace} ${embedder}`;
    const known = new Set(this.#space(namespace).memories.map(({ id }) => id));
    const kept = new Map(this.#next.get(key));
    for (const { id, vector } of vectors) if (known.has(id)) kept.set(id, new Float32Array(vector));
    this.#next.set(key, kept);
  }

  async adoptNextVectors(namespace: string, embedder: string): Promise<void> {
    const ids = await this.nextVectorIds(namespace, embedder);
    const kept = this.#next.get(`${namespace} ${embedder}`) ?? new Map<string, Float32Array>();
    await this.saveVectors(
      namespace,
      embedder,
      ids.map((id) => ({ id, vector: kept.get(id) as Float32Array })),
    );
    for (const key of [...this.#next.keys()]) if (key.startsWith(`${namespace} `)) this.#next.delete(key);
  }

  async remoteNamespaces(index: string): Promise<readonly string[]> {
    const namespaces = [...(this.#remote.get(index) ?? [])].filter(([, rows]) => rows.size > 0);
    return namespaces.map(([namespace]) => namespace).sort();
  }

  async remoteRows(index: string, namespace: string, after: string, limit: number): Promise<readonly RemoteRow[]> {
    const rows = [...(this.#remote.get(index)?.get(namespace)?.values() ?? [])];
    return rows
      .filter(({ id }) => id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  async saveRemoteRows(
    index: string,
    namespace: string,
    rows: readonly RemoteRow[],
    gone: readonly string[],
  ): Promise<void> {
    const namespaces = this.#remote.get(index) ?? new Map<string, Map<string, RemoteRow>>();
    const kept = namespaces.get(namespace) ?? new Map<string, RemoteRow>();
    this.#remote.set(index, namespaces.set(namespace, kept));
    for (const row of rows) kept.set(row.id, row);
    for (const id of gone) kept.delete(id);
  }

  async files(agent: string): Promise<readonly FileVersion[]> {
    return this.#held(agent).files;
  }

  async lastFileVersion(agent: string, path: string): Promise<FileVersion | undefined> {
    return this.#held(agent).files.findLast((file) => file.path === path);
  }

  async verify(agent?: string): Promise<VerifyReport> {
    const checked = agent === undefined ? [...this.#state.agents.values()] : [this.#held(agent)];
    const texts = checked.flatMap(({ events }) => events);
    const shas = texts.flatMap((text) => [...text.matchAll(/"blob":"([0-9a-f]{64})"/g)].map(([, sha = ""]) => sha));
    const lost = shas.filter((sha) => !this.#state.blobs.has(sha));
    const problems = lost.map((sha) => `Expected the blob ${sha}, found none.`);
    return { agents: checked.length, events: texts.length, problems };
  }

  async close(): Promise<void> {}

  #space(namespace: string): Pick<Held, "memories" | "curated"> {
    return namespace === SHARED_MEMORY ? this.#state.shared : this.#held(namespace);
  }

  #held(agent: string): Held {
    return this.#state.agents.get(agent) ?? missing(agent);
  }

  /** What throws leaves the state as it was. */
  #unit<T>(work: (draft: Draft) => T): T {
    const { agents, created, blobs } = this.#state;
    const copies = { agents: new Map(agents), created: new Map(created), blobs: new Map(blobs) };
    const draft: Draft = { ...this.#state, ...copies, touched: new Map() };
    const result = work(draft);
    this.#state = draft;
    return result;
  }
}

function touch(draft: Draft, agent: string): Held {
  const touched = draft.touched.get(agent);
  if (touched) return touched;
  const { no, row, events, inbox, timers, memories, curated, files, snapshots, kept } =
    draft.agents.get(agent) ?? missing(agent);
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
    kept: new Set(kept),
  };
  draft.agents.set(agent, copy);
  draft.touched.set(agent, copy);
  return copy;
}

function create(draft: Draft, spec: AgentSpec, key: string, at: string): AgentRow {
  const earlier = draft.agents.get(draft.created.get(key) ?? "");
  if (earlier) return earlier.row;
  const parent = spec.parent === undefined ? null : touch(draft, spec.parent).row;
  const event = createdEvent(spec, isoTime(at));
  const isTaken = (taken: string): boolean => draft.agents.has(taken);
  const id = spec.id === undefined ? freeSlug(event.name, isTaken) : requireFree(spec.id, isTaken);
  const folder = folderOf(id, parent?.folder ?? null);
  const times = { createdAt: event.at, updatedAt: event.at, wakeAt: event.at };
  const epoch = draft.highestEpoch;
  const row = { id, name: event.name, folder, parent: parent?.id ?? null, head: 1, epoch, ...times };
  const none = {
    ...{ inbox: [], timers: new Map(), memories: [], curated: new Map(), files: [], snapshots: [] },
    kept: new Set<string>(),
  };
  draft.agents.set(id, { no: ++draft.highestNo, row, events: [JSON.stringify(event)], ...none });
  draft.created.set(key, id);
  return row;
}

function fork(draft: Draft, source: string, { name, head, events: own }: Fork, key: string): AgentRow {
  const earlier = draft.agents.get(draft.created.get(key) ?? "");
  if (earlier) return earlier.row;
  const { row: from, events, memories, files } = touch(draft, source);
  const id = freeSlug(name, (taken) => draft.agents.has(taken));
  const past = events.slice(0, head).map((data) => adopt(JSON.parse(data) as RecordedEvent, source, id, name));
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
  });
  draft.created.set(key, id);
  return row;
}

function forkMemories(memories: readonly MemoryRow[], source: string, fork: string, head: number): MemoryRow[] {
  const copied = memories.filter(({ id, seq }) => id.includes("/+") || seq <= head).sort((a, b) => a.change - b.change);
  const ids = new Map(copied.map(({ id }) => [id, fork + id.slice(source.length)]));
  const idOf = (id: string | null): string | null => ids.get(id ?? "") ?? null;
  return copied.map((row, place) => ({
    ...row,
    id: idOf(row.id) ?? "",
    namespace: fork,
    seq: Math.min(row.seq, head),
    change: place + 1,
    supersedes: idOf(row.supersedes),
    supersededBy: idOf(row.supersededBy),
  }));
}

function touchSpace(draft: Draft, namespace: string): Pick<Held, "memories" | "curated"> {
  if (namespace !== SHARED_MEMORY) return touch(draft, namespace);
  const { memories, curated } = draft.shared;
  draft.shared = { memories: [...memories], curated: new Map(curated) };
  return draft.shared;
}

const nextChange = (memories: readonly MemoryRow[]): number => 1 + Math.max(0, ...memories.map(({ change }) => change));

function curateOne(
  memories: MemoryRow[],
  namespace: string,
  head: number,
  change: MemoryChange,
  at: string,
): MemoryChanged {
  if (change.op === "add") return addOne(memories, namespace, head, change, at);
  const place = memories.findIndex(({ id }) => id === change.id);
  const row = memories[place] ?? noMemory(change.id);
  const put = (changed: Partial<MemoryRow>): MemoryChanged => {
    memories[place] = { ...row, ...changed, change: nextChange(memories) };
    return { id: row.id, isNew: true };
  };
  if (change.op === "forget") {
    if (row.forgotten === change.by || row.forgotten === "person") return { id: row.id, isNew: false };
    return put({ text: "", vector: null, embedder: null, pinned: false, forgotten: change.by });
  }
  if (row.forgotten !== null) throw wasForgotten(row.id);
  const pinned = change.op === "pin";
  if (row.pinned === pinned) return { id: row.id, isNew: false };
  if (pinned && row.supersededBy !== null) throw isSuperseded(row.id, row.supersededBy);
  return put({ pinned });
}

function addOne(
  memories: MemoryRow[],
  namespace: string,
  seq: number,
  { op: _op, supersedes, key, source, ...given }: MemoryChange & { readonly op: "add" },
  at: string,
): MemoryChanged {
  const trustOf = (id: string | null) => memories.find((row) => row.id === id)?.trust;
  const known = memories.find(
    (row) =>
      key !== undefined &&
      row.key === key &&
      (row.forgotten === "person" ||
        trustOf(row.supersededBy) === "person" ||
        (row.forgotten === null && row.supersededBy === null)),
  );
  if (known) return { id: known.id, isNew: false };
  const old =
    supersedes === undefined ? undefined : (memories.find(({ id }) => id === supersedes) ?? noMemory(supersedes));
  if (old && old.forgotten !== null) throw wasForgotten(old.id);
  if (old?.supersededBy) throw isSuperseded(old.id, old.supersededBy);
  const made = 1 + Math.max(0, ...memories.map(({ id }) => Number(/\/\+(\d+)$/.exec(id)?.[1] ?? 0)));
  const id = `${namespace}/+${made}`;
  insertRow(
    memories,
    { ...BLANK, ...given, namespace, seq, id, at, text: wellFormed(given.text) },
    { supersedes, key, source },
  );
  return { id, isNew: true };
}

const BLANK = { step: null, supersededBy: null, pinned: false, forgotten: null, embedder: null, vector: null } as const;

function insertRow(
  memories: MemoryRow[],
  row: Omit<MemoryRow, "change" | "supersedes" | "key" | "source">,
  { supersedes, key, source }: Partial<Record<"supersedes" | "key" | "source", string | undefined>>,
): void {
  const more = { supersedes: supersedes ?? null, key: key ?? null, source: source ?? null };
  memories.push({ ...row, ...more, change: nextChange(memories) });
  const place = memories.findIndex(({ id }) => id === supersedes);
  const old = memories[place];
  if (old && old.supersededBy === null && old.forgotten === null)
    memories[place] = { ...old, supersededBy: row.id, change: nextChange(memories) };
}

function deliver({ inbox }: Held, key: string, message: InboxMessage, at: string): boolean {
  if (inbox.some((row) => row.key === key)) return false;
  inbox.push({ key, at: isoTime(at), message: JSON.stringify(message), consumed: false });
  return true;
}

function fireTimers(held: Held, now: string): void {
  const due = [...held.timers].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => (a.at < b.at ? -1 : 1));
  for (const [key, { at, message }] of due) {
    deliver(held, timerKey(key, at), JSON.parse(message), at);
    held.timers.delete(key);
  }
}

function write(draft: Draft, lease: Lease, expectedHead: number, commit: Commit): void {
  const held = touch(draft, lease.agent);
  requireRight(lease, held.row, expectedHead, commit.events);
  const { head, at, result } = placeOf(commit, held.row);
  const { wakeAt = held.row.wakeAt, snapshot } = commit;
  held.events.push(...commit.events.map((event) => JSON.stringify(event)));
  held.row = { ...held.row, head, updatedAt: at, wakeAt: wakeAt === null ? null : isoTime(wakeAt) };
  for (const key of commit.consumed) consume(held, key);
  for (const bytes of commit.blobs) {
    draft.blobs.set(sha256(bytes), bytes);
    held.kept.add(sha256(bytes));
  }
  for (const { content, ...file } of commit.files) {
    if (commit.events.length === 0)
      throw new GoaldError("GOALD_INTERNAL", "Expected a change of a file with an event.");
    if ((content && sha256(content)) !== file.sha256) throw new GoaldError("GOALD_INTERNAL", "Expected another hash.");
    if (content) draft.blobs.set(sha256(content), content);
    const event = commit.events.findLast((each) => "callId" in each && each.callId === file.callId);
    held.files.push({ ...file, at: event?.at ?? at });
  }
  const seqs = new Set(commit.events.map(({ seq }) => seq));
  for (const memory of commit.memories) remember(held, memory, 0, seqs);
  let ordinal = 0;
  for (const staged of commit.staged)
    if (staged.kind === "memory") remember(held, stagedMemory(staged, lease.agent, result), ++ordinal, seqs);
    else applyStaged(draft, lease.agent, staged, at);
  if (snapshot) held.snapshots.push({ seq: head, version: snapshot.version, state: JSON.stringify(snapshot.state) });
}

function remove(draft: Draft, agent: string): void {
  const held = draft.agents.get(agent) ?? missing(agent);
  const children = [...draft.agents.values()].filter(({ row }) => row.parent === agent).map(({ row }) => row.id);
  if (children.length > 0) throw hasChildren(agent, children);
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
  const { seq, text } = memory;
  const id = `${row.id}/${nameOfRow({ seq, ordinal, made: null })}`;
  if (!seqs.has(seq)) strayMemory(seq);
  if (memory.supersedes !== undefined && nameOf(row.id, memory.supersedes) === undefined) noMemory(memory.supersedes);
  if (memory.namespace !== row.id) throw new GoaldError("GOALD_INTERNAL", `Expected a memory of ${row.id}.`);
  if (memories.some((each) => each.id === id)) throw new GoaldError("GOALD_CONFLICT", `There is a memory ${id}.`);
  const { at } = JSON.parse(events[seq - 1] ?? "null") as RecordedEvent;
  insertRow(memories, { ...BLANK, ...memory, text: wellFormed(text), id, at }, memory);
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
