/** read-memory.ts -- the work of `goald memory <agent>` list, show, search and why. They need no lock and change nothing. */

import { openRecall } from "#app/services.ts";
import { renderTable } from "#cli/terminal/table.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isLive, SHARED_MEMORY } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { headOf } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { findMemory } from "#views/find-memory.ts";
import {
  describeMemory,
  describeMemoryStory,
  MEMORY_HEAD,
  type MemoryStory,
  memoryCells,
  RECALL_HEAD,
  recallCells,
  viewMemory,
} from "#views/memory-view.ts";
import { findStep } from "#views/step-view.ts";
import type { CliContext } from "./context.ts";
import { allMemories, findSpace, type MemoryOptions, requireMemory, type Space } from "./memory-space.ts";
import { allEvents, reading } from "./reading.ts";

export interface ListOptions extends MemoryOptions {
  readonly all?: boolean;
  readonly kind?: string;
  readonly limit?: number;
}

const DEFAULT_LINES = 50;

/** Newest first. */
export async function listMemories(name: string, options: ListOptions): Promise<number> {
  return reading(options, async (reader, { output, redact }) => {
    const space = await findSpace(reader, name, options);
    const rows: MemoryRow[] = [];
    for await (const row of allMemories(reader, space.namespace))
      if ((options.all || isLive(row)) && (options.kind === undefined || row.kind === options.kind)) rows.push(row);
    rows.sort((a, b) => (a.at === b.at ? b.change - a.change : a.at < b.at ? 1 : -1));
    const shown = rows.slice(0, options.limit ?? DEFAULT_LINES);
    if (output.json) {
      const memories = shown.map(viewMemory);
      output.data(redact(JSON.stringify({ namespace: space.namespace, count: rows.length, memories })));
    } else if (rows.length === 0) output.say(`There is nothing in ${space.title}.`);
    else {
      output.data(redact(clean(renderTable(MEMORY_HEAD, shown.map(memoryCells)))));
      if (shown.length < rows.length)
        output.say(`The newest ${shown.length} of ${rows.length}. More: -n ${rows.length}`);
    }
    return EXIT.ok;
  });
}

export async function showMemory(name: string, id: string, options: MemoryOptions): Promise<number> {
  return reading(options, async (reader, { output, redact }) => {
    const row = viewMemory(await requireMemory(reader, id, await findSpace(reader, name, options)));
    output.data(output.json ? redact(JSON.stringify(row)) : redact(clean(describeMemory(row))));
    return EXIT.ok;
  });
}

/** What the agent would recall if it were busy with these words. */
export async function searchMemory(
  name: string,
  words: readonly string[],
  options: MemoryOptions & { readonly limit?: number },
): Promise<number> {
  return reading(options, async (reader, context) => {
    const { output, redact } = context;
    const query = words.join(" ").trim();
    const { namespace, title } = await findSpace(reader, name, options);
    if (query === "")
      throw new GoaldError("GOALD_USAGE", "Expected words to search for.", {
        hint: `Such as: goald memory ${namespace} search "opening hours"`,
      });
    const recalls = await recallFor(namespace, query, options.limit, reader, context);
    if (output.json) output.data(redact(JSON.stringify({ namespace, query, recalls })));
    else if (recalls.length === 0) output.say(`Found nothing in ${title}.`);
    else output.data(redact(clean(renderTable(RECALL_HEAD, recalls.map(recallCells)))));
    return EXIT.ok;
  });
}

/** The same machinery as the agent's; what it makes is not kept, since the store belongs to the host. */
async function recallFor(
  namespace: string,
  query: string,
  limit: number | undefined,
  reader: StoreReader,
  { home, settings }: CliContext,
) {
  const memory = openRecall(home, settings, reader, (problem) => console.error(clean(problem)));
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once("SIGINT", stop);
  try {
    const count = limit ?? settings.recall.count;
    const asked = { agent: namespace, others: [SHARED_MEMORY], texts: [query], count, excludeSteps: new Set<number>() };
    return await memory.recall(asked, interrupt.signal);
  } finally {
    process.off("SIGINT", stop);
    await memory.close();
  }
}

export async function whyMemory(name: string, id: string, options: MemoryOptions): Promise<number> {
  return reading(options, async (reader, { output, redact }) => {
    const space = await findSpace(reader, name, options);
    const story = await storyOf(await requireMemory(reader, id, space), space, reader);
    output.data(output.json ? redact(JSON.stringify(story)) : redact(clean(describeMemoryStory(story))));
    return EXIT.ok;
  });
}

async function storyOf(row: MemoryRow, { row: agent }: Space, reader: StoreReader): Promise<MemoryStory> {
  const chain = async (next: (row: MemoryRow) => string | null): Promise<readonly MemoryRow[]> => {
    const rows: MemoryRow[] = [];
    for (let id = next(row); id !== null && rows.length < MAX_CHAIN; ) {
      const found = await findMemory(reader, id);
      if (!found) break;
      rows.push(found);
      id = next(found);
    }
    return rows;
  };
  const recalledIn = new Set<number>();
  if (agent)
    for await (const event of allEvents(reader, agent.id))
      if (event.type === "model-asked" && event.recallIds.includes(row.id)) recalledIn.add(event.step);
  return {
    memory: viewMemory(row),
    step: await stepOf(row, reader),
    before: (await chain(({ supersedes }) => supersedes)).map(viewMemory),
    after: (await chain(({ supersededBy }) => supersededBy)).map(viewMemory),
    recalledIn: [...recalledIn],
  };
}

/** Corrections of corrections that are followed. */
const MAX_CHAIN = 50;

async function stepOf({ namespace, step, seq }: MemoryRow, reader: StoreReader): Promise<MemoryStory["step"]> {
  if (step === null || step === 0) return null;
  const files = await reader.files(namespace);
  const found = await findStep(allEvents(reader, namespace), step, files);
  if (!found) return null;
  const { turn, thought, command, result } = found.view;
  const [event] = await reader.read(namespace, seq - 1, 1);
  // What a person said in between belongs to no command.
  const isOfCommand = event !== undefined && "callId" in event;
  return {
    agent: namespace,
    step,
    turn,
    thought: isOfCommand ? headOf(thought) : "",
    command: isOfCommand ? (command?.name ?? null) : null,
    args: isOfCommand ? (command?.args ?? {}) : {},
    status: isOfCommand ? (result?.status ?? null) : null,
    from: isOfCommand ? (result?.source ?? null) : null,
    files: isOfCommand ? found.view.files.map(({ path }) => path) : [],
  };
}
