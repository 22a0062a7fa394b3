/** loop-facts.ts -- facts that an agent meets in its loop, at different places of its steps, and whether it sees them later. */
import { openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { fitRecalls, renderPassages } from "#prompt/recalls.ts";
import { makeLoop } from "../../test/helpers/loop.ts";
import { randomNumbers } from "../../test/helpers/memory-rows.ts";
import { type Fact, readFacts, readNoise } from "./sets.ts";

/** Returns the reply of a step in which the model meets the fact, and the file that it reads then, if any. */
type DaemonAnswer = (
  fact: string,
  fill: (chars: number) => string,
  at: number,
) => { readonly reply: string; readonly file?: string };

const thinks = (thoughts: Readonly<Record<string, string>>, name: string, args: object): string =>
  JSON.stringify({
    thoughts: {
      text: "I go on.",
      reasoning: "It is next.",
      plan: "- go on",
      criticism: "none",
      speak: "Going on.",
      ...thoughts,
    },
    command: { name, args },
  });
const reads =
  (before: number): DaemonAnswer =>
  (fact, fill, at) => ({
    reply: thinks({}, "read_file", { file: `page-${at}.txt` }),
    file: `${fill(before)}${fact} ${fill(400)}`,
  });
const writes =
  (before: number): DaemonAnswer =>
  (fact, fill, at) => ({
    reply: thinks({}, "write_to_file", { file: `out-${at}.md`, text: `${fill(before)}${fact} ${fill(200)}` }),
  });

const MEETINGS: Readonly<Record<string, DaemonAnswer>> = {
  "read_file, at the beginning": reads(100),
  "read_file, at 800 characters": reads(800),
  "read_file, at 3,000 characters": reads(3_000),
  "write_to_file, at the beginning": writes(0),
  "write_to_file, at 400 characters": writes(400),
  "append_to_file, one line": (fact) => ({
    reply: thinks({}, "append_to_file", { file: "notes.md", text: `${fact}\n` }),
  }),
  "thoughts.text": (fact, _fill, at) => ({
    reply: thinks({ text: fact }, "read_file", { file: `page-${at}.txt` }),
    file: "Nothing.",
  }),
  "thoughts.reasoning": (fact, _fill, at) => ({
    reply: thinks({ reasoning: fact }, "read_file", { file: `page-${at}.txt` }),
    file: "Nothing.",
  }),
};
const FACTS_PER_PLACE = 4;
const IDLE_STEPS = 8;

export interface PlaceResult {
  readonly place: string;
  /** Facts seen, of four, asked for with the fact's words and with others. */
  readonly same: number;
  readonly other: number;
}

export async function measurePlaces(): Promise<readonly PlaceResult[]> {
  const next = randomNumbers(12);
  const sentences = readNoise().flatMap(({ text }) => text.split(/(?<=\.)\s/).slice(1));
  const pick = (): string => sentences[Math.floor(next() * sentences.length)] ?? "";
  const fill = (chars: number): string => {
    let text = "";
    while (text.length < chars) text += `${pick().replace(/\s+/g, " ")} `;
    return text.slice(0, chars);
  };
  const facts = readFacts();
  const met = Object.entries(MEETINGS).flatMap(([place, meet], at) =>
    facts.slice(at * FACTS_PER_PLACE, (at + 1) * FACTS_PER_PLACE).map((fact, of) => {
      return { place, fact, ...meet(fact.fact, fill, at * FACTS_PER_PLACE + of) };
    }),
  );
  const order = met.map((meeting) => ({ meeting, place: next() })).sort((a, b) => a.place - b.place);
  const replies = order.flatMap(({ meeting }) => [
    meeting.reply,
    ...Array.from({ length: IDLE_STEPS }, () =>
      thinks({ text: pick(), speak: pick() }, "search_files", {
        directory: "",
        text: pick().slice(0, 60) || "nothing",
      }),
    ),
  ]);
  const loop = await makeLoop({ script: replies, settings: { stepLimit: replies.length } });
  for (const [at, { file }] of met.entries()) if (file) loop.files.set(`page-${at}.txt`, Buffer.from(file));
  await loop.run();
  const memory = openLongTermMemory({
    store: loop.store,
    embedder: openWordEmbedder(),
    report: (problem) => {
      throw new Error(problem);
    },
  });
  const isSeen = async (fact: Fact, words: "same" | "other"): Promise<boolean> => {
    const query = { agent: loop.row.id, texts: [fact[words]], count: 10, excludeSteps: new Set<number>() };
    const recalls = await memory.recall(query, new AbortController().signal);
    return renderPassages(fitRecalls(recalls, 32_000)).includes(fact.answer);
  };
  const results: PlaceResult[] = [];
  for (const place of Object.keys(MEETINGS)) {
    const sums = { same: 0, other: 0 };
    for (const { fact } of met.filter((meeting) => meeting.place === place)) {
      if (await isSeen(fact, "same")) sums.same++;
      if (await isSeen(fact, "other")) sums.other++;
    }
    results.push({ place, ...sums });
  }
  await memory.close();
  return results;
}
