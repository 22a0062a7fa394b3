import { describe, expect, it } from "@jest/globals";
import { makeInert } from "#util/inert-markdown.ts";

describe("Markdown from outside", () => {
  it.each([
    ["![x](http://e.example/p)", "!\\[x](http://e.example/p)"],
    ["a![x\ny](http://e.example/p)", "a!\\[x\ny](http://e.example/p)"],
    ["![a [b] c](<//e.example> 't')", "!\\[a [b] c](<//e.example> 't')"],
    ["[![x](http://e.example/p)](http://e.example)", "[!\\[x](http://e.example/p)](http://e.example)"],
    ["![x][r]\n\n[r]: http://e.example/p", "![x][r]\n\n[r]\\: http://e.example/p"],
    ["![r]\n\n> - [R]:\n  <h&#116;tp:\\/\\/e.example/p>", "![r]\n\n> - [R]\\:\n  <h&#116;tp:\\/\\/e.example/p>"],
    ["[r]: https:e.example", "[r]\\: https:e.example"],
    ['<img src="http://e.example/p">', '&lt;img src="http://e.example/p">'],
    ["<IMG\nSRC=http://e.example/p>", "&lt;IMG\nSRC=http://e.example/p>"],
    ["<svg/onload=x>", "&lt;svg/onload=x>"],
    ['<p title=">" style="background:url(//e.example)">', '&lt;p title=">" style="background:url(//e.example)">'],
    ["<b a b\tc = d>", "&lt;b a b\tc = d>"],
    ["<style>@import '//e.example'</style>", "&lt;style>@import '//e.example'</style>"],
    ["<Script>", "&lt;Script>"],
    ["\\<iframe src=//e.example>", "\\&lt;iframe src=//e.example>"],
  ])("is written so that a preview fetches nothing: %j", (given, expected) => {
    expect(makeInert(given)).toBe(expected);
    expect(makeInert(expected)).toBe(expected);
  });

  it.each([
    "[a](http://e.example) and <p>words</p> and a < b, b > c, x <= y",
    "let v = vec![1, 2];\n\nSee [docs](https://e.example).",
    "fn f(x: Vec<String>) -> List[int]: pass\n#include <stdio.h>",
    "- [x]: done\n- a note[^1]: words",
    "<http://e.example/path>",
  ])("stays as it is when it fetches nothing: %j", (text) => {
    expect(makeInert(text)).toBe(text);
  });

  it("costs time in proportion to its length", () => {
    for (const piece of ["![", "<a", "<a ", "]:", "]: ", "](", "![](", "\n \n", "<a=", "[r]: x"])
      expect(makeInert(piece.repeat(200_000)).length).toBeGreaterThanOrEqual(piece.length * 200_000);
    expect(makeInert(`]:${" ".repeat(400_000)}x`)).toHaveLength(400_003);
  });
});
