import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { LexicalIndex } from "#memory/lexical/lexical-index.ts";
import { LEXICAL_SETTINGS } from "#memory/lexical/lexical-settings.ts";
import { NumberLists } from "#memory/lexical/number-lists.ts";
import { ScoreSums } from "#memory/lexical/score-sums.ts";
import { wordsOf } from "#util/words.ts";

type Row = string | readonly [namespace: string, text: string];
const none: ReadonlySet<number> = new Set();

function indexOf(rows: readonly Row[], settings = LEXICAL_SETTINGS): LexicalIndex {
  const index = new LexicalIndex(settings);
  for (const [slot, row] of rows.entries()) {
    const [namespace, text] = typeof row === "string" ? ["foo", row] : row;
    index.add(slot, index.vocabulary.countTerms(wordsOf(text)), namespace);
  }
  return index;
}
const search = (index: LexicalIndex, text: string, excluded = none) =>
  index.search([[...new Set(wordsOf(text))]], 10, excluded)(0);
const slots = (index: LexicalIndex, text: string, excluded = none) =>
  search(index, text, excluded).map(({ slot }) => slot);
/** Puts rows far enough apart that none is another's neighbour. */
const apart = (...texts: string[]) =>
  texts.flatMap((text, at) => [text, ...["b", "c", "d", "e"].map((letter) => letter.repeat(at + 2))]);

const alone = { ...LEXICAL_SETTINGS, window: [] };

describe("the lexical index", () => {
  it.each([
    ["the same word", "The racket broke.", "racket"],
    ["another form of it", "They were planning deliveries.", "Who plans the delivery?"],
    ["accents and case", "CAFÉ Zoé", "cafe zoe"],
    ["part of an identifier", "parseRetryAfter gives seconds", "what does parse_retry give"],
    ["a script without spaces", "备用钥匙放在蓝色花盆下面", "钥匙在哪里"],
    ["a number", "Door 4711", "4711"],
  ])("finds a row by %s", (_title, text, query) => {
    expect(slots(indexOf(apart("nothing here", text, "other things")), query)[0]).toBe(5);
  });

  it.each([
    ["a related word with another stem", "We compared oaks.", "What was the comparison?"],
    ["a misspelling", "The veterinarian is closed.", "vetrinarian"],
    ["a part of a compound", "Der Bürokeller ist nass.", "Welcher Keller?"],
  ])("does not find a row by %s", (_title, text, query) => {
    expect(slots(indexOf(apart("nothing here", text, "other things")), query)).toEqual([]);
  });

  it("does not find a row that shares no word with the text", () => {
    expect(slots(indexOf(["soup of the day", "The racket"]), "string tension")).toEqual([]);
    expect(slots(indexOf(["the and of"]), "the and of")).toEqual([]);
    expect(slots(new LexicalIndex(), "anything")).toEqual([]);
  });

  it("ranks rare words above common ones, and the newer of equal rows first", () => {
    const index = indexOf(apart("soup", "red strings", "red shoes", "red strings", "blue strings", "red hats", "rice"));
    expect(slots(index, "blue red")[0]).toBe(20);
    expect(slots(index, "red strings").slice(0, 2)).toEqual([15, 5]);
  });

  it("leaves out excluded rows", () => {
    expect(slots(indexOf(["strings", "soup", "strings"], alone), "strings", new Set([2]))).toEqual([0]);
  });

  it("searches each text separately, in any order", () => {
    const index = indexOf(apart("red strings", "blue shoes", "red shoes"));
    const texts = [["strings"], ["red", "shoes"], ["hats"], ["shoes"]];
    const hitsOf = index.search(texts, 10);
    const hits = [0, 1, 2, 3].map((text) => hitsOf(text));
    expect(hits.map((found) => found[0]?.slot)).toEqual([0, 10, undefined, 10]);
    const again = index.search(texts, 10);
    expect([3, 1].map((text) => again(text))).toEqual([hits[3], hits[1]]);
  });
});

