/** memory.ts -- `goald memory`: the verbs about an agent's memory. */
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "show and change what an agent remembers",
  examples: [
    "goald memory foo list",
    'goald memory foo search "opening hours"',
    'goald memory foo add "Ada leads the project" --pin',
    'goald memory foo correct 12 "It opens at nine"',
    "goald memory foo forget 12 13",
    "goald memory foo export foo.jsonl",
    "goald memory foo import foo.jsonl",
  ],
});
