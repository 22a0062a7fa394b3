import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ScoredSlot } from "#core/ports/memory.ts";
import { measureMean } from "#memory/recall/agent-vectors.ts";
import { chooseRecalls, type RecallCandidate, type RecallChoice } from "#memory/recall/choose-recalls.ts";
import { fuseScores, mergeParts } from "#memory/recall/find-recalls.ts";
import { type QueryPart, queryParts } from "#memory/recall/query-parts.ts";
import type { RecallableRow } from "#memory/recall/row-columns.ts";
import { SeriesGroups } from "#memory/recall/series-groups.ts";
import { dot, meanOf } from "#memory/vectors/unit-vector.ts";
import { createWordSet, type WeighWord, type WordSet, weightedJaccard, weighWords } from "#memory/words/vocabulary.ts";
import { wordsOf } from "#util/words.ts";

const row = (seq: number, text: string, change: Partial<RecallableRow> = {}): RecallableRow => ({
  id: `a/${seq}`,
  seq,
  step: seq,
  importance: 0.4,
  isCorrection: false,
  isPinned: false,
  kind: "step",
  trust: "agent",
  sourceKey: 0,
  words: createWordSet(wordsOf(text)),
  isQuestion: text.includes("?"),
  ...change,
});
const candidate = (
  seq: number,
  similarity: number,
  text = `word${"abcdefghijklmnop"[seq % 16]}`.repeat(seq + 1),
): RecallCandidate => ({ slot: seq, row: row(seq, text), similarity, lastStep: 3 });
const likeness = (a: WordSet, b: WordSet, weigh: WeighWord) =>
  weightedJaccard(weighWords(a, weigh), weighWords(b, weigh), weigh);
const ids = ({ recalls }: RecallChoice) => recalls.map(({ row }) => row.id);

describe("chooseRecalls", () => {
  it("chooses by similarity, best first, negative ones too, at most `count`", () => {
    const candidates = [candidate(1, -0.5), candidate(2, -0.1), candidate(3, 0), candidate(4, 0.9), candidate(5, -0.6)];
    expect(ids(chooseRecalls(candidates, 4))).toEqual(["a/4", "a/3", "a/2", "a/1"]);
  });

  it.each<[title: string, old: Partial<RecallableRow>, similarity: number, expected: string[]]>([
    ["the newer of two equally similar rows", {}, 0.5, ["a/900", "a/1"]],
    ["an important old row to a new one of about equal similarity", { importance: 1 }, 0.51, ["a/1", "a/900"]],
    ["a more similar row, however old and unimportant it is", { importance: 0 }, 0.6, ["a/1", "a/900"]],
  ])("prefers %s", (_title, old, similarity, expected) => {
    const candidates = [
      { slot: 1, row: row(1, "alpha", old), similarity, lastStep: 900 },
      { slot: 900, row: row(900, "omega"), similarity: 0.5, lastStep: 900 },
    ];
    expect(ids(chooseRecalls(candidates, 2))).toEqual(expected);
  });

  it("puts near-duplicates last, and includes them while there is room", () => {
    const said = (seq: number) => row(seq, `Wrote ${seq} bytes to the file part-${seq}.txt in the folder`);
    const candidates = [
      ...[1, 2, 3, 4].map((seq) => ({ slot: seq, row: said(seq), similarity: 0.9 + seq / 100, lastStep: 5 })),
      { slot: 5, row: row(5, "The tension should be 24 kilograms"), similarity: 0.3, lastStep: 5 },
    ];
    const choice = chooseRecalls(candidates, 4);
    expect(ids(choice)).toEqual(["a/4", "a/5", "a/3", "a/2"]);
    expect(choice.distinct).toBe(2);
    const scores = choice.recalls.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });
});

describe("a near-duplicate", () => {
  it("differs only in numbers, whose words are equal", () => {
    const [one, other] = ["Wrote 12 bytes to part-3.txt", "Wrote 99 bytes to part-17.txt"].map((text) =>
      createWordSet(wordsOf(text)),
    );
    expect(one?.hashes).toEqual(other?.hashes);
  });

  it("is detected exactly by the weighted Jaccard similarity", () => {
    const sets = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
    const setOf = (numbers: readonly number[]): WordSet => {
      return { hashes: Uint32Array.from(numbers).sort(), numbers: new Uint32Array() };
    };
    const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number + 1, 0);
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const all = sum(new Set([...a, ...b]));
        const expected = all === 0 ? 1 : sum(a.filter((word) => b.includes(word))) / all;
        expect(likeness(setOf(a), setOf(b), (hash) => hash + 1)).toBeCloseTo(expected, 10);
      }),
    );
  });
});

