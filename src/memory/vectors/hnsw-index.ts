/**
 * hnsw-index.ts -- finds nearest neighbours by an HNSW graph, for memories too large for a scan.
 *
 * An exact index holds all vectors; the graph, in a process of its own, finds candidates faster. The exact index
 * answers whenever the graph cannot: too few rows, under construction, dead, slow or missing. Candidates are compared
 * with the exact vectors, so a stale candidate never gets a wrong score; rows that the graph lacks are compared one by
 * one.
 *
 * Changes are only noted, and sent in batches while no request waits. A slot that changes twice is sent once.
 */
import { toError } from "#core/errors.ts";
import type { IndexScope, OpenIndex, ScoredSlot } from "#core/ports/memory.ts";
import { ExactIndex, rankSlots, SPARE_CANDIDATES, shareMemory } from "./exact-index.ts";
import { GraphChild } from "./graph-child.ts";
import type { GraphChange, GraphCounts } from "./graph-process.ts";
import type { ScanMemory } from "./int8-scan.ts";
import { meanOf } from "./unit-vector.ts";

export class HnswIndex extends ExactIndex {
  readonly keeper: GraphKeeper;

  constructor(
    memory: ScanMemory,
    scope: Pick<IndexScope, "dimensions" | "isRounded">,
    options: Omit<GraphKeeperOptions, "dimensions" | "rows">,
  ) {
    super(scope.dimensions, memory, scope);
    this.keeper = new GraphKeeper({ ...options, dimensions: scope.dimensions, rows: this });
  }

  override async add(slot: number, vector: Float32Array): Promise<void> {
    await super.add(slot, vector);
    this.keeper.note(slot);
  }

  override async remove(slot: number): Promise<void> {
    if (!this.has(slot)) return;
    await super.remove(slot);
    this.keeper.note(slot);
  }

  override async close(): Promise<void> {
    await this.keeper.close();
    await super.close();
  }

  /** Scans when the graph is unavailable or finds too few rows. */
  protected override async find(unit: Float32Array, count: number): Promise<readonly ScoredSlot[]> {
    const candidates = await this.keeper.search(unit, count + SPARE_CANDIDATES);
    const slots = candidates ? [...candidates, ...this.keeper.unsent()] : [];
    const hits = rankSlots(slots, (slot) => this.scoreOf(slot, unit), count);
    return candidates && hits.length >= Math.min(count, this.size) ? hits : this.scan(unit, count);
  }
}

/**
 * Up to these numbers scans cost less CPU than building and searching a graph, with one query per row. Measured at 100,000 rows of 192, 384
 * and 1,536 numbers: a scan takes 4, 6 and 20 ms, a graph's addition and search together 6, 8 and 20 ms.
 */
const MAX_SCANNED_ROWS = 100_000;
const MAX_SCANNED_NUMBERS = 48_000_000;
/** A graph is centred at its start, for which it needs rows. */
const MIN_GRAPH_ROWS = 1_024;

const graphFrom = (dimensions: number): number =>
  1 + Math.max(MAX_SCANNED_ROWS, Math.floor(MAX_SCANNED_NUMBERS / dimensions));

/** Called when an index is degraded. */
type Report = (problem: string) => void;

const BACKENDS = {
  local: (report) => openGraphIndexes(report, graphFrom),
  exact: () => shareMemory(),
  hnsw: (report) => openGraphIndexes(report, () => MIN_GRAPH_ROWS),
} as const satisfies Readonly<Record<string, (report: Report) => OpenIndex>>;

type MemoryBackend = keyof typeof BACKENDS;

/**
 * Opens the vector index for each value of the setting `MEMORY_BACKEND`. `local` compares every vector up to 100,000
 * rows, or more if vectors are short, and uses a graph in a child process above that. The first search above fills the
 * graph in the background, which takes 95 s of CPU for 100,000 rows, while recalls go on by comparing.
 */
export const chooseIndex = (backend: MemoryBackend, report: Report): OpenIndex => BACKENDS[backend](report);

/** Returns a function that opens indexes which use a graph from a number of rows on that depends on the dimensions. */
export const openGraphIndexes = (report: Report, graphFromRows: (dimensions: number) => number): OpenIndex =>
  shareMemory((scope, memory) => new HnswIndex(memory, scope, { fromRows: graphFromRows(scope.dimensions), report }));

