/**
 * page-thread.ts -- the caller's end of the thread that takes pages apart: started on first use, ended when idle.
 *
 * A page that takes too long or too much memory ends the thread and never the host; the next one gets a new thread. It
 * keeps the process alive while a page is being read, and not otherwise. The thread is given no environment, so that no
 * key is within reach of what it reads.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { createSlots } from "#util/slots.ts";
import type { FromPageWorker } from "./page-worker.ts";
import type { Reading } from "./read-bytes.ts";
import type { Readable } from "./readable.ts";

/** The extension of a checkout or that of the published package: this file's own. */
const PROGRAM = new URL(`./page-worker${extname(import.meta.url)}`, import.meta.url);

export interface PageThreadOptions {
  readonly memoryMb: number;
  readonly idleMs: number;
  /** Another program, for tests. */
  readonly program?: URL;
}

export type Outcome =
  | { readonly kind: "read"; readonly value: Readable }
  /** The page itself cannot be read, in a sentence. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** The thread was ended, or ended itself. */
  | { readonly kind: "late" | "died"; readonly problem: string };

export interface PageThread {
  /** One page at a time; rejects only with the signal's reason. */
  read(reading: Reading, signal: AbortSignal): Promise<Outcome>;
  readonly isRunning: boolean;
  close(): Promise<void>;
}

export function createPageThread({ memoryMb, idleMs, program = PROGRAM }: PageThreadOptions): PageThread {
  const slots = createSlots(1);
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  const start = (): Worker => {
    const started = new Worker(program, {
      name: "goald-page",
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
      // Never shown, and never read either: whoever reads a thread's output keeps the process alive for as long as it runs.
      stdout: true,
      stderr: true,
    });
    // Something of a page may still fail when nobody waits for it any more: the thread ends then, and nothing else.
    started.on("error", () => undefined);
    started.once("exit", () => {
      if (worker === started) worker = undefined;
    });
    return started;
  };
  const end = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  };

  return {
    read: (reading, signal) =>
      slots.hold(async () => {
        if (isClosed) return { kind: "died", problem: "It is being shut down." };
        clearTimeout(idle);
        worker ??= start();
        worker.ref();
        try {
          const outcome = await ask(worker, reading, signal);
          if (outcome.kind === "late" || outcome.kind === "died") await end();
          return outcome;
        } catch (reason) {
          await end();
          throw reason;
        } finally {
          worker?.unref();
          idle = setTimeout(() => void end(), idleMs);
          idle.unref();
        }
      }, signal),
    get isRunning() {
      return worker !== undefined;
    },
    close: () => {
      isClosed = true;
      return end();
    },
  };
}

/** Sends one page and waits for its answer, its limit, the thread's end or the signal, whichever comes first. */
function ask(worker: Worker, reading: Reading, signal: AbortSignal): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const onAnswer = (answer: FromPageWorker): void =>
    resolve(
      "value" in answer ? { kind: "read", value: answer.value } : { kind: "unreadable", problem: answer.problem },
    );
  const onDeath = (thrown: unknown): void =>
    resolve({ kind: "died", problem: String((thrown as { message?: unknown } | null)?.message ?? thrown) });
  const onExit = (code: number): void => resolve({ kind: "died", problem: `exit code ${code}` });
  const onAbort = (): void => reject(signal.reason);
  const limit = setTimeout(
    () => resolve({ kind: "late", problem: `It took longer than ${reading.timeLimitMs / 1000} s.` }),
    reading.timeLimitMs,
  );
  worker.on("message", onAnswer).on("error", onDeath).on("messageerror", onDeath).on("exit", onExit);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  worker.postMessage(reading);
  return promise.finally(() => {
    clearTimeout(limit);
    signal.removeEventListener("abort", onAbort);
    worker.off("message", onAnswer).off("error", onDeath).off("messageerror", onDeath).off("exit", onExit);
  });
}
