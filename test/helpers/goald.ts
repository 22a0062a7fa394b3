/**
 * goald.ts -- runs the real binary, `node src/goald.js …`, in a home, a user's home and a folder of its own.
 *
 * Only PATH is taken from the machine's environment: no keys, no other home, no other configuration. A program can run
 * through a shell (limits, pipes), be killed, or run on a terminal by util-linux's `script`, where a test types after
 * it has seen the prompt.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";
import { connectHost } from "#api/client.ts";
import { findHome, type Home } from "#config/home.ts";
import type { RecordedEvent } from "#core/event.ts";
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { openVerbProcess } from "./verbs.ts";
import { killIfAlive, waitUntil } from "./waits.ts";

const BINARY = fileURLToPath(new URL("../../src/goald.js", import.meta.url));
/** A program without output for this time is killed. The limit is shorter than a test's own. */
const WAIT_LIMIT_MS = 45_000;

/** Flags of an agent `t`, and its run in front without questions. */
export const AGENT = ["--name", "T", "--role", "r", "--goal", "g"];
export const RUN = ["run", ...AGENT, "--continuous", "--json"];

/** The homes of one test file share this process. Those that its tests share are closed at its end. */
const verbs = openVerbProcess();
const open = new Set<AsyncDisposable>();
afterAll(async () => {
  for (const one of open) await one[Symbol.asyncDispose]();
  verbs.close();
});

export interface StartOptions {
  /** Added to the clean environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to standard input, which is then closed. */
  readonly input?: string;
  /** Modules that Node loads first. */
  readonly imports?: readonly string[];
  /** A shell script with "$@" in the place of the command. */
  readonly shell?: string;
  /** Another copy of goald.js. */
  readonly binary?: string;
}

/** The words of a call: a list, or a text that is split at its blanks. */
export type Words = string | readonly string[];

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** null when a signal ended the process. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process under way. */
export type Running = ReturnType<Goald["start"]>;
/** A process on its own terminal. Its output contains carriage returns and colours. */
export type Terminal = ReturnType<Goald["openTerminal"]>;
export type Goald = Awaited<ReturnType<typeof makeGoald>>;

type AskOptions = Pick<StartOptions, "env" | "cwd">;

