/**
 * read-page.ts -- any page's bytes to a readable text: with structure where that can be had in time, plainly where not.
 *
 * No network, and nothing of a page is taken apart in this thread. Throws GOALD_WEB for a type that is not read and for
 * what cannot be read; rejects with the signal's reason.
 */
import { GoaldError } from "#core/errors.ts";
import { kindOf, readContentType } from "./content-type.ts";
import { createPageThread } from "./page-thread.ts";
import type { Reading } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

export interface PageReader {
  /** `contentType`: the header, if there is one. `url`: what links are relative to. */
  read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal): Promise<Readable>;
  /** Whether its thread is there: only while it works, and a moment longer. */
  readonly isRunning: boolean;
  close(): Promise<void>;
}

export interface PageReaderOptions {
  readonly timeLimitMs?: number;
  /** For the plain reading of a page that was too much. */
  readonly plainTimeLimitMs?: number;
  readonly memoryMb?: number;
  readonly idleMs?: number;
  /** Another program for the thread, for tests. */
  readonly program?: URL;
}

export function createPageReader(options: PageReaderOptions = {}): PageReader {
  const { timeLimitMs = 10_000, plainTimeLimitMs = 5_000, memoryMb = 512, idleMs = 30_000, program } = options;
  const thread = createPageThread({ memoryMb, idleMs, ...(program ? { program } : {}) });

  async function read(bytes: Uint8Array, contentType: string | null, url: string, signal: AbortSignal) {
    const type = readContentType(contentType);
    const kind = kindOf(type, bytes);
    // A view would bring all of the memory that it looks into.
    const reading: Reading = {
      bytes: new Uint8Array(bytes),
      kind,
      charset: type.charset,
      url,
      isPlain: false,
      timeLimitMs,
    };
    const first = await thread.read(reading, signal);
    if (first.kind === "read") return first.value;
    if (first.kind === "unreadable" || kind !== "html") throw unreadable(first.problem);
    const second = await thread.read({ ...reading, isPlain: true, timeLimitMs: plainTimeLimitMs }, signal);
    if (second.kind === "read") return second.value;
    throw unreadable(second.problem);
  }
  return {
    read,
    get isRunning() {
      return thread.isRunning;
    },
    close: () => thread.close(),
  };
}

const unreadable = (problem: string): GoaldError =>
  new GoaldError("GOALD_WEB", `The page came, but could not be read. ${problem}`, {
    hint: "download_file saves it as it is.",
  });
