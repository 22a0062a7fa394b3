/** memory-forget.ts -- `goald memory <agent> forget`: forgets memories. */
import { MEMORY_AGENT, MEMORY_IDS, ONLY, SHARED } from "../option.ts";
import { forgetMemories } from "../shared/edit-memory.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description: "erase memories and every row that says the same; they are never recalled again",
  examples: ["goald memory foo forget 12 13"],
  arguments: [MEMORY_AGENT, MEMORY_IDS],
  options: { only: ONLY, shared: SHARED },
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([agent = "", ...ids], options) => forgetMemories(agent, ids, options),
});
