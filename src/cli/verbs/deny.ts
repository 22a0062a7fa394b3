/** deny.ts -- `goald deny`: rejects the pending command of an agent. */
import { AGENT, CALL_OPTIONS, text } from "../option.ts";
import { denyVerb } from "../shared/answer-approval.ts";
import { defineVerb, HOST_CODES, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  examples: ["goald deny foo", "goald deny foo --step 12", 'goald deny foo --reason "Use the file that is there"'],
  arguments: [AGENT, { name: "[words...]", about: "the reason, or what to do instead" }],
  options: { ...CALL_OPTIONS, reason: text("--reason <words>", "give the agent the reason, or what to do instead") },
  exitCodes: { ...NO_AGENT, ...HOST_CODES, conflict: "no command is pending, or another one" },
  run: ([agent = "", ...words], options) => denyVerb(agent, words, options),
});
