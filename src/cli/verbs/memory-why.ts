/** memory-why.ts -- `goald memory <agent> why`: explains where a memory comes from. */
import { MEMORY_AGENT, MEMORY_ID, SHARED } from "../option.ts";
import { whyMemory } from "../shared/read-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "memory why",
  summary: "explain where a memory comes from",
  description: "explain where a memory comes from (step, thought, file or page), and when it was recalled",
  examples: ["goald memory foo why 12"],
  arguments: [MEMORY_AGENT, MEMORY_ID],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or memory" },
  run: ([agent = "", id = ""], options) => whyMemory(agent, id, options),
});
