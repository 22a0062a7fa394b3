/**
 * pinecone-index.ts -- one namespace's vectors in a Pinecone index, behind the contract of every vector index.
 *
 * All vectors are in a local exact index too: a new row is found at once although Pinecone shows it seconds later, and
 * the local index answers when Pinecone is slow or unavailable. The overlay holds the rows that Pinecone may not show
 * yet; they are searched locally, all others by Pinecone. A row leaves the overlay when Pinecone's sequence number has
 * passed it, when Pinecone returned it with the right score, or a minute after Pinecone took it.
 *
 * There is no send queue: the rows are compared with the journal of ids that Pinecone may hold. An id is in the journal
 * before it is sent and until it is deleted, so no crash leaves an unknown record. Sending twice has no effect.
 */
import { hash } from "node:crypto";
import type { IndexedRows, IndexScope, RemoteRow, ScoredSlot, VectorIndex } from "#core/ports/memory.ts";
import { rankSlots, SPARE_CANDIDATES } from "../vectors/exact-index.ts";
import { dot, toUnit } from "../vectors/unit-vector.ts";
import type { PineconeMemory } from "./pinecone.ts";
import {
  createRecord,
  type PineconeMatch,
  type PineconeRecord,
  roundComponent,
  type SequenceNumber,
} from "./pinecone-client.ts";

export interface PineconeIndexParts extends Omit<IndexScope, "isRounded"> {
  readonly local: VectorIndex;
  readonly connection: PineconeMemory;
  readonly rows: IndexedRows;
  /** Called when there is something to send. */
  onChange(): void;
}

/** A row that Pinecone may not show yet. */
interface OverlayRow {
  readonly vector: Float32Array;
  /** Time at which Pinecone took it; null: not yet. "earlier": the journal says so, and the namespace is not checked yet. */
  takenAtMs: number | "earlier" | null;
  sequence: SequenceNumber;
  isRejected: boolean;
}

interface Upload {
  readonly slot: number;
  readonly row: OverlayRow;
  readonly record: PineconeRecord;
}

