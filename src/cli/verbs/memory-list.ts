/** memory-list.ts -- `goald memory <agent> list`: lists memories, newest first. */
import { flag, MEMORY_AGENT, positiveInteger, SHARED, text, value } from "../option.ts";
import { listMemories } from "../shared/read-memory.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  examples: ["goald memory foo list", "goald memory foo list --kind fact -n 10"],
  arguments: [MEMORY_AGENT],
  options: {
    all: flag("-a, --all", "list forgotten and replaced memories, too"),
    kind: {
      ...text("--kind <kind>", "list only this kind"),
      choices: ["step", "turn", "fact", "note", "file_chunk", "reflection", "piece"],
    },
    limit: value("-n, --limit <number>", "list at most this many (default: 50)", positiveInteger),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent" },
  run: ([agent = ""], options) => listMemories(agent, options),
});
