/** memory-export.ts -- `goald memory <agent> export`: writes a memory as JSON lines. */
import { MEMORY_AGENT, SHARED } from "../option.ts";
import { exportMemories } from "../shared/memory-file.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  examples: ["goald memory foo export foo.jsonl"],
  arguments: [MEMORY_AGENT, { name: "[file]", about: "file to write (default: standard output)" }],
  options: { shared: SHARED },
  exitCodes: { notFound: "no such agent" },
  run: ([agent = "", file], options) => exportMemories(agent, file, options),
});
