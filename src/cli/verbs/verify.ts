/** verify.ts -- `goald verify`: checks the hash chains and every reference of the store. */

import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "verify",
  group: "This home",
  summary: "check the hash chains of the store",
  description: "check the hash chains and every reference of the store",
  examples: ["goald verify", "goald verify foo"],
  arguments: [{ name: "[agent]", about: "id or name (default: all agents)" }],
  exitCodes: { error: "the store is damaged", notFound: "no such agent" },
  run: ([agent], options) => verify(agent, options),
});

async function verify(name: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output }) => {
    const report = await reading.verify(name ?? null);
    if (output.json) output.data(JSON.stringify(report));
    else {
      for (const problem of report.problems) output.data(clean(problem));
      const verdict = report.problems.length === 0 ? "sound" : countNoun(report.problems.length, "problem");
      output.say(`${countNoun(report.agents, "agent")}, ${countNoun(report.events, "event")}: ${verdict}.`);
    }
    return report.problems.length === 0 ? EXIT.ok : EXIT.error;
  });
}
