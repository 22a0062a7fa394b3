/**
 * scale.ts -- asks the questions of test/data/memory in one memory that grows by recombined sentences.
 *
 * In the loop a question is the newest of fifteen texts; the others are turns of the chats, as an agent's messages would be.
 * All rows are of one memory. The other sentences come between runs of rows, so that most rows keep their neighbours.
 */
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Doc, type Query, readData } from "../memory-quality/data.ts";
import { fullRecall, type Search } from "../memory-quality/own.ts";
import { fullTextSearch } from "../memory-quality/peers.ts";
import { cpuMs } from "../shared/meter.ts";

const MEMORY = "bench";
const OTHER_TEXTS = 14;
const TEN = 10;
const PIECE_WORDS = 4;
const RUN_ROWS = 40;

interface ScaleResult {
  readonly alone: number;
  readonly inLoop: number;
  readonly fullTextAlone: number;
  /** CPU of one recall in the loop. */
  readonly cpuMs: number;
}

export async function measureScale(rows: number): Promise<ScaleResult> {
  const next = randomNumbers(rows);
  const chats = readData<Doc>("chat-docs.jsonl");
  const grown = grow([...readData<Doc>("agent-docs.jsonl"), ...chats], rows, next);
  const docs = grown.map((doc) => ({ ...doc, ns: MEMORY }));
  const kept = new Set(docs.map(({ doc_id }) => doc_id));
  const asked = ["agent-queries.jsonl", "chat-queries.jsonl"]
    .flatMap((file) => readData<Query>(file))
    .filter(({ relevant_ids }) => relevant_ids.length > 0 && relevant_ids.every((id) => kept.has(id)));
  const others = () => Array.from({ length: OTHER_TEXTS }, () => chats[Math.floor(next() * chats.length)]?.text ?? "");
  const texts = asked.map((query) => ({ query, texts: [...others(), query.query] }));
  const search = await fullRecall().open(docs);
  await search.find(["warm up"], TEN, new Set());
  const alone = await recallOf(
    search,
    docs,
    asked.map((query) => ({ query, texts: [query.query] })),
  );
  const before = cpuMs();
  const inLoop = await recallOf(search, docs, texts);
  const spentMs = cpuMs() - before;
  await search.close?.();
  const fullText = await fullTextSearch.open(docs);
  const fullTextAlone = await recallOf(
    fullText,
    docs,
    asked.map((query) => ({ query, texts: [query.query] })),
  );
  await fullText.close?.();
  return { alone, inLoop, fullTextAlone, cpuMs: spentMs / asked.length };
}

/** Keeps the last `count` documents, or adds others made of pieces of theirs between runs of them. */
function grow(docs: readonly Doc[], count: number, next: () => number): readonly Doc[] {
  if (count <= docs.length) return docs.slice(docs.length - count);
  const words = docs.map(({ text }) => text.split(" "));
  const piece = (): readonly string[] => {
    const of = words[Math.floor(next() * words.length)] ?? [];
    const from = Math.floor(next() * Math.max(1, of.length - PIECE_WORDS));
    return of.slice(from, from + PIECE_WORDS);
  };
  const added = Array.from({ length: count - docs.length }, (_none, at): Doc => {
    const pieces = Array.from({ length: 3 + Math.floor(next() * 6) }, piece);
    return { doc_id: `grown/${at}`, text: pieces.flat().join(" "), ns: "grown" };
  });
  const runs = Math.ceil(docs.length / RUN_ROWS);
  const part = <T>(list: readonly T[], run: number, size: number) =>
    list.slice(Math.floor(run * size), Math.floor((run + 1) * size));
  return Array.from({ length: runs }, (_none, run) => [
    ...part(added, run, added.length / runs),
    ...part(docs, run, RUN_ROWS),
  ]).flat();
}

interface Asked {
  readonly query: Query;
  readonly texts: readonly string[];
}

async function recallOf(search: Search, docs: readonly Doc[], asked: readonly Asked[]): Promise<number> {
  let sum = 0;
  for (const { query, texts } of asked) {
    const found = await search.find(texts, TEN, new Set());
    const ids = new Set(found.map((place) => docs[place]?.doc_id));
    sum += query.relevant_ids.filter((id) => ids.has(id)).length / query.relevant_ids.length;
  }
  return sum / asked.length;
}
