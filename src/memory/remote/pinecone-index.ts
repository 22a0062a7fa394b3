/**
 * pinecone-index.ts -- one namespace's vectors in a Pinecone index, behind the contract of every other index.
 *
 * All vectors are at home too, in an exact index: what was added is found at once although Pinecone shows it seconds later,
 * and when Pinecone is slow or gone the same search is answered at home. Home answers for the rows that Pinecone is not known
 * to show yet (the overlay) and Pinecone for the rest; a row leaves the overlay when Pinecone says that it has caught up
 * with it, returned it with the right score, or has had it for a minute.
 *
 * What is to be sent is not queued but worked out: the rows that are there against the journal of what may lie there.
 * An id is in the journal before it is sent and until it is deleted, so that no crash leaves anything behind that nobody knows of, and
 * whatever is sent twice says the same.
 */
import { hash } from "node:crypto";
import type { RemoteRow } from "#core/ports/memory-row.ts";
import type { IndexedRows, ScoredSlot, VectorIndex } from "#core/ports/vectors.ts";
import { dot, toUnit } from "../vectors/unit-vector.ts";
import type { Match, Progress } from "./pinecone-answers.ts";
import { type PineconeLink, recordOf, rounded, type Sending, type Waiting } from "./pinecone-link.ts";

export interface PineconeIndexParts {
  readonly namespace: string;
  readonly dimensions: number;
  readonly embedder: string;
  readonly local: VectorIndex;
  readonly link: PineconeLink;
  readonly rows: IndexedRows;
}

/** Beyond this many, home answers alone: nearly everything would be compared twice. */
const MAX_OVERLAY = 2_000;
/** After which a row counts as shown when Pinecone says nothing of how far it is. */
const SHOWN_AFTER_MS = 60_000;
const SAME_SCORE = 1e-3;
/** Pinecone takes 1,000 records and 2 MB. */
const MAX_LOT = 200;
const MAX_LOT_BYTES = 1_900_000;
const MAX_DELETES = 1_000;
const MAX_MATCHES = 10_000;

export class PineconeIndex implements VectorIndex {
  readonly #parts: PineconeIndexParts;
  readonly #held = new Map<number, { readonly id: string; readonly version: string }>();
  readonly #slotOf = new Map<string, number>();
  readonly #overlay = new Map<number, Waiting>();
  /** What may lie there, by id. */
  readonly #believed = new Map<string, RemoteRow>();
  /** Ids of these that belong to no row any more. */
  readonly #gone = new Set<string>();
  #loading: Promise<void> | undefined;
  /** The rows are all read, so that what lies there and is none of them is known; and whether that was looked for. */
  #isComplete = false;
  #isSwept = false;
  #isClosed = false;

  constructor(parts: PineconeIndexParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#parts.local.size;
  }

  async add(slot: number, vector: Float32Array): Promise<void> {
    const { local, rows, embedder, dimensions, link } = this.#parts;
    await local.add(slot, vector);
    const unit = Float32Array.from(toUnit(vector, dimensions));
    this.#loading ??= this.#load();
    await this.#loading;
    const row = rows.at(slot);
    const version = hash(
      "sha1",
      `${embedder}\n${row.text}\n${Buffer.from(unit.buffer).toString("base64")}`,
      "base64url",
    );
    const before = this.#held.get(slot);
    if (before && before.id !== row.id) this.#letGo(before.id);
    this.#held.set(slot, { id: row.id, version });
    this.#slotOf.set(row.id, slot);
    this.#gone.delete(row.id);
    const known = this.#believed.get(row.id);
    const takenAtMs = known?.isSent && known.version === version ? "earlier" : null;
    this.#overlay.set(slot, { vector: unit, takenAtMs, progress: null, isRefused: false });
    link.wake(this);
  }

