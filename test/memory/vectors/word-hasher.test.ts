import { describe, expect, it } from "@jest/globals";
import { wordsOf } from "#util/words.ts";
import { embedderContract } from "../../contracts/embedder.ts";
import { fixedEmbedder } from "../../helpers/fixed-embedder.ts";
import { openHashEmbedder } from "../../helpers/hash-embedder.ts";

embedderContract("the embedder of spellings", () => openHashEmbedder());
embedderContract("the fixed embedder of the tests", () => fixedEmbedder());

const live = new AbortController().signal;
async function similarity(a: string, b: string): Promise<number> {
  const [left, right] = await openHashEmbedder().embed([a, b], live);
  return [...(left ?? [])].reduce((sum, component, at) => sum + component * (right?.[at] ?? 0), 0);
}

describe("the hash of the words of a text", () => {
  it("returns the same vectors as before: changed features need a new version", async () => {
    const [vector] = await openHashEmbedder(16).embed(["Tennis strings, 12 reviews"], live);
    expect([...(vector ?? [])].map((component) => Math.round(component * 1000))).toMatchInlineSnapshot(`
[
  -354,
  412,
  -224,
  56,
  0,
  -112,
  -56,
  -332,
  169,
  -112,
  282,
  -578,
  -169,
  -112,
  -169,
  0,
]
`);
  });

  it.each([
    ["inflected words", "She recommended strings", "a string recommendation", "The weather was cold"],
    ["a misspelling", "the tension of the racket", "racquet tension", "a bowl of soup"],
    ["an umlaut without its dots", "Der Schlüssel liegt im Büro", "Schlussel Buro", "Wetter morgen"],
    ["Chinese without spaces", "我喜欢网球拍的线", "网球拍", "今天天气很好"],
    ["Japanese", "会議は来週の火曜日に東京で行われます", "東京の会議", "猫が好きです"],
    ["an identifier in parts", "function parseRetryAfter(header)", "retry after", "open the window"],
    ["an identifier in another style", "call read_file_lines", "readFileLines", "open the window"],
    ["case", "GOALD_STORE_FULL", "goald store full", "open the window"],
    ["words among stop words", "what is it that you have of the magnesium", "magnesium", "what is it that you have"],
  ])("puts texts that share %s nearer than others", async (_title, text, near, far) => {
    expect(await similarity(text, near)).toBeGreaterThan((await similarity(text, far)) + 0.1);
  });

  it("does not let a word repeated a hundred times dominate", async () => {
    const often = `${"tennis ".repeat(100)} magnesium supplier in Leipzig`;
    expect(await similarity(often, "magnesium supplier in Leipzig")).toBeGreaterThan(0.25);
  });
});

describe("words", () => {
  it.each([
    ["Hello, World!", ["hello", "world"]],
    ["parseRetryAfter", ["parseretryafter", "parse", "retry", "after"]],
    ["src/core/event.ts", ["src", "core", "event", "ts"]],
    ["Straße ﬁx Ａ１", ["strasse", "fix", "a1"]],
    ["東京都", ["東", "京", "東京", "都", "京都"]],
    ["한국어 123", ["한", "국", "한국", "어", "국어", "123"]],
    ["", []],
  ])("of %j are %j", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });
});
