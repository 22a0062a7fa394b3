import { beforeEach, describe, expect, it } from "@jest/globals";
import { LexicalIndex } from "#memory/lexical/lexical-index.ts";
import { LEXICAL_SETTINGS } from "#memory/lexical/lexical-settings.ts";
import { RelatedTerms, type WordMeanings } from "#memory/lexical/related-terms.ts";
import { Vocabulary } from "#memory/lexical/vocabulary.ts";
import { shippedWordTable } from "#memory/words/word-table.ts";
import { wordsOf } from "#util/words.ts";
import { collectGarbage } from "../../helpers/collect-garbage.ts";

describe("terms of related meaning", () => {
  let vocabulary: Vocabulary;
  let terms: RelatedTerms;
  beforeEach(() => {
    vocabulary = new Vocabulary();
    terms = new RelatedTerms(vocabulary, shippedWordTable());
  });
  const add = (text: string) => vocabulary.countTerms(wordsOf(text));
  const relatedTo = (word: string) =>
    (terms.placeOf(word) < 0 ? [] : terms.find(terms.placeOf(word), vocabulary.findTerm(word))).map(({ term }) =>
      vocabulary.stemOf(term),
    );

  it("are found, the most related first, without the word itself", () => {
    add("vessel banana boat quickly ship ferry the carpet");
    expect(relatedTo("ship")).toEqual(["vessel", "boat", "fer"]);
  });

  it("are not found for unknown words, numbers and stop words", () => {
    add("vessel boat 1914 the xqzzyv");
    for (const word of ["xqzzyv", "1914"]) expect(relatedTo(word)).toEqual([]);
    expect(relatedTo("ship")).not.toContain("the");
  });

  it("are forgotten for words that no query has had for long", async () => {
    add("vessel boat ferry yacht steamer");
    const found = () => terms.find(terms.placeOf("ship"), vocabulary.findTerm("ship"))[0] as object;
    const kept = new WeakRef(found());
    for (let place = 0; place < 600; place++) terms.find(place, -1);
    await collectGarbage();
    expect(kept.deref()).toBeUndefined();
    expect(found()).toBeDefined();
  });

  it("are the same whether words came before or after the first search", () => {
    const text = "vessel boat ferry yacht steamer tanker submarine freighter cargo fleet harbour sailor crew";
    add(text);
    const whole = relatedTo("ship");
    expect(whole).toHaveLength(5);
    vocabulary = new Vocabulary();
    terms = new RelatedTerms(vocabulary, shippedWordTable());
    for (const word of text.split(" ")) {
      relatedTo("ship");
      add(word);
    }
    expect(relatedTo("ship")).toEqual(whole);
  });
});

describe("a search by words of related meaning", () => {
  const rows = ["The physician was paid on Monday.", "The carpet is blue.", "El barco sale mañana."];
  function find(query: string, meanings: WordMeanings = shippedWordTable()) {
    const index = new LexicalIndex({ ...LEXICAL_SETTINGS, window: [] }, meanings);
    for (const [slot, row] of rows.entries()) index.add(slot, index.vocabulary.countTerms(wordsOf(row)), "foo");
    return index
      .search(
        [[...new Set(wordsOf(query))]],
        10,
      )(0)
      .map(({ slot }) => slot);
  }

  it("finds a row that shares no word with the question, and without meanings it does not", () => {
    expect(find("Which doctor?")).toEqual([0]);
    expect(find("Which doctor?", { ...shippedWordTable(), placeOf: () => -1 })).toEqual([]);
  });

  it("ranks the row with the word itself first", () => {
    rows.push("The doctor called.");
    expect(find("doctor")).toEqual([3, 0]);
  });

  it("does not use them for a text of which the table has less than half of the words", () => {
    expect(find("xqzzyv qwvvkk doctor")).not.toContain(0);
    expect(find("xqzzyv doctor")).toContain(0);
  });

  describe("reads the words of the question first", () => {
    const QUESTION = ["doctor", "lawyer", "teacher", "farmer"];
    function findsPhysician(query: readonly string[], settings = LEXICAL_SETTINGS): boolean {
      const index = new LexicalIndex({ ...settings, window: [] }, shippedWordTable());
      const add = (slot: number, words: readonly string[]) =>
        index.add(slot, index.vocabulary.countTerms(words), "foo");
      add(0, ["physician"]);
      for (let slot = 1; slot <= 4_096; slot++) add(slot, QUESTION);
      return index
        .search(
          [query],
          5_000,
        )(0)
        .some(({ slot }) => slot === 0);
    }

    it("and others with the postings that are left, of 16,384", () => {
      expect(findsPhysician(QUESTION)).toBe(false);
      expect(findsPhysician(QUESTION.slice(0, 3))).toBe(true);
    });

    it("and others among as many terms as are left", () => {
      expect(findsPhysician(["doctor"], { ...LEXICAL_SETTINGS, maxTerms: 1 })).toBe(false);
      expect(findsPhysician(["doctor"], { ...LEXICAL_SETTINGS, maxTerms: 2 })).toBe(true);
    });
  });
});