/** Rows that a caller compares one by one in less time than a scan takes. */
const MAX_UNSENT = 1_024;
const MAX_DEATHS = 2;
/** Consecutive late answers after which the process counts as hung. */
const MAX_LATE_ANSWERS = 3;
/** Share of dead vectors above which the graph is rebuilt. */
const MAX_DEAD_SHARE = 0.25;
const MIN_DEAD = 256;
/** Rows whose mean is the centre of a new graph, and fewest rows that have one: the mean of fewer is like one of them. */
const CENTRE_ROWS = 1_024;
const MIN_CENTRE_ROWS = 256;

export interface GraphKeeperOptions {
  readonly dimensions: number;
  /** Number of rows from which a graph is used. */
  readonly fromRows: number;
  readonly rows: VectorRows;
  /** Called when the library is missing and when the graph is given up. */
  readonly report: (problem: string) => void;
  /** Time limit of a search, after which the caller searches itself. Default: 250 ms. */
  readonly searchLimitMs?: number;
}

/**
 * idle: no process until the next search; opening and filling: not all rows are sent yet; ready: searches use the graph;
 * off: the graph is given up.
 */
type GraphPhase = "idle" | "opening" | "filling" | "ready" | "off";

/**
 * Keeps the graph of one index up to date: starts its process at the first search of enough rows, sends it all rows and
 * then the changes, and gives up after the second death. `search` answers only when the graph has all rows but a few
 * (`unsent`), which the caller compares itself.
 */
export class GraphKeeper {
  readonly #options: GraphKeeperOptions;
  #phase: GraphPhase = "idle";
  #child: GraphChild | undefined;
  readonly #unsent = new UnsentRows();
  /** The task under way; there is never a second one. */
  #work: Promise<void> | undefined;
  #deaths = 0;
  #lateAnswers = 0;

