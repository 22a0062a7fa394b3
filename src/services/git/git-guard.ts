/**
 * git-guard.ts -- the settings and the environment under which git may touch what strangers wrote.
 *
 * git is a workshop of programs: hooks, filters, helpers, transports, submodules, each of them a way for a repository or a
 * configuration to run something. Here git reads no configuration but this one, speaks one protocol with one
 * server, follows no redirect, makes no link, and runs nothing else.
 */

export interface Guard {
  readonly protocol: "http" | "https";
  /** See pin-address.ts. */
  readonly pinned: string | undefined;
  /** The Authorization header for its own server, and for no other. */
  readonly authorization: { readonly origin: string; readonly header: string } | undefined;
}

/** Before the name of the subcommand. */
export function guardArgs({ protocol, pinned }: Guard): readonly string[] {
  const settings = [
    "protocol.allow=never",
    `protocol.${protocol}.allow=always`,
    "http.followRedirects=false",
    "http.emptyAuth=false",
    // Of a process that was left alone, too: one that waits for a silent server ends.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "http.proxy=",
    "http.cookieFile=",
    ...(pinned === undefined ? [] : [`http.curloptResolve=${pinned}`]),
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
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "advice.detachedHead=false",
  ];
  return settings.flatMap((setting) => ["-c", setting]);
}

/**
 * Of goald's own environment only the way to programs and to a person's certificates. The header goes this way because
 * arguments can be seen by everybody on the machine.
 */
export function guardEnvironment(
  { protocol, authorization }: Guard,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept = ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"].flatMap((name) => {
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
    ...header,
  };
}

/** Into the empty folder it is started in; nothing is checked out yet. Kept in the clone: it makes no links later either. */
export const cloneArgs = (href: string): readonly string[] => [
  "clone",
  "--progress",
  "--no-checkout",
  "--depth=1",
  "--single-branch",
  "--no-tags",
  "--no-recurse-submodules",
  "--template=",
  "--config=core.symlinks=false",
  "--",
  href,
  ".",
];
