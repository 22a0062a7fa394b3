import { describe, expect, it } from "@jest/globals";
import { countPostLength } from "#services/x/x-posts.ts";

describe("the length of a post, as X counts", () => {
  it.each<[text: string, length: number]>([
    ["hello", 5],
    ["", 0],
    ["Grüße, Ελλάδα, Привет", 21],
    ["日本語", 6],
    ["한국어", 6],
    ["“quoted” – so…", 15],
    ["e\u0301", 1],
    ["👍", 2],
    ["👩‍👩‍👧‍👦", 2],
    ["🇩🇪 ok", 5],
    ["see https://example.com/a/very/long/path?with=query#and-fragment", 27],
    ["http://a.b. And (https://c.d/e).", 23 + 1 + 6 + 23 + 2],
    ["a\nb", 3],
  ])("of %j is %i", (text, length) => expect(countPostLength(text)).toBe(length));

  it("takes linear time for text that looks like addresses", () => {
    expect(countPostLength("https://".repeat(20_000))).toBeGreaterThan(0);
    expect(countPostLength(`https://${".".repeat(100_000)}`)).toBeGreaterThan(0);
  });
});
