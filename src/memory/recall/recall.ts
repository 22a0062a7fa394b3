/**
 * recall.ts -- long-term memory: what of an agent's past is near to what it is busy with.
 *
 * The rows in the store are the truth; everything here can be thrown away and is built again from them.
 * A recall reads the rows that are new, has them and the query turned into vectors
 * in one request, searches, and ranks. Steps that the prompt shows already never come back, no text
 * comes twice, and as many are answered as were asked for while there are that many.
 *
 * It degrades and never fails. Without a vector of the query, shared words and recency rank the newest
 * rows; when the store cannot be read, what was read before is used. Each is reported once.
 * Vectors of the offline embedder are made anew at each start, others are kept in the store.
 */
import { setImmediate } from "node:timers/promises";
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { LongTermMemory, Recall, RecallQuery } from "#core/ports/recall.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder, OpenIndex } from "#core/ports/vectors.ts";
import { clip } from "#core/text.ts";
import { createTurns } from "#util/turns.ts";
import { type AskEmbedder, askEmbedder, reportOutages } from "../vectors/ask-embedder.ts";
import { exactIndexes } from "../vectors/exact-index.ts";
import { AgentRows } from "./agent-rows.ts";
import { AgentVectors } from "./agent-vectors.ts";
import { excerptOf } from "./excerpt.ts";
import { type AgentMemory, findRecalls } from "./find-recalls.ts";
import { type QueryPart, queryParts } from "./query-parts.ts";

export interface LongTermMemoryParts {
  readonly store: Pick<Store, "memories" | "saveVectors">;
  readonly embedder: Embedder;
  /** Told in words, once, when memory has to do without its embedder or its store. */
  readonly report: (problem: string) => void;
  /** Default: exact search. */
  readonly openIndex?: OpenIndex;
  /** After which an embedder that asks a server counts as failed. Default: 20 seconds. */
  readonly embedTimeoutMs?: number;
  /** For the time before which a server does not want to be asked; without it only recalls are counted. */
  readonly clock?: Pick<Clock, "now">;
}

export interface RecallingMemory extends LongTermMemory {
  /** Makes every vector durable that was made so far. */
  flush(): Promise<void>;
  /** Flushes, and gives back all that is held for any agent. Before the process ends. */
  close(): Promise<void>;
  /** Forgets what is held in main memory for this agent; its rows stay, and the next recall reads them again. */
  release(agent: string): Promise<void>;
}

