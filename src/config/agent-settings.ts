/** agent-settings.ts -- the settings of agents, their limits and sub-agents, the daemon and the terminal. */
import { REPLY_FORMS } from "#core/agent-settings.ts";
import {
  anyNumber,
  choice,
  commandList,
  filePath,
  optional,
  type SettingRow,
  wholeNumber,
  yesOrNo,
} from "./setting-row.ts";

export const AGENT_SETTINGS = [
  {
    name: "window.batch",
    environment: ["GOALD_WINDOW_BATCH"],
    ...wholeNumber(0, 40),
    meaning:
      "Extra messages kept beyond nine before the window is cut back to nine. Larger values make better use of prompt caches. Applies to new agents.",
  },
  {
    name: "form",
    environment: ["GOALD_FORM"],
    ...choice(...REPLY_FORMS),
    meaning:
      "How the model answers: a JSON object (`json`), a native tool call (`tools`), an action on a plan (`plan`), a thought and an action in Python (`react`), or prose with a block of code (`code`). A server that rejects tools is asked for JSON. Applies to new agents.",
  },
  {
    name: "plan",
    environment: ["GOALD_PLAN"],
    ...choice("free", "required"),
    meaning:
      "Whether the model may make a plan (`free`), or begins with one and is done when all tasks are verified or abandoned (`required`). Applies to new agents.",
  },
  {
    name: "react.severalCalls",
    environment: ["GOALD_REACT_SEVERAL_CALLS"],
    ...choice("warn", "deny"),
    meaning:
      "What happens to an action of the form `react` that calls several methods: it runs and its observation has a remark (`warn`), or it is not run (`deny`).",
  },
  {
    name: "commands",
    environment: ["GOALD_COMMANDS"],
    ...commandList,
    meaning:
      "Groups and names of the commands that agents may use, separated by commas, such as `files,web`. Applies to new agents.",
    whenUnset: "all that work",
  },
  {
    name: "approve",
    environment: ["GOALD_APPROVE"],
    ...choice("always", "risky", "never"),
    meaning: "Ask a person before every command (`always`), before risky ones (`risky`), or not at all (`never`).",
  },
  {
    name: "limits.unattendedSteps",
    environment: ["GOALD_UNATTENDED_STEPS"],
    ...wholeNumber(1, 1_000_000),
    meaning: "Pause an unattended run after this many steps, unless the run sets its own limit.",
  },
  {
    name: "limits.unattendedTokens",
    environment: ["GOALD_UNATTENDED_TOKENS"],
    ...wholeNumber(1_000, 1_000_000_000_000),
    meaning: "Pause an unattended run after this many tokens in and out, unless the run sets its own limit.",
  },
  {
    name: "limits.unattendedUsd",
    environment: ["GOALD_UNATTENDED_USD"],
    ...optional(anyNumber(0, 1_000_000)),
    meaning:
      "Pause an unattended run after this cost, unless the run sets its own limit. Applies to models with a known price.",
    unit: "USD",
    whenUnset: "no limit",
  },
  {
    name: "limits.approvalMinutes",
    environment: ["GOALD_APPROVAL_MINUTES"],
    ...optional(wholeNumber(1, 1_000_000)),
    meaning:
      "Reject a command that nobody has approved after this time; the agent then goes on without it. Time in which nothing ran counts too.",
    unit: "minutes",
    whenUnset: "no limit",
  },
  {
    name: "limits.maxBadReplies",
    environment: ["GOALD_MAX_BAD_REPLIES"],
    ...wholeNumber(1, 100),
    meaning: "Pause an agent after this many unreadable replies in a row.",
  },
  {
    name: "limits.maxModelFailures",
    environment: ["GOALD_MAX_MODEL_FAILURES"],
    ...wholeNumber(1, 100),
    meaning: "Pause an agent after this many failed model calls in a row.",
  },
  {
    name: "quota.folderMegabytes",
    environment: ["GOALD_QUOTA_FOLDER_MEGABYTES"],
    ...wholeNumber(1, 1_000_000),
    meaning:
      "Maximum size of an agent's folder, with the folders of its sub-agents. The agent is refused further writes.",
    unit: "MB",
  },
  {
    name: "quota.folderFiles",
    environment: ["GOALD_QUOTA_FOLDER_FILES"],
    ...wholeNumber(1, 10_000_000),
    meaning: "Maximum number of files in an agent's folder, with the folders of its sub-agents.",
  },
  {
    name: "quota.pagesMegabytes",
    environment: ["GOALD_QUOTA_PAGES_MEGABYTES"],
    ...wholeNumber(1, 1_000_000),
    meaning: "Maximum size of the web pages that an agent keeps in `pages/`.",
    unit: "MB",
  },
  {
    name: "quota.downloadsMegabytes",
    environment: ["GOALD_QUOTA_DOWNLOADS_MEGABYTES"],
    ...wholeNumber(1, 1_000_000),
    meaning: "Maximum size of all files and repositories that an agent downloads over its life.",
    unit: "MB",
  },
  {
    name: "quota.storeMegabytes",
    environment: ["GOALD_QUOTA_STORE_MEGABYTES"],
    ...wholeNumber(1, 1_000_000),
    meaning: "Maximum size of the file versions and long texts that the store keeps for an agent and its sub-agents.",
    unit: "MB",
  },
  {
    name: "agents.maxDepth",
    environment: ["GOALD_AGENT_DEPTH"],
    ...wholeNumber(0, 10),
    meaning: "Maximum levels of sub-agents below an agent that a person started. 0 disables sub-agents.",
  },
  {
    name: "agents.maxChildren",
    environment: ["GOALD_AGENT_CHILDREN"],
    ...wholeNumber(1, 100),
    meaning: "Maximum sub-agents per agent at the same time.",
  },
  {
    name: "agents.sharePercent",
    environment: ["GOALD_AGENT_SHARE"],
    ...wholeNumber(1, 100),
    meaning: "Share of its remaining limits that an agent reserves for a new sub-agent.",
    unit: "%",
  },
  {
    name: "agents.answerSeconds",
    environment: ["GOALD_AGENT_ANSWER_SECONDS"],
    ...wholeNumber(1, 3_600),
    meaning: "Maximum wait for the answer of a sub-agent before the agent continues.",
    unit: "seconds",
  },
  {
    name: "agents.parentMemory",
    environment: ["GOALD_AGENT_PARENT_MEMORY"],
    ...yesOrNo,
    meaning: "Let sub-agents also recall memories of the agent that started them.",
  },
  {
    name: "daemon.concurrency",
    environment: ["GOALD_MODEL_CONCURRENCY"],
    ...wholeNumber(1, 1_000),
    meaning: "Maximum concurrent model calls per server.",
  },
  {
    name: "daemon.requestsPerMinute",
    environment: ["GOALD_REQUESTS_PER_MINUTE"],
    ...optional(wholeNumber(1, 1_000_000)),
    meaning: "Maximum model calls per minute and server, over all agents.",
    whenUnset: "no limit",
  },
  {
    name: "daemon.graceSeconds",
    environment: ["GOALD_GRACE_SECONDS"],
    ...wholeNumber(0, 3_600),
    meaning: "Maximum time to finish running steps when the daemon stops.",
    unit: "seconds",
  },
] as const satisfies readonly SettingRow[];

