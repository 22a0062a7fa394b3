/**
 * lazy-memory.ts -- opens long-term memory at the first recall that can find something.
 *
 * The first request of a new agent then loads no search, and waits for no embeddings.
 */
import { SHARED_MEMORY } from "#core/memory.ts";
import type { RecallQuery } from "#core/ports/recall.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import type { MemoryParts } from "./memory.ts";

export function openMemoryLate(parts: MemoryParts): RecallingMemory {
  const { settings, store } = parts;
  let opening: Promise<RecallingMemory> | undefined;
  let memory: RecallingMemory | undefined;

  function open(): Promise<RecallingMemory> {
    opening ??= import("./memory.ts").then(({ openMemory }) => {
      memory = openMemory(parts);
      return memory;
    });
    return opening;
  }

  /** Also true when the store cannot be read, which memory reports. */
  async function hasRows({ agent, others = [SHARED_MEMORY] }: RecallQuery): Promise<boolean> {
    for (const namespace of [agent, ...others])
      if ((await store.memories(namespace, 0, 1).catch(() => [1])).length > 0) return true;
    return false;
  }

  // Pinecone removes the memories of removed agents at the start.
  const opensAtOnce = settings.memoryBackend === "pinecone";
  if (opensAtOnce) void open();
  return {
    get remote() {
      return memory?.remote ?? (opensAtOnce || !/^(?:offline|transformers)$/.test(settings.embedder));
    },
    async recall(query, signal) {
      if (!opening && !(await hasRows(query))) return [];
      return (await open()).recall(query, signal);
    },
    flush: async () => (await opening)?.flush(),
    close: async () => (await opening)?.close(),
    idle: async (agent) => (await opening)?.idle(agent),
    releaseUnused: async () => (await opening)?.releaseUnused(),
    release: async (agent) => (await opening)?.release(agent),
  };
}
