/**
 * cell-process.ts -- one process in a cage that runs the cells of one namespace, and the conversation with it.
 *
 * The code blocks while it waits for its host. Another cell of the namespace may run inside that wait. Whatever code does to
 * its process ends the process, never the host. It keeps the host alive only while a cell runs.
 */
import { extname } from "node:path";
import type { Cage, CagedEnd, CagedProcess } from "#cage/cage.ts";
import { Conversation } from "#cage/conversation.ts";
import type { Channel } from "#cage/frames.ts";
import { nodeCommand } from "#cage/node-program.ts";
import type { Cell, CellHost, CellOutcome, CellProblem } from "#core/ports/sandbox.ts";
import { answerQuestion } from "./answer-question.ts";
import { brokenProblem, closedProblem, endProblem, goneOutcome, startProblem } from "./cell-problems.ts";
import { checkMessage, type GuestMessage } from "./guest-message.ts";
import { GUEST_SIGHT } from "./guest-sight.ts";
import {
  type GuestOptions,
  MAX_FRAME_BYTES,
  MAX_FRAME_JSON_BYTES,
  MAX_QUESTION_BYTES,
  type Question,
  type ToGuest,
} from "./protocol.ts";
import { readOutcome } from "./read-outcome.ts";
import { RunningCell } from "./running-cell.ts";

type Done = Extract<GuestMessage, { readonly type: "done" }>;

/** Takes this file's extension: .ts in a checkout, .js in the published package. */
const PROGRAM = new URL(`./guest${extname(import.meta.url)}`, import.meta.url);
const CHANNEL = 3;
const LIMITS = {
  maxBytes: MAX_FRAME_BYTES,
  maxJsonBytes: (start: string) => (start.startsWith('{"type":"done"') ? MAX_FRAME_JSON_BYTES : MAX_QUESTION_BYTES),
};
const NOTHING = new Uint8Array();
/** Memory of the engine itself: Python's libraries and its start-up snapshot. */
const ENGINE_MEGABYTES = 512;
/** Processor time of a process over its whole life. The namespace outlives it. */
const CPU_SECONDS = 3_600;
const START_MS = 60_000;
/** A process that has closed its channel ends within this time, or is killed. */
const END_MS = 500;
/** Maximum questions of one cell, files included. The agent's own limit of calls is much lower. */
const MAX_QUESTIONS = 20_000;

export class CellProcess {
  readonly #process: CagedProcess;
  readonly #channel: Channel;
  readonly #conversation: Conversation;
  readonly #memoryMegabytes: number;
  readonly #killed = Promise.withResolvers<undefined>();
  readonly #ready: Promise<void>;
  #gone: CellProblem | undefined;
  #hasEnded = false;
  #isSpent = false;
  #cells = 0;
  /** Cells that wait for their host. */
  #waiting = 0;
  readonly ended: Promise<CagedEnd>;

