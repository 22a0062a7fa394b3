/**
 * page-readers.ts -- runs the readers of pages: starts them on demand, at most two, and keeps one warm for a while.
 *
 * A home that reads no page starts none. A reader that dies is replaced for the next page.
 */
import type { Cage } from "#cage/cage.ts";
import { createSlots } from "#util/slots.ts";
import type { PageJob } from "./read-bytes.ts";
import { type PageOutcome, ReaderProcess } from "./reader-process.ts";

export interface PageReadersOptions {
  readonly findCage: () => Promise<Cage>;
  /** Time without a page after which the warm reader ends. */
  readonly idleMs: number;
  /** Replaces the program of readers. For tests. */
  readonly program?: URL | undefined;
}

export interface PageReaders {
  /** Waits for a free reader. Rejects only with the signal's reason. */
  read(job: PageJob, signal: AbortSignal): Promise<PageOutcome>;
  /** Process ids of the readers that run. */
  readonly pids: readonly number[];
  close(): Promise<void>;
}

const MAX_READERS = 2;

export function createPageReaders({ findCage, idleMs, program }: PageReadersOptions): PageReaders {
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
