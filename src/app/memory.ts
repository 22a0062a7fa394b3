/** memory.ts -- puts long-term memory together: the embedder that makes its vectors, and the index that finds them. */
import { join, resolve } from "node:path";
import type { Tape } from "#cassette/tape.ts";
import type { Home } from "#config/home.ts";
import { openJsonCache } from "#config/private-file.ts";
import type { Settings } from "#config/settings.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder, OpenIndex } from "#core/ports/vectors.ts";
import { type ChangedEmbedderParts, openChangedEmbedder } from "#memory/recall/changed-embedder.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { PineconeMemory } from "#memory/remote/pinecone.ts";
import { PineconeClient } from "#memory/remote/pinecone-client.ts";
import { cachedEmbedder } from "#memory/vectors/cached-embedder.ts";
import { fallbackEmbedder } from "#memory/vectors/choose-embedder.ts";
import { chooseIndex } from "#memory/vectors/choose-index.ts";
import { openHashEmbedder } from "#memory/vectors/hash-embedder.ts";
import { removeIndexes, removeStrayIndexes } from "#memory/vectors/index-folders.ts";
import { createTransformersEmbedder } from "#memory/vectors/transformers-embedder.ts";
import { createEmbeddingMeter, type EmbeddingMeter } from "#model/embedding-meter.ts";
import { createOpenAIEmbedder, type OpenAIEmbedderSettings } from "#model/openai-embedder.ts";
import { systemClock } from "#util/clock.ts";

type Keeper = Pick<Store, "agents" | "remoteNamespaces" | "remoteRows" | "saveRemoteRows"> &
  ChangedEmbedderParts["store"];

export interface MemoryParts {
  readonly home: Home;
  readonly settings: Settings;
  /** The model's own, which is asked for embeddings too. */
  readonly server: Omit<OpenAIEmbedderSettings, "model">;
  readonly store: Pick<Store, "memories" | "saveVectors">;
  readonly report: (problem: string) => void;
  readonly tape?: Tape;
  /** Of who may keep indexes and send what lies in them; without it, as for a look, neither is done. */
  readonly keeper?: Keeper;
}

export function openMemory(parts: MemoryParts): {
  readonly memory: RecallingMemory;
  readonly embeddings: EmbeddingMeter;
} {
  const { home, settings, store, keeper, report, tape } = parts;
  const embeddings = createEmbeddingMeter({
    ...settings.embeddings,
    clock: systemClock,
    file: openJsonCache(home.privateFolder, "embeddings.json"),
    ...(tape ? { through: (name, compute) => tape.value(name, compute) } : {}),
  });
  const embedder = chooseEmbedder(parts, embeddings);
  // A replay takes no time: what depends on it is left out of a run that is recorded.
  const clock = tape ? {} : { clock: systemClock };
  const pinecone = openRemote(parts);
  const openIndex = openIndexes(parts, pinecone);
  const current = openLongTermMemory({ store, embedder, openIndex, report, ...clock });
  // Work in the background has no place in a run that is recorded or played.
  if (!keeper || tape) return { memory: current, embeddings };
  const openEarlier = (id: string): RecallingMemory | undefined => {
    const earlier = earlierEmbedder(id, parts, embeddings);
    // It keeps nothing: memories that are shared with others may have their new vectors already.
    const reader: MemoryParts["store"] = {
      memories: (namespace, after, limit) => store.memories(namespace, after, limit),
      saveVectors: async () => undefined,
    };
    return earlier && openLongTermMemory({ store: reader, embedder: earlier, report, ...clock });
  };
  const changed = openChangedEmbedder({ store: keeper, embedder, current, openEarlier, report });
  return { memory: pinecone ? withRemote(changed, pinecone, embedder, keeper) : changed, embeddings };
}

/** What waits is sent before the end, for a moment; and at the start what removed agents have left there is deleted. */
function withRemote(
  memory: RecallingMemory,
  pinecone: PineconeMemory,
  { dimensions }: Embedder,
  keeper: Keeper,
): RecallingMemory {
  void (async () => {
    await pinecone.start(dimensions);
    const ids = new Set((await keeper.agents()).map(({ id }) => id));
    await pinecone.forgetRemoved((namespace) => namespace === SHARED_MEMORY || ids.has(namespace));
  })().catch(() => undefined);
  return {
    remote: true,
    recall: (query, signal) => memory.recall(query, signal),
    flush: () => memory.flush(),
    release: (agent) => memory.release(agent),
    close: async () => {
      await memory.close();
      await pinecone.flush(SEND_MS);
    },
  };
}