  async remove(slot: number): Promise<void> {
    await this.#parts.local.remove(slot);
    const held = this.#held.get(slot);
    if (!held) return;
    this.#held.delete(slot);
    this.#overlay.delete(slot);
    if (this.#slotOf.get(held.id) === slot) this.#letGo(held.id);
    this.#parts.link.wake(this);
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const { local, link, namespace, dimensions, embedder } = this.#parts;
    this.#isComplete = true;
    this.#settle();
    const unit = toUnit(query, dimensions);
    if (count < 1 || local.size === 0 || this.#overlay.size > MAX_OVERLAY) return local.search(query, count);
    const wanted = Math.min(MAX_MATCHES, count + this.#gone.size);
    const answer = await link.query(namespace, dimensions, Array.from(unit, rounded), wanted, embedder);
    if (!answer) return local.search(query, count);
    this.#note(answer, unit);
    const hits = answer.matches.flatMap(({ id, score }) => {
      const slot = this.#slotOf.get(id);
      return slot === undefined || this.#overlay.has(slot) ? [] : [{ slot, score: Math.max(-1, Math.min(1, score)) }];
    });
    const found = new Map(hits.map((hit) => [hit.slot, hit]));
    for (const [slot, { vector }] of this.#overlay) found.set(slot, { slot, score: dot(unit, vector) });
    return [...found.values()].sort((a, b) => b.score - a.score || b.slot - a.slot).slice(0, count);
  }

  /** Sends what is not there and deletes what should not be; true when nothing is left to do. */
  async send(): Promise<boolean> {
    const { link, namespace, dimensions } = this.#parts;
    this.#loading ??= this.#load();
    await this.#loading;
    const count = this.#held.size === 0 ? 0 : link.countAtStart(namespace, dimensions);
    if (count === undefined) return true;
    this.#settle(count === 0);
    for (let lot = this.#nextLot(); lot.length > 0; lot = this.#nextLot())
      if (!(await this.#sendLot(lot))) return this.#isClosed;
    this.#sweep();
    while (this.#gone.size > 0) {
      const ids = [...this.#gone].slice(0, MAX_DELETES);
      if (!(await link.remove(namespace, ids))) return this.#isClosed;
      await link.journal.save(namespace, [], ids);
      for (const id of ids) this.#gone.delete(id);
      for (const id of ids) this.#believed.delete(id);
    }
    return true;
  }

  /** Nothing is deleted there. What waits is sent once more; if Pinecone cannot be had then, when the rows are next read. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#parts.local.close();
  }

  async #load(): Promise<void> {
    const { link, namespace } = this.#parts;
    for (const row of await link.journal.read(namespace).catch(() => [])) this.#believed.set(row.id, row);
  }

  /** What an earlier process sent is there, unless the namespace was found empty. */
  #settle(wasEmpty?: boolean): void {
    const nowMs = this.#parts.link.clock.now().getTime();
    for (const [slot, waiting] of this.#overlay) {
      const { takenAtMs } = waiting;
      if (takenAtMs === "earlier") {
        if (wasEmpty === true) waiting.takenAtMs = null;
        else if (wasEmpty === false) this.#overlay.delete(slot);
      } else if (takenAtMs !== null && waiting.progress === null && nowMs - takenAtMs > SHOWN_AFTER_MS)
        this.#overlay.delete(slot);
    }
  }

  /** What an answer shows of how far Pinecone is. */
  #note(
    { matches, progress }: { readonly matches: readonly Match[]; readonly progress: Progress },
    unit: Float32Array,
  ): void {
    for (const { id, score } of matches) {
      const slot = this.#slotOf.get(id);
      const waiting = slot === undefined ? undefined : this.#overlay.get(slot);
      if (waiting && waiting.takenAtMs !== null && Math.abs(dot(unit, waiting.vector) - score) < SAME_SCORE)
        this.#overlay.delete(slot as number);
    }
    if (progress === null) return;
    for (const [slot, waiting] of this.#overlay)
      if (waiting.progress !== null && waiting.progress <= progress) this.#overlay.delete(slot);
  }

  #nextLot(): readonly Sending[] {
    const lot: Sending[] = [];
    let bytes = 0;
    for (const [slot, waiting] of this.#overlay) {
      if (waiting.takenAtMs !== null || waiting.isRefused) continue;
      const { rows, embedder } = this.#parts;
      const record = recordOf({ ...rows.at(slot), id: this.#held.get(slot)?.id ?? "" }, waiting.vector, embedder);
      bytes += Buffer.byteLength(JSON.stringify(record));
      if (lot.length > 0 && bytes > MAX_LOT_BYTES) break;
      lot.push({ slot, waiting, record });
      if (lot.length === MAX_LOT) break;
    }
    return lot;
  }

  /** False when Pinecone cannot be had. */
  async #sendLot(lot: readonly Sending[]): Promise<boolean> {
    const { link, namespace } = this.#parts;
    const noteOf = (isSent: boolean): RemoteRow[] =>
      lot.map(({ slot, record: { id } }) => ({ id, version: this.#held.get(slot)?.version ?? "", isSent }));
    const noted = noteOf(false);
    await link.journal.save(namespace, noted, []);
    for (const row of noted) {
      this.#believed.set(row.id, row);
      if (!this.#slotOf.has(row.id)) this.#gone.add(row.id);
    }
    const taken = await link.upsert(
      namespace,
      lot.map(({ record }) => record),
    );
    if (taken === undefined) return false;
    if (taken === "refused") {
      if (lot.length === 1) for (const { waiting } of lot) waiting.isRefused = true;
      const half = Math.ceil(lot.length / 2);
      return lot.length === 1 || ((await this.#sendLot(lot.slice(0, half))) && (await this.#sendLot(lot.slice(half))));
    }
    const sent = noted.map((row) => ({ ...row, isSent: true }));
    await link.journal.save(namespace, sent, []);
    for (const row of sent) if (this.#believed.get(row.id)?.version === row.version) this.#believed.set(row.id, row);
    const nowMs = link.clock.now().getTime();
    for (const { waiting } of lot) Object.assign(waiting, { takenAtMs: nowMs, progress: taken.progress });
    return true;
  }

  /** What an earlier process left there and no row stands behind any more. */
  #sweep(): void {
    if (!this.#isComplete || this.#isSwept) return;
    this.#isSwept = true;
    for (const id of this.#believed.keys()) if (!this.#slotOf.has(id) && !this.#parts.rows.has(id)) this.#gone.add(id);
  }

  #letGo(id: string): void {
    this.#slotOf.delete(id);
    if (this.#believed.has(id)) this.#gone.add(id);
  }
}
