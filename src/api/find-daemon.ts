/**
 * find-daemon.ts -- finds the host of a home, starts a daemon when there is none, and revives one that died. Several
 * processes may do this at once: each that finds the lock free starts a daemon. The lock keeps one of them, and all
 * processes use that one.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Home, PRIVATE_FOLDER } from "#config/home.ts";
import { codeOf, daemonError, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { type HostInfo, isAlive, isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import type { Client } from "./client.ts";
import { PROTOCOL_VERSION } from "./control.ts";
import { hasDaemonDied, isDaemonMissing } from "./daemon-files.ts";
import type { DaemonStatus } from "./schemas.ts";
import { type SpawnOptions, spawnDaemon } from "./spawn-daemon.ts";

export interface FindOptions {
  /** Called with notices for a person, each a sentence. Default: standard error. */
  readonly tell?: (sentence: string) => void;
  /** Version of this goald, for a notice about a daemon of another version. */
  readonly version?: string;
}

export interface LookOptions extends FindOptions {
  /** Maximum wait for a host that does not reply or is starting. */
  readonly patienceMs?: number;
  /** Called for a daemon that accepts connections and does not answer, with what to do. */
  onSilence?(why: GoaldError): void;
}

export interface Reached {
  readonly client: Client;
  /** False when a host existed, or another process started it first. */
  readonly started: boolean;
  readonly status: DaemonStatus;
}

/** Maximum attempts when hosts end between finding and using them. */
const ATTEMPTS = 5;
const PAUSE_MS = 100;

/**
 * Returns the host that accepts requests; undefined when there is none, or when the lock's holder accepts none. Throws
 * GOALD_DAEMON for a host with another protocol version.
 */
export async function findHost(home: HomePaths, options: LookOptions = {}): Promise<Client | undefined> {
  return (await findRunning(home, options))?.client;
}

/** As `findHost`, with the status that the host has answered. */
export async function findRunning(
  home: HomePaths,
  options: LookOptions,
): Promise<Pick<Reached, "client" | "status"> | undefined> {
  const met = await askDaemon(home, options.patienceMs);
  if (met.kind === "mute" && met.info?.socket !== undefined && !isNobodyThere(met.problem))
    options.onSilence?.(silentDaemon(met));
  if (met.kind !== "host") return undefined;
  checkVersion(met.status, options);
  return met;
}

/** Throws GOALD_DAEMON when no daemon can be started, GOALD_ALREADY_RUNNING when the host accepts no requests. */
export async function ensureDaemon(home: Home, options: FindOptions & SpawnOptions = {}): Promise<Reached> {
  let started: number | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const met = await askDaemon(home);
    if (met.kind === "host" && !met.status.stopping) {
      checkVersion(met.status, options);
      return { client: met.client, status: met.status, started: met.status.pid === started };
    }
    if (met.kind === "mute") throw silentDaemon(met);
    if (met.kind === "host") await untilGone(home, met.status);
    started = (await spawnDaemon(home, options)) ?? started;
  }
  throw daemonError(
    `The daemon of ${home.root} was started ${ATTEMPTS} times and ended each time.`,
    "See the reason in its log: goald doctor",
  );
}

/** Waits for a host that shuts down. Throws GOALD_DAEMON when that takes too long. */
async function untilGone(home: HomePaths, { pid }: DaemonStatus): Promise<void> {
  const end = performance.now() + SERVE_MS;
  while (isHostHeld(home.lock)) {
    if (performance.now() >= end)
      throw daemonError(
        `The daemon (pid ${pid}) is still shutting down.`,
        "It finishes the steps under way. Retry in a moment.",
      );
    await systemClock.sleep(PAUSE_MS);
  }
}

/** Explains why a host accepts no requests, and what to do. */
export function silentDaemon({ info, problem }: Extract<DaemonAnswer, { kind: "mute" }>): GoaldError {
  if (info?.socket !== undefined)
    return daemonError(
      `The daemon (pid ${info.pid}) takes no calls: ${problem.message}`,
      isNobodyThere(problem)
        ? "Its socket file was removed. Restart it, its agents continue: goald down --kill, then goald up"
        : "If it hangs: goald down --kill, then goald up",
    );
  return new GoaldError("GOALD_ALREADY_RUNNING", `The agents of this home are run by ${describe(info)}.`, {
    hint: "It takes no calls. Wait for it to end.",
  });
}