const ROW_CHARS = 8_000;
/** Rows that wait for a vector and ride in one request with the query; more waits for the next. */
const MAX_ROWS_PER_REQUEST = 96;
export function openLongTermMemory(parts: LongTermMemoryParts): RecallingMemory {
  const { embedder, store } = parts;
  const [reading, saving, searching] = [
    reportOutages(parts.report),
    reportOutages(parts.report),
    reportOutages(parts.report),
  ];
  const ask = askEmbedder(embedder, parts.embedTimeoutMs ?? 20_000, parts.report, parts.clock);
  const agents = new Map<string, AgentMemory>();
  const turns = new Map<string, Promise<unknown>>();
  const openIndex = parts.openIndex ?? exactIndexes();

  async function recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recall[]> {
    const parts = queryParts(query);
    const texts = parts.map(({ text }) => text);
    const namespaces = [...new Set([query.agent, ...(query.others ?? [])])];
    const memories: AgentMemory[] = [];
    for (const name of namespaces) memories.push(await inTurn(name, () => prepare(name, texts, signal)));
    const embedAll = async () => {
      for (const [at, name] of namespaces.entries())
        await inTurn(name, () => embed(memories[at] as AgentMemory, texts, signal));
    };
    try {
      const found = await findRecalls(memories, query, parts, {
        withVectors: embedder.semantic,
        ...(embedder.semantic ? {} : { embed: embedAll }),
      });
      searching.ends();
      return found.map((recall) => withExcerpt(recall, parts));
    } catch (error) {
      searching.begins(`Memory goes by shared words, its index cannot be searched: ${toError(error).message}`);
      return findRecalls(memories, query, parts, { withVectors: false });
    }
  }

  /** The memory with all its rows read and, where meanings are known, as many vectors as one request brings. */
  async function prepare(namespace: string, texts: readonly string[], signal: AbortSignal): Promise<AgentMemory> {
    let memory = await upToDate(namespace);
    if (!embedder.semantic) return memory;
    await embed(memory, texts, signal);
    if (memory.vectors.embedder !== embedder.id) {
      memory = await upToDate(namespace);
      if (embedder.semantic) await embed(memory, texts, signal);
    }
    await save(memory, false);
    return memory;
  }

  /** The agent's memory with all its rows read, begun anew when the embedder is not the one it was built with. */
  async function upToDate(agent: string): Promise<AgentMemory> {
    if (agents.get(agent)?.vectors.embedder !== embedder.id) await discard(agent);
    const memory = agents.get(agent) ?? begin(agent);
    try {
      const turn = createTurns();
      for await (const arrivals of memory.rows.readNew(store)) {
        await memory.vectors.take(arrivals);
        await memory.vectors.drop(memory.rows.takeBuried());
        await turn();
      }
      reading.ends();
    } catch (error) {
      reading.begins(`Memory goes on with what it has read so far: ${toError(error).message}`);
    }
    return memory;
  }

  function begin(agent: string): AgentMemory {
    // A server's embedder has no dimensions before its first answer; until then nothing is added.
    const dimensions = Math.max(1, embedder.dimensions);
    const rows = new AgentRows(agent);
    const index = openIndex({ namespace: agent, embedder: embedder.id, dimensions }, rows);
    const memory = { rows, vectors: new AgentVectors(agent, embedder.id, index) };
    agents.set(agent, memory);
    return memory;
  }

  async function embed(memory: AgentMemory, texts: readonly string[], signal: AbortSignal): Promise<void> {
    do {
      await embedOnce(memory, texts, embedder, ask, signal);
      if (!isFree(embedder) || memory.vectors.waiting(1).length === 0) break;
      await setImmediate();
    } while (!signal.aborted && memory.vectors.embedder === embedder.id);
  }

  async function save(memory: AgentMemory, all: boolean): Promise<void> {
    try {
      await memory.vectors.save(store, all);
      saving.ends();
    } catch (error) {
      saving.begins(`Vectors could not be saved and will be made again: ${toError(error).message}`);
    }
  }

  async function discard(agent: string): Promise<void> {
    const memory = agents.get(agent);
    if (!memory) return;
    agents.delete(agent);
    await save(memory, true);
    await memory.vectors.close();
  }

  /** One at a time for each name, in the order asked: an agent's recalls, and what changes the memory of a namespace. */
  function inTurn<T>(agent: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(agent) ?? Promise.resolve()).then(work);
    const over = turn.then(
      () => undefined,
      () => undefined,
    );
    turns.set(agent, over);
    void over.then(() => {
      if (turns.get(agent) === over) turns.delete(agent);
    });
    return turn;
  }

  return {
    get remote() {
      return !embedder.local;
    },
    recall: (query, signal) => inTurn(`recall of ${query.agent}`, () => recall(query, signal)),
    flush: async () => {
      for (const memory of agents.values()) await save(memory, true);
    },
    close: async () => {
      for (const agent of [...agents.keys()]) await inTurn(agent, () => discard(agent));
    },
    release: (agent) => inTurn(`recall of ${agent}`, () => inTurn(agent, () => discard(agent))),
  };
}

/** Made in no time: all at once, and not worth keeping. */
const isFree = ({ local, semantic }: Embedder): boolean => local && !semantic;

/** One request for the query's new texts and the newest rows without a vector; nothing when neither is there. */
async function embedOnce(
  { rows, vectors }: AgentMemory,
  texts: readonly string[],
  embedder: Embedder,
  ask: AskEmbedder,
  signal: AbortSignal,
): Promise<void> {
  const fresh = texts.filter((text) => !vectors.knows(text));
  const slots = vectors.waiting(MAX_ROWS_PER_REQUEST);
  if (fresh.length + slots.length === 0) return;
  const answer = await ask([...fresh, ...slots.map((slot) => clip(rows.at(slot).text, ROW_CHARS))], signal);
  if (!answer || vectors.embedder !== embedder.id) return;
  for (const [position, text] of fresh.entries()) {
    const vector = answer[position];
    if (vector) vectors.learn(text, vector);
  }
  await vectors.settle(slots, answer.slice(fresh.length), rows, !isFree(embedder));
}

function withExcerpt(recall: Recall, parts: readonly QueryPart[]): Recall {
  const excerpt = excerptOf(recall.text, parts);
  return excerpt === undefined ? recall : { ...recall, excerpt };
}
