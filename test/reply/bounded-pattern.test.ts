import { describe, expect, it } from "@jest/globals";
import { createBoundedPattern } from "#reply/bounded-pattern.ts";

describe("a bounded pattern", () => {
  it.each([
    ["^[a-z]+$", "abc", true],
    ["^[a-z]+$", "abC", false],
    ["^(?:[a-z0-9-]+\\.)+[a-z]{2,}$", "a.b-c.example", true],
    ["^(?:[a-z0-9-]+\\.)+[a-z]{2,}$", "a..b", false],
    ["^(?!.*\\.\\.)[^/]+$", "a..b", false],
    ["\\S", " ".repeat(5_000), false],
    ["\\S", `${" ".repeat(5_000)}x`, true],
  ])("%s tells whether it matches", (pattern, text, expected) => {
    expect(createBoundedPattern(pattern, "u").test(text)).toBe(expected);
  });

  it.each([
    ["(a+)+b", "a".repeat(60)],
    ["^(a|a)*$", `${"a".repeat(60)}b`],
    ["(x+x+)+y", "x".repeat(60)],
    ["a*a*a*a*a*b", "a".repeat(5_000)],
  ])("%s ends on a text that it would search for hours, and does not match", (pattern, text) => {
    expect(createBoundedPattern(pattern, "u").test(text)).toBe(false);
  });

  it("throws for an invalid pattern, and differs from another by its text", () => {
    expect(() => createBoundedPattern("(", "u")).toThrow(SyntaxError);
    expect(String(createBoundedPattern("a", "u"))).not.toBe(String(createBoundedPattern("b", "u")));
  });
});
