/** cell-problems.ts -- why a cell ended without an outcome of its own, in words for the model. */
import type { CagedEnd } from "#cage/cage.ts";
import type { CellOutcome, CellProblem } from "#core/ports/sandbox.ts";

/** How V8 ends when it gets no more memory. */
const MEMORY_SIGNALS = new Set<NodeJS.Signals | null>(["SIGABRT", "SIGTRAP", "SIGILL", "SIGSEGV", "SIGBUS"]);

const problem = (kind: CellProblem["kind"], type: string, message: string): CellProblem => ({
  kind,
  type,
  message,
  line: null,
  source: null,
});

export const timeoutProblem = (limitMs: number): CellProblem =>
  problem("timeout", "TimeoutError", `The code ran longer than ${limitMs / 1000} s and was stopped.`);
export const loadingProblem = (): CellProblem =>
  problem("timeout", "TimeoutError", "The code did not run, because the variables could not be loaded in time.");
export const savingProblem = (): CellProblem =>
  problem("timeout", "TimeoutError", "The code ended, but its variables could not be saved in time.");
export const brokenProblem = (reason: string): CellProblem =>
  problem(
    "died",
    "SandboxError",
    `The process that runs the code sent what is not a message, so it was ended. ${reason}`,
  );
export const closedProblem = (): CellProblem => problem("died", "SandboxError", "The sandbox is being shut down.");
export const startProblem = (reason: string): CellProblem =>
  problem("died", "SandboxError", `The process that runs the code could not start: ${reason}.`);

export function endProblem({ code, signal, error }: CagedEnd, memoryMegabytes: number): CellProblem {
  if (error) return startProblem(error.message);
  if (MEMORY_SIGNALS.has(signal))
    return problem(
      "memory",
      "MemoryError",
      `The code needed more than ${memoryMegabytes} MB of memory, and its process died.`,
    );
  if (signal === "SIGXCPU" || signal === "SIGKILL")
    return problem(
      "died",
      "SandboxError",
      "The system ended the process that runs the code: too much memory or processor time.",
    );
  return problem("died", "SandboxError", `The process that runs the code ended with ${signal ?? `exit code ${code}`}.`);
}

/** The outcome of a cell whose process is gone. */
export const goneOutcome = (gone: CellProblem, durationMs: number): CellOutcome => ({
  kind: "failed",
  problem: gone,
  output: "",
  isCut: false,
  saved: null,
  lost: [],
  durationMs,
});
