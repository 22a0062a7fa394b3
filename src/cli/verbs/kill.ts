/** kill.ts -- `goald kill`: stops agents at once. */
import { HOST_CODES, NO_AGENT } from "../exit-codes.ts";
import { ANY_AGENT, flag } from "../option.ts";
import { haltVerb } from "../shared/halt-agents.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "kill",
  group: "Steer agents",
  summary: "stop an agent at once",
  description: "stop an agent at once, in the middle of its step; goald resume continues from there",
  examples: ["goald kill foo", "goald kill --all"],
  arguments: [ANY_AGENT],
  options: { all: flag("--all", "kill every agent that is not done") },
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([agent], options) => haltVerb("kill", agent, options),
});
