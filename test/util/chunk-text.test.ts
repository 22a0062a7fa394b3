import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Chunk, type ChunkOptions, chunkText } from "#util/chunk-text.ts";

interface Case {
  readonly fn: string;
  readonly name: string;
  readonly text: string;
  readonly max_length: number;
  readonly overlap?: number;
}
const CASES = (JSON.parse(readFileSync("test/data/chunk_cases.json", "utf8")) as { golden: Case[] }).golden;

const plain = (maxChars: number, overlapChars = 0): ChunkOptions => ({ maxChars, overlapChars, format: "plain" });
const markdown = (maxChars: number, overlapChars = 0): ChunkOptions => ({ maxChars, overlapChars, format: "markdown" });
const textsOf = (chunks: readonly Chunk[]): string[] => chunks.map(({ text }) => text);
const joined = (chunks: readonly Chunk[]): string => chunks.map(({ text, overlap }) => text.slice(overlap)).join("");

/** Invariants of every text and all options. */
function expectSound(text: string, options: ChunkOptions): void {
  const chunks = chunkText(text, options);
  expect(joined(chunks)).toBe(text);
  for (const [index, { text: piece, start, overlap }] of chunks.entries()) {
    expect(text.startsWith(piece, start)).toBe(true);
    expect(piece.length).toBeGreaterThan(overlap);
    expect(piece.length).toBeLessThanOrEqual(Math.max(2, options.maxChars));
    expect((chunks[index - 1]?.text ?? "").endsWith(piece.slice(0, overlap))).toBe(true);
    if (text.isWellFormed()) expect(piece.isWellFormed()).toBe(true);
  }
}

describe("chunkText", () => {
  it.each(CASES)("keeps the invariants for AutoGPT's case $name of $fn", ({ text, max_length, overlap = 0 }) => {
    for (const options of [plain(max_length, overlap), markdown(max_length, overlap)]) expectSound(text, options);
  });

  it.each([
    ["aaa\nbbb\nccc", plain(8), ["aaa\nbbb\n", "ccc"]],
    ["x".repeat(25), plain(10), ["x".repeat(10), "x".repeat(10), "x".repeat(5)]],
    ["", plain(10), []],
    ["yyyyyyyyyyyy\nzz", plain(10), ["yyyyyyyyyy", "yy\nzz"]],
    ["aaaa\nbbbb", plain(10), ["aaaa\nbbbb"]],
    ["abcdefghij", plain(5), ["abcde", "fghij"]],
    ["abcdefghij", plain(5, 2), ["abcde", "defgh", "ghij"]],
    ["abcdefghijklmnopqrstuvwxyz", plain(10, 2), ["abcdefghij", "ijklmnopqr", "qrstuvwxyz"]],
    ["abc", plain(10, 2), ["abc"]],
  ] as const)("cuts %j by %j", (text, options, expected) => {
    expect(textsOf(chunkText(text, options))).toEqual(expected);
  });

  it("keeps the invariants for any text and any options", () => {
    const bit = fc.constantFrom(
      "# ",
      "\n",
      "\n\n",
      "```",
      "|a|b|\n",
      "|-|-|\n",
      "word ",
      "x",
      "😀",
      "。",
      ". ",
      "\r\n",
      "---\n",
    );
    const text = fc.oneof(
      fc.array(bit, { maxLength: 60 }).map((bits) => bits.join("")),
      fc.string({ unit: "binary", maxLength: 200 }),
    );
    const options = fc.record({
      maxChars: fc.integer({ min: 1, max: 60 }),
      overlapChars: fc.integer({ min: 0, max: 80 }),
      format: fc.constantFrom("plain" as const, "markdown" as const),
    });
    fc.assert(fc.property(text, options, expectSound), { numRuns: 400 });
  });

  it.each([5, 6, 1000, Number.POSITIVE_INFINITY])("ends with an overlap of %s of 5", (overlap) => {
    expectSound("abcdefghij".repeat(20), plain(5, overlap));
  });

  it("reads a fence with 50,000 trailing spaces, and lines of marks, in one pass", () => {
    const hostile = [
      `\`\`\`${" ".repeat(50_000)}x`,
      `# ${"#".repeat(50_000)} x`,
      "|".repeat(50_000),
      "- ".repeat(50_000),
      `${"#\n".repeat(20_000)}`,
      "`".repeat(50_000),
      `${" \n".repeat(50_000)}`,
    ];
    for (const text of hostile) expectSound(text, markdown(4_000, 800));
  });
});

describe("a cut", () => {
  const section = (title: string): string =>
    `## ${title}\n\n${"A sentence of ten words stands here for the test. ".repeat(3)}\n\n`;

  it("is before a heading, which stays with the text below it", () => {
    const text = `# Top\n\n${section("One")}${section("Two")}${section("Three")}`;
    expect(chunkText(text, markdown(320)).map(({ text: piece }) => piece.split("\n")[0])).toEqual([
      "# Top",
      "## Two",
      "## Three",
    ]);
    expect(chunkText(text, markdown(320)).map(({ headings }) => headings)).toEqual([[], ["Top"], ["Top"]]);
  });

  it("recognizes underlined and closed headings, and no headings inside code", () => {
    const text = "Top\n===\n\nSub ##\n---\n\n```\n# no heading\n```\n\n### Deep ###\n\nend";
    expect(chunkText(text, markdown(14)).at(-1)).toMatchObject({ text: "end", headings: ["Top", "Sub", "Deep"] });
    expect(chunkText("# a\n\nb", plain(4)).map(({ headings }) => headings)).toEqual([[], []]);
  });

  it("is between paragraphs, then between sentences, then between words", () => {
    expect(textsOf(chunkText("One one.\n\nTwo two two.\n\nThree.", plain(24)))).toEqual([
      "One one.\n\nTwo two two.\n\n",
      "Three.",
    ]);
    expect(textsOf(chunkText("One one one. Two two two. Three.", plain(20)))).toEqual([
      "One one one. ",
      "Two two two. Three.",
    ]);
    expect(textsOf(chunkText("one two three four", plain(10)))).toEqual(["one two ", "three four"]);
    expect(textsOf(chunkText("一二三四。五六七八。九", plain(7)))).toEqual(["一二三四。", "五六七八。九"]);
  });

  it("repeats the last paragraph, unless a new section begins", () => {
    const text = "First paragraph.\n\nSecond one.\n\nThird paragraph.\n\n# New\n\nFourth.";
    expect(textsOf(chunkText(text, markdown(36, 16)))).toEqual([
      "First paragraph.\n\nSecond one.\n\n",
      "Second one.\n\nThird paragraph.\n\n",
      "# New\n\nFourth.",
    ]);
  });

  it("gives part of a table its heading rows, and part of code its fence", () => {
    const table = `| a | b |\n| - | - |\n${"| 1 | 2 |\n".repeat(8)}`;
    expect(chunkText(table, markdown(50)).map(({ lead }) => lead)).toEqual(["", "| a | b |\n| - | - |\n"]);
    const code = `\`\`\`js\n${"call();\n".repeat(8)}\`\`\``;
    expect(chunkText(code, markdown(50)).map(({ lead }) => lead)).toEqual(["", "```js\n"]);
  });
});
