/**
 * graph-keeper.ts -- keeps the graph of one index alive and up to date: starts its process, sends what changed, has it
 * kept on disk, starts it again when it dies, and gives up on it after the third death.
 *
 * `search` answers only when the graph has all rows but a few (`unsent`), which the caller compares itself.
 */
import { toError } from "#core/errors.ts";
import { GraphChild } from "./graph-child.ts";
import type { GraphCounts, GraphScope } from "./graph-messages.ts";
import { hasTooManyDead, isKeepingDue, NOTHING } from "./graph-rules.ts";
import { type Rows, UnsentRows } from "./unsent-rows.ts";

/** Rows that a caller can compare one by one in less time than a scan takes. */
const MAX_UNSENT = 1_024;
const MAX_DEATHS = 3;
/** In a row; then the process counts as hung. */
const MAX_LATE_ANSWERS = 3;

/** At a stop nobody waits longer. */
const LAST_KEEP_MS = 20_000;
/** Candidates beyond the asked number: of equals the newest is to be found. */
const SPARE_CANDIDATES = 16;

export interface GraphKeeperOptions {
  readonly scope: GraphScope;
  /** With fewer there is no graph. */
  readonly fromRows: number;
  readonly rows: Rows;
  /** Told in words, once each: the library is missing, the graph is given up, it cannot be kept. */
  readonly report: (problem: string) => void;
  /** A search that takes longer is made by the caller. Default: 250 ms. */
  readonly searchLimitMs?: number;
  /** Before the process is started again; ten times that after the second death. Default: one second. */
  readonly restartMs?: number;
  /** Without a search or change for so long, the process ends until the next. Default: five minutes. */
  readonly idleMs?: number;
}

/**
 * resting: no process, it starts when it is wanted; broken: it died and starts again in a while; opening and filling:
 * not all rows have been sent yet; off: it is not used any more.
 */
type Phase = "resting" | "opening" | "filling" | "ready" | "broken" | "off";

export class GraphKeeper {
  readonly #options: GraphKeeperOptions;
  #phase: Phase = "resting";
  #child: GraphChild | undefined;
  readonly #unsent = new UnsentRows();
  /** The one thing that is going on. */
  #work: Promise<void> | undefined;
  #openFrom: "kept" | "empty" | "discarded" = "kept";
  #deaths = 0;
  #lateAnswers = 0;
  #counts: GraphCounts = NOTHING;
  /** Only then are all rows known to be here, and what is dead in the graph known to be dead. */
  #wasSearched = false;
  #isClosing = false;
  #idle: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  readonly #said = new Set<string>();

  constructor(options: GraphKeeperOptions) {
    this.#options = options;
  }

  /** Process of the graph, while there is one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether searches go by the graph. */
  get isReady(): boolean {
    return this.#phase === "ready" && this.#unsent.size <= MAX_UNSENT;
  }

  /** Slots that the graph may not know, or know otherwise. */
  unsent(): Iterable<number> {
    return this.#unsent.slots();
  }

