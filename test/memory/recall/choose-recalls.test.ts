import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createWordSet, type WordSet, weightedJaccard } from "#memory/lexical/word-set.ts";
import { chooseRecalls, type RecallCandidate, type RecallChoice } from "#memory/recall/choose-recalls.ts";
import type { RecallableRow } from "#memory/recall/row-columns.ts";
import { wordsOf } from "#util/words.ts";

const row = (seq: number, text: string, change: Partial<RecallableRow> = {}): RecallableRow => ({
  id: `a/${seq}`,
  seq,
  step: seq,
  importance: 0.4,
  isCorrection: false,
  isPinned: false,
  words: createWordSet(wordsOf(text)),
  isQuestion: text.includes("?"),
  kind: "step",
  trust: "agent",
  sourceKey: 0,
  ...change,
});
const candidate = (
  seq: number,
  similarity: number,
  text = `word${"abcdefghijklmnop"[seq % 16]}`.repeat(seq + 1),
): RecallCandidate => ({ slot: seq, row: row(seq, text), similarity });
const ids = ({ recalls }: RecallChoice) => recalls.map(({ row }) => row.id);

describe("chooseRecalls", () => {
  it("chooses by similarity, best first, at most `count`", () => {
    expect(ids(chooseRecalls([candidate(1, 0.2), candidate(2, 0.9), candidate(3, 0.5)], 2, 3))).toEqual(["a/2", "a/3"]);
  });

  it.each<[title: string, old: Partial<RecallableRow>, similarity: number, expected: string[]]>([
    ["the newer of two equally similar rows", {}, 0.5, ["a/900", "a/1"]],
    ["an important old row to a new one of about equal similarity", { importance: 1 }, 0.51, ["a/1", "a/900"]],
    ["a more similar row, however old and unimportant it is", { importance: 0 }, 0.6, ["a/1", "a/900"]],
  ])("prefers %s", (_title, old, similarity, expected) => {
    const candidates = [
      { slot: 1, row: row(1, "alpha", old), similarity },
      { slot: 900, row: row(900, "omega"), similarity: 0.5 },
    ];
    expect(ids(chooseRecalls(candidates, 2, 900))).toEqual(expected);
  });

  it("puts near-duplicates last, and includes them while there is room", () => {
    const said = (seq: number) => row(seq, `Wrote ${seq} bytes to the file part-${seq}.txt in the folder`);
    const candidates = [
      ...[1, 2, 3, 4].map((seq) => ({ slot: seq, row: said(seq), similarity: 0.9 + seq / 100 })),
      { slot: 5, row: row(5, "The tension should be 24 kilograms"), similarity: 0.3 },
    ];
    const choice = chooseRecalls(candidates, 4, 5);
    expect(ids(choice)).toEqual(["a/4", "a/5", "a/3", "a/2"]);
    expect(choice.distinct).toBe(2);
    const scores = choice.recalls.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  it("orders candidates of negative similarity too", () => {
    expect(ids(chooseRecalls([candidate(1, -0.5), candidate(2, -0.1), candidate(3, 0)], 3, 3))).toEqual([
      "a/3",
      "a/2",
      "a/1",
    ]);
  });
});

describe("a near-duplicate", () => {
  it.each<[title: string, a: string, b: string, expected: boolean]>([
    ["differs only in numbers", "Wrote 12 bytes to part-3.txt", "Wrote 99 bytes to part-17.txt", true],
    [
      "differs in one word of eight",
      "one two three four five six seven eight",
      "one two three four five six seven nine",
      true,
    ],
    ["is another text", "The red strings are soft", "Book a table in Leipzig", false],
    ["shares half", "alpha beta gamma delta", "alpha beta epsilon zeta", false],
    ["includes two empty texts", "", "", true],
    ["is not an empty text", "alpha", "", false],
  ])("%s", (_title, a, b, expected) => {
    const [words, others] = [createWordSet(wordsOf(a)), createWordSet(wordsOf(b))];
    const equally = () => 1;
    expect(weightedJaccard(words, others, equally) >= 0.7).toBe(expected);
    expect(weightedJaccard(others, words, equally) >= 0.7).toBe(expected);
  });

  it("is not a row that shares many common words and no rare one", () => {
    const noted = (fact: string) =>
      `I write down what I learned: append to file notes.md, ${fact}, added to the end of the file`;
    const [one, other] = [noted("Greta plays chess"), noted("Ivo drives a tram")].map((text) =>
      createWordSet(wordsOf(text)),
    ) as [WordSet, WordSet];
    const rare = new Set(createWordSet(wordsOf("Greta plays chess Ivo drives tram")).hashes);
    expect(weightedJaccard(one, other, () => 1)).toBeGreaterThan(0.6);
    expect(weightedJaccard(one, other, (hash) => (rare.has(hash) ? 6 : 0.1))).toBeLessThan(0.1);
  });

  it("is detected exactly by the weighted Jaccard similarity", () => {
    const sets = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
    const setOf = (numbers: readonly number[]): WordSet => ({
      hashes: Uint32Array.from(numbers).sort(),
      numbers: new Uint32Array(),
    });
    const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number + 1, 0);
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const all = sum(new Set([...a, ...b]));
        const expected = all === 0 ? 1 : sum(a.filter((word) => b.includes(word))) / all;
        expect(weightedJaccard(setOf(a), setOf(b), (hash) => hash + 1)).toBeCloseTo(expected, 10);
      }),
    );
  });
});
