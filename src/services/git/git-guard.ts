/**
 * git-guard.ts -- the settings and the environment that restrict git while it handles untrusted repositories.
 *
 * git can run many other programs: hooks, filters, helpers, transports, submodules. A repository or a configuration
 * file can start each of them. Here git reads no configuration file, uses one protocol with one server, follows no
 * redirect, creates no link, and starts no other program.
 */

export interface Guard {
  readonly protocol: "http" | "https";
  /** How git reaches the server. */
  readonly route: GitRoute | undefined;
  /** Authorization header, sent to this origin only. */
  readonly authorization: { readonly origin: string; readonly header: string } | undefined;
}

/** Each names a file or folder, or several with colons between them. */
export const CERTIFICATE_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"] as const;

/** Through the socket of a tunnel, or by itself to pinned addresses; see pin-address.ts. */
export type GitRoute = { readonly socket: string } | { readonly pinned: string | undefined };

/** Returns the arguments that go before the name of the subcommand. */
export function guardArgs({ protocol, route = { pinned: undefined } }: Guard): readonly string[] {
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
  { protocol, authorization }: Omit<Guard, "route">,
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