/** `env` applies to every started program. */
export async function makeGoald(env: StartOptions["env"] = {}) {
  const folder = await mkdtemp(join(tmpdir(), "goald-cli-"));
  // No parent of the working directory is a home.
  const [home, userHome, cwd] = [join(folder, "home"), join(folder, "user"), join(folder, "cwd")];
  await Promise.all([mkdir(userHome), mkdir(cwd)]);
  const clean = {
    PATH: process.env.PATH,
    HOME: userHome,
    XDG_CONFIG_HOME: join(userHome, ".config"),
    TMPDIR: tmpdir(),
    LANG: "C.UTF-8",
    GOALD_HOME: home,
    ...env,
  };
  const alive = new Set<ChildProcessWithoutNullStreams>();
  const environmentOf = ({ env: more }: Pick<StartOptions, "env">): Record<string, string> =>
    Object.fromEntries(
      Object.entries({ ...clean, ...more }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );

  function spawnIn(command: readonly string[], options: StartOptions): ChildProcessWithoutNullStreams {
    const [program = "", ...args] = command;
    const environment = environmentOf(options);
    // A process group of its own, so that all left-over processes can be killed together.
    const child = spawn(program, args, { cwd: options.cwd ?? cwd, env: environment, stdio: "pipe", detached: true });
    alive.add(child);
    child.on("close", () => alive.delete(child));
    child.stdin.on("error", () => undefined);
    return child;
  }

  function start(args: Words, options: StartOptions = {}) {
    const output = watch(spawnIn(commandOf(args, options), options));
    output.child.stdin.end(options.input ?? "");
    return {
      get stdout() {
        return output.text.stdout;
      },
      ended: output.ended,
      /** Resolves when `text` is in standard output, or in standard error. */
      see: (text: string, on: "stdout" | "stderr" = "stdout") =>
        output.until(() => output.text[on].includes(text), text),
      kill: (signal: NodeJS.Signals) => output.child.kill(signal),
    };
  }

  function openTerminal(args: Words, options: StartOptions = {}) {
    const command = commandOf(args, options).map(quote).join(" ");
    const env = { TERM: "xterm-256color", SHELL: "/bin/sh", ...options.env };
    const output = watch(spawnIn(["script", "-qec", command, "/dev/null"], { ...options, env }));
    let seen = 0;
    /** Waits until `text` has come after what was seen before. */
    const see = async (text: string): Promise<void> => {
      await output.until(() => output.text.stdout.indexOf(text, seen) >= 0, text);
      seen = output.text.stdout.indexOf(text, seen) + text.length;
    };
    const type = (text: string): void => {
      output.child.stdin.write(text);
    };
    return {
      /** Everything shown so far. */
      get shown() {
        return output.text.stdout;
      },
      ended: output.ended,
      type,
      see,
      /** Waits for the prompt, then types the line. */
      answer: async (prompt: string, line: string): Promise<void> => {
        await see(prompt);
        type(`${line}\r`);
      },
    };
  }

  /** Runs a call in a shared process, one call at a time: output and exit code only, at a tenth of the cost. */
  const ask = async (args: Words, options: AskOptions = {}): Promise<Ended> => ({
    ...(await verbs.ask({ args: wordsOf(args), cwd: options.cwd ?? cwd, env: environmentOf(options) })),
    signal: null,
  });

  const goald = {
    home,
    userHome,
    cwd,
    start,
    openTerminal,
    run: (args: Words, options?: StartOptions) => start(args, options).ended,
    ask,
    /** Asks, and returns standard output. Throws unless the exit code is 0. */
    print: async (args: Words, options?: AskOptions) => endedWith(0, await ask(args, options)).stdout,
    /** Asks with --json, and parses standard output. Throws unless the exit code is 0. */
    json: async <T = Record<string, unknown>>(args: Words, options?: AskOptions) =>
      jsonOf<T>(await ask([...wordsOf(args), "--json"], options)),
    /** Reads a file below the home; undefined when it is missing. */
    read: (path: string): Promise<string | undefined> => readFile(join(home, path), "utf8").catch(() => undefined),
    /** Writes a file below the home. */
    write: async (path: string, text: string, mode = 0o600): Promise<void> => {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), text, { mode });
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      open.delete(goald);
      for (const child of alive) endGroup(child);
      // A call may have started the daemon, also that of another home in this folder.
      for (const started of [home, folder]) await daemonOf({ home: started })[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
  open.add(goald);
  return goald;
}

/** Parses each line of standard output as JSON. Throws for any other line. */
export const linesOf = ({ stdout }: Pick<Ended, "stdout">): readonly Record<string, unknown>[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Returns `ended` when it has that exit code. Else throws with its output. */
export function endedWith(code: number, ended: Ended): Ended {
  if (ended.code === code) return ended;
  const end = ended.code === null ? `by ${ended.signal}` : `with ${ended.code}`;
  throw new Error(`Expected it to end with ${code}, it ended ${end}:\n${ended.stderr}\n${ended.stdout.slice(-2_000)}`);
}

/** Parses standard output as JSON. Throws when the exit code is not 0. */
export const jsonOf = <T = Record<string, unknown>>(ended: Ended): T => JSON.parse(endedWith(0, ended).stdout) as T;

/** Reads an agent's log and the store's problems without starting a process. The log of an unknown agent is empty. */
export async function lookInto(
  { home }: Pick<Goald, "home">,
  agent = "t",
): Promise<{ readonly log: readonly RecordedEvent[]; readonly problems: readonly string[] }> {
  return readStore({ home }, async (reader) => {
    const { problems } = await reader.verify();
    return { log: (await reader.agent(agent)) ? await reader.read(agent, 0, 10_000) : [], problems };
  });
}

/** Reads the store of a home without starting a process. */
export async function readStore<T>(
  { home }: Pick<Goald, "home">,
  read: (reader: StoreReader) => Promise<T>,
): Promise<T> {
  const reader = await openSqliteReader(join(home, ".goald", "goald.db"));
  try {
    return await read(reader);
  } finally {
    await reader.close();
  }
}

/** The live rows of a memory, oldest first. */
export const memoriesIn = (goald: Pick<Goald, "home">, namespace: string): Promise<readonly MemoryRow[]> =>
  readStore(goald, async (reader) => (await reader.memories(namespace, 0, 10_000)).filter(isLive));

/** Plays a recording in a home below `cwd`, and returns the last line, which holds the result. */
export const playRecording = async ({ ask, cwd }: Pick<Goald, "ask" | "cwd">, file: string, code = 0) =>
  linesOf(endedWith(code, await ask(["replay", file, "--json"], { env: { TMPDIR: cwd } }))).at(-1);

/** The home of a test, found by its flag. */
export const homeOf = ({ home, cwd, userHome }: Pick<Goald, "home" | "cwd" | "userHome">): Promise<Home> =>
  findHome({
    flag: home,
    env: {},
    cwd,
    checkout: undefined,
    userHome,
    configHome: undefined,
    isTerminal: false,
    askTrust: async () => false,
    uid: process.getuid?.(),
  });

/** Parses the error that --json prints on standard error. */
export const errorOf = ({ stderr }: Pick<Ended, "stderr">): { code: string; message: string; hint: string } =>
  (JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }).error;

export const wordsOf = (args: Words): readonly string[] => (typeof args === "string" ? args.split(" ") : args);

function commandOf(args: Words, { imports = [], shell, binary = BINARY }: StartOptions): readonly string[] {
  const hooks = imports.flatMap((file) => ["--import", file]);
  const command = [process.execPath, ...hooks, binary, ...wordsOf(args)];
  return shell === undefined ? command : ["sh", "-c", shell, "sh", ...command];
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function watch(child: ChildProcessWithoutNullStreams) {
  const text = { stdout: "", stderr: "" };
  let wake = (): void => {};
  let end: Ended | undefined;
  const onSilence = (): void => {
    text.stderr += `[ended by the test: silent for ${WAIT_LIMIT_MS} ms]`;
    endGroup(child);
  };
  let silence = setTimeout(onSilence, WAIT_LIMIT_MS);
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (more: string) => {
      clearTimeout(silence);
      silence = setTimeout(onSilence, WAIT_LIMIT_MS);
      text[name] += more;
      wake();
    });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(silence);
      end = { ...text, code, signal };
      resolve(end);
      wake();
    });
  });
  /** Checks again after each output. Rejects when the process ends before `isThere` holds. */
  async function until(isThere: () => boolean, what: string): Promise<void> {
    while (!isThere()) {
      if (end)
        throw new Error(
          `It ended with ${end.code ?? end.signal} without ${JSON.stringify(what)}. It had shown:\n${text.stdout}\n${text.stderr}`,
        );
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return { child, text, ended, until };
}

function endGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid !== undefined) killIfAlive(-pid);
}

