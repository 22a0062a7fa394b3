/** memory-import.ts -- `goald memory <agent> import`: adds the memories of an exported file. */
import { flag, MEMORY_AGENT, SHARED } from "../option.ts";
import { importMemories } from "../shared/memory-file.ts";
import { defineVerb, HOST_CODES } from "../verb.ts";

export const verb = defineVerb({
  description: "add the memories of an exported file that are not there yet",
  examples: ["goald memory foo import foo.jsonl"],
  arguments: [MEMORY_AGENT, { name: "<file>", about: "JSON lines as export writes them; -: standard input" }],
  options: {
    trust: flag("--trust", "trust each line as far as it says (default: as the words of a file)"),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent or file", ...HOST_CODES },
  run: ([agent = "", file = ""], options) => importMemories(agent, file, options),
});