/** With a larger overlay the local index answers alone: nearly every row would be compared twice. */
const MAX_OVERLAY = 2_000;
/** Time after which a taken row counts as shown when Pinecone sends no sequence numbers. */
const SHOWN_AFTER_MS = 60_000;
const MAX_SCORE_DIFFERENCE = 1e-3;
/** Pinecone takes 1,000 records and 2 MB per request. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 1_900_000;
const MAX_DELETES = 1_000;
const MAX_MATCHES = 10_000;

export class PineconeIndex implements VectorIndex {
  readonly #parts: PineconeIndexParts;
  readonly #rowOfSlot = new Map<number, { readonly id: string; readonly version: string }>();
  readonly #slotOfId = new Map<string, number>();
  readonly #overlay = new Map<number, OverlayRow>();
  /** Rows that Pinecone may hold, by id. */
  readonly #journal = new Map<string, RemoteRow>();
  /** Ids of the journal that belong to no row any more. */
  readonly #toDelete = new Set<string>();
  #loading: Promise<void> | undefined;
  /** All rows were added, so ids of the journal without a row are stray; and whether those were looked for. */
  #hasAllRows = false;
  #hasFoundStrays = false;
  #isClosed = false;

  constructor(parts: PineconeIndexParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#parts.local.size;
  }

  vectorOf(slot: number): Float32Array | undefined {
    return this.#parts.local.vectorOf(slot);
  }

  scoreOf(slot: number, unit: Float32Array): number | undefined {
    return this.#parts.local.scoreOf(slot, unit);
  }

  async add(slot: number, vector: Float32Array): Promise<void> {
    const { local, rows, embedder, dimensions, onChange } = this.#parts;
    await local.add(slot, vector);
    const unit = Float32Array.from(toUnit(vector, dimensions));
    await this.#loadJournal();
    const { id } = rows.at(slot);
    // The text of an id never changes.
    const content = `${embedder}\n${Buffer.from(unit.buffer).toString("base64")}`;
    const version = hash("sha1", content, "base64url");
    const before = this.#rowOfSlot.get(slot);
    if (before && before.id !== id) this.#scheduleDelete(before.id);
    this.#rowOfSlot.set(slot, { id, version });
    this.#slotOfId.set(id, slot);
    this.#toDelete.delete(id);
    const known = this.#journal.get(id);
    const takenAtMs = known?.isSent && known.version === version ? "earlier" : null;
    this.#overlay.set(slot, { vector: unit, takenAtMs, sequence: null, isRejected: false });
    onChange();
  }

  async remove(slot: number): Promise<void> {
    await this.#parts.local.remove(slot);
    const row = this.#rowOfSlot.get(slot);
    if (!row) return;
    this.#rowOfSlot.delete(slot);
    this.#overlay.delete(slot);
    if (this.#slotOfId.get(row.id) === slot) this.#scheduleDelete(row.id);
    this.#parts.onChange();
  }

  async search(query: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const { local, connection, namespace, dimensions, embedder } = this.#parts;
    this.#hasAllRows = true;
    this.#expireOverlay();
    const unit = toUnit(query, dimensions);
    if (count < 1 || local.size === 0 || this.#overlay.size > MAX_OVERLAY) return local.search(query, count);
    const wanted = Math.min(MAX_MATCHES, count + SPARE_CANDIDATES + this.#toDelete.size);
    const answer = await connection.query(namespace, Array.from(unit, roundComponent), wanted, embedder);
    if (!answer) return local.search(query, count);
    this.#shrinkOverlay(answer.matches, answer.sequence, unit);
    const matched = answer.matches.flatMap(({ id }) => this.#slotOfId.get(id) ?? []);
    return rankSlots([...matched, ...this.#overlay.keys()], (slot) => this.scoreOf(slot, unit), count);
  }

  /** Uploads missing rows, then deletes removed ones. Returns true when nothing is left to do. */
  async send(): Promise<boolean> {
    const { connection, namespace, dimensions } = this.#parts;
    await this.#loadJournal();
    const count = this.#rowOfSlot.size === 0 ? 0 : connection.countKnown(namespace, dimensions);
    if (count === undefined) return true;
    this.#expireOverlay(count === 0);
    for (let batch = await this.#nextBatch(); batch.length > 0; batch = await this.#nextBatch())
      if (!(await this.#upload(batch))) return this.#isClosed;
    this.#findStrays();
    while (this.#toDelete.size > 0) {
      const ids = [...this.#toDelete].slice(0, MAX_DELETES);
      if (!(await connection.remove(namespace, ids))) return this.#isClosed;
      await connection.saveJournal(namespace, [], ids);
      for (const id of ids) this.#toDelete.delete(id);
      for (const id of ids) this.#journal.delete(id);
    }
    return true;
  }

  /** Deletes nothing in Pinecone. Unsent rows get one more attempt, then wait for the next reading of the rows. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#parts.local.close();
  }

  #loadJournal(): Promise<void> {
    this.#loading ??= (async () => {
      const { connection, namespace } = this.#parts;
      for (const row of await connection.readJournal(namespace).catch(() => [])) this.#journal.set(row.id, row);
    })();
    return this.#loading;
  }

  /** Drops rows whose minute has passed. `isEmpty` is known at the first sending: then rows sent earlier are gone or shown. */
  #expireOverlay(isEmpty?: boolean): void {
    const nowMs = this.#parts.connection.now();
    for (const [slot, row] of this.#overlay) {
      const { takenAtMs } = row;
      if (takenAtMs === "earlier") {
        if (isEmpty === true) row.takenAtMs = null;
        else if (isEmpty === false) this.#overlay.delete(slot);
      } else if (takenAtMs !== null && row.sequence === null && nowMs - takenAtMs > SHOWN_AFTER_MS)
        this.#overlay.delete(slot);
    }
  }

  /** Drops the rows that an answer proves to be shown. */
  #shrinkOverlay(matches: readonly PineconeMatch[], sequence: SequenceNumber, unit: Float32Array): void {
    for (const { id, score } of matches) {
      const slot = this.#slotOfId.get(id);
      const row = slot === undefined ? undefined : this.#overlay.get(slot);
      if (row && row.takenAtMs !== null && Math.abs(dot(unit, row.vector) - score) < MAX_SCORE_DIFFERENCE)
        this.#overlay.delete(slot as number);
    }
    if (sequence === null) return;
    for (const [slot, row] of this.#overlay)
      if (row.sequence !== null && row.sequence <= sequence) this.#overlay.delete(slot);
  }

  /** Leaves out rows that are gone or cannot be read. */
  async #nextBatch(): Promise<readonly Upload[]> {
    const { rows, embedder } = this.#parts;
    const batch: Upload[] = [];
    let bytes = 0;
    for (const [slot, row] of this.#overlay) {
      if (row.takenAtMs !== null || row.isRejected) continue;
      const stored = await rows.read(this.#rowOfSlot.get(slot)?.id ?? "").catch(() => undefined);
      if (!stored || this.#overlay.get(slot) !== row) continue;
      const record = createRecord(stored, row.vector, embedder);
      bytes += Buffer.byteLength(JSON.stringify(record));
      if (batch.length > 0 && bytes > MAX_BATCH_BYTES) break;
      batch.push({ slot, row, record });
      if (batch.length === MAX_BATCH) break;
    }
    return batch;
  }

  /** Returns false when Pinecone is unavailable. Halves a rejected batch to find the records that it rejects. */
  async #upload(batch: readonly Upload[]): Promise<boolean> {
    const { connection, namespace } = this.#parts;
    const journalled = batch.map(({ slot, record: { id } }): RemoteRow => {
      return { id, version: this.#rowOfSlot.get(slot)?.version ?? "", isSent: false };
    });
    await connection.saveJournal(namespace, journalled, []);
    for (const row of journalled) {
      this.#journal.set(row.id, row);
      if (!this.#slotOfId.has(row.id)) this.#toDelete.add(row.id);
    }
    const records = batch.map(({ record }) => record);
    const answer = await connection.upsert(namespace, records);
    if (answer === undefined) return false;
    if (answer === "rejected") {
      if (batch.length === 1) for (const { row } of batch) row.isRejected = true;
      const half = Math.ceil(batch.length / 2);
      return batch.length === 1 || ((await this.#upload(batch.slice(0, half))) && this.#upload(batch.slice(half)));
    }
    const sent = journalled.map((row) => ({ ...row, isSent: true }));
    await connection.saveJournal(namespace, sent, []);
    for (const row of sent) if (this.#journal.get(row.id)?.version === row.version) this.#journal.set(row.id, row);
    const takenAtMs = connection.now();
    for (const { row } of batch) Object.assign(row, { takenAtMs, sequence: answer.sequence });
    return true;
  }

  /** Schedules the deletion of records that an earlier process left without a row. */
  #findStrays(): void {
    if (!this.#hasAllRows || this.#hasFoundStrays) return;
    this.#hasFoundStrays = true;
    for (const id of this.#journal.keys())
      if (!this.#slotOfId.has(id) && !this.#parts.rows.has(id)) this.#toDelete.add(id);
  }

  #scheduleDelete(id: string): void {
    this.#slotOfId.delete(id);
    if (this.#journal.has(id)) this.#toDelete.add(id);
  }
}
