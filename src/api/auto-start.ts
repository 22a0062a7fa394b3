/**
 * auto-start.ts -- the host of a home for whoever needs one: found, started when there is none, revived when it died.
 *
 * Any number of processes may ask at once. Each that finds the lock free starts a daemon; the lock
 * lets one of them live, and the others, and those who started them, turn to it.
 */
import type { Home } from "#config/home.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { type HostInfo, isHostHeld } from "#store/host-lock.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import type { Client } from "./client.ts";
import { type DaemonStatus, PROTOCOL_VERSION } from "./control.ts";
import { hasDaemonDied } from "./daemon-expected.ts";
import { type HomePaths, isNobodyThere, type Meeting, meetHost, SERVE_MS } from "./meet-host.ts";
import { type SpawnOptions, spawnDaemon } from "./spawn-daemon.ts";

export interface FindOptions {
  /** Told in one sentence what a person should know and need not act on; default: standard error. */
  readonly tell?: (sentence: string) => void;
  /** Version of the goald that asks: a daemon of another one is told about. */
  readonly version?: string;
}

export interface LookOptions extends FindOptions {
  /** How long one that does not answer, or is just starting, is waited for. */
  readonly patienceMs?: number;
}

export interface Reached {
  readonly client: Client;
  /** False when a host was there already, or somebody else was first. */
  readonly started: boolean;
  readonly status: DaemonStatus;
}

/** How often a host may vanish between being found and being asked, before that is an error. */
const ATTEMPTS = 5;
const PAUSE_MS = 100;

/**
 * The host that takes calls, a daemon or a run on a terminal; undefined when there is none, or when
 * the one that holds the lock takes none. Throws GOALD_DAEMON for one that speaks another protocol.
 */
export async function findHost(home: HomePaths, options: LookOptions = {}): Promise<Client | undefined> {
  const met = await meetHost(home, options.patienceMs);
  if (met.kind !== "host") return undefined;
  checkVersion(met.status, options);
  return met.client;
}

/** Throws GOALD_DAEMON when none can be started, GOALD_ALREADY_RUNNING when the host is a run that takes no calls. */
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
    `The daemon of ${home.root} was started ${ATTEMPTS} times and went away again.`,
    {
      hint: "Its log says why: goald doctor",
    },
  );
}

/** One that goes down takes nothing new; its place is free soon. Throws GOALD_DAEMON when it takes too long. */
async function untilGone(home: HomePaths, { pid }: DaemonStatus): Promise<void> {
  const end = performance.now() + SERVE_MS;
  while (isHostHeld(home.lock)) {
    if (performance.now() >= end)
      throw new GoaldError("GOALD_DAEMON", `The daemon (pid ${pid}) is going down and has not finished yet.`, {
        hint: "It finishes the steps under way. Try again in a moment.",
      });
    await systemClock.sleep(PAUSE_MS);
  }
}

/** Why calls to that host cannot be made, and what to do about it. */
export function takesNoCalls({ info, problem }: Extract<Meeting, { kind: "mute" }>): GoaldError {
  if (info?.role === "daemon")
    return new GoaldError("GOALD_DAEMON", `The daemon (pid ${info.pid}) takes no calls: ${problem.message}`, {
      hint: isNobodyThere(problem)
        ? "Somebody took its socket away. Agents go on where they stand: goald down --kill, then goald up"
        : "When it hangs: goald down --kill, then goald up",
    });
  return new GoaldError("GOALD_ALREADY_RUNNING", `The agents of this home are run by ${describe(info)}.`, {
    hint: "It takes no calls: wait for it to end, or end it with Ctrl-C on its terminal.",
  });
}

const describe = (info: HostInfo | undefined): string =>
  info ? `process ${info.pid} (goald ${info.version}, since ${info.startedAt})` : "another process";

/** Throws GOALD_DAEMON when the two would misunderstand each other. */
export function checkVersion({ pid, version, protocol }: DaemonStatus, options: FindOptions): void {
  const own = options.version;
  if (protocol !== PROTOCOL_VERSION)
    throw new GoaldError(
      "GOALD_DAEMON",
      `The daemon (pid ${pid}, goald ${version}) speaks version ${protocol} of the protocol, this goald${own ? ` (${own})` : ""} version ${PROTOCOL_VERSION}.`,
      { hint: "Put this one in its place; agents go on where they stand: goald restart" },
    );
  if (own !== undefined && version !== own)
    tellOf(options)(`The daemon is goald ${version}, this is ${own}. To put this one in its place: goald restart`);
}

const tellOf =
  ({ tell = console.error }: FindOptions) =>
  (sentence: string) =>
    tell(clean(sentence));

// ---------------------------------------------------------------- a daemon that died

/**
 * Starts the daemon again when it died and agents of its own are not done. Says so in one sentence; that it did not succeed is
 * one, too: who only wants to look can do so without it.
 */
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
