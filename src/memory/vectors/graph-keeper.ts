/**
 * graph-keeper.ts -- keeps the graph of one index running and up to date: starts its process, sends changes, has it saved,
 * restarts it when it dies, and gives up after the third death.
 *
 * `search` answers only when the graph has all rows but a few (`unsent`), which the caller compares itself.
 */
import { toError } from "#core/errors.ts";
import { GraphChild } from "./graph-child.ts";
import type { GraphCounts, GraphScope } from "./graph-messages.ts";
import { centreOf, EMPTY_COUNTS, hasTooManyDead, isSaveDue } from "./graph-rules.ts";
import { UnsentRows, type VectorRows } from "./unsent-rows.ts";

/** Rows that a caller compares one by one in less time than a scan takes. */
const MAX_UNSENT = 1_024;
const MAX_DEATHS = 3;
/** Consecutive late answers after which the process counts as hung. */
const MAX_LATE_ANSWERS = 3;
/** Time limit of the save in `close`. */
const LAST_SAVE_MS = 20_000;
export interface GraphKeeperOptions {
  readonly scope: GraphScope;
  /** Number of rows from which a graph is used. */
  readonly fromRows: number;
  readonly rows: VectorRows;
  /** Called once per kind of problem: the library is missing, the graph is given up, it cannot be saved. */
  readonly report: (problem: string) => void;
  /** Time limit of a search, after which the caller searches itself. Default: 250 ms. */
  readonly searchLimitMs?: number;
  /** Delay of a restart; ten times as long after the second death. Default: 1 s. */
  readonly restartMs?: number;
  /** Time without a search or change after which the process ends until the next one. Default: 5 minutes. */
  readonly idleMs?: number;
}

/**
 * idle: no process until the next search or change; opening and filling: not all rows are sent yet; ready: searches use
 * the graph; broken: the process died and restarts after a delay; off: the graph is given up.
 */
type GraphPhase = "idle" | "opening" | "filling" | "ready" | "broken" | "off";

export class GraphKeeper {
  readonly #options: GraphKeeperOptions;
  #phase: GraphPhase = "idle";
  #child: GraphChild | undefined;
  readonly #unsent = new UnsentRows();
  /** The task under way; there is never a second one. */
  #work: Promise<void> | undefined;
  #openFrom: "saved" | "empty" | "discarded" = "saved";
  #deaths = 0;
  #lateAnswers = 0;
  #counts: GraphCounts = EMPTY_COUNTS;
  /** After a search all rows are known to be added, so vectors without a slot are dead for good. */
  #wasSearched = false;
  #isClosing = false;
  #idle: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  readonly #reported = new Set<string>();

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
    if (this.#phase === "opening" || this.#phase === "filling" || this.#phase === "ready") this.#unsent.note(slot);
    this.#wake();
  }

  /** Returns the slots of the nearest vectors; undefined when the graph is unavailable. */
  async search(unit: Float32Array, count: number): Promise<Uint32Array | undefined> {
    this.#wasSearched = true;
    this.#wake();
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

  /** Saves the changes and ends the process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#restart);
    if (this.#phase === "opening") await this.#stopChild();
    await this.#work;
    await this.#save(LAST_SAVE_MS);
    await this.#stopChild("off");
  }

  /** Starts pending work, if any. */
  #wake(): void {
    if (this.#isClosing || this.#phase === "off" || this.#phase === "broken") return;
    if (this.#phase === "idle") {
      if (this.#options.rows.size < this.#options.fromRows) return;
      this.#start();
    }
    this.#idle?.refresh();
    this.#startTask(() => this.#catchUp());
  }

  /** Runs one task at a time, then pending work. */
  #startTask(act: () => Promise<void>): void {
    this.#work ??= act().finally(() => {
      this.#work = undefined;
      if (this.#phase === "opening" || this.#unsent.hasWaiting) this.#wake();
    });
  }

