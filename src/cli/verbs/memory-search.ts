/** memory-search.ts -- `goald memory <agent> search`: searches as the agent's recall does. */
import { MEMORY_AGENT, positiveInteger, SHARED, value } from "../option.ts";
import { searchMemory } from "../shared/read-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "search a memory as the agent does when it works on these words",
  examples: ['goald memory foo search "opening hours"'],
  arguments: [MEMORY_AGENT, { name: "<words...>", about: "words to search for" }],
  options: {
    limit: value("-n, --limit <number>", "show at most this many (default: setting recall.count)", positiveInteger),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent" },
  run: ([agent = "", ...words], options) => searchMemory(agent, words, options),
});
