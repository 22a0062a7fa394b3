/** down.ts -- `goald down` and `goald restart`: stops the daemon, or replaces it by this version. */
import { isHostHeld, readHostInfo, stopExpectingDaemon } from "#api/daemon-files.ts";
import { askDaemon, ensureDaemon, silentDaemon } from "#api/find-daemon.ts";
import { unfinishedAgents } from "#app/reading.ts";
import { printNote } from "#cli/terminal/print.ts";
import type { Home } from "#config/home.ts";
import { loadSettings } from "#config/load-settings.ts";
import { attempt } from "#config/open-home.ts";
import { codeOf, daemonError, EXIT, isGoaldError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../../shipped.ts";
import { type AtHome, findOwnContext, formatCall } from "../context.ts";
import { defineVerb, HOST_CODES, type OptionValues, STOP_OPTIONS } from "../verb.ts";
import { sayUp } from "./up.ts";

export const RESTART = defineVerb({
  description: "restart the daemon with this version; its agents continue where they stopped",
  examples: ["goald restart", "goald restart -t 5"],
  options: STOP_OPTIONS,
  exitCodes: { ...HOST_CODES, error: "the daemon has not stopped in time" },
  run: async (_args, options) => {
    using context = await findOwnContext(options);
    const { home, output } = context;
    // Invalid settings leave the daemon running.
    await loadSettings({ home, env: process.env });
    const stopped = await stopDaemon({ home, output }, options);
    if (stopped && !stopped.isGone) return EXIT.error;
    const reached = await ensureDaemon(home, { version: readVersion() });
    const agents = stopped && stopped.unfinished.length > 0 ? "; its agents continue" : "";
    sayUp(reached, `is up${stopped ? " again" : ""}${agents}`, { home, output });
    return EXIT.ok;
  },
});

export const DOWN = defineVerb({
  description: "finish the steps under way and stop the daemon; unfinished agents go on at its next start",
  examples: ["goald down", "goald down -t 5", "goald down -t 0 --kill"],
  options: STOP_OPTIONS,
  exitCodes: {
    error: "the daemon has not stopped in time",
    daemonUnreachable: "the daemon is not running or does not answer",
    conflict: "another goald owns this home",
  },
  run: async (_args, options) => {
    using context = await findOwnContext(options);
    const { home, output } = context;
    await attempt(home.privateFolder, home, () => stopExpectingDaemon(home));
    const stopped = await stopDaemon({ home, output }, options);
    if (!stopped) throw daemonError("The daemon is not running.", `Start it: ${formatCall(home, "up")}`);
    const { pid, isGone, wasKilled, unfinished } = stopped;
    if (output.json) output.data(JSON.stringify({ stopped: isGone, pid, killed: wasKilled, unfinished }));
    else if (isGone) output.say(`The daemon ${wasKilled ? "was killed" : "is down"} (pid ${pid}).`);
    if (isGone && unfinished.length > 0)
      output.say(`Not finished: ${unfinished.join(", ")}. Continue them: ${formatCall(home, "up")}`);
    return isGone ? EXIT.ok : EXIT.error;
  },
});

/** Additional time after the grace time, to cut off steps and close the store. */
const CLOSING_MS = 10_000;
const KILLED_MS = 5_000;
/** With --kill: maximum wait for a reply of a daemon that may hang. */
const HASTY_MS = 3_000;
const SHORT_PAUSE_MS = 20;
const LONG_PAUSE_MS = 200;
const QUIET_MS = 1_500;

/**
 * Stops the daemon after the current steps; the daemon has stopped when its lock is free. It is killed only with
 * --kill. Returns undefined when no daemon runs. Throws GOALD_ALREADY_RUNNING when another goald holds the home. Throws
 * GOALD_DAEMON when the daemon does not reply and may not be killed. Prints what it waits for. `unfinished`: ids of
 * agents that continue when the daemon starts again.
 */
async function stopDaemon(
  { home, output }: AtHome,
  { timeout = STOP_OPTIONS.timeout.default, kill = false }: OptionValues<typeof STOP_OPTIONS>,
) {
  const met = await askDaemon(home, kill ? HASTY_MS : undefined);
  if (met.kind === "nobody") return undefined;
  const pid = met.kind === "host" ? met.status.pid : met.info?.pid;
  if (pid === undefined || (met.kind === "mute" && !(kill && met.info?.socket !== undefined)))
    throw silentDaemon(met as Extract<typeof met, { kind: "mute" }>);
  // A daemon that closes the connection before it answers has stopped.
  if (met.kind === "host")
    await met.client.shutdown(timeout * 1000).catch((thrown) => {
      if (!isGoaldError(thrown, "GOALD_DAEMON")) throw thrown;
    });
  const waitMs = met.kind === "host" ? timeout * 1000 + CLOSING_MS : 0;
  const onLong = (): void => output.say(`Waiting for the steps under way, at most ${timeout} s …`);
  let isGone = await untilGone(home, pid, waitMs, onLong);
  const wasKilled = !isGone && kill;
  if (wasKilled) {
    killProcess(pid);
    isGone = await untilGone(home, pid, KILLED_MS);
  }
  if (!isGone)
    printNote(
      `goald: The daemon (pid ${pid}) has not stopped within ${waitMs / 1000} s.\n  Wait for it, or kill it; its agents continue at the next start: ${formatCall(home, "down", "--kill")}`,
    );
  const unfinished = isGone ? await unfinishedAgents(home, Number.POSITIVE_INFINITY) : [];
  return { pid, isGone, wasKilled, unfinished };
}

/** Returns false when the process still holds the home after the time. `onLong` is called once after 1.5 s. */
async function untilGone(home: Home, pid: number, timeMs: number, onLong?: () => void): Promise<boolean> {
  const start = performance.now();
  let isTold = false;
  for (let pauseMs = SHORT_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONG_PAUSE_MS)) {
    if (!isHostHeld(home.lock) || readHostInfo(home.lock)?.pid !== pid) return true;
    const elapsedMs = performance.now() - start;
    if (elapsedMs >= timeMs) return false;
    if (elapsedMs >= QUIET_MS && !isTold) {
      isTold = true;
      onLong?.();
    }
    await systemClock.sleep(pauseMs);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if (codeOf(thrown) !== "ESRCH") throw thrown;
  }
}