const describe = (info: HostInfo | undefined): string =>
  info ? `process ${info.pid} (goald ${info.version}, since ${info.startedAt})` : "another process";

/** Throws GOALD_DAEMON for another protocol version. */
export function checkVersion({ pid, version, protocol }: DaemonStatus, options: FindOptions): void {
  const own = options.version;
  if (protocol !== PROTOCOL_VERSION)
    throw daemonError(
      `The daemon (pid ${pid}, goald ${version}) uses protocol version ${protocol}, this goald${own ? ` (${own})` : ""} version ${PROTOCOL_VERSION}.`,
      "Restart the daemon with this version; its agents continue: goald restart",
    );
  if (own !== undefined && version !== own)
    tellOf(options)(`The daemon is goald ${version}, this is ${own}. To restart it with this version: goald restart`);
}

const tellOf =
  ({ tell = console.error }: FindOptions) =>
  (sentence: string) =>
    tell(clean(sentence));

/** Restarts a missing daemon that has unfinished agents. Never rejects: a failure is a notice, since reading needs no daemon. */
export async function revive(
  home: Home,
  hasUnfinished: () => Promise<boolean>,
  options: FindOptions & SpawnOptions = {},
): Promise<void> {
  const tell = tellOf(options);
  try {
    if (!isDaemonMissing(home) || !(await hasUnfinished())) return;
    const ending = hasDaemonDied(home) ? "died" : "ended";
    const { started, status } = await ensureDaemon(home, options);
    if (started) tell(`The daemon had ${ending}; started again (pid ${status.pid}).`);
  } catch (thrown) {
    tell(`The daemon is down and could not be started again. ${toError(thrown).message}`);
  }
}

export type DaemonAnswer =
  | { readonly kind: "nobody" }
  | { readonly kind: "host"; readonly client: Client; readonly status: DaemonStatus }
  /** The lock's holder accepts no requests: it is starting, hangs, or does not serve. */
  | { readonly kind: "mute"; readonly info: HostInfo | undefined; readonly problem: GoaldError };

type HomePaths = Pick<Home, "lock" | "socket">;

/** Longest time from taking the lock to listening. */
const SERVE_MS = 10_000;
/** Longest time from closing the socket to the end. Another process removed a socket that is missing longer. */
const LEAVE_MS = 3_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/**
 * Finds the host of a home, and whether it accepts requests. The lock shows whether a host exists; daemon.json contains
 * its socket. Only a reply of the lock's holder counts, because a killed host leaves its socket file. `patienceMs`:
 * maximum wait for a reply, and for a host that is starting. Throws only errors in a host's reply.
 */
export async function askDaemon(home: HomePaths, patienceMs: number = SERVE_MS): Promise<DaemonAnswer> {
  const start = performance.now();
  const end = start + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const info = readHostInfo(home.lock);
    const socket = typeof info?.socket === "string" ? info.socket : home.socket;
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

/** A replay, and a check of the store, name no socket and accept no requests. */
const servesNever = (info: HostInfo | undefined): boolean =>
  info !== undefined && info.socket === undefined && isAlive(info.pid);

/** True when the host has had enough time since its start to listen. */
const hasServed = (info: HostInfo | undefined): boolean =>
  info !== undefined && systemClock.now().getTime() - Date.parse(info.startedAt) > SERVE_MS && isAlive(info.pid);

/** True when no process listens at the socket. */
const isNobodyThere = ({ cause }: GoaldError): boolean => ["ENOENT", "ECONNREFUSED"].includes(codeOf(cause) ?? "");

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
  throw daemonError(
    `The socket ${socket} belongs to the user with id ${found.uid}, not to you (${uid}).`,
    "Nothing was sent to it. See: goald doctor",
  );
}
