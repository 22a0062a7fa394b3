/** measure.ts -- measures how well a system finds the evidence, and which share of its ten results is waste. */
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Doc, type Query, type Space, withNearDuplicates } from "./data.ts";
import type { Search, System } from "./own.ts";

const TEN = 10;
const WINDOW = 9;
const MOMENTS_PER_SPACE = 20;

export interface Quality {
  /** `recall`: share of the evidence among the ten. `mrr`: 1 over the place of the first evidence. Both are means over all questions. */
  readonly recall: number;
  readonly mrr: number;
  /** Share of the evidence that a prompt shows, as a result or around one. */
  readonly shown: number;
  readonly questions: number;
}

/** Measures all questions that `asks` accepts. */
export async function measureQuality(
  system: System,
  spaces: Iterable<Space>,
  asks: (query: Query) => boolean = () => true,
): Promise<Quality> {
  const sums = { recall: 0, mrr: 0, shown: 0, questions: 0 };
  for (const { docs, queries } of spaces) {
    const asked = queries.filter(asks);
    if (asked.length === 0) continue;
    const search = await system.open(docs);
    for (const query of asked) {
      const { recall, mrr, shown } = await askOne(search, docs, query);
      sums.recall += recall;
      sums.mrr += mrr;
      sums.shown += shown;
      sums.questions++;
    }
    await search.close?.();
  }
  const { questions } = sums;
  return { recall: sums.recall / questions, mrr: sums.mrr / questions, shown: sums.shown / questions, questions };
}

/** Counts a near-duplicate as its original, once. */
async function askOne(search: Search, docs: readonly Doc[], { query, relevant_ids }: Query) {
  const places = await search.find([query], TEN, new Set());
  const found = places.map((place) => originalOf(docs[place] as Doc));
  const wanted = new Set(relevant_ids);
  const visible = (await search.show?.([query], TEN)) ?? places;
  const shown = new Set(visible.map((place) => originalOf(docs[place] as Doc))).intersection(wanted).size / wanted.size;
  const first = found.findIndex((id) => wanted.has(id));
  return {
    recall: new Set(found).intersection(wanted).size / wanted.size,
    mrr: first < 0 ? 0 : 1 / (first + 1),
    shown,
  };
}

const originalOf = ({ original, doc_id }: Doc): string => original ?? doc_id;

/** Measures with near-duplicates, and counts the distinct texts among the ten. */
export async function measureNearDuplicates(system: System, spaces: Iterable<Space>) {
  const random = randomNumbers(7);
  const repetitive = [...spaces].map((space) => ({ ...space, docs: withNearDuplicates(space.docs, random) }));
  let distinct = 0;
  let answers = 0;
  for (const { docs, queries } of repetitive) {
    const search = await system.open(docs);
    for (const { query } of queries) {
      const places = await search.find([query], TEN, new Set());
      if (places.length < TEN) continue;
      distinct += new Set(places.map((place) => originalOf(docs[place] as Doc))).size;
      answers++;
    }
    await search.close?.();
  }
  return { ...(await measureQuality(system, repetitive)), distinctOfTen: distinct / answers };
}

/** Searches for an agent's last nine messages, and returns the share of results that are among those nine. */
export async function measureWaste(system: System, spaces: Iterable<Space>): Promise<number> {
  const random = randomNumbers(11);
  let wasted = 0;
  let given = 0;
  for (const { docs } of spaces) {
    const search = await system.open(docs);
    for (let moment = 0; moment < MOMENTS_PER_SPACE; moment++) {
      const end = WINDOW + Math.floor(random() * (docs.length - WINDOW + 1));
      const shown = new Set(Array.from({ length: WINDOW }, (_, back) => end - WINDOW + back));
      const texts = [...shown].map((place) => docs[place]?.text ?? "");
      const found = await search.find(texts, TEN, shown);
      wasted += found.filter((place) => shown.has(place)).length;
      given += found.length;
    }
    await search.close?.();
  }
  return given === 0 ? 0 : wasted / given;
}
