/**
 * graph-keeper.ts -- keeps the graph of one index up to date: starts its process at the first search of enough rows, sends it all
 * rows and then the changes, and gives up after the second death.
 *
 * `search` answers only when the graph has all rows but a few (`unsent`), which the caller compares itself.
 */
import { toError } from "#core/errors.ts";
import { GraphChild } from "./graph-child.ts";
import type { GraphCounts } from "./graph-process.ts";
import { meanOf } from "./unit-vector.ts";
import { UnsentRows, type VectorRows } from "./unsent-rows.ts";

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

  /** Process id of the graph, while there is one. */
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

  /** Ends the process. */
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
