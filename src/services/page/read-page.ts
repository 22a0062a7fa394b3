/**
 * read-page.ts -- reads the bytes of any page as text: with its structure if the limits allow, else plainly.
 *
 * Uses no network, and parses pages only in caged processes. Throws GOALD_WEB for an unsupported type and for an
 * unreadable page. Rejects with the signal's reason.
 */
import type { Cage } from "#cage/cage.ts";
import { findCage } from "#cage/find-cage.ts";
import { GoaldError } from "#core/errors.ts";
import { createSlots } from "#util/turns.ts";
import { pageKindOf, readContentType } from "./content-type.ts";
import type { PageJob } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";
import { type PageOutcome, ReaderProcess } from "./reader-process.ts";

export interface PageReader {
  /** `contentType`: the HTTP header, if any. `url`: the base of relative links. */
  read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal): Promise<Readable>;
  /** Process ids of the readers that run. */
  readonly pids: readonly number[];
  close(): Promise<void>;
}

export interface PageReaderOptions {
  readonly timeLimitMs?: number;
  /** Limit for the second, plain reading of a page that exceeded the limits. */
  readonly plainTimeLimitMs?: number;
  readonly idleMs?: number;
  /** Default: the strictest cage of this machine. */
  readonly findCage?: () => Promise<Cage>;
  /** Replaces the program of readers. For tests. */
  readonly program?: URL;
}

export function createPageReader(options: PageReaderOptions = {}): PageReader {
  const { timeLimitMs = 10_000, plainTimeLimitMs = 5_000, idleMs = 60_000, program } = options;
  const readers = createPageReaders({ findCage: options.findCage ?? findCage, idleMs, program });

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
    close: () => readers.close(),
  };
}

const unreadablePage = (problem: string): GoaldError =>
  new GoaldError("GOALD_WEB", `The page came, but could not be read. ${problem}`, {
    hint: "download_file saves it as it is.",
  });

interface PageReadersOptions {
  readonly findCage: () => Promise<Cage>;
  /** Time without a page after which the warm reader ends. */
  readonly idleMs: number;
  /** Replaces the program of readers. For tests. */
  readonly program?: URL | undefined;
}

interface PageReaders {
  /** Waits for a free reader. Rejects only with the signal's reason. */
  read(job: PageJob, signal: AbortSignal): Promise<PageOutcome>;
  /** Process ids of the readers that run. */
  readonly pids: readonly number[];
  close(): Promise<void>;
}

const MAX_READERS = 2;

/**
 * Runs the readers of pages: starts them on demand, at most two, and keeps one warm for a while.
 *
 * A home that reads no page starts none. A reader that dies is replaced for the next page.
 */
function createPageReaders({ findCage, idleMs, program }: PageReadersOptions): PageReaders {
  const slots = createSlots(MAX_READERS);
  const running = new Set<ReaderProcess>();
  let warm: ReaderProcess[] = [];
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  const startReader = async (): Promise<ReaderProcess> => {
    const reader = new ReaderProcess(await findCage(), program);
    running.add(reader);
    void reader.ended.then(() => running.delete(reader));
    return reader;
  };
  const takeReader = async (): Promise<ReaderProcess> => {
    const taken = warm.pop();
    if (!taken) return startReader();
    return taken.canReadMore ? taken : takeReader();
  };
  const keepReader = (reader: ReaderProcess): void => {
    const isNeeded = warm.length === 0 && !isClosed;
    if (isNeeded && reader.canReadMore) warm.push(reader);
    else reader.kill();
    clearTimeout(idle);
    idle = setTimeout(endWarm, idleMs).unref();
  };
  const endWarm = (): void => {
    for (const reader of warm) reader.kill();
    warm = [];
  };

  return {
    read: (job, signal) =>
      slots.hold(async () => {
        if (isClosed) return { kind: "died", problem: "It is being shut down." };
        const reader = await takeReader();
        try {
          return await reader.read(job, signal);
        } finally {
          keepReader(reader);
        }
      }, signal),
    get pids() {
      return [...running].map(({ pid }) => pid).filter((pid) => pid !== undefined);
    },
    close: async () => {
      isClosed = true;
      clearTimeout(idle);
      await Promise.all([...running].map((reader) => reader.close()));
    },
  };
}
