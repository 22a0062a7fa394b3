/** load-memory.ts -- opens the memory of a namespace, from a snapshot when there is one, and reads the rows changed since. */
import { toError } from "#core/errors.ts";
import type { Embedder, OpenIndex } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { byChange, readPages } from "#util/read-pages.ts";
import { createTurns } from "#util/turns.ts";
import type { IndexSnapshots } from "../snapshots/index-snapshots.ts";
import type { OutageReporter } from "../vectors/guarded-embedder.ts";
import { AgentRows, type NewSlot } from "./agent-rows.ts";
import { AgentVectors } from "./agent-vectors.ts";
import type { AgentMemory } from "./find-recalls.ts";

const PAGE_ROWS = 64;
/** Slots without a vector that are noted at once. */
const PAGE_SLOTS = 256;

export interface LoaderParts {
  readonly store: Pick<Store, "memories" | "memory">;
  readonly embedder: Embedder;
  readonly openIndex: OpenIndex;
  readonly snapshots: IndexSnapshots | undefined;
  readonly reading: OutageReporter;
}

export class MemoryLoader {
  readonly #parts: LoaderParts;

  constructor(parts: LoaderParts) {
    this.#parts = parts;
  }

  /** Opens a memory with the rows of its snapshot. */
  async open(namespace: string): Promise<AgentMemory> {
    const { embedder, openIndex } = this.#parts;
    const rows = await this.#openRows(namespace);
    const { id, isInstant: isRounded = false } = embedder;
    // A server's embedder has 0 dimensions before its first answer; nothing is added until then.
    const dimensions = Math.max(1, embedder.dimensions);
    const index = openIndex({ namespace, embedder: id, dimensions, isRounded }, rows);
    const vectors = new AgentVectors(namespace, embedder, index);
    const memory = { rows, vectors };
    if (rows.size > 0) await this.#readVectors(memory);
    return memory;
  }

  /** Reads the rows that are new or changed. Uses those read so far when the store cannot be read. */
  async readNew({ rows, vectors }: AgentMemory): Promise<void> {
    const { reading } = this.#parts;
    try {
      const takeTurn = createTurns();
      for await (const slots of rows.readNew()) {
        await vectors.addStored(slots);
        await vectors.remove(rows.takeRemovedSlots());
        await takeTurn();
      }
      reading.recovered();
    } catch (error) {
      reading.failed(`Memory uses the rows read so far: ${toError(error).message}`);
    }
  }

  #openRows(namespace: string): AgentRows | Promise<AgentRows> {
    const { store, snapshots } = this.#parts;
    const create = () => new AgentRows(namespace, store);
    return snapshots ? snapshots.open(namespace, create) : create();
  }

  async #readVectors({ rows, vectors }: AgentMemory): Promise<void> {
    const { embedder, store, reading } = this.#parts;
    const takeTurn = createTurns();
    const taken = new Uint8Array(rows.size);
    const take = (slot: number): boolean => {
      if (!rows.isLive(slot) || taken[slot] === 1) return false;
      taken[slot] = 1;
      return true;
    };
    const pages = embedder.isInstant ? rows.savedVectors.pages(embedder.id) : storedVectors(rows, store);
    try {
      for await (const page of embedder.semantic ? pages : []) {
        const usable = page.filter(({ slot, embedder: made }) => made === vectors.embedder && take(slot));
        await vectors.addStored(usable);
        await takeTurn();
      }
    } catch (error) {
      reading.failed(`Memory uses the vectors read so far: ${toError(error).message}`);
    }
    rows.savedVectors.clear();
    for (let from = 0; from < rows.size; from += PAGE_SLOTS) {
      const page: NewSlot[] = [];
      for (let slot = from; slot < Math.min(rows.size, from + PAGE_SLOTS); slot++)
        if (take(slot)) page.push({ slot, embedder: null, vector: null, isPiece: rows.isPiece(slot) });
      await vectors.addStored(page);
      await takeTurn();
    }
  }
}

async function* storedVectors(rows: AgentRows, store: Pick<Store, "memories">): AsyncGenerator<readonly NewSlot[]> {
  const pages = readPages((after, limit) => store.memories(rows.namespace, after, limit), byChange, {
    limit: PAGE_ROWS,
  });
  for await (const page of pages)
    yield page
      .filter(({ vector }) => vector !== null)
      .map(({ id, embedder, vector, kind }) => ({
        slot: rows.slotOf(id),
        embedder,
        vector,
        isPiece: kind === "piece",
      }));
}