const part = (weight: number): QueryPart => ({
  text: "",
  weight,
  words: [],
  stems: new Uint32Array(),
  topics: new Uint32Array(),
  numbers: new Set(),
});
const rankingOf = (scores: Readonly<Record<number, number>>): readonly ScoredSlot[] =>
  Object.entries(scores)
    .map(([slot, score]) => ({ slot: Number(slot), score }))
    .sort((a, b) => b.score - a.score);

describe("mergeParts", () => {
  it("scores a row by the part that it stands out for, whatever the scale of other parts", () => {
    const reports = rankingOf({ 1: 9.2, 2: 9.1, 3: 9 });
    const answers = rankingOf({ 4: 2, 5: 0.1 });
    const slots = mergeParts((at) => [reports, answers][at] ?? [], [part(0.8), part(1)]).map(({ slot }) => slot);
    expect(slots[0]).toBe(4);
    expect(slots.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  it("scores no row above the weight of its part by a rounded factor, so that a limit changes no order", () => {
    const rankings = [rankingOf({ 0: 0.4521729434657264, 1: 0.01 }), rankingOf({ 0: 0.01, 1: 0.3330252161257866 })];
    const parts = rankings.map(() => part(0.9999999999999987));
    const whole = mergeParts((at) => rankings[at] ?? [], parts);
    expect(mergeParts((at) => rankings[at] ?? [], parts, 1)).toEqual(whole.slice(0, 1));
  });

  it("with a limit returns the first of all, without searching parts of too little weight", () => {
    const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
    const hits = fc.dictionary(fc.nat(40).map(String), between(0.01, 20));
    const texts = fc.array(fc.record({ weight: between(0.1, 1), hits }), { minLength: 1, maxLength: 9 });
    let [asked, all] = [0, 0];
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 12 }), (given, limit) => {
        const parts = given.map(({ weight }) => part(weight));
        const rankings = given.map(({ hits }) => rankingOf(hits));
        const whole = mergeParts((at) => rankings[at] ?? [], parts);
        const countedRanking = (at: number) => {
          asked++;
          return rankings[at] ?? [];
        };
        const first = mergeParts(countedRanking, parts, limit);
        all += parts.length;
        expect(first).toEqual(whole.slice(0, limit));
      }),
    );
    expect(asked).toBeLessThan(0.9 * all);
  });
});

/** Rows that differ only in numbers are found as one, by their numbers. */

function search(groups: SeriesGroups, text: string, excluded: readonly number[] = []): readonly number[] {
  const hitsOf = groups.search(queryParts({ texts: [text] }), 10, new Set(excluded));
  return hitsOf(0).map(({ slot }) => slot);
}
const numbersOf = (text: string): readonly string[] => [...new Set(text.match(/\d+/g) ?? [])];

function filled(texts: readonly string[]): SeriesGroups {
  const groups = new SeriesGroups();
  for (const text of texts) groups.add(wordsOf(text), "foo");
  return groups;
}

const number = fc.integer({ min: 10, max: 18 });
const numbers = fc.array(number, { minLength: 1, maxLength: 4 });

