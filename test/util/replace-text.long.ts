import { describe, expect, it } from "@jest/globals";
import { findNearLines } from "#util/near-text.ts";
import { findText } from "#util/replace-text.ts";
import { growthOverEightfold } from "../helpers/waits.ts";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

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
