/** verify.ts -- `goald verify`: checks the hash chains, every reference and the anchor of the store. */

import { acceptLossOf } from "#app/own-store.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { flag } from "../option.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description:
    "check the hash chains and every reference of the store, and that it still has every commit that goald confirmed",
  examples: ["goald verify", "goald verify foo", "goald verify --accept-loss"],
  arguments: [{ name: "[agent]", about: "id or name (default: all agents)" }],
  options: {
    acceptLoss: flag(
      "--accept-loss",
      "let agents continue without what the store has lost; commands of lost steps may run again",
    ),
  },
  exitCodes: { error: "the store is damaged", notFound: "no such agent", conflict: "with --accept-loss: a host runs" },
  run: ([agent], options) => verify(agent, options),
});

async function verify(
  name: string | undefined,
  options: GlobalOptions & { readonly acceptLoss?: boolean },
): Promise<number> {
  if (options.acceptLoss && name !== undefined)
    throw new GoaldError("GOALD_USAGE", "Expected --accept-loss without an agent: it applies to the whole store.");
  // A daemon that is started again would refuse the store.
  const revival = options.acceptLoss ? { revives: false } : {};
  return reading({ ...options, ...revival }, async (reading, { output, home }) => {
    if (options.acceptLoss) {
      const accepted = await acceptLossOf(home);
      for (const loss of accepted) output.say(clean(`Accepted: ${loss}`));
      if (accepted.length === 0) output.say("The store has lost nothing.");
    }
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
