/** memory.ts -- assembles long-term memory: the embedder that makes vectors, and the index that searches them. */
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { hasServer, type Settings } from "#config/settings.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Embedder, OpenIndex } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { BackgroundLots } from "#memory/recall/row-embedder.ts";
import { IndexSnapshots } from "#memory/recall/snapshots.ts";
import { PineconeMemory } from "#memory/remote/pinecone.ts";
import { PineconeClient } from "#memory/remote/pinecone-client.ts";
import { chooseIndex } from "#memory/vectors/hnsw-index.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { cachedEmbedder, fallbackEmbedder } from "#memory/vectors/server-embedder.ts";
import { createOpenAIEmbedder, type OpenAIEmbedderSettings } from "#model/openai-embedder.ts";
import { systemClock } from "#util/clock.ts";
import { indexRoot, memoryFolder } from "./memory-folders.ts";

type Keeper = Pick<Store, "agents" | "remoteNamespaces" | "remoteRows" | "remoteForgotten" | "saveRemoteRows">;

export interface MemoryParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly server: Omit<OpenAIEmbedderSettings, "model">;
  readonly store: Pick<Store, "memories" | "memory" | "memoryVersion" | "saveVectors">;
  readonly report: (problem: string) => void;
  /** Logs what is no problem, such as a cache that is made again. */
  readonly note?: ((text: string) => void) | undefined;
  readonly tape?: Tape;
  /** The store for indexes and uploads. When absent, memory is read-only and uploads nothing. */
  readonly keeper?: Keeper;
}

export function openMemory(parts: MemoryParts, embedder: Embedder = openEmbedder(parts)): RecallingMemory {
  const { store, keeper, report, tape } = parts;
  // A recorded run uses no clock, because a replay takes no time.
  const clock = tape ? {} : { clock: systemClock };
  const pinecone = openRemote(parts);
  const openIndex = openIndexes(parts, pinecone);
  // A recorded agent has a memory of its own, which ends with its run.
  const keptBytes = tape ? 0 : KEPT_BYTES;
  const snapshots = tape ? undefined : openSnapshots(parts);
  const own = { store, embedder, openIndex, report, keptBytes, snapshots, ...clock };
  // Recorded and replayed runs do no background work: its timing would change what they recall.
  if (!keeper || tape) return openLongTermMemory(own);
  if (pinecone) void tidyRemote(pinecone, embedder, keeper).catch(() => undefined);
  return openLongTermMemory({ ...own, lots: new BackgroundLots(), copies: pinecone });
}

/** Deletes remote memories that were forgotten or of removed agents. */
async function tidyRemote(pinecone: PineconeMemory, { dimensions }: Embedder, keeper: Keeper): Promise<void> {
  await pinecone.start(dimensions);
  const ids = new Set((await keeper.agents()).map(({ id }) => id));
  await pinecone.forgetRemoved((namespace) => namespace === SHARED_MEMORY || ids.has(namespace));
  await pinecone.removeForgotten();
}

/** Memories that a daemon keeps loaded, so that idle agents wake fast; those of running agents come on top. */
const KEPT_BYTES = 64_000_000;

/**
 * Recorded and replayed runs use exact search, so that both find the same memories. A read-only reader uses exact
 * search too: one query is not worth building a graph.
 */
function openIndexes({ settings, report, tape, keeper }: MemoryParts, pinecone: PineconeMemory | undefined): OpenIndex {
  const { backend: wanted } = settings.memory;
  const backend = tape || !keeper ? "exact" : wanted === "pinecone" ? "local" : wanted;
  const atHome = chooseIndex(backend, report);
  return pinecone ? (scope, rows) => pinecone.open({ ...scope, rows, local: atHome(scope, rows) }) : atHome;
}

/** A read-only reader uses the snapshots of the host. Recorded and replayed runs read all rows, so that both number them alike. */
const openSnapshots = ({ home, store, keeper, note }: MemoryParts): IndexSnapshots =>
  new IndexSnapshots({
    store,
    folderOf: (namespace) => memoryFolder(indexRoot(home), namespace),
    note: note ?? (() => undefined),
    isWriter: keeper !== undefined,
  });

/** Returns undefined for recorded, replayed and read-only memory, which must not upload in the background. */
function openRemote({ settings, server, keeper, report, tape }: MemoryParts): PineconeMemory | undefined {
  if (settings.memory.backend !== "pinecone" || tape || !keeper) return undefined;
  const { apiKey, ...where } = settings.pinecone;
  if (apiKey === null) {
    report("Memory is searched locally: the memory backend is Pinecone, but PINECONE_API_KEY is not set.");
    return undefined;
  }
  const client = new PineconeClient({ apiKey, ...where }, server.http);
  return new PineconeMemory({
    client,
    store: keeper,
    place: where.index ?? "",
    clock: systemClock,
    report,
  });
}

type EmbedderParts = Pick<MemoryParts, "settings" | "server" | "report" | "tape">;

/** Chooses a server's embedder if one is set, else the offline embedder. Reports a fallback once. */
export function openEmbedder({ settings, server, report, tape }: EmbedderParts): Embedder {
  const { embedder } = settings.memory;
  const offline = openWordEmbedder();
  if (embedder === "offline" || (embedder === "auto" && !hasServer(settings))) return offline;
  const toDo = "goald reload tries again. Or set EMBEDDING_MODEL, or keep it so: goald config memory.embedder offline";
  const fallback = (reason: string): void => report(`Memory works offline: ${reason} ${toDo}`);
  const clock = tape?.beside ?? systemClock;
  const asked = createOpenAIEmbedder({ ...server, model: settings.models.embedding, clock });
  const remote = cachedEmbedder(tape?.ports.embedder(asked) ?? asked);
  return embedder === "openai" ? remote : fallbackEmbedder(remote, offline, fallback);
}
