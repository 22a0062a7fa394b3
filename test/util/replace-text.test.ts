import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { findNearLines } from "#util/near-text.ts";
import { findText, replaceText } from "#util/replace-text.ts";
import { growthOverEightfold } from "../helpers/growth.ts";

const LIMIT = 64 * 1024 * 1024;
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

describe("replaceText", () => {
  it("finds every place that a plain search finds, overlapping ones too", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, (content, text) => {
        fc.pre(text !== "");
        const places = Array.from({ length: content.length }, (_, at) => at).filter((at) =>
          content.startsWith(text, at),
        );
        const overlap = places.some((at, index) => at < (places[index - 1] ?? -text.length) + text.length);
        expect(findText(bytes(content), bytes(text))).toEqual({ count: places.length, places, overlap });
      }),
    );
  });

  it("replaces as replaceAll does where nothing overlaps", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "é", "🎾", "\n"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, letters, (content, old, replacement) => {
        fc.pre(old !== "" && old !== replacement);
        const { count, overlap } = findText(bytes(content), bytes(old));
        const edit = replaceText(bytes(content), { old, new: replacement }, Math.max(1, count), LIMIT);
        if (count === 0 || overlap) expect(edit.kind).toBe(count === 0 ? "missing" : "other-count");
        else {
          expect(edit).toMatchObject({ kind: "replaced", content: bytes(content.replaceAll(old, () => replacement)) });
          if (edit.kind === "replaced") expect(edit.places).toHaveLength(count);
        }
      }),
    );
  });
});

describe("the cost of a search is linear in the file", () => {
  it.each<[title: string, search: (content: Uint8Array) => unknown, fill: string]>([
    ["for a text that almost matches everywhere", (content) => findText(content, bytes(`b${"a".repeat(20_000)}`)), "a"],
    ["for a text that fails at its end", (content) => findText(content, bytes(`${"a".repeat(20_000)}b`)), "a"],
    ["for the nearest lines of empty lines", (content) => findNearLines(content, "one line\nand another"), "\n"],
    ["for the nearest lines to a long text", (content) => findNearLines(content, "a word\n".repeat(5_000)), "a wort\n"],
    ["for the nearest lines of one long line", (content) => findNearLines(content, "a word"), "a wort "],
  ])("%s", async (_title, search, fill) => {
    const growth = await growthOverEightfold(1024 * 1024, (size) => search(Buffer.alloc(size, fill)));
    expect(growth).toBeLessThan(24);
  });
});
