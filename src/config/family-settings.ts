/** family-settings.ts -- the settings of agents that agents start. Rows of the one table. */
import type { SettingRow } from "./settings-table.ts";

function count(minimum: number, maximum: number, inWords = String(maximum)) {
  const expected = `a whole number from ${minimum} to ${inWords}`;
  return { schema: { type: "integer", minimum, maximum }, expected } as const;
}

export const FAMILY_SETTINGS = [
  {
    name: "agents.maxDepth",
    environment: ["GOALD_AGENT_DEPTH"],
    ...count(0, 10),
    meaning: "How deep agents that agents start may stand below a person's; 0: agents start no others.",
  },
  {
    name: "agents.maxChildren",
    environment: ["GOALD_AGENT_CHILDREN"],
    ...count(1, 100),
    meaning: "How many agents one agent may have at a time.",
  },
  {
    name: "agents.sharePercent",
    environment: ["GOALD_AGENT_SHARE"],
    ...count(1, 100),
    meaning: "Of what is left of its limits, what an agent sets aside for one that it starts, in percent.",
  },
  {
    name: "agents.answerSeconds",
    environment: ["GOALD_AGENT_ANSWER_SECONDS"],
    ...count(1, 3600, "3,600"),
    meaning: "How long an agent waits for the answer of one that it started before it goes on, in seconds.",
  },
  {
    name: "agents.parentMemory",
    environment: ["GOALD_AGENT_PARENT_MEMORY"],
    schema: { type: "boolean" },
    expected: "true or false",
    meaning: "Whether an agent that another one started recalls from that one's memory, too.",
  },
] as const satisfies readonly SettingRow[];
