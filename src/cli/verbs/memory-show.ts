/** memory-show.ts -- `goald memory <agent> show`: shows one memory. */
import { MEMORY_AGENT, MEMORY_ID, SHARED } from "../option.ts";
import { showMemory } from "../shared/read-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "memory show",
  summary: "show one memory in full",
  examples: ["goald memory foo show 12"],
  arguments: [MEMORY_AGENT, MEMORY_ID],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or memory" },
  run: ([agent = "", id = ""], options) => showMemory(agent, id, options),
});
