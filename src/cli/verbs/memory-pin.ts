/** memory-pin.ts -- `goald memory <agent> pin`: pins memories. */
import { HOST_CODES } from "../exit-codes.ts";
import { MEMORY_AGENT, MEMORY_IDS, SHARED } from "../option.ts";
import { pinMemories } from "../shared/edit-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "memory pin",
  summary: "pin memories: recall them in every step",
  examples: ["goald memory foo pin 12 13"],
  arguments: [MEMORY_AGENT, MEMORY_IDS],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([agent = "", ...ids], options) => pinMemories(agent, ids, options),
});
