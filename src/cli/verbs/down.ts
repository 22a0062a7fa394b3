/**
 * down.ts -- `goald down`: the daemon finishes the steps under way, gives the home back and ends.
 *
 * Only the lock says that it is gone. It is asked, and given time; killed it is only for a person who says so.
 */
import { takesNoCalls } from "#api/auto-start.ts";
import { isHostHeld, readHostInfo } from "#api/host-lock.ts";
import { meetHost } from "#api/meet-host.ts";
import { forgetWanted } from "#api/wanted.ts";
import { unfinishedAgents } from "#app/reading.ts";
import type { Home } from "#config/home.ts";
import { EXIT, GoaldError, isGoaldError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { type CliContext, findOwnContext, formatCall, type GlobalOptions } from "../shared/context.ts";

export interface StopOptions extends GlobalOptions {
  /** Seconds for the steps under way. */
  readonly timeout?: number;
  /** Kill it when it does not go. */
  readonly kill?: boolean;
}

export interface Stopped {
  readonly pid: number;
  readonly isGone: boolean;
  readonly wasKilled: boolean;
  /** Ids of agents that go on when a daemon is there again. */
  readonly unfinished: readonly string[];
}

const GRACE_SECONDS = 30;
/** Beyond the grace time: for cutting off what is not done, and for closing. */
const CLOSING_MS = 10_000;
const KILLED_MS = 5_000;
/** One that hangs is not waited for by somebody who is ready to kill it. */
const HASTY_MS = 3_000;
const SHORT_PAUSE_MS = 20;
const LONG_PAUSE_MS = 200;
const QUIET_MS = 1_500;

export async function down(options: StopOptions): Promise<number> {
  const { home, output } = await findOwnContext(options);
  try {
    // A run on a terminal is not ended by this, and what it hands over is still wanted.
    const isOnTerminal = isHostHeld(home.lock) && readHostInfo(home.lock)?.role === "foreground";
    if (!isOnTerminal) forgetWanted(home);
    const stopped = await stopDaemon({ home, output }, options);
    if (!stopped)
      throw new GoaldError("GOALD_DAEMON", "The daemon is not running, so there is nothing to end.", {
        hint: `Start it: ${formatCall(home, "up")}`,
      });
    const { pid, isGone, wasKilled, unfinished } = stopped;
    if (output.json) output.data(JSON.stringify({ stopped: isGone, pid, killed: wasKilled, unfinished }));
    else if (isGone) output.say(`The daemon ${wasKilled ? "was killed" : "is down"} (pid ${pid}).`);
    if (isGone && unfinished.length > 0)
      output.say(`Not finished: ${unfinished.join(", ")}. To go on where they stand: ${formatCall(home, "up")}`);
    return isGone ? EXIT.ok : EXIT.error;
  } finally {
    output.close();
  }
}

/**
 * undefined when nobody runs the agents. Throws GOALD_ALREADY_RUNNING when it is a run on a terminal, GOALD_DAEMON
 * when it takes no calls and may not be killed. Says what it waits for, and that it waited in vain.
 */
export async function stopDaemon(
  { home, output }: Pick<CliContext, "home" | "output">,
  { timeout = GRACE_SECONDS, kill = false }: StopOptions,
): Promise<Stopped | undefined> {
  const met = await meetHost(home, kill ? HASTY_MS : undefined);
  if (met.kind === "nobody") return undefined;
  const { pid, role } = met.kind === "host" ? met.status : { pid: met.info?.pid, role: met.info?.role };
  if (met.kind === "host" && role !== "daemon") throw onTerminal(pid);
  if (pid === undefined || (met.kind === "mute" && !(kill && role === "daemon")))
    throw takesNoCalls(met as Extract<typeof met, { kind: "mute" }>);
  if (met.kind === "host") await askToGo(() => met.client.shutdown(timeout * 1000));
  const waitMs = met.kind === "host" ? timeout * 1000 + CLOSING_MS : 0;
  const wait = (ms: number, isPatient: boolean): Promise<boolean> =>
    untilGone(home, pid, ms, () => {
      if (isPatient) output.say(`Waiting for the steps under way, at most ${timeout} s …`);
    });
  let isGone = await wait(waitMs, true);
  const wasKilled = !isGone && kill;
  if (wasKilled) {
    killProcess(pid);
    isGone = await wait(KILLED_MS, false);
  }
  if (!isGone)
    console.error(
      `goald: The daemon (pid ${pid}) has not gone down within ${waitMs / 1000} s.\n  Wait for it, or end it at once; its agents go on where they stand: ${formatCall(home, "down", "--kill")}`,
    );
  const unfinished = isGone ? await unfinishedAgents(home, Number.POSITIVE_INFINITY) : [];
  return { pid, isGone, wasKilled, unfinished };
}

const onTerminal = (pid: number | undefined): GoaldError =>
  new GoaldError("GOALD_ALREADY_RUNNING", `No daemon is running; a run on a terminal (pid ${pid}) runs the agents.`, {
    hint: "End that one with Ctrl-C on its terminal.",
  });

/** One that goes away before it has answered has gone. */
async function askToGo(ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (thrown) {
    if (!isGoaldError(thrown, "GOALD_DAEMON")) throw thrown;
  }
}

/** False when that process still holds the home after the time. `onLong`: told once when it takes a while. */
async function untilGone(home: Home, pid: number, timeMs: number, onLong: () => void): Promise<boolean> {
  const start = performance.now();
  let isTold = false;
  for (let pauseMs = SHORT_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONG_PAUSE_MS)) {
    if (!isHostHeld(home.lock) || readHostInfo(home.lock)?.pid !== pid) return true;
    const elapsedMs = performance.now() - start;
    if (elapsedMs >= timeMs) return false;
    if (elapsedMs >= QUIET_MS && !isTold) {
      isTold = true;
      onLong();
    }
    await systemClock.sleep(pauseMs);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if (!Error.isError(thrown) || !("code" in thrown) || thrown.code !== "ESRCH") throw thrown;
  }
}
