/**
 * git-process.ts -- one run of git: its own process group, which ends as a whole; little of what it says is kept.
 *
 * It is left to itself by a process that was killed: then its next word of progress finds nobody, and it ends.
 */
import { spawn } from "node:child_process";
import { GoaldError } from "#core/errors.ts";

export interface GitRun {
  /** Absolute path of the program. */
  readonly git: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Told all of its output; else up to 64 KB are kept. */
  readonly onOutput?: (piece: Buffer) => void;
}
export interface GitEnd {
  readonly code: number | null;
  readonly output: string;
  /** What it said of itself, the end of it. */
  readonly said: string;
}

const KEPT_BYTES = 64 * 1024;

/** Rejects with the signal's reason when it is aborted, and GOALD_GIT when git cannot be started. */
export function runGit({ git, args, folder, env, signal, onOutput }: GitRun): Promise<GitEnd> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<GitEnd>();
  const child = spawn(git, args, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let [output, said] = [Buffer.alloc(0), Buffer.alloc(0)];
  child.stdout.on("data", (piece: Buffer) => {
    if (onOutput) onOutput(piece);
    else if (output.length < KEPT_BYTES) output = Buffer.concat([output, piece]).subarray(0, KEPT_BYTES);
  });
  child.stderr.on("data", (piece: Buffer) => {
    said = Buffer.concat([said, piece]).subarray(-KEPT_BYTES);
  });
  const end = (): void => endGroup(child.pid);
  signal.addEventListener("abort", end, { once: true });
  child.on("error", (cause) => {
    signal.removeEventListener("abort", end);
    reject(new GoaldError("GOALD_GIT", `git could not be started: ${cause.message}.`, { hint: "Install git.", cause }));
  });
  child.on("close", (code) => {
    signal.removeEventListener("abort", end);
    // Whatever it may have left behind.
    endGroup(child.pid);
    if (signal.aborted) reject(signal.reason);
    else resolve({ code, output: output.toString("utf8"), said: said.toString("utf8") });
  });
  return promise;
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