  /** `program` replaces that of processes. For tests. */
  constructor(cage: Cage, options: GuestOptions, program: URL = PROGRAM) {
    this.#memoryMegabytes = options.memoryMegabytes;
    this.#process = cage.spawn(
      nodeCommand({
        program,
        memoryMegabytes: options.memoryMegabytes + ENGINE_MEGABYTES,
        cpuSeconds: CPU_SECONDS,
        stdio: ["ignore", "ignore", "ignore", "pipe"],
        args: [JSON.stringify(options)],
        sees: GUEST_SIGHT,
        files: options.snapshot === null ? [] : [options.snapshot],
      }),
    );
    this.#channel = this.#process.child.stdio[CHANNEL] as Channel;
    this.#conversation = new Conversation(this.#channel, LIMITS, { speaksFirst: true });
    void this.#conversation.broken.then((reason) => this.kill(brokenProblem(reason)));
    this.ended = this.#process.ended.then((end) => {
      this.#hasEnded = true;
      this.kill(endProblem(end, this.#memoryMegabytes));
      return end;
    });
    this.#ready = this.#waitUntilReady();
    this.#release();
  }

  get pid(): number | undefined {
    return this.#process.child.pid;
  }
  get isGone(): boolean {
    return this.#gone !== undefined;
  }
  get isBusy(): boolean {
    return this.#cells > 0;
  }
  /** True while the innermost cell waits for its host: another one may run inside that wait. */
  get canNest(): boolean {
    return !this.isGone && this.isBusy && this.#waiting === this.#cells;
  }

  /** The first reason counts. */
  kill(problem: CellProblem): void {
    this.#gone ??= problem;
    this.#killed.resolve(undefined);
    if (this.#hasEnded) return;
    // Whoever waits for its end has nothing else that keeps this process alive.
    this.#hold();
    this.#process.kill();
  }

  /** `loads`: the process has no namespace yet. Rejects with the signal's reason, or what a method of `host` rejected with. */
  async run(cell: Cell, host: CellHost, signal: AbortSignal, loads: boolean): Promise<CellOutcome> {
    this.#cells += 1;
    this.#hold();
    const loadsSaved = loads && cell.saved !== null;
    const running = new RunningCell(cell, host, this.#cells, loadsSaved, (problem) => this.kill(problem));
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await Promise.race([this.#converse(running, loads), aborted.promise]);
    } catch (error) {
      this.kill(closedProblem());
      throw error;
    } finally {
      running.clock.stop();
      signal.removeEventListener("abort", onAbort);
      this.#cells -= 1;
      if (this.#cells === 0 && !this.isGone) this.#release();
    }
  }

  async #converse(running: RunningCell, loads: boolean): Promise<CellOutcome> {
    const { cell, clock } = running;
    await this.#ready;
    const { agent: _, saved, ...told } = cell;
    const message: ToGuest = { type: "cell", cell: told, ...(loads ? { saved } : {}) };
    if (!this.#gone) this.#conversation.send(message, NOTHING);
    clock.start();
    for (let count = 0; !this.#gone; count++) {
      const said = await this.#hear();
      if (said === undefined || count > MAX_QUESTIONS) break;
      const { message: heard, bytes } = said;
      if (heard.type === "done") return this.#endCell(heard, running);
      if (heard.type === "ask") await this.#answer(heard, bytes, running);
      else if (!advance(running, heard.type)) break;
    }
    this.kill(brokenProblem("It said what is not expected."));
    return goneOutcome(this.#gone ?? closedProblem(), running.codeMs);
  }

  /** The next message; undefined when there is none, and the reason why is known. */
  async #hear(): Promise<{ readonly message: GuestMessage; readonly bytes: Buffer } | undefined> {
    try {
      const frame = await Promise.race([this.#conversation.next(), this.#killed.promise]);
      if (this.#gone) return undefined;
      if (!frame) return await this.#waitForEnd();
      const message = checkMessage(frame.value, frame.bytes);
      if (message) return { message, bytes: frame.bytes };
      this.kill(brokenProblem("It has another shape."));
    } catch (error) {
      this.kill(brokenProblem((error as Error).message));
    }
    return undefined;
  }

  async #waitForEnd(): Promise<undefined> {
    const limit = setTimeout(() => this.kill(brokenProblem("It closed the channel.")), END_MS);
    await this.#killed.promise;
    clearTimeout(limit);
  }

  async #answer(question: Question, bytes: Buffer, { host, clock, depth }: RunningCell): Promise<void> {
    clock.stop();
    this.#conversation.endTurn();
    this.#waiting += 1;
    try {
      const answer = await answerQuestion(question, bytes, host);
      if (this.#cells > depth) this.kill(brokenProblem("Its host answered while another cell ran."));
      if (this.#gone) return;
      this.#conversation.send(answer.reply, answer.bytes);
      clock.start();
    } finally {
      this.#waiting -= 1;
    }
  }

  #endCell(done: Done, running: RunningCell): CellOutcome {
    const { cell, clock, depth } = running;
    clock.stop();
    this.#conversation.endTurn();
    const durationMs = running.codeMs;
    const outcome = readOutcome(done.outcome, { version: cell.version, isNested: depth > 1, durationMs });
    this.#isSpent ||= done.isSpent;
    if (this.#isSpent && depth === 1) this.kill(closedProblem());
    if (outcome) return outcome;
    const problem = brokenProblem("Its outcome is malformed.");
    this.kill(problem);
    return goneOutcome(problem, durationMs);
  }

  async #waitUntilReady(): Promise<void> {
    const limit = setTimeout(
      () => this.kill(startProblem(`it was not ready after ${START_MS / 1000} s`)),
      START_MS,
    ).unref();
    const said = await this.#hear();
    clearTimeout(limit);
    if (said?.message.type === "ready") this.#conversation.endTurn();
    else this.kill(brokenProblem("It did not say first that it is ready."));
  }

  #hold(): void {
    this.#process.child.ref();
    this.#channel.ref();
  }

  #release(): void {
    this.#process.child.unref();
    this.#channel.unref();
  }
}

/** Returns false for what is not expected. */
function advance(running: RunningCell, said: "ready" | "loaded" | "ended"): boolean {
  if (said === "ready") return false;
  return said === "loaded" ? running.startCode() : running.endCode();
}
