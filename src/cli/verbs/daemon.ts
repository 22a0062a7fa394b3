/**
 * daemon.ts -- the daemon's process, for `goald up --foreground` and for daemons in the background. It sends one
 * message about its start to its parent process, then disconnects. SIGTERM and SIGINT finish the current steps; a
 * second one cuts them off. SIGHUP reads the settings again. One that a verb started ends when nothing has needed it
 * for a while.
 */
import { expectDaemon, staysUp, stopExpectingDaemon } from "#api/daemon-files.ts";
import type { RedactedSettings } from "#app/agent.ts";
import type { Host } from "#app/host.ts";
import { loadSettings } from "#config/load-settings.ts";
import { openHome } from "#config/open-home.ts";
import { EXIT, isGoaldError, toError } from "#core/errors.ts";
import { systemClock } from "#util/clock.ts";
import type { Log } from "#util/log.ts";
import { clean } from "#util/outside-text.ts";
import { type CliContext, type GlobalOptions, openContext, redactorsFor } from "../context.ts";
import { openHostLog, openServingHost } from "../open-host.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  examples: ["goald daemon"],
  exitCodes: HOST_CODES,
  run: (_args, options) => daemonVerb({ ...options, revives: false }),
});

export interface DaemonOptions extends GlobalOptions {
  /** True when a person or a service manager started the daemon and watches it. */
  readonly foreground?: boolean;
  /** How long nothing may need a daemon that a verb started. */
  readonly idleMs?: number;
}

const IDLE_MS = 600_000;

/** Resolves when the daemon has shut down. */
export async function daemonVerb(options: DaemonOptions): Promise<number> {
  // Makes all new files private to this user.
  process.umask(0o077);
  const context = await openContext({ ...options, input: false }).catch(failed);
  await openHome(context.home, process.getuid?.()).catch(failed);
  const log = await openHostLog(context);
  const shutdown = Promise.withResolvers<number>();
  const secrets = new Set<string>();
  const load = (): Promise<RedactedSettings> => loadAgain(context, secrets);
  let daemon: Awaited<ReturnType<typeof openServingHost>>;
  try {
    daemon = await openServingHost(context, { log, load, onShutdown: shutdown.resolve });
  } catch (thrown) {
    if (!isGoaldError(thrown, "GOALD_ALREADY_RUNNING") || options.foreground) return failed(thrown);
    handshake({ already: true });
    return EXIT.ok;
  }
  await using host = daemon.host;
  expectDaemon(context.home, false);
  const over = new AbortController();
  const unused = options.foreground ? [] : [untilUnused(host, options.idleMs ?? IDLE_MS, over.signal)];
  const ending = Promise.race([shutdown.promise, untilSignalled(host, log), ...unused]);
  handshake({ ready: { pid: process.pid } });
  log.info({ socket: daemon.socket }, "The daemon is ready.");
  if (options.foreground)
    context.output.say(`The daemon is ready (pid ${process.pid}, ${daemon.socket}). Ctrl-C ends it.`);
  // A shutdown request stops the start of further agents.
  const starting = host.supervisor.start();
  const graceMs = await Promise.race([ending, starting.then(() => ending)]);
  over.abort();
  host.isStopping = true;
  await host.supervisor.drain(graceMs);
  await host.stopServing("The daemon goes down.");
  log.info("The daemon has gone down.");
  return EXIT.ok;
}

/** Resolves when nothing has needed the daemon for `idleMs`, to the grace time of a shutdown. It takes no requests then. */
async function untilUnused(host: Host, idleMs: number, over: AbortSignal): Promise<number> {
  while (!over.aborted) {
    const leftMs = staysUp(host.home) ? idleMs : idleMs - host.idleMs;
    if (leftMs > 0) {
      await systemClock.sleep(leftMs, over);
      continue;
    }
    await host.stopServing("It has had nothing to do.");
    // The last request may have started an agent.
    if (host.supervisor.runners.size === 0) {
      await stopExpectingDaemon(host.home);
      break;
    }
    if (!over.aborted) await host.serve();
  }
  return 0;
}

/** Time to finish running steps: most do within it, and a service manager waits 90 s before it kills. */
const GRACE_MS = 30_000;

/** Resolves to the grace time when a signal requests a shutdown. */
function untilSignalled({ supervisor, control }: Host, log: Log): Promise<number> {
  const signalled = Promise.withResolvers<number>();
  let isSignalled = false;
  const onSignal = (name: string): void => {
    log.info({ signal: name }, isSignalled ? "Asked again to go down: at once." : "Asked to go down.");
    if (isSignalled) supervisor.abortAll("The daemon goes down at once.");
    isSignalled = true;
    signalled.resolve(GRACE_MS);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => onSignal(name));
  process.on("SIGHUP", () => {
    control.reload().catch((thrown) => {
      log.error(clean(`The settings were not read again: ${toError(thrown).message}`));
    });
  });
  return signalled.promise;
}

/** `known`: secrets of earlier readings, which stay secret after they are replaced. */
async function loadAgain(context: CliContext, known: Set<string>): Promise<RedactedSettings> {
  const { settings, secrets } = await loadSettings({ home: context.home, env: process.env, flags: {} });
  for (const secret of secrets) known.add(secret);
  const later = redactorsFor([...known]);
  return {
    settings,
    redact: (text) => context.redact(later.redact(text)),
    scrub: (text) => context.scrub(later.scrub(text)),
  };
}

function failed(thrown: unknown): never {
  const error = toError(thrown);
  const [code, hint] = isGoaldError(error) ? [error.code, error.hint] : ["GOALD_INTERNAL", ""];
  handshake({ failed: { code, message: error.message, hint } });
  throw error;
}

function handshake(message: unknown): void {
  process.send?.(message, () => {
    if (process.connected) process.disconnect();
  });
}
