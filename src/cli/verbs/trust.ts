/** trust.ts -- `goald trust`: a person trusts words from outside that an agent has read. */
import type { Trusted } from "#api/schemas.ts";
import { GoaldError } from "#core/errors.ts";
import { describeReceived, listSources } from "#core/provenance.ts";
import { AGENT } from "../option.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { findPaths } from "../shared/find-file.ts";
import { steering, tellDone, viewWhenHeard } from "../shared/steering.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description:
    "trust words from outside that you have looked at: those of files or of a cloned folder, or all that an agent has read until now. Its approvals then ask as if it had not read them. The trust is in the agent's log and cannot be taken back; what the agent reads later is not trusted",
  examples: ["goald trust foo notes.md", "goald trust foo cloned-folder", "goald trust foo all"],
  arguments: [
    AGENT,
    { name: "<what...>", about: "files or folders of the agent; all: whatever it has read (./all for a file)" },
  ],
  exitCodes: { ...HOST_CODES, notFound: "no such agent or file" },
  run: ([agent = "", ...what], options) => trust(agent, what, options),
});

export async function trust(name: string, what: readonly string[], options: GlobalOptions): Promise<number> {
  const isAll = what.includes("all");
  if (isAll && what.length > 1)
    throw new GoaldError("GOALD_USAGE", "Expected files or `all`, got both.", { hint: "A file of that name: ./all" });
  return steering(name, options, async ({ row, context, reach }) => {
    const paths = isAll ? [] : await findPaths(row.id, what, context);
    const client = await reach();
    const trusted = await client.trust(row.id, isAll ? { what: "all" } : { what: "files", paths });
    const agent = await viewWhenHeard(client, trusted.agent);
    const { received, trusted: entries } = trusted;
    return tellDone({ agent, note: describeTrusted(trusted) }, context, { trusted: entries, received });
  });
}

function describeTrusted({ trusted, received }: Trusted): string {
  const lines = trusted.map(({ path, outside }) => {
    if (path !== null)
      return `Trusted: ${path} (${outside.length > 0 ? `words from ${listSources(outside, 16)}` : "no words from outside were known in it"}).`;
    return received.length > 0
      ? `Trusted: all that it has read from outside until now: ${describeReceived(received, 16)}.`
      : "Trusted: all that it has read until now. It had read nothing from outside.";
  });
  return lines.join("\n");
}
