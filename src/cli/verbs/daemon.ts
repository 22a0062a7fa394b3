/**
 * daemon.ts -- the daemon's own process: `goald up --foreground`, and what every other verb starts in the background.
 *
 * It says once how its start went, over the channel of the process that started it, and then belongs to nobody.
 * SIGTERM and SIGINT finish the steps under way; a second one cuts them off. SIGHUP reads the settings again.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readHostInfo } from "#api/host-lock.ts";
import { type Daemon, type LoadedSettings, openDaemon } from "#app/daemon.ts";
import { loadSettings } from "#config/load.ts";
import { openHome } from "#config/open-home.ts";
import { EXIT, isGoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import type { Log } from "#util/log.ts";
import { HOST_CODES } from "../exit-codes.ts";
import { type CliContext, type GlobalOptions, openContext, redactorsFor } from "../shared/context.ts";
import { openHostLog } from "../shared/host-agent.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "daemon",
  summary: "run the daemon in this process; started by other verbs",
  examples: ["goald daemon"],
  exitCodes: HOST_CODES,
  run: (_args, options) => daemonVerb({ ...options, revives: false }),
});

export interface DaemonOptions extends GlobalOptions {
  /** Started by a person or a service manager, who watches it. */
  readonly foreground?: boolean;
}

/** Resolves when the daemon has gone down. */
export async function daemonVerb(options: DaemonOptions): Promise<number> {
  // Everything that it makes is for this user only.
  process.umask(0o077);
  const context = await openContext({ ...options, input: false }).catch(failed);
  await openHome(context.home, process.getuid?.()).catch(failed);
  const log = await openHostLog(context);
  const known = new Set<string>();
  let daemon: Daemon;
  try {
    daemon = await openDaemon({ ...context, log, load: () => loadAgain(context, known) });
  } catch (thrown) {
    if (!isGoaldError(thrown, "GOALD_ALREADY_RUNNING") || options.foreground) return failed(thrown);
    handshake({ already: readHostInfo(context.home.lock) ?? null });
    return EXIT.ok;
  }
  const { socket } = daemon;
  await writeFile(join(context.home.privateFolder, "wanted"), "");
  const ending = untilAsked(daemon, context, log);
  handshake({ ready: { pid: process.pid, socket } });
  log.info({ socket }, "The daemon is ready.");
  if (options.foreground) context.output.say(`The daemon is ready (pid ${process.pid}, ${socket}). Ctrl-C ends it.`);
  // Asked to go down while many agents are still set going, it does not set the others going first.
  const starting = daemon.start();
  const graceMs = await Promise.race([ending, starting.then(() => ending)]);
  await daemon.close(graceMs);
  log.info("The daemon has gone down.");
  return EXIT.ok;
}

/** Resolves to the grace time when it is to go down. */
async function untilAsked(daemon: Daemon, context: CliContext, log: Log): Promise<number> {
  const signalled = Promise.withResolvers<number>();
  let isSignalled = false;
  const onSignal = (name: string): void => {
    log.info({ signal: name }, isSignalled ? "Asked again to go down: at once." : "Asked to go down.");
    if (isSignalled) daemon.hurry();
    isSignalled = true;
    signalled.resolve(context.settings.daemon.graceSeconds * 1000);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => onSignal(name));
  process.on("SIGHUP", () => {
    daemon.reload().catch((thrown) => log.error(clean(`The settings were not read again: ${toError(thrown).message}`)));
  });
  // Without anything to do, only its socket keeps the process alive; a closed terminal must not end it.
  return Promise.race([signalled.promise, daemon.asked.then(({ graceMs }) => graceMs)]);
}

/** `known`: secrets that were read earlier; those that are read now come to them. */
async function loadAgain({ home }: CliContext, known: Set<string>): Promise<LoadedSettings> {
  const { settings, secrets } = await loadSettings({ home, env: process.env, flags: {} });
  for (const secret of secrets) known.add(secret);
  return { settings, ...redactorsFor([...known]) };
}

function failed(thrown: unknown): never {
  const error = toError(thrown);
  const [code, hint] = isGoaldError(error) ? [error.code, error.hint] : ["GOALD_INTERNAL", ""];
  handshake({ failed: { code, message: error.message, hint } });
  throw error;
}

/** To the process that started it, if there is one. */
function handshake(message: unknown): void {
  if (!process.send) return;
  process.send(message, () => {
    if (process.connected) process.disconnect();
  });
}
