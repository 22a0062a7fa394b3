/** approve.ts -- `goald approve`: lets the pending command of an agent run. */
import { InvalidArgumentError } from "commander";
import { AGENT, CALL_OPTIONS, flag, positiveInteger, value } from "../option.ts";
import { approveVerb } from "../shared/answer-approval.ts";
import { defineVerb, HOST_CODES, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  description:
    "run the command that an agent asks approval for; on a terminal, show it and ask first. A script names the command that it means by --step or --call, because another may wait by then",
  examples: ["goald approve foo", "goald approve foo --step 12", "goald approve foo -N 5"],
  arguments: [AGENT],
  options: {
    ...CALL_OPTIONS,
    count: {
      ...value(
        "-N, --count <count>",
        "approve this many commands in all, the next ones unseen, until the agent stops or hears from you",
        answerCount,
      ),
      default: 1,
    },
    yes: flag("-y, --yes", "do not show the command and ask first on a terminal"),
  },
  exitCodes: { ...NO_AGENT, ...HOST_CODES, conflict: "no command is pending, or another one" },
  run: ([agent = ""], options) => approveVerb(agent, options),
});

function answerCount(given: string): number {
  const count = positiveInteger(given);
  if (count <= 1_000) return count;
  throw new InvalidArgumentError("Expected a whole number from 1 to 1000.");
}
