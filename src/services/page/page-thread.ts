/**
 * page-thread.ts -- runs the worker thread that parses pages: starts it on first use and ends it when idle.
 *
 * A page that exceeds its time or memory ends the thread, never the host. The next page gets a new thread. The thread
 * keeps the process alive only while it reads a page. Its environment is empty, so that no page can reach a key.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { createSlots } from "#util/slots.ts";
import type { FromPageWorker } from "./page-worker.ts";
import type { PageJob } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

/** Takes this file's extension: .ts in a checkout, .js in the published package. */
const WORKER_PROGRAM = new URL(`./page-worker${extname(import.meta.url)}`, import.meta.url);

export interface PageThreadOptions {
  readonly memoryMb: number;
  readonly idleMs: number;
  /** Replaces the worker's program. For tests. */
  readonly program?: URL;
}

export type PageOutcome =
  | { readonly kind: "read"; readonly value: Readable }
  /** The page itself cannot be read. `problem` is a sentence. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** The thread was terminated, or ended by itself. */
  | { readonly kind: "late" | "died"; readonly problem: string };

export interface PageThread {
  /** Reads one page at a time. Rejects only with the signal's reason. */
  read(job: PageJob, signal: AbortSignal): Promise<PageOutcome>;
  readonly isRunning: boolean;
  close(): Promise<void>;
}

export function createPageThread({ memoryMb, idleMs, program = WORKER_PROGRAM }: PageThreadOptions): PageThread {
  const slots = createSlots(1);
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  const startWorker = (): Worker => {
    const started = new Worker(program, {
      name: "goald-page",
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
      // Nobody reads this output: a reader would keep the process alive as long as the thread runs.
      stdout: true,
      stderr: true,
    });
    // A page can still fail after its result was sent. Without this listener that would end the process.
    started.on("error", () => undefined);
    started.once("exit", () => {
      if (worker === started) worker = undefined;
    });
    return started;
  };
  const endWorker = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  };

  return {
    read: (job, signal) =>
      slots.hold(async () => {
        if (isClosed) return { kind: "died", problem: "It is being shut down." };
        clearTimeout(idle);
        worker ??= startWorker();
        worker.ref();
        try {
          const outcome = await sendJob(worker, job, signal);
          if (outcome.kind === "late" || outcome.kind === "died") await endWorker();
          return outcome;
        } catch (reason) {
          await endWorker();
          throw reason;
        } finally {
          worker?.unref();
          idle = setTimeout(() => void endWorker(), idleMs);
          idle.unref();
        }
      }, signal),
    get isRunning() {
      return worker !== undefined;
    },
    close: () => {
      isClosed = true;
      return endWorker();
    },
  };
}

/** Sends one page. Waits for its result, its time limit, the thread's end or the signal, whichever comes first. */
function sendJob(worker: Worker, job: PageJob, signal: AbortSignal): Promise<PageOutcome> {
  const { promise, resolve, reject } = Promise.withResolvers<PageOutcome>();
  const onMessage = (answer: FromPageWorker): void =>
    resolve(
      "value" in answer ? { kind: "read", value: answer.value } : { kind: "unreadable", problem: answer.problem },
    );
  const onDeath = (thrown: unknown): void =>
    resolve({ kind: "died", problem: String((thrown as { message?: unknown } | null)?.message ?? thrown) });
  const onExit = (code: number): void => resolve({ kind: "died", problem: `exit code ${code}` });
  const onAbort = (): void => reject(signal.reason);
  const limit = setTimeout(
    () => resolve({ kind: "late", problem: `It took longer than ${job.timeLimitMs / 1000} s.` }),
    job.timeLimitMs,
  );
  worker.on("message", onMessage).on("error", onDeath).on("messageerror", onDeath).on("exit", onExit);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  worker.postMessage(job);
  return promise.finally(() => {
    clearTimeout(limit);
    signal.removeEventListener("abort", onAbort);
    worker.off("message", onMessage).off("error", onDeath).off("messageerror", onDeath).off("exit", onExit);
  });
}
