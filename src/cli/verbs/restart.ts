/** restart.ts -- `goald restart`: stops the daemon and starts this version of it. */
import { ensureDaemon } from "#api/find-daemon.ts";
import { loadSettings } from "#config/load-settings.ts";
import { EXIT } from "#core/errors.ts";
import { readVersion } from "../../shipped.ts";
import { STOP_OPTIONS } from "../option.ts";
import { findOwnContext } from "../shared/context.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";
import { type StopOptions, stopDaemon } from "./down.ts";
import { sayUp } from "./up.ts";

export const verb = defineVerb({
  description: "restart the daemon with this version; its agents continue where they stopped",
  examples: ["goald restart", "goald restart -t 5"],
  options: STOP_OPTIONS,
  exitCodes: { ...HOST_CODES, error: "the daemon has not stopped in time" },
  run: (_args, options) => restart(options),
});

/** Checks the settings first, so that invalid ones leave the daemon running. */
async function restart(options: StopOptions): Promise<number> {
  const { home, output } = await findOwnContext(options);
  try {
    await loadSettings({ home, env: process.env });
    const stopped = await stopDaemon({ home, output }, options);
    if (stopped && !stopped.isGone) return EXIT.error;
    const reached = await ensureDaemon(home, { version: readVersion() });
    const agents = stopped && stopped.unfinished.length > 0 ? "; its agents continue" : "";
    sayUp(reached, `is up${stopped ? " again" : ""}${agents}`, { home, output });
    return EXIT.ok;
  } finally {
    output.close();
  }
}
