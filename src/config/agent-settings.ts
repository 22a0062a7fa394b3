/** agent-settings.ts -- the settings of agents, their limits and sub-agents, the daemon and its log. */
import { REPLY_FORMS } from "#core/agent-settings.ts";
import { anyNumber, choice, commandList, optional, type SettingRow, wholeNumber } from "./setting-row.ts";

export const AGENT_SETTINGS = [
  {
    name: "window.batch",
    ...wholeNumber(0, 40),
    meaning:
      "Extra messages kept beyond nine before the window is cut back to nine. Larger values make better use of prompt caches. Applies to new agents.",
  },
  {
    name: "agents.form",
    ...choice(...REPLY_FORMS),
    meaning:
      "How the model answers: a JSON object (`json`), a native tool call (`tools`), an action on a plan (`plan`), a thought and an action in Python (`react`), or prose with a block of code (`code`). A server that rejects tools is asked for JSON. Applies to new agents.",
  },
  {
    name: "agents.commands",
    ...commandList,
    meaning:
      "Groups and names of the commands that agents may use, separated by commas, such as `files,web`. Applies to new agents.",
    whenUnset: "all that work",
  },
  {
    name: "agents.approve",
    ...choice("always", "risky", "never"),
    meaning: "Ask a person before every command (`always`), before risky ones (`risky`), or not at all (`never`).",
  },
  {
    name: "limits.unattendedSteps",
    ...wholeNumber(1, 1_000_000),
    meaning: "Pause an unattended run after this many steps, unless the run sets its own limit.",
  },
  {
    name: "limits.unattendedTokens",
    ...wholeNumber(1_000, 1_000_000_000_000),
    meaning: "Pause an unattended run after this many tokens in and out, unless the run sets its own limit.",
  },
  {
    name: "limits.unattendedUsd",
    ...optional(anyNumber(0, 1_000_000)),
    meaning:
      "Pause an unattended run after this cost, unless the run sets its own limit. Applies to models with a known price.",
    unit: "USD",
    whenUnset: "no limit",
  },
  {
    name: "limits.approvalMinutes",
    ...optional(wholeNumber(1, 1_000_000)),
    meaning:
      "Reject a command that nobody has approved after this time; the agent then goes on without it. Time in which nothing ran counts too.",
    unit: "minutes",
    whenUnset: "no limit",
  },
  {
    name: "quota.megabytes",
    ...wholeNumber(1, 1_000_000),
    meaning:
      "Maximum size of an agent's folder, with the folders of its sub-agents; the agent is refused further writes. Kept pages may take a tenth of it, all downloads of its life half, and the versions of its files in the store twice as much.",
    unit: "MB",
  },
  {
    name: "agents.maxDepth",
    ...wholeNumber(0, 10),
    meaning: "Maximum levels of sub-agents below an agent that a person started. 0 disables sub-agents.",
  },
  {
    name: "agents.maxChildren",
    ...wholeNumber(1, 100),
    meaning: "Maximum sub-agents per agent at the same time.",
  },
  {
    name: "daemon.concurrency",
    ...wholeNumber(1, 1_000),
    meaning: "Maximum concurrent model calls per server.",
  },
  {
    name: "daemon.requestsPerMinute",
    ...optional(wholeNumber(1, 1_000_000)),
    meaning: "Maximum model calls per minute and server, over all agents.",
    whenUnset: "no limit",
  },
  {
    name: "log.level",
    ...choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    meaning: "Lowest level of the lines in .goald/log/goald.log.",
  },
] as const satisfies readonly SettingRow[];
