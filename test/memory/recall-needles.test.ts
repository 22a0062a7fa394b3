import { beforeAll, describe, expect, it } from "@jest/globals";
import { type MemoryRows, memoryRows, openRecall, randomNumbers } from "../helpers/memory-rows.ts";

/**
 * An early fact is found among 2,000 rows by words that it shares with the question, which is one of nine messages.
 */

const ROWS = 2_000;

const NEEDLES: readonly (readonly [title: string, fact: string, question: string])[] = [
  ["a name", "The landlord of the warehouse is called Ottilie Brandauer.", "Who is the landlord of the warehouse?"],
  ["a number", "Door 17 opens with the code 4711.", "I need the code that opens door 17."],
  [
    "inflected words",
    "Magnesium suppliers were compared; Leipzig delivers fastest.",
    "Which supplier of magnesium has the fast delivery?",
  ],
  [
    "German",
    "Der Schlüssel für den Bürokeller hängt hinter der Garderobe.",
    "Wo war noch der Schlüssel, den ich hinter die Garderobe hängte?",
  ],
  ["Chinese", "仓库的备用钥匙放在蓝色花盆下面。", "备用钥匙放在哪里？"],
  ["Japanese", "東京支社の請求書は毎月二十日に締め切られます。", "請求書の締め切りはいつですか"],
  ["Russian", "Пароль от маршрутизатора записан в красной тетради.", "Где записан пароль маршрутизатора?"],
  ["an identifier", "parseRetryAfter() returns seconds, not milliseconds.", "What unit does parse_retry_after give?"],
  ["a path", "Saved the survey as research/q3/tension-survey.csv", "Where is the tension survey of q3?"],
  [
    "a misspelling",
    "The veterinarian in Grünwald takes no new patients.",
    "Does the vetrinarian of Grunwald take new patients?",
  ],
  [
    "a failure",
    "Result (failed, file-missing): There is no invoice-march.pdf in the workspace.",
    "Read the march invoice pdf.",
  ],
];

const WORDS =
  "plan report shop review string tension racket price customer delivery table list summary weather market player court ball " +
  "coach budget week month number result search page article source file folder note draft version update check compare write " +
  "read find collect sort count open close start finish ask answer send receive number first second third last next best good";

function noise(next: () => number, length: number): string {
  const words = WORDS.split(" ");
  return Array.from({ length }, () => words[Math.floor(next() * words.length)]).join(" ");
}
const step = (next: () => number, row: number) =>
  `Thought: I ${noise(next, 12)}.\nCommand: write_to_file {"file":"${noise(next, 1)}-${row}.txt","text":"${noise(next, 15)}"}\n` +
  `Result (ok): ${noise(next, 20)}`;

describe("among 2,000 rows", () => {
  let store: MemoryRows;
  let recall: ReturnType<typeof openRecall>["recall"];
  const at = (needle: number) => 40 + needle * 70;

  beforeAll(() => {
    const next = randomNumbers(9);
    store = memoryRows();
    for (let row = 1; row <= ROWS; row++) {
      const fact = NEEDLES.find((_, needle) => at(needle) === row)?.[1];
      store.add("foo", fact ? `Thought: I keep this: ${fact}` : step(next, row));
    }
    recall = openRecall({ store, report: (problem) => expect(problem).toBe("") }).recall;
  });

  const window = (question: string, place: number) => {
    const next = randomNumbers(place + 1);
    const texts = Array.from({ length: 9 }, (_, index) => step(next, ROWS + index));
    texts[place] = question;
    return texts;
  };
  const excludeSteps = new Set([1996, 1997, 1998, 1999, 2000]);
  const ask = async (question: string, place: number) =>
    (await recall(window(question, place), { excludeSteps })).map(({ text }) => text);

  it.each([
    ["when the newest message asks for it", 8],
    ["when a result follows the question", 7],
  ])(`each of ${NEEDLES.length} facts is found %s`, async (_when, place) => {
    const missed: string[] = [];
    for (const [title, fact, question] of NEEDLES)
      if (!(await ask(question, place)).includes(`Thought: I keep this: ${fact}`)) missed.push(title);
    expect(missed).toEqual([]);
  });

  it("hardly a fact is found without a question", async () => {
    const found = await ask("I water the plants.", 8);
    expect(found).toHaveLength(10);
    expect(found.filter((text) => text.includes("I keep this")).length).toBeLessThan(3);
  });
});
