/**
 * lazy-memory.ts -- opens long-term memory at the first recall that can find something, and the index of methods at the first
 * search for one.
 *
 * The first request of a new agent then loads no search, and waits for no embeddings. Both use one embedder.
 */
import { hasServer } from "#config/settings.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Embedder, MethodIndex, RecallQuery } from "#core/ports/memory.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { once } from "#util/caches.ts";
import type { MemoryParts } from "./memory.ts";

export function openSearchLate(parts: MemoryParts) {
  const embedder = once(async () => (await import("./memory.ts")).openEmbedder(parts));
  return { memory: openMemoryLate(parts, embedder), methods: openMethodsLate(parts, embedder) };
}

/** True for settings with which a search may send requests. Without a key and a server, `auto` is offline. */
const isRemote = (settings: MemoryParts["settings"]): boolean =>
  settings.memory.embedder !== "offline" && !(settings.memory.embedder === "auto" && !hasServer(settings));

function openMethodsLate(parts: MemoryParts, embedder: () => Promise<Embedder>): MethodIndex {
  let index: MethodIndex | undefined;
  const open = once(async () => {
    const { createMethodIndex } = await import("#memory/method-index.ts");
    index = createMethodIndex({ embedder: await embedder(), report: parts.report });
    return index;
  });
  return {
    get remote() {
      return index?.remote ?? isRemote(parts.settings);
    },
    search: async (...given) => (await open()).search(...given),
  };
}

/** Vectors are saved within some steps, so the oldest rows have them if any have. */
const ROWS_WITH_VECTORS = 256;

/** True for a person's search of rows without a server's vectors: neither the question nor the rows leave the machine for it. */
async function isOfflineSearch(
  { agent, others = [SHARED_MEMORY] }: RecallQuery,
  { settings, keeper, store }: MemoryParts,
): Promise<boolean> {
  if (keeper || settings.memory.embedder !== "auto") return false;
  for (const namespace of [agent, ...others]) {
    const rows = await store.memories(namespace, 0, ROWS_WITH_VECTORS).catch(() => []);
    if (rows.some(({ embedder }) => embedder !== null)) return false;
  }
  return true;
}

export function openMemoryLate(parts: MemoryParts, embedder?: () => Promise<Embedder>): Omit<RecallingMemory, "flush"> {
  const { settings, store } = parts;
  let opening: Promise<RecallingMemory> | undefined;
  let memory: RecallingMemory | undefined;

  function open(query?: RecallQuery): Promise<RecallingMemory> {
    opening ??= import("./memory.ts").then(async ({ openMemory }) => {
      const isOffline = query !== undefined && (await isOfflineSearch(query, parts));
      const used = isOffline
        ? { ...parts, settings: { ...settings, memory: { ...settings.memory, embedder: "offline" as const } } }
        : parts;
      memory = openMemory(used, await embedder?.());
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
  const opensAtOnce = settings.memory.backend === "pinecone";
  if (opensAtOnce) void open();
  return {
    get remote() {
      return memory?.remote ?? (opensAtOnce || isRemote(settings));
    },
    async recall(query, signal) {
      if (query.count === 0 || (!opening && !(await hasRows(query)))) return [];
      return (await open(query)).recall(query, signal);
    },
    runEnded: async (agent) => (await opening)?.runEnded(agent),
    close: async () => (await opening)?.close(),
    idle: async (agent) => (await opening)?.idle(agent),
    releaseUnused: async () => (await opening)?.releaseUnused(),
    release: async (agent) => (await opening)?.release(agent),
  };
}
