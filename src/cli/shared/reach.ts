/** reach.ts -- finds the daemon for a verb: the running one, or one that it starts. */

import type { Client } from "#api/client.ts";
import { ensureDaemon, findHost, type Reached } from "#api/find-daemon.ts";
import type { DaemonStatus } from "#api/schemas.ts";
import { printNote } from "#cli/terminal/print.ts";
import type { GoaldError } from "#core/errors.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

export const reachHost = async (context: Pick<CliContext, "home" | "output">): Promise<Client> =>
  (await reachDaemon(context)).client;

/** Starts a daemon when the home has none. */
export async function reachDaemon({ home, output }: Pick<CliContext, "home" | "output">): Promise<Reached> {
  const reached = await ensureDaemon(home, { version: readVersion() });
  if (reached.started && !output.json) printNote(`Started the daemon (pid ${reached.status.pid}).`);
  return reached;
}

/** Returns the status of the running daemon; undefined when there is none. Throws when it does not answer. */
export async function findDaemon({ home }: Pick<CliContext, "home">): Promise<DaemonStatus | undefined> {
  const onSilence = (why: GoaldError): never => {
    throw why;
  };
  return (await findHost(home, { version: readVersion(), onSilence }))?.status();
}