/** The value is one word that a person types. */
const answerKey = {
  schema: { type: "string", pattern: "^[^\\s-]{1,20}$" },
  expected: "a word of 1 to 20 characters without blanks",
} as const;

export const TERMINAL_SETTINGS = [
  { name: "keys.yes", environment: ["AUTHORISE_COMMAND_KEY"], ...answerKey, meaning: "Answer that runs a command." },
  { name: "keys.no", environment: ["EXIT_KEY"], ...answerKey, meaning: "Answer that stops the agent." },
  {
    name: "agentFile",
    environment: ["AI_SETTINGS_FILE"],
    ...filePath,
    meaning: "Agent file to read when neither flags nor answers describe an agent.",
  },
  {
    name: "plainOutput",
    environment: ["PLAIN_OUTPUT"],
    ...yesOrNo,
    meaning: "Print without color and without redrawing.",
  },
  {
    name: "color",
    environment: ["NO_COLOR"],
    ...yesOrNo,
    offWhenSet: true,
    meaning: "Print in color on a terminal. Any value of NO_COLOR turns it off.",
  },
  {
    name: "logLevel",
    environment: ["GOALD_LOG_LEVEL"],
    ...choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    meaning: "Lowest level of the lines in .goald/log/goald.log.",
  },
] as const satisfies readonly SettingRow[];
