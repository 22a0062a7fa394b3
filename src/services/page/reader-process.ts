/**
 * reader-process.ts -- one reader: a process in a cage that parses pages, one at a time.
 *
 * Whatever a page does to it ends the reader, never the host. It keeps the host alive only while it reads a page.
 */
import { extname } from "node:path";
import type { Cage, CagedEnd, CagedProcess } from "#cage/cage.ts";
import { type Channel, type Frame, receiveFrame, sendFrame } from "#cage/frames.ts";
import { nodeCommand } from "#cage/node-program.ts";
import { oneLine } from "#core/text.ts";
import { type Link, MAX_LINKS, nameLink, resolveLink } from "./links.ts";
import type { PageJob } from "./read-bytes.ts";
import { explainProblem, isPageProblem, keepVisible, MEMORY_MEGABYTES, type Readable } from "./readable.ts";

export type PageOutcome =
  | { readonly kind: "read"; readonly value: Readable }
  /** The page itself cannot be read. `problem` is a sentence. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** The reader was killed, or died. */
  | { readonly kind: "died"; readonly problem: string };

/** Takes this file's extension: .ts in a checkout, .js in the published package. */
const PROGRAM = new URL(`./page-reader${extname(import.meta.url)}`, import.meta.url);
const CHANNEL = 3;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** A reader that has worked for this long is replaced, well before the system's limit ends it. */
const MAX_BUSY_MS = 20_000;
const CPU_SECONDS = 120;
/** The ways in which V8 ends when it gets no more memory. */
const MEMORY_SIGNALS = new Set<NodeJS.Signals | null>(["SIGABRT", "SIGTRAP", "SIGILL"]);

export class ReaderProcess {
  readonly #process: CagedProcess;
  readonly #channel: Channel;
  #busyMs = 0;
  #jobs = 0;
  #isEnded = false;
  readonly ended: Promise<CagedEnd>;

  constructor(cage: Cage, program: URL = PROGRAM) {
    const stdio = ["ignore", "ignore", "ignore", "pipe"] as const;
    const limits = { memoryMegabytes: MEMORY_MEGABYTES, cpuSeconds: CPU_SECONDS };
    this.#process = cage.spawn(nodeCommand({ program, ...limits, stdio }));
    this.#channel = this.#process.child.stdio[CHANNEL] as Channel;
    // A channel that breaks is followed by the end of the process.
    this.#channel.on("error", () => undefined);
    this.ended = this.#process.ended.finally(() => {
      this.#isEnded = true;
    });
    this.#release();
  }

  get pid(): number | undefined {
    return this.#process.child.pid;
  }

  get canReadMore(): boolean {
    return !this.#isEnded && this.#busyMs < MAX_BUSY_MS;
  }

  kill(): void {
    this.#isEnded = true;
    this.#process.kill();
  }

  /** Kills the reader and waits for its end. */
  async close(): Promise<void> {
    this.#hold();
    this.kill();
    await this.ended;
  }

  /** Rejects only with the signal's reason. Kills the reader unless it gave a proper answer. */
  async read({ bytes, ...job }: PageJob, signal: AbortSignal): Promise<PageOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<PageOutcome>();
    const start = performance.now();
    const onAbort = (): void => reject(signal.reason);
    const limit = setTimeout(
      () => resolve({ kind: "died", problem: `It took longer than ${job.timeLimitMs / 1000} s.` }),
      job.timeLimitMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#hold();
    const number = ++this.#jobs;
    receiveFrame(this.#channel, MAX_ANSWER_BYTES).then(
      (frame) => resolve(describeFrame(frame, number)),
      () => resolve(BROKEN),
    );
    void this.ended.then((end) => resolve({ kind: "died", problem: explainEnd(end) }));
    sendFrame(this.#channel, { ...job, number }, bytes);
    let outcome: PageOutcome | undefined;
    try {
      outcome = await promise;
      return outcome;
    } finally {
      clearTimeout(limit);
      signal.removeEventListener("abort", onAbort);
      this.#busyMs += performance.now() - start;
      this.#release();
      if (outcome === undefined || outcome.kind === "died") this.kill();
    }
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
