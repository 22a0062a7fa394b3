import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { RelatedTerms, type WordMeanings } from "#memory/words/query-terms.ts";
import { Vocabulary } from "#memory/words/vocabulary.ts";
import { LEXICAL_SETTINGS, LexicalIndex } from "#memory/words/word-index.ts";
import { encodeWordTable, openWordTable, shippedWordTable } from "#memory/words/word-table.ts";
import { hashOf, wordsOf } from "#util/words.ts";
import { collectGarbage } from "../helpers/waits.ts";

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
  it.each<[title: string, text: string, query: string, found: readonly number[]]>([
    ["the same word", "The racket broke.", "racket", [5]],
    ["another form of it", "They were planning deliveries.", "Who plans the delivery?", [5]],
    ["accents and case", "CAFÉ Zoé", "cafe zoe", [5]],
    ["part of an identifier", "parseRetryAfter gives seconds", "what does parse_retry give", [5]],
    ["a script without spaces", "备用钥匙放在蓝色花盆下面", "钥匙在哪里", [5]],
    ["a number", "Door 4711", "4711", [5]],
    ["a related word with another stem", "We compared oaks.", "What was the comparison?", []],
    ["a misspelling", "The veterinarian is closed.", "vetrinarian", []],
    ["a part of a compound", "Der Bürokeller ist nass.", "Welcher Keller?", []],
  ])("finds first by %s: %j asked for by %j in %j", (_title, text, query, found) => {
    expect(slots(indexOf(apart("nothing here", text, "other things")), query).slice(0, 1)).toEqual(found);
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
    const equal = indexOf(Array(12).fill("strings"), alone);
    expect(slots(equal, "strings")).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
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
    const firstTwo = (settings = LEXICAL_SETTINGS) =>
      slots(indexOf([...dialogue, ...elsewhere], settings), "Ottilie Leipzig lamps").slice(0, 2);
    expect(firstTwo().sort()).toEqual([0, 1]);
    expect(firstTwo(alone)).not.toContain(1);
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
    const rows = [
      ["foo", "Leipzig"],
      ["bar", "lamps"],
      ["foo", "rugs"],
    ] as const;
    expect(slots(indexOf(rows), "Leipzig")).toEqual([0, 2]);
    expect(slots(indexOf(rows.slice(0, 2)), "Leipzig")).toEqual([0]);
  });
});

it("a removed row is never found, adds nothing to its neighbours, and counts in no score", () => {
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

describe("terms of related meaning", () => {
  let vocabulary: Vocabulary;
  let terms: RelatedTerms;
  beforeEach(() => {
    vocabulary = new Vocabulary();
    terms = new RelatedTerms(vocabulary, shippedWordTable());
  });
  const add = (text: string) => vocabulary.countTerms(wordsOf(text));
  function relatedTo(word: string): readonly string[] {
    const [place = -1] = terms.placesOf([word]);
    const found = place < 0 ? [] : terms.find(place, vocabulary.findTerm(word));
    return found.map(({ term }) => vocabulary.stemOf(term));
  }

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
    const [ship = -1] = terms.placesOf(["ship"]);
    const found = () => terms.find(ship, vocabulary.findTerm("ship"))[0] as object;
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
    return slots(index, query);
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
      const hitsOf = index.search([query], 5_000);
      return hitsOf(0).some(({ slot }) => slot === 0);
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

it("a vocabulary keeps nothing on V8's heap for a number, which mostly comes once", async () => {
  const growths: number[] = [];
  while (growths.length < 3) {
    const vocabulary = new Vocabulary();
    await collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < 10_000; number++) vocabulary.countTerms([`${number}17`]);
    await collectGarbage();
    growths.push(process.memoryUsage().heapUsed - before);
    expect(vocabulary.size).toBe(10_000);
  }
  // What runs the tests may allocate meanwhile.
  expect(Math.min(...growths)).toBeLessThan(300_000);
});

const FOLDER = "src/memory/words";
const shipped = readFileSync(`${FOLDER}/word-table.bin`);

describe("the table of word vectors", () => {
  it("has the hash that is written beside it, and at most 7 MB", () => {
    expect(readFileSync(`${FOLDER}/word-table.sha256`, "utf8")).toBe(`${hash("sha256", shipped)}  word-table.bin\n`);
    expect(shipped.length).toBeLessThan(7_000_000);
  });

  it("names its sources and their licences", () => {
    const licence = readFileSync(`${FOLDER}/LICENSE.md`, "utf8");
    for (const words of ["GloVe", "Public Domain Dedication and License", "The MIT License", "GRAYPE"])
      expect(licence).toContain(words);
  });

  it("finds common words, the most frequent first, and no others", () => {
    const table = openWordTable(shipped);
    expect([table.size, table.dimensions]).toEqual([60_000, 100]);
    expect(table.rankAt(table.placeOf(hashOf("the")))).toBe(0);
    expect(table.rankAt(table.placeOf(hashOf("harbour")))).toBeGreaterThan(1_000);
    expect(table.placeOf(hashOf("xqzzyv"))).toBe(-1);
  });

  it("finds every word that it was made of", () => {
    const hash = fc.nat(2 ** 32 - 1);
    const word = fc.record({ hash, rank: fc.nat(65_535), vector: fc.int8Array({ minLength: 3, maxLength: 3 }) });
    const words = fc.uniqueArray(word, { selector: ({ hash }) => hash, minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(words, hash, (given, other) => {
        const table = openWordTable(encodeWordTable(given, 3));
        for (const { hash, rank, vector } of given) {
          const place = table.placeOf(hash);
          expect([table.rankAt(place), table.vectorAt(place)]).toEqual([rank, vector]);
        }
        if (given.every(({ hash }) => hash !== other)) expect(table.placeOf(other)).toBe(-1);
      }),
    );
  });

  it.each([
    ["empty", Buffer.alloc(0)],
    ["cut off", shipped.subarray(0, 1_000)],
    ["another file", readFileSync("package.json")],
    ["without words", encodeWordTable([], 3)],
  ])("is refused when it is %s", (_title, bytes) => {
    expect(() => openWordTable(bytes)).toThrow(/Expected a table of words/);
  });
});