  #start(): void {
    const child = new GraphChild(() => this.#handleDeath(child));
    this.#child = child;
    this.#phase = "opening";
    this.#lateAnswers = 0;
    this.#idle = setTimeout(() => this.#endIdle(), this.#options.idleMs ?? 300_000).unref();
  }

  /** Runs until the graph has all rows. Kills a process that fails in any way; `#handleDeath` follows. */
  async #catchUp(): Promise<void> {
    const { scope } = this.#options;
    while (this.#child && !this.#isClosing) {
      const child = this.#child;
      try {
        if (this.#phase === "opening") await this.#open(child);
        else if (scope.folder !== null && isSaveDue(this.#counts, this.#phase === "filling")) await this.#save();
        else if (this.#unsent.hasWaiting) await this.#send(child);
        else if (this.#wasSearched && hasTooManyDead(this.#counts)) {
          this.#openFrom = "empty";
          this.#phase = "opening";
        } else {
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
    const from = this.#openFrom;
    try {
      const { scope, rows } = this.#options;
      const { problem } = await child.request("open", { ...scope, from, centre: centreOf(rows, scope.dimensions) });
      if (problem) this.#options.report(`A saved memory index was deleted and is rebuilt: ${problem}`);
    } catch (error) {
      if (!child.isMissing) throw error;
      await this.#stopChild("off");
      this.#reportOnce(`Memory searches without hnswlib-node, which cannot be loaded: ${toError(error).message}`);
      return;
    }
    this.#openFrom = "saved";
    this.#counts = EMPTY_COUNTS;
    this.#wasSearched = false;
    this.#unsent.noteAll(this.#options.rows.slots());
    this.#phase = "filling";
  }

  async #send(child: GraphChild): Promise<void> {
    const { rows, scope } = this.#options;
    this.#counts = await child.request("change", this.#unsent.takeBatch(rows, scope.dimensions));
    this.#unsent.markSent();
  }

  /** The process answers no other request meanwhile. */
  async #save(limitMs?: number): Promise<void> {
    if (this.#counts.unsaved === 0) return;
    const phase = this.#phase;
    if (phase === "ready") this.#phase = "filling";
    this.#counts = { ...this.#counts, unsaved: 0 };
    try {
      await this.#child?.request("save", null, limitMs);
    } catch (error) {
      this.#reportOnce(`The memory index could not be saved and will be rebuilt: ${toError(error).message}`);
    }
    if (this.#phase === "filling") this.#phase = phase;
  }

  #endIdle(): void {
    if (this.#work || this.#phase !== "ready") {
      this.#idle?.refresh();
      return;
    }
    this.#startTask(() => this.#save().then(() => this.#stopChild()));
  }

  async #stopChild(phase: "idle" | "off" = "idle"): Promise<void> {
    const child = this.#child;
    this.#forgetChild();
    this.#phase = phase;
    await child?.stop();
  }

  #handleDeath(child: GraphChild): void {
    if (child !== this.#child) return;
    this.#deaths++;
    // The saved graph may have caused the death.
    if (this.#phase === "opening" || this.#deaths > 1) this.#openFrom = "discarded";
    this.#forgetChild();
    this.#phase = this.#deaths < MAX_DEATHS ? "broken" : "off";
    if (this.#phase === "off") {
      this.#reportOnce(`The process of a memory index died ${this.#deaths} times; memory uses exact search instead.`);
      return;
    }
    const waitMs = (this.#options.restartMs ?? 1_000) * 10 ** (this.#deaths - 1);
    this.#restart = setTimeout(() => {
      this.#phase = "idle";
      this.#wake();
    }, waitMs).unref();
  }

  #forgetChild(): void {
    clearTimeout(this.#idle);
    this.#child = undefined;
    this.#counts = EMPTY_COUNTS;
    this.#unsent.clear();
  }

  #reportOnce(problem: string): void {
    const [kind = ""] = problem.split(":");
    if (!this.#reported.has(kind)) this.#options.report(problem);
    this.#reported.add(kind);
  }
}
