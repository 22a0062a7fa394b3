/** reach.ts -- finds the host for a verb: a running one, or a daemon that it starts. */

import { ensureDaemon, findHost } from "#api/auto-start.ts";
import type { Client } from "#api/client.ts";
import { printNote } from "#cli/terminal/print.ts";
import type { GoaldError } from "#core/errors.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

/** Returns the host that accepts requests, which may be a foreground run. Starts a daemon when the home has no host. */
export async function reachHost({ home, output }: CliContext): Promise<Client> {
  const { client, started, status } = await ensureDaemon(home, { version: readVersion() });
  if (started && !output.json) printNote(`Started the daemon (pid ${status.pid}).`);
  return client;
}

/** Returns the running daemon; undefined when there is none, or when it is shutting down. Throws when it does not answer. */
export async function findDaemon({ home }: CliContext): Promise<Client | undefined> {
  const onSilence = (why: GoaldError): never => {
    throw why;
  };
  const client = await findHost(home, { version: readVersion(), onSilence });
  if (!client) return undefined;
  const { role, stopping } = await client.status();
  return role === "daemon" && !stopping ? client : undefined;
}
