/**
 * read-page.ts -- reads the bytes of any page as text: with its structure if the limits allow, else plainly.
 *
 * Uses no network, and parses pages only in the worker thread. Throws GOALD_WEB for an unsupported type and for an
 * unreadable page. Rejects with the signal's reason.
 */
import { GoaldError } from "#core/errors.ts";
import { pageKindOf, readContentType } from "./content-type.ts";
import { createPageThread } from "./page-thread.ts";
import type { PageJob } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

export interface PageReader {
  /** `contentType`: the HTTP header, if any. `url`: the base of relative links. */
  read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal): Promise<Readable>;
  /** True while the worker thread runs: during a job and `idleMs` after it. */
  readonly isRunning: boolean;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  readonly timeLimitMs?: number;
  /** Limit for the second, plain reading of a page that exceeded the limits. */
  readonly plainTimeLimitMs?: number;
  readonly memoryMb?: number;
  readonly idleMs?: number;
  /** Replaces the worker's program. For tests. */
  readonly program?: URL;
}

export function createPageReader(options: PageReaderOptions = {}): PageReader {
  const { timeLimitMs = 10_000, plainTimeLimitMs = 5_000, memoryMb = 512, idleMs = 30_000, program } = options;
  const thread = createPageThread({ memoryMb, idleMs, ...(program ? { program } : {}) });

  async function read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal) {
    const type = readContentType(contentType);
    const kind = pageKindOf(type, bytes);
    // Copy the bytes: sending a view would send its whole buffer.
    const job: PageJob = {
      bytes: new Uint8Array(bytes),
      kind,
      charset: type.charset,
      url,
      isPlain: false,
      timeLimitMs,
    };
    const first = await thread.read(job, signal);
    if (first.kind === "read") return first.value;
    if (first.kind === "unreadable" || kind !== "html") throw unreadablePage(first.problem);
    const second = await thread.read({ ...job, isPlain: true, timeLimitMs: plainTimeLimitMs }, signal);
    if (second.kind === "read") return second.value;
    throw unreadablePage(second.problem);
  }
  return {
    read,
    get isRunning() {
      return thread.isRunning;
    },
    close: () => thread.close(),
  };
}

const unreadablePage = (problem: string): GoaldError =>
  new GoaldError("GOALD_WEB", `The page came, but could not be read. ${problem}`, {
    hint: "download_file saves it as it is.",
  });
