import { describe, expect, it } from "@jest/globals";
import { code, inline, quote } from "#views/report.ts";

const HOSTILE = [
  "# heading",
  "- list",
  "1. list",
  "[text](http://evil.example)",
  "![image](http://evil.example/p.png)",
  "<img src=x onerror=alert(1)>",
  "<!-- comment",
  "&lt;b&gt; &#60;",
  "http://evil.example www.evil.example a@evil.example",
  "`code` ``more``",
  "| a | b |",
  "$x$ ~~s~~ **b** __u__",
  "\\",
  "a\u001b[2Jb\u202ec\u0007\u009b31m",
  "one\n# two\n\n- three\r\n</details>",
];

/** Matches an unescaped mark that would start something other than text. */
const ACTIVE = /(?<!\\)(?:\\\\)*[`*_[\]<>|~$&@]|(?<!\\):\/\/|(?<!\\)www\./;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe("text in a Markdown document", () => {
  it.each(HOSTILE)("is only text in prose: %j", (text) => {
    const line = inline(text, 500);
    expect(line).not.toMatch(ACTIVE);
    expect(line).not.toMatch(CONTROL);
    expect(line).not.toContain("\n");
    expect(line).not.toMatch(/^(?:[#+=-]|\d+[.)])/);
  });

  it.each(HOSTILE)("is one code span that its own backticks cannot close: %j", (text) => {
    const span = code(text, 500);
    const [, fence = "", body = ""] = /^(`+)([\s\S]*)\1$/.exec(span) ?? [];
    expect(fence).not.toBe("");
    expect([...body.matchAll(/`+/g)].map(([run]) => run)).not.toContain(fence);
    expect(span).not.toMatch(/\n/);
    expect(span).not.toMatch(CONTROL);
  });

  it.each(HOSTILE)("has the quotation mark before every line: %j", (text) => {
    for (const line of quote(text, 500).split("\n")) {
      expect(line).toMatch(/^>/);
      expect(line.slice(1)).not.toMatch(ACTIVE);
      expect(line).not.toMatch(/^> (?:[#+=-]|\d+[.)])/);
    }
  });

  it("would fail without escaping (control)", () => {
    expect(HOSTILE.filter((text) => ACTIVE.test(text)).length).toBeGreaterThan(8);
  });

  it("is unchanged where it is harmless, and truncated where it is long", () => {
    expect(inline("Write 3 files, e.g. notes.md (today): done!", 100)).toBe(
      "Write 3 files, e.g. notes.md (today): done!",
    );
    expect(inline("x".repeat(50), 10)).toBe(`${"x".repeat(9)}…`);
    expect(quote("x".repeat(50), 10)).toBe(`> ${"x".repeat(9)}…`);
  });
});
