/**
 * git-process.ts -- runs git in its own process group, which ends as a whole, and keeps only a part of its output.
 *
 * If goald is killed, git ends at its next line of progress, because its pipe is closed.
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
  /** Receives all output. Without it, the first 64 KB are kept. */
  readonly onOutput?: (piece: Buffer) => void;
}
export interface GitEnd {
  readonly code: number | null;
  readonly output: string;
  /** The last 64 KB of stderr. */
  readonly errorOutput: string;
}

const MAX_OUTPUT_BYTES = 64 * 1024;

/** Rejects with the signal's reason, and with GOALD_GIT if git cannot be started. */
export function runGit({ git, args, folder, env, signal, onOutput }: GitRun): Promise<GitEnd> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<GitEnd>();
  const child = spawn(git, args, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let [output, errorOutput] = [Buffer.alloc(0), Buffer.alloc(0)];
  child.stdout.on("data", (piece: Buffer) => {
    if (onOutput) onOutput(piece);
    else if (output.length < MAX_OUTPUT_BYTES) output = Buffer.concat([output, piece]).subarray(0, MAX_OUTPUT_BYTES);
  });
  child.stderr.on("data", (piece: Buffer) => {
    errorOutput = Buffer.concat([errorOutput, piece]).subarray(-MAX_OUTPUT_BYTES);
  });
  const endGit = (): void => endGroup(child.pid);
  signal.addEventListener("abort", endGit, { once: true });
  child.on("error", (cause) => {
    signal.removeEventListener("abort", endGit);
    reject(new GoaldError("GOALD_GIT", `git could not be started: ${cause.message}.`, { hint: "Install git.", cause }));
  });
  child.on("close", (code) => {
    signal.removeEventListener("abort", endGit);
    // End any process that git left behind.
    endGroup(child.pid);
    if (signal.aborted) reject(signal.reason);
    else resolve({ code, output: output.toString("utf8"), errorOutput: errorOutput.toString("utf8") });
  });
  return promise;
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}
