/** memory-correct.ts -- `goald memory <agent> correct`: replaces a wrong memory. */
import { MEMORY_AGENT, MEMORY_ID, ONLY, SHARED } from "../option.ts";
import { correctMemory } from "../shared/edit-memory.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description: "replace a wrong memory and every row that says the same; they are never recalled again",
  examples: ['goald memory foo correct 12 "It opens at nine"'],
  arguments: [MEMORY_AGENT, MEMORY_ID, { name: "[words...]", about: "the right text (default: standard input)" }],
  options: { only: ONLY, shared: SHARED },
  exitCodes: { notFound: "no such agent or memory", ...HOST_CODES },
  run: ([agent = "", id = "", ...words], options) => correctMemory(agent, id, words, options),
});