  /** This slot was added, changed or removed. */
  note(slot: number): void {
    if (this.#phase === "opening" || this.#phase === "filling" || this.#phase === "ready") this.#unsent.note(slot);
    this.#wake();
  }

  /** Slots of the nearest that the graph knows; undefined when it cannot tell now. */
  async search(unit: Float32Array, count: number): Promise<Uint32Array | undefined> {
    this.#wasSearched = true;
    this.#wake();
    if (!this.isReady || !this.#child) return undefined;
    try {
      const request = { query: unit, count: count + SPARE_CANDIDATES };
      const found = await this.#child.ask("search", request, this.#options.searchLimitMs);
      this.#lateAnswers = 0;
      return found;
    } catch {
      this.#lateAnswers++;
      if (this.#lateAnswers >= MAX_LATE_ANSWERS) void this.#child?.kill();
      return undefined;
    }
  }

  /** Keeps what was changed, and ends the process. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#restart);
    if (this.#phase === "opening") await this.#rest();
    await this.#work;
    await this.#keep(LAST_KEEP_MS);
    await this.#rest("off");
  }

  /** Starts what there is to do, if anything. */
  #wake(): void {
    if (this.#isClosing || this.#phase === "off" || this.#phase === "broken") return;
    if (this.#phase === "resting") {
      if (this.#options.rows.size < this.#options.fromRows) return;
      this.#start();
    }
    this.#idle?.refresh();
    this.#begin(() => this.#catchUp());
  }

  /** One thing at a time; what came meanwhile follows. */
  #begin(act: () => Promise<void>): void {
    this.#work ??= act().finally(() => {
      this.#work = undefined;
      if (this.#phase === "opening" || this.#unsent.isLotWaiting) this.#wake();
    });
  }

  #start(): void {
    const child = new GraphChild(() => this.#bury(child));
    this.#child = child;
    this.#phase = "opening";
    this.#lateAnswers = 0;
    this.#idle = setTimeout(() => this.#doze(), this.#options.idleMs ?? 300_000).unref();
  }

  /** Until the graph is as the rows are. A child that fails in any way is killed, and its end is told to `#bury`. */
  async #catchUp(): Promise<void> {
    const { scope } = this.#options;
    while (this.#child && !this.#isClosing) {
      const child = this.#child;
      try {
        if (this.#phase === "opening") await this.#open(child);
        else if (scope.folder !== null && isKeepingDue(this.#counts, this.#phase === "filling")) await this.#keep();
        else if (this.#unsent.isLotWaiting) await this.#send(child);
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
      const { problem } = await child.ask("open", { ...this.#options.scope, from });
      if (problem) this.#options.report(`A kept memory index was deleted and is made anew: ${problem}`);
    } catch (error) {
      if (!child.isMissing) throw error;
      await this.#rest("off");
      this.#say(`Memory searches without hnswlib-node, which cannot be loaded: ${toError(error).message}`);
      return;
    }
    this.#openFrom = "kept";
    this.#counts = NOTHING;
    this.#wasSearched = false;
    this.#unsent.noteAll(this.#options.rows.slots());
    this.#phase = "filling";
  }

  async #send(child: GraphChild): Promise<void> {
    const { rows, scope } = this.#options;
    this.#counts = await child.ask("change", this.#unsent.takeLot(rows, scope.dimensions));
    this.#unsent.sent();
  }

  /** Meanwhile the process answers nothing else. */
  async #keep(limitMs?: number): Promise<void> {
    if (this.#counts.unkept === 0) return;
    const phase = this.#phase;
    if (phase === "ready") this.#phase = "filling";
    this.#counts = { ...this.#counts, unkept: 0 };
    try {
      await this.#child?.ask("keep", null, limitMs);
    } catch (error) {
      this.#say(`The memory index could not be kept on disk and will be made again: ${toError(error).message}`);
    }
    if (this.#phase === "filling") this.#phase = phase;
  }

  #doze(): void {
    if (this.#work || this.#phase !== "ready") {
      this.#idle?.refresh();
      return;
    }
    this.#begin(() => this.#keep().then(() => this.#rest()));
  }

  async #rest(phase: "resting" | "off" = "resting"): Promise<void> {
    const child = this.#child;
    this.#forget();
    this.#phase = phase;
    await child?.stop();
  }

  /** The process ended unasked. */
  #bury(child: GraphChild): void {
    if (child !== this.#child) return;
    this.#deaths++;
    // What it read may have been what killed it.
    if (this.#phase === "opening" || this.#deaths > 1) this.#openFrom = "discarded";
    this.#forget();
    this.#phase = this.#deaths < MAX_DEATHS ? "broken" : "off";
    if (this.#phase === "off") {
      this.#say(`The process of a memory index died ${this.#deaths} times; memory goes on with exact search.`);
      return;
    }
    const waitMs = (this.#options.restartMs ?? 1_000) * 10 ** (this.#deaths - 1);
    this.#restart = setTimeout(() => {
      this.#phase = "resting";
      this.#wake();
    }, waitMs).unref();
  }

  #forget(): void {
    clearTimeout(this.#idle);
    this.#child = undefined;
    this.#counts = NOTHING;
    this.#unsent.clear();
  }

  #say(problem: string): void {
    const [kind = ""] = problem.split(":");
    if (!this.#said.has(kind)) this.#options.report(problem);
    this.#said.add(kind);
  }
}
