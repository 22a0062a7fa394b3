/** pause.ts -- `goald pause`: pauses agents after their step. */
import { ANY_AGENT, flag } from "../option.ts";
import { haltVerb } from "../shared/halt-agents.ts";
import { defineVerb, HOST_CODES, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  description: "pause an agent after its step, until goald resume",
  examples: ["goald pause foo", "goald pause --all"],
  arguments: [ANY_AGENT],
  options: { all: flag("--all", "pause every agent that is not done") },
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([agent], options) => haltVerb("pause", agent, options),
});
