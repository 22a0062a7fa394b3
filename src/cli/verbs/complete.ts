/** complete.ts -- `goald complete agents`: lists agents for completion scripts. Starts no daemon, never fails. */

import { listAgentNames } from "#app/reading.ts";
import { printLine } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { findContext, type GlobalOptions } from "../shared/context.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "complete",
  summary: "print the agents that begin with a text; for completion scripts",
  examples: ["goald complete agents fo"],
  arguments: [
    { name: "<what>", about: "what to complete", choices: ["agents"] },
    { name: "[begin]", about: "what is typed so far" },
  ],
  run: async ([, begin = ""], options) => {
    for (const line of await agentsThatBegin(begin, options).catch(() => [])) printLine(line);
    return EXIT.ok;
  },
});

/** Returns matching ids, each with a tab and its name. Returns matching names when no id matches. */
async function agentsThatBegin(begin: string, options: GlobalOptions): Promise<readonly string[]> {
  const { home, output } = await findContext({ ...options, input: false });
  try {
    const rows = await listAgentNames(home);
    const byId = rows.filter(({ id }) => id.startsWith(begin));
    if (byId.length > 0) return byId.map(({ id, name }) => `${id}\t${oneLineOf(name)}`);
    const names = rows.map(({ name }) => oneLineOf(name)).filter((name) => isBegin(begin, name));
    return [...new Set(names)];
  } finally {
    output.close();
  }
}

const isBegin = (begin: string, name: string): boolean => name.toLowerCase().startsWith(begin.toLowerCase());

const oneLineOf = (name: string): string => clean(name).replace(/\s+/g, " ");
