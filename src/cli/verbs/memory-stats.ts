/** memory-stats.ts -- `goald memory <agent> stats`: counts the memories and their recalls. */
import { MEMORY_AGENT, SHARED } from "../option.ts";
import { showMemoryStats } from "../shared/read-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "memory stats",
  summary: "count memories, their size and their recalls",
  examples: ["goald memory foo stats"],
  arguments: [MEMORY_AGENT],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent" },
  run: ([agent = ""], options) => showMemoryStats(agent, options),
});
