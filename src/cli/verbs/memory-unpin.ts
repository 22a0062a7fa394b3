/** memory-unpin.ts -- `goald memory <agent> unpin`: unpins memories. */
import { HOST_CODES } from "../exit-codes.ts";
import { MEMORY_AGENT, MEMORY_IDS, SHARED } from "../option.ts";
import { unpinMemories } from "../shared/edit-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "memory unpin",
  summary: "unpin memories",
  examples: ["goald memory foo unpin 12 13"],
  arguments: [MEMORY_AGENT, MEMORY_IDS],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([agent = "", ...ids], options) => unpinMemories(agent, ids, options),
});
