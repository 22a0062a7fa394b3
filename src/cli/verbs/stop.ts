/** stop.ts -- `goald stop`: stops agents after their step and report. */
import { InvalidArgumentError } from "commander";
import { ANY_AGENT, flag, value } from "../option.ts";
import { haltVerb } from "../shared/halt-agents.ts";
import { defineVerb, HOST_CODES, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  description:
    "let an agent finish its step and write its report, and wait for that; with --now stop in the middle of the step",
  examples: ["goald stop foo", "goald stop foo -t 120", "goald stop foo --now", "goald stop --all"],
  arguments: [ANY_AGENT],
  options: {
    all: flag("--all", "stop every agent that is not done"),
    now: flag("--now", "stop at once, in the middle of the step; goald resume continues from there"),
    timeout: { ...value("-t, --timeout <seconds>", "cut the step off after this many seconds", seconds), default: 30 },
  },
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([agent], { now, ...options }) => haltVerb(now ? "kill" : "stop", agent, options),
});

function seconds(given: string): number {
  if (/^\d{1,5}$/.test(given) && Number(given) <= 86_400) return Number(given);
  throw new InvalidArgumentError("Expected whole seconds from 0 to 86400.");
}
