import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { encodeWordTable, openWordTable } from "#memory/words/word-table.ts";
import { hashOf } from "#util/words.ts";

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
    const words = fc.uniqueArray(
      fc.record({
        hash: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        rank: fc.integer({ min: 0, max: 65_535 }),
        vector: fc.int8Array({ minLength: 3, maxLength: 3 }),
      }),
      { selector: ({ hash }) => hash, minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (given, other) => {
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
