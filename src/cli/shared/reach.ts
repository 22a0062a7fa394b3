/**
 * reach.ts -- the host that a verb speaks to: the daemon that is up, or one that is started for it.
 */
import { ensureDaemon, findHost } from "#api/auto-start.ts";
import type { Client } from "#api/client.ts";
import { readVersion } from "../../shipped.ts";
import type { CliContext } from "./context.ts";

/** The host that takes calls, a foreground run too; a daemon is started when nobody runs the agents of this home. */
export async function reachHost({ home, output }: CliContext): Promise<Client> {
  const { client, started, status } = await ensureDaemon(home, { version: readVersion() });
  if (started && !output.json) console.error(`Started the daemon (pid ${status.pid}).`);
  return client;
}

/** The daemon that is up; undefined when there is none, or when it is going down. */
export async function findDaemon({ home }: CliContext): Promise<Client | undefined> {
  const client = await findHost(home, { version: readVersion() });
  if (!client) return undefined;
  const { role, stopping } = await client.status();
  return role === "daemon" && !stopping ? client : undefined;
}
