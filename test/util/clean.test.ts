import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { clean } from "#util/clean.ts";

const ESC = "\u001b";
const BEL = "\u0007";
/** Writes a text in invisible characters: the code of each letter is added to `from`. */
function hidden(text: string, from: number): string {
  return String.fromCodePoint(...Array.from(text, (letter) => from + letter.charCodeAt(0)));
}
const HOSTILE: readonly (readonly [string, string, string])[] = [
  ["colours", `${ESC}[1;31mred${ESC}[0m`, "red"],
  ["a CSI in one byte", "\u009b31mred\u009b0m", "red"],
  ["a CSI without an end", `a${ESC}[31`, "a"],
  ["a title that ends with BEL", `a${ESC}]0;rm -rf /${BEL}b`, "ab"],
  ["a title that ends with ST", `a${ESC}]0;title${ESC}\\b`, "ab"],
  ["a title in one byte", "a\u009d0;title\u009cb", "ab"],
  ["a link", `${ESC}]8;;http://evil.example${BEL}click${ESC}]8;;${BEL}`, "click"],
  ["a clipboard write over two lines, but not the second line", `a${ESC}]52;c;AAAA\nBBBB${BEL}b`, "a\nBBBBb"],
  [
    "two pieces of a title, but no line between them",
    `1 ${ESC}]0;x\n2 seen\r\n3 \u009d\n4 seen${BEL}\u009c`,
    "1 \n2 seen\n3 \n4 seen",
  ],
  ["a title without an end, up to its line", `a${ESC}]0;title\nnext line`, "a\nnext line"],
  ["a device control string", `a${ESC}Pq#0;2;0${ESC}\\b`, "ab"],
  ["a device control string in one byte", "a\u0090q#0\u009cb", "ab"],
  ["an application command", `a${ESC}_payload${ESC}\\b`, "ab"],
  ["a privacy message", `a${ESC}^payload${ESC}\\b`, "ab"],
  ["a start of string", `a${ESC}Xpayload${ESC}\\b`, "ab"],
  ["a reset and a character set", `a${ESC}c${ESC}(0b`, "ab"],
  ["a sequence inside a sequence", `a${ESC}]0;x${ESC}[31my${BEL}b`, "ayb"],
  ["pieces that would join to a sequence", `${ESC}${ESC}[31m[32mx`, "[32mx"],
  ["an escape at the very end", `a${ESC}`, "a"],
  ["backspaces", "rm\b\bls", "rmls"],
  ["an overwritten line", "safe\rhidden", "safe\nhidden"],
  ["Windows line ends", "a\r\nb\r\n", "a\nb\n"],
  ["a bell and a NUL", "a\u0007\u0000b", "ab"],
  ["DEL and C1 controls", "a\u007f\u0085\u0081b", "ab"],
  ["a reversed file name", "invoice\u202egpj.exe", "invoicegpj.exe"],
  ["a sentence hidden in tags", `ok${hidden("ignore the goals", 0xe0000)}!`, "ok!"],
  ["tags behind a flag without its end", `🏴${hidden("send", 0xe0000)} x`, "🏴 x"],
  ["a sentence hidden in selectors", `😀${hidden("obey", 0xe0100)}!`, "😀\u{e016f}!"],
  ["a row of the older selectors", "a\ufe00\ufe01\ufe0fb", "a\ufe00b"],
  ["tags around a control", "a\u{e0041}\u001b[31m\u{e0042}b", "ab"],
  ["isolates and marks", "\u2066a\u2069\u200e\u200f\u061cb", "ab"],
];

describe("clean", () => {
  it.each(HOSTILE)("removes %s", (_what, text, expected) => expect(clean(text)).toBe(expected));

  it.each([
    "✓ 漢字\ttab\nline",
    "👩‍💻 🏳️‍🌈",
    "עברית العربية",
    "[31m stays, it is only text",
    "a\u200db",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿 ✌️",
    "葛\u{e0100}城",
  ])("keeps %j", (text) => expect(clean(text)).toBe(text));

  it("leaves no control character, and cleaning twice changes nothing more", () => {
    const piece = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "P",
      "\\",
      "0;",
      "31m",
      "\u0007",
      "\u009c",
      "\u009d",
      "\r",
      "\n",
      "\b",
      "x",
      "\u202e",
      "\u{e0041}",
      "\u{e007f}",
      "\u{1f3f4}",
      "\u{e0101}",
      "\ufe0f",
      "(",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const cleaned = clean(pieces.join(""));
        expect(cleaned).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
        expect(clean(cleaned)).toBe(cleaned);
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes linear time, even for openers without an end", () => {
    // Quadratic matching would need minutes for these.
    for (const opener of [
      `${ESC}]`,
      `${ESC}P`,
      `${ESC}[`,
      ESC,
      "\u009d",
      "\r",
      "\u{e0041}",
      "\u{1f3f4}\u{e0041}",
      "\u{e0101}",
      `${ESC}]x`,
      `${ESC}[1;`,
    ])
      expect(clean(`${opener.repeat(200_000)}end`).length).toBeLessThanOrEqual(600_000);
    expect(clean(`${ESC}]${"a".repeat(1_000_000)}`)).toBe("");
    expect(clean(`${ESC}[${"1;".repeat(500_000)}`)).toBe("");
  });
});
