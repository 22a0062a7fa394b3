/**
 * auto-start.ts -- finds the host of a home, starts a daemon when there is none, and revives one that died.
 *
 * Several processes may do this at once: each that finds the lock free starts a daemon. The lock keeps one of them, and all
 * processes use that one.
 */
import type { Home } from "#config/home.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { type HostInfo, isHostHeld } from "#store/sqlite/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import type { Client } from "./client.ts";
import { PROTOCOL_VERSION } from "./control.ts";
import { hasDaemonDied } from "./daemon-expected.ts";
import { type HomePaths, isNobodyThere, type Meeting, meetHost, SERVE_MS } from "./meet-host.ts";
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
  const met = await meetHost(home, options.patienceMs);
  if (met.kind === "mute" && met.info?.socket !== undefined && !isNobodyThere(met.problem))
    options.onSilence?.(takesNoCalls(met));
  if (met.kind !== "host") return undefined;
  checkVersion(met.status, options);
  return met.client;
}

/** Throws GOALD_DAEMON when no daemon can be started, GOALD_ALREADY_RUNNING when the host accepts no requests. */
export async function ensureDaemon(home: Home, options: FindOptions & SpawnOptions = {}): Promise<Reached> {
  let started: number | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const met = await meetHost(home);
    if (met.kind === "host" && !met.status.stopping) {
      checkVersion(met.status, options);
      return { client: met.client, status: met.status, started: met.status.pid === started };
    }
    if (met.kind === "mute") throw takesNoCalls(met);
    if (met.kind === "host") await untilGone(home, met.status);
    const handshake = await spawnDaemon(home, options);
    if (handshake.kind === "ready") started = handshake.pid;
  }
  throw new GoaldError(
    "GOALD_DAEMON",
    `The daemon of ${home.root} was started ${ATTEMPTS} times and ended each time.`,
    {
      hint: "See the reason in its log: goald doctor",
    },
  );
}

/** Waits for a host that shuts down. Throws GOALD_DAEMON when that takes too long. */
async function untilGone(home: HomePaths, { pid }: DaemonStatus): Promise<void> {
  const end = performance.now() + SERVE_MS;
  while (isHostHeld(home.lock)) {
    if (performance.now() >= end)
      throw new GoaldError("GOALD_DAEMON", `The daemon (pid ${pid}) is still shutting down.`, {
        hint: "It finishes the steps under way. Retry in a moment.",
      });
    await systemClock.sleep(PAUSE_MS);
  }
}

/** Explains why a host accepts no requests, and what to do. */
export function takesNoCalls({ info, problem }: Extract<Meeting, { kind: "mute" }>): GoaldError {
  if (info?.socket !== undefined)
    return new GoaldError("GOALD_DAEMON", `The daemon (pid ${info.pid}) takes no calls: ${problem.message}`, {
      hint: isNobodyThere(problem)
        ? "Its socket file was removed. Restart it, its agents continue: goald down --kill, then goald up"
        : "If it hangs: goald down --kill, then goald up",
    });
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
    throw new GoaldError(
      "GOALD_DAEMON",
      `The daemon (pid ${pid}, goald ${version}) uses protocol version ${protocol}, this goald${own ? ` (${own})` : ""} version ${PROTOCOL_VERSION}.`,
      { hint: "Restart the daemon with this version; its agents continue: goald restart" },
    );
  if (own !== undefined && version !== own)
    tellOf(options)(`The daemon is goald ${version}, this is ${own}. To restart it with this version: goald restart`);
}

const tellOf =
  ({ tell = console.error }: FindOptions) =>
  (sentence: string) =>
    tell(clean(sentence));

// ---------------------------------------------------------------- a daemon that died

/** Restarts a daemon that died with unfinished agents. Never rejects: a failure is a notice, since reading needs no daemon. */
export async function revive(
  home: Home,
  hasUnfinished: () => Promise<boolean>,
  options: FindOptions & SpawnOptions = {},
): Promise<void> {
  const tell = tellOf(options);
  try {
    if (!hasDaemonDied(home) || !(await hasUnfinished())) return;
    const { started, status } = await ensureDaemon(home, options);
    if (started) tell(`The daemon had died; started again (pid ${status.pid}).`);
  } catch (thrown) {
    tell(`The daemon has died and could not be started again. ${toError(thrown).message}`);
  }
}
