import { describe, expect, it } from "@jest/globals";
import { formatFact, identifyFact, isSameValue, parseFact } from "#core/fact.ts";

const about = (subject: string, attribute: string) => identifyFact({ subject, attribute });

describe("a fact", () => {
  it.each([
    ["depot", "opening hour", "7"],
    [" Depot\nof the north: ", "opening hour:", "7: sharp, at 8: not"],
    ["a: b", "c: d: e", " from now on\t7 "],
    ["http://a.example:80/x", "state", "up"],
    ["x".repeat(500), "y", "z".repeat(5_000)],
  ])("of %j and %j is one line that is read back whole", (subject, attribute, value) => {
    const text = formatFact({ subject, attribute, value });
    const read = parseFact(text);
    expect(text).not.toContain("\n");
    expect(read && formatFact(read)).toBe(text);
    expect(read && isSameValue(read.value, value)).toBe(true);
    expect(read && identifyFact(read)).toBe(about(subject, attribute));
  });

  it("is about the same thing in other case, accents, white space, hyphens and with an article", () => {
    const same = about("the Dépôt of  the north", "Opening-Hour:");
    expect(same).toBe(about("depot OF THE north", "opening hour"));
    expect(same).toBe(about("A depot of the north ", "opening_hour"));
    expect(same).not.toBe("");
  });

  it.each([
    ["depot", "manager", "depot", "managers"],
    ["version 1.2", "state", "version 12", "state"],
    ["room 2026-1-11", "state", "room 2026-11-1", "state"],
    ["C#", "author", "C", "author"],
    ["a b", "c", "a", "b c"],
    ["The", "singer", "A", "singer"],
  ])("of %j, %j is not one of %j, %j", (subject, attribute, otherSubject, otherAttribute) => {
    expect(about(subject, attribute)).not.toBe(about(otherSubject, otherAttribute));
  });

  it("is about nothing without a letter or digit", () => {
    expect([about(" :", "hour"), about("depot", "?!")]).toEqual(["", ""]);
  });

  it("has the same value in other case and white space only", () => {
    expect(isSameValue(" Frieda  Nowak", "frieda nowak")).toBe(true);
    expect(isSameValue("-5", "5")).toBe(false);
  });

  it("is read from no other text", () => {
    expect([parseFact("The depot opens at 7."), parseFact("Thought: go"), parseFact("")]).toEqual(
      Array(3).fill(undefined),
    );
  });
});
