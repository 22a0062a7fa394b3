/** Rows that differ only in numbers are found as one, by their numbers. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { DuplicateGroups } from "#memory/recall/duplicate-groups.ts";
import { queryParts } from "#memory/recall/query-parts.ts";
import { wordsOf } from "#util/words.ts";

const search = (groups: DuplicateGroups, text: string, excluded: readonly number[] = []) =>
  groups
    .search(
      queryParts({ texts: [text] }),
      10,
      new Set(excluded),
    )(0)
    .map(({ slot }) => slot);
const numbersOf = (text: string): readonly string[] => [...new Set(text.match(/\d+/g) ?? [])];

function filled(texts: readonly string[]): DuplicateGroups {
  const groups = new DuplicateGroups();
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
        const groups = new DuplicateGroups();
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
          const found = search(
            groups,
            `price length ${asked.join(" ")}`,
            [...hidden].filter((slot) => !removed.has(slot)),
          );
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
