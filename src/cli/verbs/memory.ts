/** memory.ts -- `goald memory`, `goald memory <agent> list` and `search`: shows memories. */
import { renderTable } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { MEMORY_HEAD, memoryCells, RECALL_HEAD, recallCells } from "#views/memory-view.ts";
import { openInterrupt, reading, withReading } from "../agents.ts";
import { openContext } from "../context.ts";
import { titleOf } from "../memory-space.ts";
import { defineVerb, flag, MEMORY_AGENT, positiveInteger, SHARED, text, value } from "../verb.ts";

export const MEMORY = defineVerb({
  description: "show and change what an agent remembers",
  examples: [
    "goald memory chef list",
    'goald memory chef search "opening hours"',
    'goald memory chef add "Ada leads the project" --pin',
    'goald memory chef correct 12 "It opens at nine"',
    "goald memory chef forget 12 13",
    "goald memory chef export chef.jsonl",
    "goald memory chef import chef.jsonl",
  ],
});

const DEFAULT_LINES = 50;

export const MEMORY_LIST = defineVerb({
  examples: ["goald memory chef list", "goald memory chef list --kind fact -n 10"],
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
  run: ([name = ""], { shared = false, all = false, limit = DEFAULT_LINES, kind, ...options }) =>
    reading(options, async (reading, { output, redact }) => {
      const list = await reading.memories({ name, shared }, { all, limit, ...(kind ? { kind } : {}) });
      const { namespace, count, pieces, memories } = list;
      if (output.printJson(list, redact)) return EXIT.ok;
      if (count === 0)
        output.say(`There is ${kind === undefined ? "nothing" : `no ${kind}`} in ${titleOf(namespace)}.`);
      else {
        output.page(redact(clean(renderTable(MEMORY_HEAD, memories.map(memoryCells)))));
        if (memories.length < count) output.say(`The newest ${memories.length} of ${count}. More: -n ${count}`);
        if (kind === undefined && pieces > 0)
          output.say(`And ${countNoun(pieces, "piece")} of long texts: --kind piece`);
      }
      return EXIT.ok;
    }),
});

export const MEMORY_SEARCH = defineVerb({
  description: "search a memory as the agent does when it works on these words",
  examples: ['goald memory chef search "opening hours"'],
  arguments: [MEMORY_AGENT, { name: "<words...>", about: "words to search for" }],
  options: {
    limit: value("-n, --limit <number>", "show at most this many (default: setting recall.count)", positiveInteger),
    shared: SHARED,
  },
  exitCodes: { notFound: "no such agent" },
  run: async ([name = "", ...words], { shared = false, limit = null, ...options }) => {
    using context = await openContext(options);
    using interrupt = openInterrupt();
    const { output, redact } = context;
    const found = await withReading(
      context,
      (reading) => reading.searchMemory({ name, shared }, words.join(" ").trim(), limit),
      // Ctrl-C shows the results found so far.
      { signal: interrupt.signal },
    );
    if (output.printJson(found, redact)) return EXIT.ok;
    if (found.recalls.length === 0) output.say(`Found nothing in ${titleOf(found.namespace)}.`);
    else output.page(redact(clean(renderTable(RECALL_HEAD, found.recalls.map(recallCells)))));
    return EXIT.ok;
  },
});
