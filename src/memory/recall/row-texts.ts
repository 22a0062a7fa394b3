/**
 * row-texts.ts -- reads the rows that recalls show, and caches them with their texts: most are shown again at the next step.
 *
 * The cache has no row that was forgotten or replaced before the last `dropChanged`.
 */
import { isPast } from "#core/memory.ts";
import type { MemoryRow, RecalledRow } from "#core/ports/memory.ts";

const MAX_ROWS = 256;
/** Changed rows that are dropped one by one; after more of them all rows are dropped. */
const MAX_CHANGED = 64;
/** Main memory of a row without its text, and of a character of it. */
const ROW_BYTES = 500;
const CHAR_BYTES = 2;

export class RowTexts {
  readonly #readLive: (id: string) => Promise<MemoryRow | undefined>;
  /** By id, the last shown one last. */
  readonly #rows = new Map<string, RecalledRow>();
  #chars = 0;
  /** Number of calls of `drop`. */
  #drops = 0;

  /** `readLive` returns undefined for a row that may not be recalled any more. */
  constructor(readLive: (id: string) => Promise<MemoryRow | undefined>) {
    this.#readLive = readLive;
  }

  /** Estimated main memory. */
  get bytes(): number {
    return ROW_BYTES * this.#rows.size + CHAR_BYTES * this.#chars;
  }

  /** Returns undefined for a row that may not be recalled any more. */
  async read(id: string): Promise<RecalledRow | undefined> {
    const drops = this.#drops;
    const known = this.#rows.get(id);
    const row = known ?? (await this.#readLive(id).then((read) => read && toRecalledRow(read)));
    // A recall of another agent may have dropped this row while it was read.
    if (row && drops === this.#drops) this.#keep(id, row);
    return row;
  }

  /** Call it for each row that changed. */
  drop(id: string): void {
    this.#drops++;
    this.#remove(id);
  }

  /** Drops the rows that changed. `readChanged` returns the oldest `limit` changes; when it fails, all rows are dropped. */
  async dropChanged(readChanged: (limit: number) => Promise<readonly Pick<MemoryRow, "id">[]>): Promise<void> {
    const changed = await readChanged(MAX_CHANGED).catch(() => undefined);
    const isComplete = changed && changed.length < MAX_CHANGED;
    for (const id of isComplete ? changed.map((row) => row.id) : [...this.#rows.keys()]) this.drop(id);
  }

  #keep(id: string, row: RecalledRow): void {
    this.#remove(id);
    this.#rows.set(id, row);
    this.#chars += row.text.length;
    if (this.#rows.size > MAX_ROWS) this.#remove(this.#rows.keys().next().value as string);
  }

  #remove(id: string): void {
    this.#chars -= this.#rows.get(id)?.text.length ?? 0;
    this.#rows.delete(id);
  }
}

function toRecalledRow(row: MemoryRow): RecalledRow {
  const { id, seq, step, at, kind, trust, text, outside, closed } = row;
  return {
    ...{ id, seq, step, at, kind, trust, text },
    ...(outside ? { outside } : {}),
    ...(closed && isPast(row) ? { closed } : {}),
  };
}
