/**
 * memory-store.ts -- a Store in memory, for tests of code that uses one.
 *
 * It passes the same contract as the real store. It keeps JSON text instead of objects, so that nothing is shared
 * with the caller and values come back as JSON.
 */
import type { RecordedEvent } from "#core/event.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryChange, MemoryChanged, MemoryRow, MemoryVersion, RemoteRow, Trust } from "#core/ports/memory.ts";
import type {
  AgentRow,
  AgentSpec,
  Commit,
  FileVersion,
  Fork,
  InboxMessage,
  InboxRow,
  LastFileVersion,
  Lease,
  Loaded,
  Store,
  VerifyReport,
} from "#core/ports/store.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { sha256 } from "#store/chain.ts";
import { throwNoAgent } from "#store/failure.ts";
import { throwNoMemory } from "#store/memory-rows.ts";
import { isoTime, toEvent } from "#store/rows.ts";
import {
  create,
  curateOne,
  type Draft,
  deliver,
  fireTimers,
  fork,
  type Held,
  remove,
  type State,
  touch,
  touchSpace,
  write,
} from "./memory-store-rows.ts";

export class MemoryStore implements Store {
  /** All stored commits, oldest first. */
  readonly commits: Commit[] = [];
  #state: State = {
    highestNo: 0,
    highestEpoch: 0,
    agents: new Map(),
    shared: { memories: [], curated: new Map() },
    created: new Map(),
    blobs: new Map(),
  };
  /** Rows by index and namespace, then by id. */
  readonly #remote = new Map<string, Map<string, Map<string, RemoteRow>>>();

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
    this.#unit((draft) => write(draft, lease, expectedHead, commit));
    this.commits.push(commit);
  }

  async load(agent: string, stateVersion: number, at = Number.POSITIVE_INFINITY): Promise<Loaded> {
    const { row, snapshots } = this.#held(agent);
    const head = Math.min(row.head, at);
    const kept = snapshots.findLast(({ version, seq }) => version === stateVersion && seq <= head);
    const snapshot = kept ? { seq: kept.seq, state: JSON.parse(kept.state) as unknown } : null;
    const after = snapshot?.seq ?? 0;
    return { head, snapshot, events: await this.read(agent, after, head - after) };
  }

  async read(agent: string, after: number, limit: number): Promise<readonly RecordedEvent[]> {
    const page = this.#held(agent).events.slice(after, after + Math.max(0, limit));
    return page.map((data, place) => toEvent(agent, { seq: after + place + 1, data }));
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

  async memoryVersion(namespace: string, at = { seq: Infinity, curation: Infinity }): Promise<MemoryVersion> {
    const held = namespace === SHARED_MEMORY ? undefined : this.#held(namespace);
    const events = (held?.events ?? []).slice(0, at.seq);
    const curated = [...this.#space(namespace).curated].slice(0, at.curation);
    const sha = sha256(JSON.stringify([held?.no, events, curated]));
    return { seq: events.length, curation: curated.length, sha };
  }

  async newestFact(namespace: string, factKey: string, trust: Trust): Promise<MemoryRow | undefined> {
    return this.#space(namespace).memories.find(
      (row) => row.factKey === factKey && row.trust === trust && row.closed === undefined,
    );
  }

  async saveVectors(namespace: string, embedder: string, vectors: Parameters<Store["saveVectors"]>[2]): Promise<void> {
    this.#unit((draft) => {
      const { memories } = touchSpace(draft, namespace);
      for (const { id, vector } of vectors) {
        const place = memories.findIndex((each) => each.id === id);
        const memory = memories[place] ?? throwNoMemory(id);
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

  async remoteForgotten(index: string): Promise<readonly string[]> {
    const spaces = [this.#state.shared, ...this.#state.agents.values()];
    const forgotten = new Set(
      spaces.flatMap(({ memories }) => memories.flatMap(({ id, forgotten }) => (forgotten === null ? [] : [id]))),
    );
    const ids = [...(this.#remote.get(index)?.values() ?? [])].flatMap((rows) => [...rows.keys()]);
    return ids.filter((id) => forgotten.has(id));
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

  async files(agent: string, after = 0, until = Number.POSITIVE_INFINITY): Promise<readonly FileVersion[]> {
    return this.#held(agent)
      .files.filter(({ seq }) => seq > after && seq <= until)
      .map(({ seq: _seq, ...version }) => version);
  }

  async lastFileVersion(agent: string, path: string): Promise<LastFileVersion | undefined> {
    return this.#held(agent).files.findLast((file) => file.path === path);
  }

  async storedBytes(folder: string): Promise<number> {
    const inside = [...this.#state.agents.values()].filter(({ row }) => `${row.folder}/`.startsWith(`${folder}/`));
    return inside.reduce((sum, { stored }) => sum + stored, 0);
  }

  async outsideBelow(agent: string, folder: string, after: number): Promise<readonly (readonly OutsideSource[])[]> {
    const isBelow = ({ path, seq }: LastFileVersion): boolean =>
      seq > after && (folder === "" || path.startsWith(`${folder}/`));
    const lists = this.#held(agent).files.filter(isBelow);
    return lists.flatMap(({ outside }) => (outside ? [outside] : []));
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
    return this.#state.agents.get(agent) ?? throwNoAgent(agent);
  }

  /** Changes the state only when `work` returns. */
  #unit<T>(work: (draft: Draft) => T): T {
    const { agents, created, blobs } = this.#state;
    const copies = { agents: new Map(agents), created: new Map(created), blobs: new Map(blobs) };
    const draft: Draft = { ...this.#state, ...copies, touched: new Map() };
    const result = work(draft);
    this.#state = draft;
    return result;
  }
}