describe("a search in rows that differ only in numbers", () => {
  it("returns the shown row with most numbers of the query, the newest of equals, at any time", () => {
    const row = fc.record({ kind: fc.constantFrom("price", "length"), numbers, isRemoved: fc.boolean() });
    const round = fc.record({
      rows: fc.array(row, { minLength: 1, maxLength: 30 }),
      asked: numbers,
      excluded: fc.array(fc.nat(40)),
    });
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 4 }), (rounds) => {
        const groups = new SeriesGroups();
        const texts: string[] = [];
        const removed = new Set<number>();
        for (const { rows, asked, excluded } of rounds) {
          for (const one of rows) {
            texts.push(`${one.kind} ${one.numbers.join(" ")}`);
            groups.add(wordsOf(texts.at(-1) as string), "foo");
            if (!one.isRemoved) continue;
            removed.add(texts.length - 1);
            groups.remove(texts.length - 1);
          }
          const hidden = new Set([...excluded.filter((slot) => slot < texts.length), ...removed]);
          const shared = (slot: number) =>
            numbersOf(texts[slot] as string).filter((n) => asked.includes(Number(n))).length;
          const expected = ["price", "length"].flatMap((kind) => {
            const shown = texts.flatMap((text, slot) => (text.startsWith(kind) && !hidden.has(slot) ? [slot] : []));
            return shown.sort((a, b) => shared(b) - shared(a) || b - a).slice(0, 1);
          });
          const left = [...hidden].filter((slot) => !removed.has(slot));
          const found = search(groups, `price length ${asked.join(" ")}`, left);
          expect([...found].sort()).toEqual(expected.sort());
        }
      }),
    );
  });

  const LONG = 10_000;
  const texts = Array.from({ length: LONG }, (_, at) => `listing ${100_000 + at} of 30 costs ${at % 500} euros`);

  it.each([
    ["a number that one row has, beside one that all have", "of 30 the listing 100007", 7],
    ["a number that one row has, and one of twenty", "listing 100007 costs 7", 7],
    ["a number that all have", "listing of 30", LONG - 1],
    ["a number that none has", "listing 7777777", LONG - 1],
  ])("of 10,000 rows finds the right one by %s", (_title, text, slot) => {
    expect(search(filled(texts), text)).toEqual([slot]);
  });

  it("counts the main memory of the numbers that it was searched for", () => {
    const groups = filled(texts);
    const before = groups.bytes;
    search(groups, "listing 100007");
    const more = groups.bytes - before;
    expect(more).toBeGreaterThan(30 * LONG);
    search(groups, "listing 100008 of 30");
    expect(groups.bytes - before).toBe(more);
  });
});

/** Words and vectors are fused so that a good embedder finds what words cannot; quality.long.ts measures it on whole memories. */

describe("the closeness of a row to a query", () => {
  const unit = (degrees: number) =>
    Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));
  const rows = [0, 30, 60, 90].map(unit);
  const mean = measureMean(rows.length, (slot) => rows[slot]);
  function closenessOf(row: Float32Array | undefined, query = unit(90)): number | undefined {
    const centred = mean?.centre(query);
    return centred && mean?.compare(centred)((vector) => row && dot(row, vector));
  }

  it("is twice their cosine less the mean of the rows, and never below 0", () => {
    const middle = meanOf(rows, 2);
    const centre = (vector = unit(0)) => vector.map((component, at) => component - (middle[at] ?? 0));
    const [query, row] = [centre(rows[3]), centre(rows[2])];
    const cosine = dot(query, row) / Math.hypot(...query) / Math.hypot(...row);
    expect(cosine).toBeGreaterThan(0.4);
    expect(closenessOf(rows[2])).toBeCloseTo(2 * cosine, 5);
    expect(closenessOf(rows[3])).toBeCloseTo(2, 5);
    expect(closenessOf(rows[0])).toBe(0);
  });

  it("is 0 for a row without a vector, and for one like the mean", () => {
    expect(closenessOf(undefined)).toBe(0);
    const same = measureMean(4, () => unit(10));
    expect(same?.compare(unit(90))((vector) => dot(unit(10), vector))).toBe(0);
    expect(same?.centre(unit(10))).toBeUndefined();
  });

  it("is unknown with fewer than four vectors", () => {
    expect(measureMean(100, (slot) => (slot < 3 ? unit(0) : undefined))).toBeUndefined();
    expect(measureMean(100, (slot) => (slot > 90 ? unit(0) : undefined))).toBeDefined();
  });
});

describe("fuseScores", () => {
  const words = [
    { slot: 1, score: 9 },
    { slot: 2, score: 5 },
  ];
  const near = (closeness: Readonly<Record<number, number>>) => ({
    slots: Object.keys(closeness).map(Number),
    closenessOf: (slot: number) => closeness[slot] ?? 0,
  });
  const order = (...given: Parameters<typeof fuseScores>) => fuseScores(...given).map(({ slot }) => slot);

  it("keeps the order of the words when no row stands out", () => {
    expect(order(words, near({ 3: 0 }), 1)).toEqual([1, 2, 3]);
  });

  it("puts a row that stands out before the words when these cover little of the question", () => {
    expect(order(words, near({ 3: 1 }), 0.1)).toEqual([3, 1, 2]);
    expect(order(words, near({ 3: 1 }), 1)).toEqual([1, 3, 2]);
  });

  it("scales the best to 1, and finds rows without words", () => {
    expect(fuseScores([], near({ 7: 0.2, 8: 0.1 }), 0)).toEqual([
      { slot: 7, score: 1 },
      { slot: 8, score: expect.closeTo(0.5) },
    ]);
    expect(fuseScores([], near({}), 0)).toEqual([]);
  });
});