  constructor(options: GraphKeeperOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether searches use the graph. */
  get isReady(): boolean {
    return this.#phase === "ready" && this.#unsent.size <= MAX_UNSENT;
  }

  /** Slots whose changes the graph may not have. */
  unsent(): Iterable<number> {
    return this.#unsent.slots();
  }

  /** Notes that a slot was added, changed or removed. */
  note(slot: number): void {
    if (!this.#child) return;
    this.#unsent.note(slot);
    this.#startWork();
  }

  /** Returns the slots of the nearest vectors; undefined when the graph is unavailable. */
  async search(unit: Float32Array, count: number): Promise<Uint32Array | undefined> {
    if (this.#phase === "idle" && this.#options.rows.size >= this.#options.fromRows) this.#start();
    if (!this.isReady || !this.#child) return undefined;
    try {
      const found = await this.#child.request("search", { query: unit, count }, this.#options.searchLimitMs);
      this.#lateAnswers = 0;
      return found;
    } catch {
      this.#lateAnswers++;
      if (this.#lateAnswers >= MAX_LATE_ANSWERS) void this.#child?.kill();
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#stopChild();
    await this.#work;
  }

  #start(): void {
    const child = new GraphChild(() => this.#handleDeath(child));
    this.#child = child;
    this.#phase = "opening";
    this.#lateAnswers = 0;
    this.#startWork();
  }

  #startWork(): void {
    this.#work ??= this.#catchUp().finally(() => {
      this.#work = undefined;
      if (this.#phase === "opening" || this.#unsent.hasWaiting) this.#startWork();
    });
  }

  /** Runs until the graph has all rows. Kills a process that fails in any way; `#handleDeath` follows. */
  async #catchUp(): Promise<void> {
    while (this.#child) {
      const child = this.#child;
      try {
        if (this.#phase === "opening") await this.#open(child);
        else if (this.#unsent.hasWaiting) await this.#send(child);
        else {
          this.#phase = "ready";
          return;
        }
      } catch {
        await child.kill();
        return;
      }
    }
  }

  async #open(child: GraphChild): Promise<void> {
    const { rows, dimensions, report } = this.#options;
    try {
      await child.request("open", { centre: centreOf(rows, dimensions) });
    } catch (error) {
      if (!child.isMissing) throw error;
      await this.#stopChild();
      report(`Memory searches without hnswlib-node, which cannot be loaded: ${toError(error).message}`);
      return;
    }
    if (child !== this.#child) return;
    this.#unsent.noteAll(rows.slots());
    this.#phase = "filling";
  }

  async #send(child: GraphChild): Promise<void> {
    const { rows, dimensions } = this.#options;
    const counts = await child.request("change", this.#unsent.takeBatch(rows, dimensions));
    this.#unsent.markSent();
    if (child === this.#child && hasTooManyDead(counts)) this.#phase = "opening";
  }

  async #stopChild(): Promise<void> {
    const child = this.#child;
    this.#forgetChild("off");
    await child?.stop();
  }

  #handleDeath(child: GraphChild): void {
    if (child !== this.#child) return;
    this.#deaths++;
    this.#forgetChild(this.#deaths < MAX_DEATHS ? "idle" : "off");
    if (this.#phase === "off")
      this.#options.report("The process of a memory index died twice; memory uses exact search instead.");
  }

  #forgetChild(phase: "idle" | "off"): void {
    this.#child = undefined;
    this.#phase = phase;
    this.#unsent.clear();
  }
}

const hasTooManyDead = ({ live, dead }: GraphCounts): boolean =>
  dead >= MIN_DEAD && dead > MAX_DEAD_SHARE * (live + dead);

/** Returns the mean of rows spread over all; zeros for few rows. */
function centreOf(rows: VectorRows, dimensions: number): Float32Array {
  const slots = rows.slots();
  const step = Math.max(1, slots.length / CENTRE_ROWS);
  const sample: Float32Array[] = [];
  for (let at = 0; at < slots.length && slots.length >= MIN_CENTRE_ROWS; at += step) {
    const vector = rows.vectorOf(slots[Math.floor(at)] as number);
    if (vector) sample.push(vector);
  }
  return meanOf(sample, dimensions);
}

/** Vectors per message, so that a search waits for a short message at most. */
const BATCH = 64;

type VectorRows = Pick<ExactIndex, "size" | "slots" | "vectorOf">;

/** The slots whose changes a graph may not have: noted, sent in batches, dropped when the graph answered. */
class UnsentRows {
  /** Slots present at the start, unsent from `#next` on. Filling a set of so many would block the event loop. */
  #first: Uint32Array = new Uint32Array(0);
  #next = 0;
  readonly #waiting = new Set<number>();
  #sending = new Set<number>();
  /** Overwritten by each batch: as garbage it would stop the event loop for tens of milliseconds. */
  #vectors = new Float32Array(0);

  get size(): number {
    return this.#first.length - this.#next + this.#waiting.size + this.#sending.size;
  }

  get hasWaiting(): boolean {
    return this.#next < this.#first.length || this.#waiting.size > 0;
  }

  /** Yields the unsent slots; some may come twice. */
  *slots(): Generator<number> {
    yield* this.#first.subarray(this.#next);
    yield* this.#waiting;
    yield* this.#sending;
  }

  note(slot: number): void {
    this.#waiting.add(slot);
  }

  noteAll(slots: Uint32Array): void {
    this.clear();
    this.#first = slots;
  }

  /** Returns the next rows to send, valid until the next call. They stay unsent until `markSent`. */
  takeBatch(rows: VectorRows, dimensions: number): GraphChange {
    const removed: number[] = [];
    const added: number[] = [];
    if (this.#vectors.length !== BATCH * dimensions) this.#vectors = new Float32Array(BATCH * dimensions);
    const first = this.#first.subarray(this.#next, this.#next + BATCH);
    this.#next += first.length;
    this.#sending = new Set([...first, ...this.#waiting.values().take(BATCH - first.length)]);
    for (const slot of this.#sending) {
      this.#waiting.delete(slot);
      const vector = rows.vectorOf(slot);
      if (vector) {
        this.#vectors.set(vector, added.length * dimensions);
        added.push(slot);
      } else removed.push(slot);
    }
    return {
      removed: Uint32Array.from(removed),
      added: Uint32Array.from(added),
      vectors: this.#vectors.subarray(0, added.length * dimensions),
    };
  }

  markSent(): void {
    this.#sending.clear();
  }

  clear(): void {
    this.#first = new Uint32Array(0);
    this.#next = 0;
    this.#waiting.clear();
    this.#sending.clear();
  }
}
