/**
 * meet-host.ts -- finds the host of a home, and whether it accepts requests.
 *
 * The lock shows whether a host exists; daemon.json contains its socket. Only a reply of the lock's holder counts,
 * because a killed host leaves its socket file.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Home, PRIVATE_FOLDER } from "#config/home.ts";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { type HostInfo, isAlive, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import type { Client } from "./client.ts";
import type { DaemonStatus } from "./schemas.ts";

export type Meeting =
  | { readonly kind: "nobody" }
  | { readonly kind: "host"; readonly client: Client; readonly status: DaemonStatus }
  /** The lock's holder accepts no requests: it is starting, hangs, or does not serve. */
  | { readonly kind: "mute"; readonly info: HostInfo | undefined; readonly problem: GoaldError };

export type HomePaths = Pick<Home, "lock" | "socket">;

/** Longest time from taking the lock to listening. */
export const SERVE_MS = 10_000;
/** Longest time from closing the socket to the end. Another process removed a socket that is missing longer. */
const LEAVE_MS = 3_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** `patienceMs`: maximum wait for a reply, and for a host that is starting. Throws only errors in a host's reply. */
export async function meetHost(home: HomePaths, patienceMs: number = SERVE_MS): Promise<Meeting> {
  const start = performance.now();
  const end = start + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const info = readHostInfo(home.lock);
    const socket = socketOf(home, info);
    // Most homes have no host, and then no client is loaded.
    if (!existsSync(socket) && !isHostHeld(home.lock)) return { kind: "nobody" };
    const [{ connectHost }, { ANSWER_MS }] = await Promise.all([import("./client.ts"), import("./socket.ts")]);
    const answer = await statusOf(connectHost(socket, Math.min(patienceMs, ANSWER_MS)));
    const isAnswered = !isGoaldError(answer);
    if (!isHostHeld(home.lock) && !(isAnswered && isHomeOf(answer, home))) return { kind: "nobody" };
    if (isAnswered) return { kind: "host", client: connectHost(socket), status: answer };
    // The lock may have a new holder since the file was read.
    const holder = readHostInfo(home.lock);
    const hasLeft = isNobodyThere(answer) && hasServed(holder) && performance.now() >= start + LEAVE_MS;
    if (hasLeft || performance.now() >= end || servesNever(holder))
      return { kind: "mute", info: holder, problem: answer };
    await systemClock.sleep(pauseMs);
  }
}

/**
 * Whether the host runs this home: in a copy of a home, daemon.json names the original's host. A host whose lock file was
 * removed is still the host.
 */
function isHomeOf({ home: root }: DaemonStatus, { lock }: HomePaths): boolean {
  const [theirs, ours] = [join(root ?? "", PRIVATE_FOLDER), dirname(lock)].map((folder) =>
    statSync(folder, { throwIfNoEntry: false }),
  );
  return theirs !== undefined && ours !== undefined && theirs.dev === ours.dev && theirs.ino === ours.ino;
}

/** Returns the host's socket, or the default path when the host names none. */
function socketOf({ socket }: HomePaths, info: HostInfo | undefined): string {
  return typeof info?.socket === "string" ? info.socket : socket;
}

/** A replay, and a check of the store, name no socket and accept no requests. */
const servesNever = (info: HostInfo | undefined): boolean =>
  info !== undefined && info.socket === undefined && isAlive(info.pid);

/** True when the host has had enough time since its start to listen. */
const hasServed = (info: HostInfo | undefined): boolean =>
  info !== undefined && systemClock.now().getTime() - Date.parse(info.startedAt) > SERVE_MS && isAlive(info.pid);

/** True when no process listens at the socket. */
export const isNobodyThere = ({ cause }: GoaldError): boolean =>
  Error.isError(cause) && "code" in cause && (cause.code === "ENOENT" || cause.code === "ECONNREFUSED");

async function statusOf(client: Client): Promise<DaemonStatus | GoaldError> {
  try {
    requireOwn(client.socket);
    return await client.status();
  } catch (thrown) {
    if (isGoaldError(thrown, "GOALD_DAEMON")) return thrown;
    throw thrown;
  }
}

/** Throws for another user's socket outside the home, which could collect requests. */
function requireOwn(socket: string): void {
  const found = statSync(socket, { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (found === undefined || uid === undefined || found.uid === uid) return;
  throw new GoaldError(
    "GOALD_DAEMON",
    `The socket ${socket} belongs to the user with id ${found.uid}, not to you (${uid}).`,
    {
      hint: "Nothing was sent to it. See: goald doctor",
    },
  );
}
