/** reload.ts -- `goald reload`: makes the daemon read its settings, commands and prompts again. */
import { findHost } from "#api/find-daemon.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { readVersion } from "../../shipped.ts";
import { findOwnContext, formatCall, type GlobalOptions } from "../shared/context.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "have the daemon reload settings, commands and prompts, as SIGHUP does",
  examples: ["goald reload"],
  exitCodes: { daemonUnreachable: "the daemon is not running or does not answer" },
  run: (_args, options) => reload(options),
});

async function reload(options: GlobalOptions): Promise<number> {
  const { home, output } = await findOwnContext(options);
  try {
    const client = await findHost(home, { version: readVersion() });
    if (!client)
      throw new GoaldError("GOALD_DAEMON", "The daemon is not running.", {
        hint: `It reads all settings when it starts: ${formatCall(home, "up")}`,
      });
    const changes = await client.reload();
    if (output.json) output.data(JSON.stringify({ changes }));
    else if (changes.length === 0) output.say("Reloaded commands and prompts; no setting has changed.");
    else for (const change of changes) output.data(clean(change));
    return EXIT.ok;
  } finally {
    output.close();
  }
}