describe("the window over neighbours", () => {
  const dialogue = ["What did Ottilie buy in Leipzig?", "Two lamps and a rug.", "Nice weather today."];
  const elsewhere = apart("Leipzig is far.", "Ottilie sleeps.", "Lamps are bright.", "A rug of wool.");

  it("lets question and answer find each other", () => {
    expect(
      slots(indexOf([...dialogue, ...elsewhere]), "Ottilie Leipzig lamps")
        .slice(0, 2)
        .sort(),
    ).toEqual([0, 1]);
    expect(slots(indexOf([...dialogue, ...elsewhere], alone), "Ottilie Leipzig lamps").slice(0, 2)).not.toContain(1);
  });

  it("works as soon as the neighbour is added", () => {
    const index = indexOf(["Two lamps and a rug."]);
    expect(slots(index, "Leipzig")).toEqual([]);
    index.add(1, index.vocabulary.countTerms(wordsOf("That was in Leipzig.")), "foo");
    expect(slots(index, "Leipzig")).toEqual([1, 0]);
  });

  it("counts less than the row's own words", () => {
    expect(slots(indexOf(["soup", "Leipzig", "rice"]), "Leipzig")[0]).toBe(1);
  });

  it("never crosses namespaces", () => {
    expect(
      slots(
        indexOf([
          ["foo", "Leipzig"],
          ["bar", "lamps"],
          ["foo", "rugs"],
        ]),
        "Leipzig",
      ),
    ).toEqual([0, 2]);
    expect(
      slots(
        indexOf([
          ["foo", "Leipzig"],
          ["bar", "lamps"],
        ]),
        "Leipzig",
      ),
    ).toEqual([0]);
  });
});

describe("a removed row", () => {
  it("is never found, adds nothing to its neighbours, and counts in no score", () => {
    const rows = ["red strings", "Leipzig lamps", "blue strings", "a rug"];
    const index = indexOf(rows);
    const { terms } = index.vocabulary.countTerms(wordsOf(rows[1] as string));
    index.remove(1, terms);
    index.remove(1, terms);
    expect(index.size).toBe(3);
    expect(slots(index, "Leipzig lamps")).toEqual([]);
    const without = indexOf(["red strings", "", "blue strings", "a rug"]);
    without.remove(1, new Uint32Array(0));
    expect(search(index, "strings rug red")).toEqual(search(without, "strings rug red"));
  });
});

describe("the parts of the index", () => {
  it("number lists keep their numbers in order, however long they grow", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(2 ** 32 - 1)), { maxLength: 3_000 }), (pushes) => {
        const lists = new NumberLists();
        const expected = Array.from({ length: 6 }, (): number[] => []);
        for (const list of expected.keys()) expect(lists.open()).toBe(list);
        for (const [list, value] of pushes) {
          lists.push(list, value);
          expected[list]?.push(value);
        }
        for (const [list, values] of expected.entries()) expect([...lists.read(list)]).toEqual(values);
      }),
      { numRuns: 40 },
    );
  });

  it("score sums return the best slots and clear all sums", () => {
    const sums = new ScoreSums();
    sums.reserve(41);
    const excluded = Array.from({ length: 14 }, (_, third) => 3 * third);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 4 }))),
        fc.integer({ min: 1, max: 20 }),
        (gains, limit) => {
          const expected = new Map<number, number>();
          for (const [slot, score] of gains) {
            const frequencies = new Float32Array(41).fill(9, slot, slot + 1);
            sums.addSaturated(Uint32Array.of(slot), frequencies, new Float32Array(41).fill(3), score);
            expect(frequencies[slot]).toBe(0);
            expected.set(slot, (expected.get(slot) ?? 0) + 0.75 * score);
          }
          const allowed = [...expected].filter(([slot]) => slot % 3 !== 0).map(([slot, score]) => ({ slot, score }));
          allowed.sort((a, b) => b.score - a.score || b.slot - a.slot);
          expect(sums.takeBest(limit, excluded)).toEqual(allowed.slice(0, limit));
        },
      ),
    );
  });
});
