/**
 * meet-host.ts -- whether somebody runs the agents of a home, and whether they take calls.
 *
 * The lock says whether there is a host, daemon.json where it listens; only an answer of a lock's holder counts. What the
 * socket's file says by its being there is nothing: a killed host leaves it.
 */
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Home, PRIVATE_FOLDER } from "#config/home.ts";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { type HostInfo, isAlive, isHostHeld, readHostInfo } from "#store/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import { type Client, connectHost } from "./client.ts";
import type { DaemonStatus } from "./control.ts";
import { ANSWER_MS } from "./socket.ts";

export type Meeting =
  | { readonly kind: "nobody" }
  | { readonly kind: "host"; readonly client: Client; readonly status: DaemonStatus }
  /** Holds the lock and takes no calls: still starting, hung, or a run of its own. */
  | { readonly kind: "mute"; readonly info: HostInfo | undefined; readonly problem: GoaldError };

export type HomePaths = Pick<Home, "lock" | "socket">;

/** How long a host may take from its lock to its socket. */
export const SERVE_MS = 10_000;
/** How long one that listens no more may take to end; else its socket was taken away. */
const LEAVE_MS = 3_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** `patienceMs`: for an answer, and for a host that is starting. Throws only what a host that answers says is wrong. */
export async function meetHost(home: HomePaths, patienceMs: number = SERVE_MS): Promise<Meeting> {
  const start = performance.now();
  const end = start + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const info = readHostInfo(home.lock);
    const socket = socketOf(home, info);
    const answer = await statusOf(socket, Math.min(patienceMs, ANSWER_MS));
    const isAnswered = !isGoaldError(answer);
    if (!isHostHeld(home.lock) && !(isAnswered && isHomeOf(answer, home))) return { kind: "nobody" };
    if (isAnswered) return { kind: "host", client: connectHost(socket), status: answer };
    // The lock may have changed hands since the file was read.
    const holder = readHostInfo(home.lock);
    const hasLeft = isNobodyThere(answer) && hasServed(holder) && performance.now() >= start + LEAVE_MS;
    if (hasLeft || performance.now() >= end || servesNever(holder))
      return { kind: "mute", info: holder, problem: answer };
    await systemClock.sleep(pauseMs);
  }
}

/**
 * In a copy of a home, daemon.json leads to the host of the home that it was copied from. One whose lock's file was
 * removed holds what nobody sees, and is the host all the same.
 */
function isHomeOf({ home: root }: DaemonStatus, { lock }: HomePaths): boolean {
  const [theirs, ours] = [join(root ?? "", PRIVATE_FOLDER), dirname(lock)].map((folder) =>
    statSync(folder, { throwIfNoEntry: false }),
  );
  return theirs !== undefined && ours !== undefined && theirs.dev === ours.dev && theirs.ino === ours.ino;
}

/** Where the host listens, as far as it says. */
function socketOf({ socket }: HomePaths, info: HostInfo | undefined): string {
  return typeof info?.socket === "string" ? info.socket : socket;
}

/** A run on a terminal that says where it listens is a host like any other; one that does not, takes no calls. */
const servesNever = (info: HostInfo | undefined): boolean =>
  info !== undefined && info.role !== "daemon" && info.socket === undefined && isAlive(info.pid);

/** So long after its start it listens, or did. */
const hasServed = (info: HostInfo | undefined): boolean =>
  info !== undefined && systemClock.now().getTime() - Date.parse(info.startedAt) > SERVE_MS && isAlive(info.pid);

/** No answer, because nobody listens there. */
export const isNobodyThere = ({ cause }: GoaldError): boolean =>
  Error.isError(cause) && "code" in cause && (cause.code === "ENOENT" || cause.code === "ECONNREFUSED");

async function statusOf(socket: string, patienceMs: number): Promise<DaemonStatus | GoaldError> {
  try {
    requireOwn(socket);
    return await connectHost(socket, patienceMs).status();
  } catch (thrown) {
    if (isGoaldError(thrown, "GOALD_DAEMON")) return thrown;
    throw thrown;
  }
}

/** A socket outside the home may be somebody else's, who waits for what we would tell our daemon. */
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
