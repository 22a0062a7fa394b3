/**
 * read-page.ts -- reads the bytes of any page as text: with its structure if the limits allow, else plainly.
 *
 * Uses no network, and parses pages only in caged processes. Throws GOALD_WEB for an unsupported type and for an
 * unreadable page. Rejects with the signal's reason.
 */
import { addAbortListener } from "node:events";
import { extname } from "node:path";
import type { Cage, CagedEnd } from "#cage/cage.ts";
import { CagedProgram } from "#cage/conversation.ts";
import { findCage } from "#cage/find-cage.ts";
import type { Frame } from "#cage/frames.ts";
import { GoaldError } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { createSlots } from "#util/turns.ts";
import { pageKindOf, readContentType } from "./content-type.ts";
import type { PageJob } from "./read-bytes.ts";
import {
  explainProblem,
  isPageProblem,
  keepVisible,
  type Link,
  MAX_LINKS,
  MEMORY_MEGABYTES,
  nameLink,
  type Readable,
  resolveLink,
} from "./readable.ts";

export interface PageReader {
  /** `contentType`: the HTTP header, if any. `url`: the base of relative links. */
  read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal): Promise<Readable>;
  /** Process ids of the readers that run. */
  readonly pids: readonly number[];
  close(): Promise<void>;
}

interface PageReaderOptions {
  readonly timeLimitMs?: number;
  /** Limit for the second, plain reading of a page that exceeded the limits. */
  readonly plainTimeLimitMs?: number;
  /** Time without a page after which the warm reader ends. */
  readonly idleMs?: number;
  /** Default: the strictest cage of this machine. */
  readonly findCage?: () => Promise<Cage>;
  /** Replaces the program of readers. For tests. */
  readonly program?: URL;
}

export function createPageReader(options: PageReaderOptions = {}): PageReader {
  const { timeLimitMs = 10_000, plainTimeLimitMs = 5_000, idleMs = 60_000, program } = options;
  const readers = createPageReaders(options.findCage ?? findCage, idleMs, program);

  async function read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal) {
    const type = readContentType(contentType);
    const kind = pageKindOf(type, bytes);
    const job: PageJob = { bytes, kind, charset: type.charset, url, isPlain: false, timeLimitMs };
    const first = await readers.read(job, signal);
    if (first.kind === "read") return first.value;
    if (first.kind === "unreadable" || kind !== "html") throw unreadablePage(first.problem);
    const second = await readers.read({ ...job, isPlain: true, timeLimitMs: plainTimeLimitMs }, signal);
    if (second.kind === "read") return second.value;
    throw unreadablePage(second.problem);
  }
  return {
    read,
    get pids() {
      return readers.pids;
    },
    close: readers.close,
  };
}

const unreadablePage = (problem: string): GoaldError =>
  new GoaldError("GOALD_WEB", `The page came, but could not be read. ${problem}`, {
    hint: "download_file saves it as it is.",
  });

const MAX_READERS = 2;

/**
 * Runs the readers of pages: starts them on demand, at most two, and keeps one warm for a while. A home that reads no
 * page starts none. A reader that dies is replaced for the next page.
 */
function createPageReaders(findCage: () => Promise<Cage>, idleMs: number, program: URL | undefined) {
  const slots = createSlots(MAX_READERS);
  const running = new Set<ReaderProcess>();
  let warm: ReaderProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  const startReader = async (): Promise<ReaderProcess> => {
    const reader = new ReaderProcess(await findCage(), program);
    running.add(reader);
    void reader.ended.then(() => running.delete(reader));
    return reader;
  };
  const takeReader = (): ReaderProcess | Promise<ReaderProcess> => {
    const taken = warm;
    warm = undefined;
    return taken?.canReadMore ? taken : startReader();
  };
  const keepReader = (reader: ReaderProcess): void => {
    if (!warm && !isClosed && reader.canReadMore) warm = reader;
    else reader.kill();
    clearTimeout(idle);
    idle = setTimeout(endWarm, idleMs).unref();
  };
  const endWarm = (): void => {
    warm?.kill();
    warm = undefined;
  };

  return {
    /** Waits for a free reader. Rejects only with the signal's reason. */
    read: (job: PageJob, signal: AbortSignal): Promise<PageOutcome> =>
      slots.hold(async () => {
        if (isClosed) return { kind: "died", problem: "It is being shut down." };
        const reader = await takeReader();
        try {
          return await reader.read(job, signal);
        } finally {
          keepReader(reader);
        }
      }, signal),
    get pids(): readonly number[] {
      return [...running].map(({ pid }) => pid).filter((pid) => pid !== undefined);
    },
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(idle);
      await Promise.all([...running].map((reader) => reader.close()));
    },
  };
}

type PageOutcome =
  | { readonly kind: "read"; readonly value: Readable }
  /** The page itself cannot be read. `problem` is a sentence. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** The reader was killed, or died. */
  | { readonly kind: "died"; readonly problem: string };

