/**
 * cell-process.ts -- one process in a cage that runs the cells of one namespace, and the conversation with it. The code
 * blocks while it waits for its host. Another cell of the namespace may run inside that wait. Whatever code does to its
 * process ends the process, never the host. It keeps the host alive only while a cell runs.
 */
import { addAbortListener } from "node:events";
import { extname } from "node:path";
import type { Cage, CagedEnd } from "#cage/cage.ts";
import { CagedProgram, type Conversation } from "#cage/conversation.ts";
import type { Cell, CellBridge, CellFileChange, CellOutcome, CellProblem, CellReply } from "#core/ports/sandbox.ts";
import { withCommas } from "#core/text.ts";
import { checkMessage, type GuestMessage, readOutcome } from "./guest-answers.ts";
import {
  type GuestOptions,
  MAX_FILE_BYTES,
  MAX_FRAME_BYTES,
  MAX_FRAME_JSON_BYTES,
  MAX_LOADING_MS,
  MAX_QUESTION_BYTES,
  MAX_SAVING_MS,
  type Question,
  type Reply,
  type ToGuest,
} from "./protocol.ts";
import { GUEST_SIGHT } from "./python-snapshot.ts";

/** Takes this file's extension: .ts in a checkout, .js in the published package. */
const PROGRAM = new URL(`./guest${extname(import.meta.url)}`, import.meta.url);
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
  readonly #program: CagedProgram;
  readonly #conversation: Conversation;
  readonly #ready: Promise<void>;
  #gone: CellProblem | undefined;
  #hasEnded = false;
  #cells = 0;
  /** Cells that wait for their host. */
  #waiting = 0;
  readonly ended: Promise<CagedEnd>;

  /** `program` replaces that of processes. For tests. */
  constructor(cage: Cage, options: GuestOptions, program: URL = PROGRAM) {
    const parts = {
      program,
      memoryMegabytes: options.memoryMegabytes + ENGINE_MEGABYTES,
      cpuSeconds: CPU_SECONDS,
      args: [JSON.stringify(options)],
      sees: GUEST_SIGHT,
      files: options.snapshot === null ? [] : [options.snapshot],
    };
    this.#program = new CagedProgram(cage, parts, LIMITS, { speaksFirst: true });
    this.#conversation = this.#program.conversation;
    void this.#conversation.broken.then((reason) => this.kill(brokenProblem(reason)));
    this.ended = this.#program.ended.then((end) => {
      this.#hasEnded = true;
      this.kill(endProblem(end, options.memoryMegabytes));
      return end;
    });
    this.#ready = this.#waitUntilReady();
    this.#program.release();
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
    this.#conversation.close();
    if (this.#hasEnded) return;
    // Whoever waits for its end has nothing else that keeps this process alive.
    this.#program.hold();
    this.#program.kill();
  }

  /** `loads`: the process has no namespace yet. Rejects with the signal's reason, or what a method of `host` rejected with. */
  async run(cell: Cell, host: CellBridge, signal: AbortSignal, loads: boolean): Promise<CellOutcome> {
    this.#cells += 1;
    this.#program.hold();
    const loadsSaved = loads && cell.saved !== null;
    const running = new RunningCell(cell, host, this.#cells, loadsSaved, (problem) => this.kill(problem));
    const aborted = Promise.withResolvers<never>();
    using _ = addAbortListener(signal, () => aborted.reject(signal.reason));
    try {
      return await Promise.race([this.#converse(running, loads), aborted.promise]);
    } catch (error) {
      this.kill(closedProblem());
      throw error;
    } finally {
      running.clock.stop();
      this.#cells -= 1;
      if (this.#cells === 0 && !this.isGone) this.#program.release();
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
      if (count > MAX_QUESTIONS) this.kill(questionsProblem());
      if (said === undefined || this.#gone) break;
      const { message: heard, bytes } = said;
      if (heard.type === "done") return this.#endCell(heard.outcome, running);
      if (heard.type === "ask") await this.#answer(heard, bytes, running);
      else if (heard.type === "printed") running.host.show?.(heard.line);
      else if (!running.advance(heard.type)) break;
    }
    this.kill(brokenProblem("It said what is not expected."));
    return goneOutcome(this.#gone ?? closedProblem(), running.codeMs);
  }

  /** The next message; undefined when there is none, and the reason why is known. */
  async #hear(): Promise<{ readonly message: GuestMessage; readonly bytes: Buffer } | undefined> {
    try {
      const frame = await this.#conversation.next();
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
    await this.ended;
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

  #endCell(given: unknown, running: RunningCell): CellOutcome {
    const { cell, clock, depth } = running;
    clock.stop();
    this.#conversation.endTurn();
    const durationMs = running.codeMs;
    const outcome = readOutcome(given, cell.version, depth > 1, durationMs);
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
}

/** The process stops code itself at the limit; the host kills it this much later. */
const GRACE_MS = 80;

/** A running cell has its host, and its times for loading the namespace, for the code, and for saving. */
class RunningCell {
  readonly cell: Cell;
  readonly host: CellBridge;
  /** Stands still while the code waits for its host. */
  readonly clock: ReturnType<typeof openClock>;
  /** Position among the cells that run in the process, from 1. */
  readonly depth: number;
  #phase: "loading" | "code" | "saving";
  #codeMs: number | undefined;

  /** `loads`: a saved namespace is loaded before the code runs. `onLimit` gets the problem when a time is over. */
  constructor(cell: Cell, host: CellBridge, depth: number, loads: boolean, onLimit: (problem: CellProblem) => void) {
    this.cell = cell;
    this.host = host;
    this.depth = depth;
    this.#phase = loads ? "loading" : "code";
    const problems = { loading: loadingProblem, code: () => timeoutProblem(cell.timeLimitMs), saving: savingProblem };
    this.clock = openClock(loads ? MAX_LOADING_MS : this.#codeLimitMs, () => onLimit(problems[this.#phase]()));
  }

  /** Time of the code itself. */
  get codeMs(): number {
    return this.#codeMs ?? this.clock.usedMs();
  }

  /** The namespace is loaded, or the code has ended. Returns false when that is not expected. */
  advance(said: "ready" | "loaded" | "ended"): boolean {
    if (said === "loaded" && this.#phase === "loading") {
      this.#phase = "code";
      this.clock.restart(this.#codeLimitMs);
      return true;
    }
    if (said !== "ended" || this.#phase === "saving") return false;
    this.#codeMs = this.codeMs;
    this.#phase = "saving";
    this.clock.restart(MAX_SAVING_MS);
    return true;
  }

  get #codeLimitMs(): number {
    return this.cell.timeLimitMs + GRACE_MS;
  }
}

function openClock(firstLimitMs: number, onLimit: () => void) {
  let limitMs = firstLimitMs;
  let stoppedMs = 0;
  let since: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const usedMs = (): number => stoppedMs + (since === undefined ? 0 : performance.now() - since);

  function start(): void {
    if (since !== undefined) return;
    since = performance.now();
    timer = setTimeout(onLimit, Math.max(0, limitMs - stoppedMs));
  }

  function stop(): void {
    clearTimeout(timer);
    stoppedMs = usedMs();
    since = undefined;
  }

  return {
    usedMs,
    start,
    stop,
    /** The clock goes on from 0 with another limit. */
    restart(newLimitMs: number): void {
      stop();
      limitMs = newLimitMs;
      stoppedMs = 0;
      start();
    },
  };
}

interface Answer {
  readonly reply: Reply;
  readonly bytes: Uint8Array;
}

/**
 * Answers what code asks for, by the host of its cell. Rejects with what the method of `host` rejected with. `bytes`:
 * those of the question.
 */
async function answerQuestion(question: Question, bytes: Uint8Array, host: CellBridge): Promise<Answer> {
  switch (question.what) {
    case "call":
      return sendReply(await host.call(question.name, question.args));
    case "run":
      return sendReply(await host.run(question.task, question.returns, question.form));
    case "list":
      return sendReply({ value: await host.listFiles() });
    case "read":
      return sendContent(await host.readFile(question.path));
    case "save":
      return sendReply(await host.saveFiles(splitContents(question.files, bytes)));
  }
}

const sendReply = (reply: CellReply<unknown>): Answer => ({ reply: { type: "reply", ...reply }, bytes: NOTHING });

function sendContent(reply: CellReply<Uint8Array>): Answer {
  if ("error" in reply) return sendReply(reply);
  const { value } = reply;
  if (value.byteLength <= MAX_FILE_BYTES) return { reply: { type: "reply", value: null }, bytes: value };
  const text = `Code can read files of up to ${MAX_FILE_BYTES / 1024 / 1024} MB.`;
  return sendReply({ error: { code: "file-too-large", text } });
}

type SavedFiles = Extract<Question, { readonly what: "save" }>["files"];
function splitContents(files: SavedFiles, bytes: Uint8Array): readonly CellFileChange[] {
  let start = 0;
  return files.map(({ path, bytes: length }) => {
    if (length === null) return { path, bytes: null };
    start += length;
    return { path, bytes: bytes.subarray(start - length, start) };
  });
}

/** How V8 ends when it gets no more memory. */
const MEMORY_SIGNALS = new Set<NodeJS.Signals | null>(["SIGABRT", "SIGTRAP", "SIGILL", "SIGSEGV", "SIGBUS"]);

/** States why a cell ended without an outcome of its own, in words for the model. */
const problem = (kind: CellProblem["kind"], type: string, message: string): CellProblem => ({
  kind,
  type,
  message,
  line: null,
  source: null,
});

const late = (message: string): CellProblem => problem("timeout", "TimeoutError", message);
const died = (message: string): CellProblem => problem("died", "SandboxError", message);

const timeoutProblem = (limitMs: number): CellProblem =>
  late(`The code ran longer than ${limitMs / 1000} s and was stopped.`);
const loadingProblem = (): CellProblem =>
  late("The code did not run, because the variables could not be loaded in time.");
const savingProblem = (): CellProblem => late("The code ended, but its variables could not be saved in time.");
const brokenProblem = (reason: string): CellProblem =>
  died(`The process that runs the code sent what is not a message, so it was ended. ${reason}`);
const questionsProblem = (): CellProblem =>
  died(
    `The code called commands and read files more than ${withCommas(MAX_QUESTIONS)} times, so it was stopped. Split the work into several cells.`,
  );
export const closedProblem = (): CellProblem => died("The sandbox is being shut down.");
const startProblem = (reason: string): CellProblem =>
  died(`The process that runs the code could not start: ${reason}.`);

function endProblem({ code, signal, error }: CagedEnd, memoryMegabytes: number): CellProblem {
  if (error) return startProblem(error.message);
  const tooMuch = `The code needed more than ${memoryMegabytes} MB of memory, and its process died.`;
  if (MEMORY_SIGNALS.has(signal)) return problem("memory", "MemoryError", tooMuch);
  if (signal === "SIGXCPU" || signal === "SIGKILL")
    return died("The system ended the process that runs the code: too much memory or processor time.");
  return died(`The process that runs the code ended with ${signal ?? `exit code ${code}`}.`);
}

export const goneOutcome = (gone: CellProblem, durationMs: number): CellOutcome => ({
  kind: "failed",
  problem: gone,
  output: "",
  isCut: false,
  saved: null,
  lost: [],
  durationMs,
});
