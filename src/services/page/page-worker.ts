/**
 * page-worker.ts -- the thread in which pages are taken apart, one after the other, until it is ended.
 *
 * A page may take all of its time or memory: whoever waits for an answer sets the limits, and ends the thread.
 */
import { parentPort } from "node:worker_threads";
import { type Reading, readBytes } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

export type FromPageWorker = { readonly value: Readable } | { readonly problem: string };

// What a library prints about a page is nobody's business, and would be kept for a reader that never comes.
process.stdout.destroy();
process.stderr.destroy();

parentPort?.on("message", (reading: Reading) => {
  void answer(reading).then((given) => parentPort?.postMessage(given));
});

async function answer(reading: Reading): Promise<FromPageWorker> {
  try {
    return { value: await readBytes(reading) };
  } catch (error) {
    return { problem: Error.isError(error) ? error.message : String(error) };
  }
}