/** Takes this file's extension: .ts in a checkout, .js in the published package. */
const PROGRAM = new URL(`./page-reader${extname(import.meta.url)}`, import.meta.url);
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const LIMITS = { maxBytes: MAX_ANSWER_BYTES, maxJsonBytes: () => MAX_ANSWER_BYTES };
/** A reader that has worked for this long is replaced, well before the system's limit ends it. */
const MAX_BUSY_MS = 20_000;
const CPU_SECONDS = 120;
/** The ways in which V8 ends when it gets no more memory. */
const MEMORY_SIGNALS = new Set<NodeJS.Signals | null>(["SIGABRT", "SIGTRAP", "SIGILL"]);

/**
 * A process in a cage that parses pages, one at a time. Whatever a page does to it ends the reader, never the host. It
 * keeps the host alive only while it reads a page.
 */
class ReaderProcess {
  readonly #program: CagedProgram;
  #busyMs = 0;
  #jobs = 0;
  #isEnded = false;
  readonly ended: Promise<CagedEnd>;

  constructor(cage: Cage, program: URL = PROGRAM) {
    const parts = { program, memoryMegabytes: MEMORY_MEGABYTES, cpuSeconds: CPU_SECONDS };
    this.#program = new CagedProgram(cage, parts, LIMITS, { speaksFirst: false });
    void this.#program.conversation.broken.then(() => this.kill());
    this.ended = this.#program.ended.finally(() => {
      this.#isEnded = true;
    });
    this.#program.release();
  }

  get pid(): number | undefined {
    return this.#program.pid;
  }

  get canReadMore(): boolean {
    return !this.#isEnded && this.#busyMs < MAX_BUSY_MS;
  }

  kill(): void {
    this.#isEnded = true;
    this.#program.kill();
  }

  /** Kills the reader and waits for its end. */
  async close(): Promise<void> {
    this.#program.hold();
    this.kill();
    await this.ended;
  }

  /** Rejects only with the signal's reason. Kills the reader unless it gave a proper answer. */
  async read({ bytes, ...job }: PageJob, signal: AbortSignal): Promise<PageOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<PageOutcome>();
    const start = performance.now();
    const limit = setTimeout(
      () => resolve({ kind: "died", problem: `It took longer than ${job.timeLimitMs / 1000} s.` }),
      job.timeLimitMs,
    );
    using _ = addAbortListener(signal, () => reject(signal.reason));
    this.#program.hold();
    const { conversation } = this.#program;
    const number = ++this.#jobs;
    conversation.send({ ...job, number }, bytes);
    conversation.next().then(
      (frame) => {
        conversation.endTurn();
        // A channel that closes is followed by the end of the process.
        if (frame) resolve(describeFrame(frame, number));
        else void this.ended.then((end) => resolve({ kind: "died", problem: explainEnd(end) }));
      },
      () => resolve(BROKEN),
    );
    let outcome: PageOutcome | undefined;
    try {
      outcome = await promise;
      return outcome;
    } finally {
      clearTimeout(limit);
      this.#busyMs += performance.now() - start;
      this.#program.release();
      if (outcome === undefined || outcome.kind === "died") this.kill();
    }
  }
}

const BROKEN: PageOutcome = { kind: "died", problem: "Its reader gave an answer that is too long or malformed." };

function describeFrame({ value, bytes }: Frame, number: number): PageOutcome {
  if (Object(value).number !== number) return BROKEN;
  const answer = checkAnswer(value, bytes);
  if (answer === undefined) return BROKEN;
  return typeof answer === "string" ? { kind: "unreadable", problem: answer } : { kind: "read", value: answer };
}

function explainEnd({ code, signal, error }: CagedEnd): string {
  if (error) return `Its reader could not be started: ${error.message}.`;
  if (MEMORY_SIGNALS.has(signal)) return explainProblem("memory");
  if (signal === "SIGXCPU") return `It needed more than ${CPU_SECONDS} s of processor time.`;
  if (signal === "SIGKILL") return "The system ended its reader: it needed too much memory or processor time.";
  return `Its reader ended with ${signal ?? `exit code ${code}`}.`;
}

const MAX_TITLE_CHARS = 200;
const MAX_REMARKS = 10;
/** A remark may name an address. */
const MAX_REMARK_CHARS = 1_200;

/** Returns a problem as a sentence, or undefined for an answer of another shape. */
function checkAnswer(value: unknown, text: Buffer): Readable | string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { problem, title, links, remarks } = value as Readonly<Record<string, unknown>>;
  if (isPageProblem(problem)) return explainProblem(problem);
  if (typeof title !== "string" || !Array.isArray(links) || !Array.isArray(remarks)) return undefined;
  return {
    title: cleanLine(title, MAX_TITLE_CHARS),
    text: text.toString("utf8"),
    links: links
      .slice(0, MAX_LINKS)
      .filter(isLink)
      .map(({ text: name, href }) => ({ text: nameLink(name), href })),
    remarks: remarks.slice(0, MAX_REMARKS).map((remark) => cleanLine(String(remark), MAX_REMARK_CHARS)),
  };
}

const cleanLine = (text: string, limit: number): string => oneLine(keepVisible(text), limit);

function isLink(value: unknown): value is Link {
  const { text, href } = Object(value) as Partial<Record<keyof Link, unknown>>;
  return typeof text === "string" && typeof href === "string" && resolveLink(href, href) === href;
}
