/** memory-add.ts -- `goald memory <agent> add`: adds a memory. */
import { flag, MEMORY_AGENT, SHARED } from "../option.ts";
import { addMemory } from "../shared/edit-memory.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  examples: ['goald memory foo add "Ada leads the project" --pin'],
  arguments: [MEMORY_AGENT, { name: "[words...]", about: "the text (default: standard input)" }],
  options: {
    fact: flag("--fact", "add a fact instead of a note"),
    pin: flag("--pin", "pin it: recall it in every step"),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent", ...HOST_CODES },
  run: ([agent = "", ...words], options) => addMemory(agent, words, options),
});
