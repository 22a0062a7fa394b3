/**
 * spawn-daemon.ts -- starts the daemon's process and waits for its message about the start; starts a browser. The
 * daemon outlives this process and its terminal: it has its own process group, no input, and output to daemon.out. A
 * channel to this process exists only until the daemon is ready. The daemon keeps the inherited environment.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, existsSync, fchmodSync, fstatSync, openSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Home } from "#config/home.ts";
import { openHome } from "#config/open-home.ts";
import { codeOf, daemonError, type ErrorCode, GoaldError, machineAdvice, orUndefined, toError } from "#core/errors.ts";
import { asRecord } from "#util/json.ts";
import { clean } from "#util/outside-text.ts";
import { createRedactor } from "#util/redact.ts";

export interface SpawnOptions {
  /** Maximum time of a start in ms. */
  readonly readyMs?: number;
  /** Replaces the shipped program in tests. */
  readonly program?: string;
}

/** A start takes less than 500 ms (measured on an idle machine). It hangs in Node itself where no thread may start. */
const READY_MS = 10_000;
/**
 * Limits V8's semi-space to 8 MB, which is enough for many agents (host/supervisor.ts). Without the second option
 * SIGUSR1 opens a debugger that any program of this machine can use.
 */
export const DAEMON_OPTIONS: readonly string[] = ["--max-semi-space-size=8", "--disable-sigusr1"];
/**
 * Options of glibc's malloc: arrays from 128 KB on go back to the system when they are freed, which malloc else stops
 * after the first large one, and all threads share two arenas. A daemon with 20 agents takes 20 MB less.
 */
export const DAEMON_ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" } as const;
const MAX_OUT_BYTES = 1024 * 1024;
const TAIL_BYTES = 4_096;
const TAIL_LINES = 12;

/** Path of `goald.js`, in the `src` folder of a checkout or of the package. */
export const GOALD_PROGRAM: string =
  ["../goald.js", "../../../src/goald.js"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find(existsSync) ?? "goald.js";

export const outputFileOf = ({ logFolder }: Pick<Home, "logFolder">): string => join(logFolder, "daemon.out");

/** Returns the pid of the new daemon; undefined when another one was first. Throws the error that it ended with, or GOALD_DAEMON. */
export async function spawnDaemon(home: Home, options: SpawnOptions = {}): Promise<number | undefined> {
  const { readyMs = READY_MS, program = GOALD_PROGRAM } = options;
  await openHome(home, process.getuid?.());
  const output = openOutput(outputFileOf(home));
  const sizeBefore = fstatSync(output).size;
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [...DAEMON_OPTIONS, program, "daemon", "--home", home.root], {
      detached: true,
      stdio: ["ignore", output, output, "ipc"],
      cwd: "/",
      env: { ...DAEMON_ENVIRONMENT, ...process.env },
    });
  } finally {
    closeSync(output);
  }
  try {
    return await handshakeOf(child, readyMs, () => tailOf(outputFileOf(home), sizeBefore));
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function handshakeOf(child: ChildProcess, readyMs: number, readTail: () => string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        fail(
          `did not become ready within ${readyMs / 1000} s`,
          `It may still come: goald status\nEnd it if it does not: kill ${child.pid}\nSee its log: goald doctor\nSee whether you may start more processes: ulimit -u`,
        ),
      readyMs,
    );
    const fail = (what: string, hint: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(daemonError(`The daemon ${what}.`, machineAdvice(cause) ?? hint, cause));
    };
    child.once("error", (error) => fail(`could not be started: ${error.message}`, "See: goald doctor", error));
    child.once("message", (message) => {
      clearTimeout(timer);
      try {
        resolve(readHandshake(message));
      } catch (thrown) {
        reject(toError(thrown));
      }
    });
    // Waits for `close`, because `exit` may precede the last message.
    child.once("close", (code, signal) => {
      const end = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
      fail(`${end} before it was ready`, readTail() || "It said nothing. See: goald doctor");
    });
  });
}

/** Reads the message that a daemon sends once. Throws the error that prevented the start. */
function readHandshake(message: unknown): number | undefined {
  const said = asRecord(message);
  const { ready, failed } = said as {
    readonly ready?: { readonly pid: number };
    readonly failed?: { readonly code: ErrorCode; readonly message: string; readonly hint: string };
  };
  if (ready) return ready.pid;
  if ("already" in said) return undefined;
  if (failed?.code === "GOALD_INTERNAL")
    throw daemonError(`The daemon could not start: ${failed.message}`, failed.hint);
  if (failed) throw new GoaldError(failed.code, failed.message, { hint: failed.hint });
  throw daemonError(
    `The daemon said something unexpected: ${clean(JSON.stringify(message) ?? "")}`,
    "Is another version of goald installed? See: goald doctor",
  );
}

/**
 * Starts the person's browser, which outlives this process. Resolves to false when the system has no program that opens
 * addresses. Other users see the address among the processes.
 */
export function openInBrowser(url: string): Promise<boolean> {
  const child = spawn(process.platform === "darwin" ? "open" : "xdg-open", [url], { detached: true, stdio: "ignore" });
  child.unref();
  return new Promise((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
}

/** Throws GOALD_DAEMON, also for a link, which could redirect the output into any file of this user. */
function openOutput(path: string): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  const open = (): number => {
    try {
      return openSync(path, flags, 0o600);
    } catch (cause) {
      const error = toError(cause);
      const isLink = codeOf(error) === "ELOOP";
      throw daemonError(
        `The daemon cannot start: its output file ${path} ${isLink ? "is a link" : `cannot be opened: ${error.message}`}.`,
        "Remove it, or move it away.",
        cause,
      );
    }
  };
  let file = open();
  if (fstatSync(file).size > MAX_OUT_BYTES) {
    closeSync(file);
    renameSync(path, `${path}.1`);
    file = open();
  }
  fchmodSync(file, 0o600);
  return file;
}

/** Returns the last lines that were added to the file, which has hardly more than `MAX_OUT_BYTES` at a start. */
function tailOf(path: string, from: number): string {
  const added = orUndefined(() => readFileSync(path).subarray(from).subarray(-TAIL_BYTES).toString("utf8")) ?? "";
  const text = createRedactor([])(clean(added)).trim();
  return text.split("\n").slice(-TAIL_LINES).join("\n");
}