/** What is not sent by then goes with the next start. */
const SEND_MS = 2_000;

const indexRoot = ({ privateFolder }: Home): string => join(privateFolder, "memory");

/** Removes the index files of an agent's memory. */
export const removeIndexesOf = (home: Home, agent: string): Promise<void> => removeIndexes(indexRoot(home), agent);

/** Removes index files of agents that are gone: a crash may have left some. */
export async function removeStrayIndexesOf(host: { readonly home: Home; readonly store: Store }): Promise<void> {
  const ids = (await host.store.agents()).map(({ id }) => id);
  await removeStrayIndexes(indexRoot(host.home), [SHARED_MEMORY, ...ids]);
}

/**
 * A run that is recorded must find the same when it is played, which only looking at every vector sees to. Who only looks
 * on keeps nothing, and does not build a graph for one question.
 */
function openIndexes(
  { home, settings, report, tape, keeper }: MemoryParts,
  pinecone: PineconeMemory | undefined,
): OpenIndex {
  const { memoryBackend: wanted } = settings;
  const backend = tape || !keeper ? "exact" : wanted === "pinecone" ? "local" : wanted;
  const atHome = chooseIndex(backend, { folder: indexRoot(home), report });
  return pinecone ? (scope, rows) => pinecone.open({ ...scope, rows, local: atHome(scope, rows) }) : atHome;
}

/** Not for a run that is recorded or played, nor for a look: what is sent in the background has no place in those. */
function openRemote({ settings, server, keeper, report, tape }: MemoryParts): PineconeMemory | undefined {
  if (settings.memoryBackend !== "pinecone" || tape || !keeper) return undefined;
  const { apiKey, ...where } = settings.pinecone;
  if (apiKey === null) {
    report("Memory is searched locally: the memory backend is Pinecone, but PINECONE_API_KEY is not set.");
    return undefined;
  }
  const client = new PineconeClient({ apiKey, ...where }, server.http);
  return new PineconeMemory({
    client,
    store: keeper,
    place: where.host ?? where.index ?? "",
    clock: systemClock,
    report,
  });
}

/** A server's embeddings where there are any, else the offline embedder; said once when it comes to that. */
function chooseEmbedder({ home, settings, server, report, tape }: MemoryParts, meter: EmbeddingMeter): Embedder {
  const { embedder, embedderPath, models } = settings;
  const offline = openHashEmbedder();
  if (embedder === "offline") return offline;
  const fallback = (reason: string): void => report(`Memory works offline: ${reason}`);
  if (embedder === "transformers") {
    const path = resolve(home.root, embedderPath ?? "");
    const local = createTransformersEmbedder({ path, folders: [home.root, ...globalFolders()] });
    return fallbackEmbedder(cachedEmbedder(local), offline, fallback);
  }
  const size = models.embeddingDimensions === null ? {} : { dimensions: models.embeddingDimensions };
  const clock = tape?.beside ?? systemClock;
  const remote = cachedEmbedder(createOpenAIEmbedder({ ...server, model: models.embedding, ...size, meter, clock }));
  return embedder === "openai" ? remote : fallbackEmbedder(remote, offline, fallback);
}

/** The embedder that made stored vectors, when it is a model of the server that is set; by the name that its vectors have. */
function earlierEmbedder(id: string, { settings, server }: MemoryParts, meter: EmbeddingMeter): Embedder | undefined {
  const [, model, size] = /^([^\s#]+)@([1-9]\d*)$/.exec(id) ?? [];
  const isOurs = model === undefined || model.startsWith("transformers:") || /^hash-v\d+$/.test(model);
  if (isOurs || settings.embedder === "offline") return undefined;
  return cachedEmbedder(
    createOpenAIEmbedder({
      ...server,
      model,
      dimensions: Number(size),
      asksDimensions: CHOOSES_SIZE.test(model),
      meter,
      clock: systemClock,
    }),
  );
}

/** Models that are asked for a number of dimensions; others would refuse to be. */
const CHOOSES_SIZE = /(?:^|\/)text-embedding-3/;

/** Where `npm install -g` puts packages: beside this Node, and where the environment says. */
function globalFolders(): readonly string[] {
  const { NPM_CONFIG_PREFIX, npm_config_prefix } = process.env;
  const prefixes = [NPM_CONFIG_PREFIX, npm_config_prefix, resolve(process.execPath, "../..")];
  return prefixes.flatMap((prefix) => (prefix ? [resolve(prefix, "lib")] : []));
}
