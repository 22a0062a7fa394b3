import { describe, expect, it } from "@jest/globals";
import { findStringEnd } from "#reply/json.ts";

describe("the end of a JSON string", () => {
  it.each<[what: string, text: string, end: number]>([
    ["the next quote", '"a" b"', 2],
    ["at once, of an empty string", '""', 1],
    ["not an escaped quote", String.raw`"\"a"`, 4],
    ["a quote behind an escaped backslash", String.raw`"a\\" "`, 4],
    ["not a quote behind three backslashes", String.raw`"a\\\" "`, 7],
    ["nowhere: the text's length", '"a', 2],
    ["nowhere when the only quote is escaped", String.raw`"a\"`, 4],
    ["nowhere behind the last quote", '"', 1],
  ])("is %s", (_what, text, end) => {
    expect(findStringEnd(text, 0)).toBe(end);
  });

  it("is where JSON.parse finds it, for any content", () => {
    for (const value of ["", '"', "\\", '\\"', '\\\\"\\', `"${"\\".repeat(99)}`, "\u0000{}[]:,'"]) {
      const text = `x${JSON.stringify(value)},"next"`;
      expect(JSON.parse(text.slice(1, findStringEnd(text, 1) + 1))).toBe(value);
    }
  });
});
