/** revive.ts -- restarts the daemon of a home when it died with unfinished agents. */
import { hasDaemonDied } from "#api/daemon-files.ts";
import type { Home } from "#config/home.ts";
import { readVersion } from "../../shipped.ts";

/** Never rejects, because reading needs no daemon. */
export async function reviveDaemon(home: Home): Promise<void> {
  if (!hasDaemonDied(home)) return;
  const [{ revive }, { unfinishedAgents }] = await Promise.all([
    import("#api/find-daemon.ts"),
    import("#app/reading.ts"),
  ]);
  await revive(home, async () => (await unfinishedAgents(home, 1)).length > 0, { version: readVersion() });
}
