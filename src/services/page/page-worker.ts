/**
 * page-worker.ts -- the worker thread that parses one page after the other until it is terminated.
 *
 * Sets no limits: the caller limits time and memory, and terminates the thread.
 */
import { parentPort } from "node:worker_threads";
import { type PageJob, readBytes } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

export type FromPageWorker = { readonly value: Readable } | { readonly problem: string };

// Discard what libraries print about a page: nobody reads it, so it would pile up in memory.
process.stdout.destroy();
process.stderr.destroy();

parentPort?.on("message", (job: PageJob) => {
  void runJob(job).then((message) => parentPort?.postMessage(message));
});

async function runJob(job: PageJob): Promise<FromPageWorker> {
  try {
    return { value: await readBytes(job) };
  } catch (error) {
    return { problem: Error.isError(error) ? error.message : String(error) };
  }
}
