/**
 * git-process.ts -- runs git in a cage: it sees its own programs, certificates and one folder, and nothing of goald's
 * environment. Keeps only a part of its output.
 */

import { realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { Cage, CagedCommand } from "#cage/cage.ts";
import { GoaldError } from "#core/errors.ts";
import { MEBIBYTE } from "#util/mebibyte.ts";
import { CERTIFICATE_VARIABLES } from "./git-guard.ts";

export interface GitRun {
  readonly cage: Cage;
  /** Absolute path of the program. */
  readonly git: string;
  readonly args: readonly string[];
  /** The only folder that git may change; undefined for none. */
  readonly folder: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly network: CagedCommand["network"];
  /** Further files that git may read. */
  readonly readOnly?: readonly string[];
  /** Maximum size of each file that git writes. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Receives all output. Without it, the first 64 KB are kept. */
  readonly onOutput?: ((piece: Buffer) => void) | undefined;
}
export interface GitEnd {
  readonly code: number | null;
  readonly output: string;
  /** The last 64 KB of stderr. */
  readonly errorOutput: string;
}

const MAX_OUTPUT_BYTES = 64 * 1024;
/** Of each process of git. Larger files are streamed: see `core.bigFileThreshold` in git-guard.ts. */
const LIMITS = { memoryMegabytes: 1024, cpuSeconds: 300, openFiles: 256 } as const;
/** Where systems keep the certificates of authorities, without the keys that are often beside them. */
const CERTIFICATES = [
  "/etc/ssl/certs",
  "/etc/ssl/cert.pem",
  "/etc/pki/tls/certs",
  "/etc/pki/tls/cert.pem",
  "/etc/pki/ca-trust/extracted",
  "/etc/ca-certificates",
] as const;

/** Rejects with the signal's reason, and with GOALD_GIT if git cannot be started. */
export async function runGit(run: GitRun): Promise<GitEnd> {
  const { cage, git, args, folder, env, network, readOnly = [], maxBytes, signal, onOutput } = run;
  signal.throwIfAborted();
  const { child, kill, ended } = cage.spawn({
    command: git,
    args,
    readOnly: [...programFolders(git), ...certificatePaths(env), ...readOnly],
    writable: folder === undefined ? [] : [folder],
    folder: folder ?? "/",
    network,
    runsPrograms: true,
    limits: { ...LIMITS, fileMegabytes: Math.ceil(maxBytes / MEBIBYTE) },
    environment: env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errorOutput] = [Buffer.alloc(0), Buffer.alloc(0)];
  child.stdout?.on("data", (piece: Buffer) => {
    if (onOutput) onOutput(piece);
    else if (output.length < MAX_OUTPUT_BYTES) output = Buffer.concat([output, piece]).subarray(0, MAX_OUTPUT_BYTES);
  });
  child.stderr?.on("data", (piece: Buffer) => {
    errorOutput = Buffer.concat([errorOutput, piece]).subarray(-MAX_OUTPUT_BYTES);
  });
  signal.addEventListener("abort", kill, { once: true });
  const { code, error } = await ended;
  signal.removeEventListener("abort", kill);
  if (error)
    throw new GoaldError("GOALD_GIT", `git could not be started: ${error.message}.`, {
      hint: "Install git.",
      cause: error,
    });
  signal.throwIfAborted();
  return { code, output: output.toString("utf8"), errorOutput: errorOutput.toString("utf8") };
}

const certificatePaths = (env: GitRun["env"]): readonly string[] => [
  ...CERTIFICATES,
  ...CERTIFICATE_VARIABLES.flatMap((name) => (env[name] ?? "").split(delimiter)).filter(isAbsolute),
];

/** A cage shows the system's folders. git may be installed elsewhere. */
function programFolders(git: string): readonly string[] {
  const elsewhere = [git, realpathSync(git)].filter((path) => !/^\/(?:usr|bin|lib|nix\/store)\//.test(path));
  return elsewhere.flatMap((path) =>
    ["bin", "lib", "libexec", "share"].map((name) => join(dirname(dirname(path)), name)),
  );
}
