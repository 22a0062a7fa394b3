/**
 * cage.ts -- runs a child process with limits of the system, without goald's environment, and cut off from the machine.
 * `strict`: bubblewrap gives it namespaces of its own, so it sees only the listed paths and no network. `degraded`:
 * only limits and an empty environment hold. `off`: only the empty environment. The child dies with this process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { constants } from "node:os";
import { machineAdvice, orUndefined } from "#core/errors.ts";
import { MEBIBYTE } from "#core/text.ts";
import { syscallFilter } from "./syscall-filter.ts";

export type CageLevel = "strict" | "degraded" | "off";

export interface CagedCommand {
  /** Absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute paths of files and folders. A missing one is left out. Only `strict` hides all others. */
  readonly readOnly: readonly string[];
  readonly writable?: readonly string[];
  readonly folder: string;
  /**
   * `host`: the network of this machine. `unix`: only Unix sockets among the listed paths. `degraded` and `off` cannot cut
   * the network off.
   */
  readonly network: "none" | "unix" | "host";
  /** True shows the system's programs and libraries, and permits child processes. */
  readonly runsPrograms: boolean;
  readonly limits: CageLimits;
  /** The whole environment. Default: empty. */
  readonly environment?: Readonly<Record<string, string>>;
  /** At least stdin, stdout and stderr; further ones are descriptors 3, 4 and so on in the child. */
  readonly stdio: readonly ("ignore" | "pipe")[];
}

export interface CagedEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Set when it could not be started. */
  readonly error?: Error;
}

export interface CagedProcess {
  /** Without `stdio` when it could not be started because of too many open files. */
  readonly child: ChildProcess;
  /** Kills the process and all that it started. */
  kill(): void;
  /** Settles when it has ended and its output is closed. Never rejects. */
  readonly ended: Promise<CagedEnd>;
}

export interface CageFinding {
  readonly level: CageLevel;
  /** A sentence that says what holds, or why no more does. */
  readonly reason: string;
  /** A sentence that says how to get `strict`; empty when it holds. */
  readonly advice: string;
}

export interface Cage extends CageFinding {
  spawn(command: CagedCommand): CagedProcess;
}

/** Programs that the probe found. Absent: not used. */
export interface CageTools {
  readonly prlimit?: string;
  readonly bwrap?: { readonly path: string; readonly forbidsNamespaces: boolean };
  /** Ends a child with its parent where bubblewrap does not. */
  readonly setpriv?: string;
}

export function spawnCaged(tools: CageTools, command: CagedCommand): CagedProcess {
  const { bwrap } = tools;
  const filter = bwrap ? syscallFilter(command) : undefined;
  const [program = "", ...args] = [
    ...(tools.prlimit ? [tools.prlimit, ...prlimitArgs(command.limits), "--"] : []),
    ...(bwrap ? [bwrap.path, ...bwrapArgs(command, bwrap, filter && command.stdio.length)] : leashArgs(tools)),
    command.command,
    ...command.args,
  ];
  const child = spawn(program, args, {
    cwd: bwrap ? "/" : command.folder,
    // bubblewrap gets the same environment, because a process in the cage could read that of bubblewrap.
    env: { ...command.environment },
    detached: true,
    stdio: [...command.stdio, ...(filter ? ["pipe" as const] : [])],
  });
  if (filter) sendFilter(child, command.stdio.length, filter);
  const { pid } = child;
  const kill = (): void => {
    // Throws when the group has already ended.
    if (pid !== undefined) orUndefined(() => process.kill(-pid, "SIGKILL"));
  };
  return { child, kill, ended: waitForEnd(child, bwrap !== undefined).finally(kill) };
}

const leashArgs = ({ setpriv }: CageTools): readonly string[] =>
  setpriv ? [setpriv, "--pdeathsig", "KILL", "--no-new-privs", "--"] : [];

function sendFilter(child: ChildProcess, descriptor: number, filter: Buffer): void {
  const pipe = child.stdio?.[descriptor];
  if (!pipe || !("end" in pipe)) return;
  pipe.on("error", () => undefined);
  pipe.end(filter);
}

function waitForEnd(child: ChildProcess, isWrapped: boolean): Promise<CagedEnd> {
  const { promise, resolve } = Promise.withResolvers<CagedEnd>();
  child.on("error", (error) => {
    const advice = machineAdvice(error);
    if (advice !== undefined) error.message += `. ${advice}`;
    resolve({ code: null, signal: null, error });
  });
  child.on("close", (code, signal) => resolve(isWrapped ? unwrapEnd(code, signal) : { code, signal }));
  return promise;
}

/** bubblewrap reports a child that a signal ended as exit code 128 and the number of the signal. */
function unwrapEnd(code: number | null, signal: NodeJS.Signals | null): CagedEnd {
  const found = Object.entries(constants.signals).find(([, number]) => code !== null && number === code - 128);
  return found ? { code: null, signal: found[0] as NodeJS.Signals } : { code, signal };
}