// Tables of calls that goald refuses, judged in one test each.

/** A call, its exit code, and what its message and its hint say. */
export type RefusedCall = readonly [call: Words, code: number, message: RegExp, hint?: RegExp];

/** Makes each call with --json. Returns those without a refusal like it: one JSON error, and no standard output. */
export async function notRefused(goald: Pick<Goald, "ask">, calls: readonly RefusedCall[]): Promise<readonly object[]> {
  const others: object[] = [];
  for (const [words, code, message, hint = /^/] of calls) {
    const args = [...wordsOf(words), "--json"];
    const ended = await goald.ask(args);
    const isRefused = ended.code === code && ended.stdout === "" && isError(ended.stderr, message, hint);
    if (!isRefused) others.push({ args, expected: { code, message, hint }, ended });
  }
  return others;
}

function isError(stderr: string, message: RegExp, hint: RegExp): boolean {
  if (!stderr.startsWith('{"error":') || /undefined|\[object/.test(stderr)) return false;
  const error = errorOf({ stderr });
  return /^GOALD_[A-Z_]+$/.test(error.code) && message.test(error.message) && hint.test(error.hint);
}

// What `goald doctor --json` finds in a home.

export interface DoctorReport {
  readonly errors: number;
  readonly warnings: number;
  readonly findings: readonly { check: string; level: string; text: string; advice: string }[];
  readonly repaired: readonly { text: string }[];
}

/** Expects this exit code. */
export async function examine(
  goald: Goald,
  code: number,
  args: readonly string[] = [],
  env: StartOptions["env"] = {},
): Promise<DoctorReport> {
  return JSON.parse(endedWith(code, await goald.ask(["doctor", "--json", ...args], { env })).stdout) as DoctorReport;
}
export const levelOf = ({ findings }: DoctorReport, check: string): readonly string[] =>
  findings.filter((finding) => finding.check === check).map(({ level }) => level);
/** Texts and advice of a check, one a line. */
export const textOf = ({ findings }: DoctorReport, check: string): string =>
  findings.flatMap((one) => (one.check === check ? [`${one.text} ${one.advice}`] : [])).join("\n");

// The daemon of a test's home: finds it, calls it, and kills it when the test is over.
//
// The daemon runs in a session of its own, so its processes are found in /proc.

export type TestDaemon = ReturnType<typeof daemonOf>;

export function daemonOf({ home }: Pick<Goald, "home">) {
  const privateFolder = join(home, ".goald");
  const lock = join(privateFolder, "lock.db");

  /** Returns the process id of the holder of the home's lock. Throws when there is none. */
  function pid(): number {
    const info = isHostHeld(lock) ? readHostInfo(lock) : undefined;
    if (!info) throw new Error(`Nobody runs the agents of ${home}.`);
    return info.pid;
  }

  /** Sends SIGKILL; resolves when the lock is free. */
  async function kill(): Promise<void> {
    const holder = pid();
    process.kill(holder, "SIGKILL");
    await waitUntil("the killed host's lock is free", () => !isHostHeld(lock) || readHostInfo(lock)?.pid !== holder);
  }

  return {
    client: connectHost(join(privateFolder, "daemon.sock")),
    pid,
    isHeld: () => isHostHeld(lock),
    /** Returns the processes that were started as the daemon of this home, also those that are ending. */
    processes: () => processesOf(home),
    kill,
    until: waitUntil,
    [Symbol.asyncDispose]: async () => {
      // Without this file no other process starts a new daemon. A test may have put a file in the place of the home.
      await rm(join(privateFolder, "wanted"), { force: true }).catch(() => undefined);
      await waitUntil("no daemon is left", async () => {
        const left = await processesOf(home);
        left.forEach(killIfAlive);
        return left.length === 0;
      });
    },
  };
}

/** Sends SIGKILL to a run in front and to its daemon. */
export async function killRun(goald: Pick<Goald, "home">, running: Running): Promise<void> {
  running.kill("SIGKILL");
  await running.ended;
  await daemonOf(goald).kill();
}

/** Finds daemons in the background and those under a service manager, whose home is this folder or in it. */
async function processesOf(home: string): Promise<readonly number[]> {
  const numbers = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    numbers.map(async (name) => {
      const words = (await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
      const isDaemon = words.includes("daemon") || words.includes("--foreground");
      const isBelow = words.some((word) => word === home || word.startsWith(`${home}/`));
      return isDaemon && isBelow ? [Number(name)] : [];
    }),
  );
  return found.flat();
}
