/** bwrap-args.ts -- the arguments of bubblewrap that give a process namespaces of its own. */
import { lstatSync, readlinkSync } from "node:fs";
import type { CagedCommand } from "./cage.ts";

type Wrapped = Pick<CagedCommand, "readOnly" | "writable" | "folder" | "network" | "runsPrograms">;

/** The user "nobody". Files of the owner of the host appear under it. */
const INNER_ID = "65534";
const TEMPORARY_BYTES = 16 * 1024 * 1024;
/** Where programs and libraries are. On most systems all but the first are links into /usr. */
const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"] as const;
const SYSTEM_FILES = ["/etc/ld.so.cache", "/etc/alternatives"] as const;

/** `filterDescriptor`: where bubblewrap reads the system call filter; undefined without one. */
export function bwrapArgs(
  { readOnly, writable = [], folder, network, runsPrograms }: Wrapped,
  { forbidsNamespaces }: { readonly forbidsNamespaces: boolean },
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
    const target = readLink(path);
    return target === undefined ? ["--ro-bind-try", path, path] : ["--symlink", target, path];
  }),
  ...SYSTEM_FILES.flatMap((path) => ["--ro-bind-try", path, path]),
];

function readLink(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
}
