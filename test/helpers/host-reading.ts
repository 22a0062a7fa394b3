/** host-reading.ts -- `Reading` over a world in memory. */

import type { Reading } from "#api/control.ts";
import { createStoreReading } from "#api/store-reading.ts";
import { initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { viewDamaged } from "#views/agent-view.ts";
import type { TestHost, World } from "./host.ts";
import { MemoryWorkspace } from "./memory-workspace.ts";
import { shippedRegistry, shippedWords } from "./shipped.ts";

const FOLDER = "/home/workspace";

export async function readingOf({ store, clock, files }: World, { control }: TestHost): Promise<Reading> {
  const registry = await shippedRegistry();
  const words = await shippedWords();
  const commandsFor = createCommandSets(registry.all, { commands: {}, args: {} });
  return createStoreReading({
    reader: store,
    clock,
    workspaceFolder: FOLDER,
    viewAgents: (rows) =>
      Promise.all(
        rows.map((row) =>
          control.agent(row.id).catch(({ message }) => viewDamaged(row, message, { workspaceFolder: FOLDER })),
        ),
      ),
    openWorkspace: (folder) => new MemoryWorkspace({ files: files.get(folder.slice(FOLDER.length + 1)) ?? new Map() }),
    promptParts: async () => ({
      commandsFor,
      words,
      contextTokens: 32_000,
      replyTokens: 1_000,
    }),
    readThoughts: async (...reply) => commandsFor(initialState).readThoughts(...reply),
    recall: async (namespace, query, count) => {
      const rows = await store.memories(namespace, 0, 1_000);
      return rows
        .filter(({ text }) => text.includes(query))
        .slice(0, count ?? 10)
        .map(({ id, step, at, kind, trust, text }) => ({ id, step, at, kind, trust, text, score: 1 }));
    },
  });
}
