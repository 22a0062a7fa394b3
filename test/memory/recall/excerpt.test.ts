import { describe, expect, it } from "@jest/globals";
import { queryParts } from "#memory/recall/query-parts.ts";
import { excerptOf } from "#memory/recall/read-rows.ts";

/** The stretches that are shown, joined. */
const excerptIn = (text: string, parts: Parameters<typeof excerptOf>[1]): string | undefined =>
  excerptOf(text, parts)
    ?.map(([from, to]) => text.slice(from, to))
    .join(" … ");
const asked = (...texts: string[]) => queryParts({ texts });
const beginning = "# Terms of the shop. Section four.";
const filling = (word: string) => `Nothing to see here, ${word} goes on and on. `.repeat(60);
const answer = "A racket that was strung wrongly is strung again for nothing within fourteen days.";
const long = `${beginning}\n${filling("lorem")}${answer} ${filling("lorem")}The shop opens at ten.`;

describe("the excerpt of a long memory", () => {
  it("is its beginning and the sentence that shares most words with the query, wherever it is", () => {
    const excerpt = excerptIn(long, asked("What if rackets are strung the wrong way?")) ?? "";
    expect(excerpt.startsWith(beginning)).toBe(true);
    expect(excerpt).toContain(answer);
    expect(excerpt.length).toBeLessThan(760);
  });

  it("follows the heaviest part of the query", () => {
    const parts = queryParts({ texts: ["strung again", "When does it open?"], weights: [0.1, 1] });
    expect(excerptIn(long, parts)).toMatch(/The shop opens at ten\.$/);
  });

  it.each([
    ["a short text", `${beginning} ${answer}`, "racket"],
    ["a text that shares no word with the query", long, "weather tomorrow"],
    ["a query of stop words", long, "the of and"],
  ])("is undefined for %s", (_title, text, question) => {
    expect(excerptOf(text, asked(question))).toBeUndefined();
  });

  it.each([
    ["one endless line", "racket ".repeat(5_000)],
    ["one word after many signs", `${"!".repeat(20_000)} racket`.slice(-2_000)],
    ["surrogate pairs", "🎾".repeat(2_000).concat(" racket. ", "🎾".repeat(2_000))],
  ])("is short for %s", (_title, text) => {
    const excerpt = excerptIn(text, asked("racket")) ?? "";
    expect(excerpt.length).toBeLessThan(800);
  });
});