/** The user "nobody". Files of the owner of the host appear under it. */
const INNER_ID = "65534";
const TEMPORARY_BYTES = 16 * 1024 * 1024;
/** Where programs and libraries are. On most systems all but the first are links into /usr. */
const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"] as const;
const SYSTEM_FILES = ["/etc/ld.so.cache", "/etc/alternatives"] as const;

/** `filterDescriptor`: where bubblewrap reads the system call filter; undefined without one. */
function bwrapArgs(
  { readOnly, writable = [], folder, network, runsPrograms }: CagedCommand,
  { forbidsNamespaces }: NonNullable<CageTools["bwrap"]>,
  filterDescriptor: number | undefined,
): readonly string[] {
  return [
    ...["--unshare-all", "--unshare-user", "--uid", INNER_ID, "--gid", INNER_ID, "--hostname", "cage"],
    ...(forbidsNamespaces ? ["--disable-userns"] : []),
    ...(network === "host" ? ["--share-net"] : []),
    // Not --new-session: the process group is how a cage is killed while it starts, and it has a session without a terminal already.
    ...["--die-with-parent", "--cap-drop", "ALL"],
    ...(filterDescriptor === undefined ? [] : ["--seccomp", `${filterDescriptor}`]),
    ...["--size", `${TEMPORARY_BYTES}`, "--tmpfs", "/tmp"],
    ...(runsPrograms ? [...systemArgs(), "--dev", "/dev"] : []),
    ...readOnly.flatMap((path) => ["--ro-bind-try", path, path]),
    ...writable.flatMap((path) => ["--bind", path, path]),
    // The root of a cage is in memory, where a process could otherwise write without a limit.
    ...["--remount-ro", "/", "--chdir", folder, "--"],
  ];
}

const systemArgs = (): readonly string[] => [
  ...SYSTEM_FOLDERS.flatMap((path) => {
    // Throws for what is not a link.
    const target = orUndefined(() => readlinkSync(path));
    return target === undefined ? ["--ro-bind-try", path, path] : ["--symlink", target, path];
  }),
  ...SYSTEM_FILES.flatMap((path) => ["--ro-bind-try", path, path]),
];

interface CageLimits {
  /** Private memory of each process, reserved memory included: see `NODE_RESERVE_MEGABYTES`. */
  readonly memoryMegabytes: number;
  /** Processor time of each process over its whole life. */
  readonly cpuSeconds: number;
  /** Size of each file that it writes. */
  readonly fileMegabytes: number;
  readonly openFiles: number;
}

/** V8 recurses deeply in nested pages; the usual limit is 8 MB. */
const STACK_BYTES = 8 * MEBIBYTE;

/** V8 reserves the range of its code as private memory without using it: 512 MB on x64, 128 MB on arm64. */
export const NODE_RESERVE_MEGABYTES = process.arch === "arm64" ? 128 : 512;

/** Never raises a limit of this process, which only root may. */
function prlimitArgs({ memoryMegabytes, cpuSeconds, fileMegabytes, openFiles }: CageLimits): readonly string[] {
  const { userLimits } = readMachine();
  const limit = (name: string, value: number, inReport: string): string => {
    // "unlimited" is no number.
    const hard = Number(userLimits[inReport]?.hard);
    return `--${name}=${hard < value ? hard : value}`;
  };
  return [
    limit("data", memoryMegabytes * MEBIBYTE, "data_seg_size_bytes"),
    limit("cpu", cpuSeconds, "cpu_time_seconds"),
    limit("fsize", fileMegabytes * MEBIBYTE, "file_size_blocks"),
    limit("nofile", openFiles, "open_files"),
    limit("stack", STACK_BYTES, "stack_size_bytes"),
    limit("core", 0, "core_file_size_blocks"),
  ];
}

interface Machine {
  /** In the units of prlimit, by Node's name. */
  readonly userLimits: Readonly<Record<string, { readonly hard: number | string } | undefined>>;
  /** Absolute paths of shared libraries. */
  readonly libraries: readonly string[];
}

let known: Machine | undefined;

/**
 * Reads from Node's report the hard limits of this process, and the libraries that it has loaded. Takes 3 ms at the
 * first call.
 */
export function readMachine(): Machine {
  if (known) return known;
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  // Without it, Node's report looks up names of network addresses.
  report.excludeNetwork = true;
  const { sharedObjects = [], userLimits = {} } = report.getReport() as {
    readonly sharedObjects?: readonly string[];
    readonly userLimits?: Machine["userLimits"];
  };
  report.excludeNetwork = excludeNetwork;
  known = { userLimits, libraries: sharedObjects.filter((path) => path.startsWith("/")) };
  return known;
}
