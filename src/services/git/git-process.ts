/**
 * git-process.ts -- runs git in a cage: it sees its own programs, certificates and one folder, and nothing of goald's
 * environment. Keeps only a part of its output.
 */
import { addAbortListener } from "node:events";
import { realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { Cage, CagedCommand } from "#cage/cage.ts";
import { codeOf, GoaldError } from "#core/errors.ts";
import { MEBIBYTE } from "#core/text.ts";
import type { Quote } from "#util/outside-errors.ts";
import type { RepositoryUrl } from "./repository-url.ts";

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
/** These hold for each process of git. Larger files are streamed: see `core.bigFileThreshold` below. */
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
  using _ = addAbortListener(signal, kill);
  const { code, error } = await ended;
  if (error)
    throw new GoaldError("GOALD_GIT", `git could not be started: ${error.message}.`, {
      hint: codeOf(error) === "ENOENT" ? "Install git." : "",
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

export interface Guard {
  readonly protocol: "http" | "https";
  /** Authorization header, sent to this origin only. */
  readonly authorization: { readonly origin: string; readonly header: string } | undefined;
}

/** Each names a file or folder, or several with colons between them. */
const CERTIFICATE_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"] as const;

/** How git reaches the server: through the socket of a tunnel, or by itself to pinned addresses; see repository-url.ts. */
export type GitRoute = { readonly socket: string } | { readonly pinned: string | undefined };

/**
 * Returns the arguments that go before the name of the subcommand. With `guardEnvironment` they restrict git while it
 * handles untrusted repositories. git can run many other programs: hooks, filters, helpers, transports, submodules. A
 * repository or a configuration file can start each of them. Here git reads no configuration file, uses one protocol
 * with one server, follows no redirect, creates no link, and starts no other program.
 */
export function guardArgs({ protocol }: Guard, route: GitRoute = { pinned: undefined }): readonly string[] {
  const settings = [
    "protocol.allow=never",
    `protocol.${protocol}.allow=always`,
    "http.followRedirects=false",
    "http.emptyAuth=false",
    // git ends when its server is silent, even if goald was killed meanwhile.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    ...("socket" in route ? [`http.proxy=${proxyAt(route.socket)}`] : ["http.proxy=", ...pinSetting(route.pinned)]),
    "http.cookieFile=",
    "credential.helper=",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.hooksPath=/dev/null",
    "core.symlinks=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "transfer.bundleURI=false",
    // Larger files are streamed and not held in memory.
    "core.bigFileThreshold=32m",
    "core.logAllRefUpdates=false",
    "pack.threads=2",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "advice.detachedHead=false",
  ];
  return settings.flatMap((setting) => ["-c", setting]);
}

const pinSetting = (pinned: string | undefined): readonly string[] =>
  pinned === undefined ? [] : [`http.curloptResolve=${pinned}`];

/**
 * libcurl (7.84) reaches a SOCKS proxy at a Unix socket by this host and path. git before 2.47 passes only the host on, so
 * the path is written as a part of the host.
 */
const proxyAt = (socket: string): string => `socks5h://localhost${encodeURIComponent(socket)}`;

/**
 * Keeps only PATH and the certificate settings of goald's own environment. The header goes through the environment
 * because any user of the machine can see arguments.
 */
export function guardEnvironment(
  { protocol, authorization }: Guard,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept = ["PATH", ...CERTIFICATE_VARIABLES].flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const header = authorization && {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `http.${authorization.origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: ${authorization.header}`,
  };
  return {
    ...Object.fromEntries(kept),
    HOME: "/nonexistent",
    XDG_CONFIG_HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GIT_SSH_COMMAND: "false",
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_EDITOR: "false",
    GIT_PAGER: "cat",
    // The user has no name in a cage.
    GIT_AUTHOR_NAME: "goald",
    GIT_AUTHOR_EMAIL: "goald@localhost",
    GIT_COMMITTER_NAME: "goald",
    GIT_COMMITTER_EMAIL: "goald@localhost",
    ...header,
  };
}

/** Clones into the working folder without a checkout. */
export const cloneArgs = (href: string): readonly string[] => [
  "clone",
  "--progress",
  "--no-checkout",
  "--depth=1",
  "--single-branch",
  "--no-tags",
  "--no-recurse-submodules",
  "--template=",
  "--",
  href,
  ".",
];

interface GitErrorRule {
  readonly when: RegExp;
  readonly problem: string;
  readonly hint: string;
}

const GIT_ERROR_RULES: readonly GitErrorRule[] = [
  { when: /No space|Disk ?(quota|space)/i, problem: "There is no room left on the disk", hint: "Free some space." },
  {
    when: /error: 30\d|redirect/i,
    problem: "It answers from another address, and redirects are not followed",
    hint: "Find the repository's present address and clone that.",
  },
  {
    when: /Authentication failed|could not read Username|error: 40[13]|terminal prompts disabled/i,
    problem: "It is private, or not there: the server wants a name and a key",
    hint: "A person can set GITHUB_API_KEY; else choose another repository.",
  },
  {
    when: /not found|error: 404|does not appear to be a git|is this a git repository/i,
    problem: "There is no such repository",
    hint: "Check the address.",
  },
  {
    when: /certificate|SSL|TLS/i,
    problem: "The server could not show that it is the one of that name",
    hint: "Check the address; of a private server, its certificate must be known to this machine.",
  },
  {
    when: /early EOF|RPC failed|hung up|transfer closed/i,
    problem: "The connection broke",
    hint: "Try again.",
  },
  {
    when: /fsck|gitmodules|unpack-objects|index-pack|corrupt|malformed|invalid path|hasDotgit/i,
    problem: "What came is damaged, or made to do harm",
    hint: "Use another repository.",
  },
  {
    when: /Could not resolve|Failed to connect|Connection refused|timed out|SOCKS5|unable to access/i,
    problem: "The server could not be reached, or does not speak git",
    hint: "Check the address, or try later.",
  },
];
const FALLBACK_RULE: GitErrorRule = { when: /(?:)/, problem: "git gave up", hint: "Check the address, or try later." };

/** The beginnings of lines that git passes on from the server. */
const OF_SERVER = /^remote:|\bremote error:/;

/** git's own lines, less the address, choose the explanation. They may repeat a server's words: all are a stranger's. */
export function explainGit({ errorOutput, code }: GitEnd, { href, host }: RepositoryUrl, quote: Quote): GoaldError {
  const lines = errorOutput.split(/[\r\n]+/);
  const own = lines.filter((line) => !OF_SERVER.test(line)).join("\n");
  const reason = own.replaceAll(href, "").replaceAll(host, "");
  const rule = GIT_ERROR_RULES.find(({ when }) => when.test(reason)) ?? FALLBACK_RULE;
  const said = lines.filter((line) => /^(?:fatal|error|remote):/.test(line)).slice(-3);
  const end = said.length > 0 || code === null ? "" : ` with exit code ${code}`;
  return new GoaldError("GOALD_GIT", `${href} could not be cloned. ${rule.problem}${end}.`, {
    hint: rule.hint,
    words: said.length === 0 ? "" : quote(said.join(" "), 300),
    ...(isUnreached(errorOutput) ? { outside: [] } : {}),
  });
}

/** True when the limit of file sizes killed git's unpacker, which then prints nothing about the reason. */
export function isTooLargeFile({ errorOutput }: GitEnd): boolean {
  const own = errorOutput.split(/[\r\n]+/).filter((line) => /^(?:fatal|error):/.test(line) && !OF_SERVER.test(line));
  const isSilent = own.length > 0 && own.every((line) => line === "fatal: fetch-pack: invalid index-pack output");
  return isSilent || own.some((line) => /^error: (?:index-pack|unpack-objects) died of signal 25$/.test(line));
}

/** True when git itself says that it never reached the server. Lines with a server's words contain "remote". */
const isUnreached = (errorOutput: string): boolean =>
  !/remote/i.test(errorOutput) &&
  /^fatal: unable to access '[^'\r\n]*': (?:Failed to connect|Could not resolve|Connection (?:refused|timed out)|Can't complete SOCKS5)/m.test(
    errorOutput,
  );

export const repositoryTooLarge = (maxBytes: number): GoaldError =>
  exceedsLimit(`is larger than ${Math.round(maxBytes / 1024 / 1024)} MB`);
export const repositoryHasTooManyFiles = (maxFiles: number): GoaldError =>
  exceedsLimit(`has more than ${maxFiles} files`);
export const cloneTookTooLong = (timeoutMs: number): GoaldError =>
  exceedsLimit(`took longer than ${timeoutMs < 1000 ? `${timeoutMs} ms` : `${Math.round(timeoutMs / 1000)} s`}`);

const exceedsLimit = (problem: string): GoaldError =>
  new GoaldError("GOALD_GIT", `The repository ${problem}. Nothing of it was kept.`, {
    hint: "Use a smaller one, or read its files one by one on the web.",
    outside: [],
  });
