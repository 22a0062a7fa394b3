/**
 * corrected.ts -- a wrong row that was left several times and corrected once: whether the ten still show the wrong value.
 *
 * The wrong fact is the result of a file that an agent read again and again, each time with another thought. FTS5 has the same
 * rows without the one that was corrected.
 */
import type { MemoryChange } from "#core/ports/memory.ts";
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { memoryOf, NOTHING, SPEC, said, stamped } from "../../test/helpers/events.ts";
import { openHashEmbedder } from "../../test/helpers/memory-rows.ts";
import { openMemoryStore } from "../../test/helpers/memory-store.ts";
import { amongNoise, type Change, readChanges, readNoise } from "./sets.ts";
import { fullText } from "./shown.ts";

const AT = "2026-06-01T00:00:00.000Z";
const TEN = 10;
const THOUGHTS = ["I look it up.", "What did the file say?", "I check the notes once more."];

export interface CorrectedShare {
  readonly goald: number;
  readonly fullText: number;
}

/** Returns the shares of the questions whose ten rows show the wrong value. `copies`: up to 3. */
export async function measureCorrected(copies: number): Promise<CorrectedShare> {
  const changes = readChanges();
  const wrong = changes.flatMap((change, at) =>
    THOUGHTS.slice(0, copies).map((thought) => ({ text: read(`notes-${at}.md`, thought, change) })),
  );
  const texts = amongNoise(wrong, readNoise(), 11).map(({ text }) => text);
  const ask = await correctAll(texts, changes);
  const first = new Set(changes.map((change) => texts.findIndex((text) => text.includes(change.old))));
  const rows = texts.filter((_text, at) => !first.has(at)).map((text) => ({ text }));
  const search = await fullText.open([...rows, ...changes.map((change) => ({ text: change.new }))]);
  let [byGoald, byFullText] = [0, 0];
  for (const change of changes) {
    if ((await ask(change.question)).some((text) => text.includes(change.old))) byGoald++;
    if ((await search.ask([change.question])).some((text) => text.includes(change.old))) byFullText++;
  }
  await search.close();
  return { goald: byGoald / changes.length, fullText: byFullText / changes.length };
}

const read = (file: string, thought: string, { old }: Change): string =>
  `Command: read_file {"file":"${file}"}\nResult (ok): ${old}\nThought: ${thought}`;

/** Leaves the texts in a store, corrects the first row of each wrong fact, and returns what a question recalls. */
async function correctAll(texts: readonly string[], changes: readonly Change[]) {
  const store = openMemoryStore();
  await store.create(SPEC, "key", AT);
  const lease = await store.claim("foo");
  const memories = texts.map((text, at) => ({ ...memoryOf(at + 2, text), step: at + 1 }));
  await store.commit(lease, 1, { ...NOTHING, events: stamped(2, ...texts.map(() => said(""))), memories });
  const corrections = changes.map((change): MemoryChange => {
    const supersedes = `foo/${texts.findIndex((text) => text.includes(change.old)) + 2}`;
    return { op: "add", kind: "fact", text: change.new, importance: 1, trust: "person", supersedes, copies: true };
  });
  await store.curate("foo", corrections, "key", AT);
  const memory = openLongTermMemory({ store, embedder: openHashEmbedder(), report: console.error });
  return async (question: string): Promise<readonly string[]> => {
    const query = { agent: "foo", texts: [question], count: TEN, excludeSteps: new Set<number>() };
    return (await memory.recall(query, new AbortController().signal)).map(({ text }) => text);
  };
}
