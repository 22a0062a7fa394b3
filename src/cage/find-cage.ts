/**
 * find-cage.ts -- finds out which level of cage holds on this machine, by running one. The probe takes about 0.1 s and
 * runs at the first call of `findCage`, once per process.
 */
import { oneLine } from "#core/text.ts";
import { findProgram } from "#util/find-program.ts";
import { type Cage, type CageFinding, type CageLevel, type CageTools, spawnCaged } from "./cage.ts";
import { nodeFiles } from "./node-program.ts";

export interface CageSearch {
  /** Default: `strict`. For tests of a machine without bubblewrap or without limits. */
  readonly atMost?: CageLevel;
  /** Where programs are searched. Default: PATH of this process. */
  readonly path?: string;
}

const ADVICE_INSTALL = "Install bubblewrap, such as with: apt install bubblewrap.";
const ADVICE_NAMESPACES =
  "Permit unprivileged user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or user.max_user_namespaces; in a container, its security options.";
const ADVICE_LINUX = "Run goald on Linux with bubblewrap to read pages in a strict cage.";
const PROBE_MS = 10_000;

let finding: Promise<Cage> | undefined;
let found: CageFinding | null = null;

/** Returns the same cage at every call. */
export async function findCage(): Promise<Cage> {
  finding ??= probeCage();
  const cage = await finding;
  found = { level: cage.level, reason: cage.reason, advice: cage.advice };
  return cage;
}

/** Returns what `findCage` has found in this process; null before. */
export const foundCage = (): CageFinding | null => found;

export async function probeCage({ atMost = "strict", path = process.env.PATH ?? "" }: CageSearch = {}): Promise<Cage> {
  const prlimit = atMost === "off" ? undefined : findProgram("prlimit", path);
  if (!prlimit || process.platform !== "linux" || (await tryTools({ prlimit })) !== undefined)
    return openCage("off", {}, "Limits of memory need Linux and prlimit.", ADVICE_LINUX);
  const setpriv = findProgram("setpriv", path);
  const leash = setpriv && (await tryTools({ prlimit, setpriv })) === undefined ? { setpriv } : {};
  const degraded = (reason: string, advice: string) => openCage("degraded", { prlimit, ...leash }, reason, advice);
  if (atMost !== "strict") return degraded("A stricter cage was not asked for.", ADVICE_INSTALL);
  const bwrap = findProgram("bwrap", path);
  if (!bwrap) return degraded("bubblewrap is not installed.", ADVICE_INSTALL);
  let problem = "";
  // Versions before 0.8 cannot forbid namespaces, and some containers cannot either.
  for (const forbidsNamespaces of [true, false]) {
    const tools = { prlimit, bwrap: { path: bwrap, forbidsNamespaces } };
    const failure = await tryTools(tools);
    if (failure === undefined) return openCage("strict", tools, "bubblewrap and limits of the system hold.", "");
    problem ||= failure;
  }
  return degraded(`bubblewrap cannot make a cage here: ${problem}`, ADVICE_NAMESPACES);
}

const openCage = (level: CageLevel, tools: CageTools, reason: string, advice: string): Cage => ({
  level,
  reason,
  advice,
  spawn: (command) => spawnCaged(tools, command),
});

/** Runs node in such a cage. Returns why it failed; undefined when it ran. */
async function tryTools(tools: CageTools): Promise<string | undefined> {
  const { child, ended, kill } = spawnCaged(tools, {
    command: process.execPath,
    args: ["--version"],
    readOnly: nodeFiles(),
    folder: "/",
    network: "none",
    runsPrograms: false,
    limits: { memoryMegabytes: 1024, cpuSeconds: 10, fileMegabytes: 0, openFiles: 64 },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr?.on("data", (piece: Buffer) => {
    if (output.length < 1_000) output += piece.toString("utf8");
  });
  const limit = setTimeout(kill, PROBE_MS);
  const { code, signal, error } = await ended;
  clearTimeout(limit);
  if (code === 0) return undefined;
  return oneLine(error?.message ?? (output.trim() || `it ended with ${signal ?? `exit code ${code}`}`), 300);
}
