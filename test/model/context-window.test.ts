import { describe, expect, it } from "@jest/globals";
import { contextWindowOf } from "#model/context-window.ts";
import table from "../../config/models.json" with { type: "json" };

describe("the context window of a model", () => {
  it.each([
    ["gpt-4.1-mini", 1_047_576],
    ["gpt-4o-2024-08-06", 128_000],
    ["gpt-5-nano", 400_000],
    ["gpt-5-chat-latest", 128_000],
    ["gpt-3.5-turbo", 16_385],
    ["gpt-4", 8_192],
    ["gpt-4-0613", 8_192],
    ["gpt-4-turbo", 128_000],
    ["gpt-4-32k", 32_768],
    ["o1", 200_000],
    ["o1-mini", 128_000],
    ["o3-mini", 200_000],
    ["o4-mini", 200_000],
    ["GPT-4o", 128_000],
    ["openai/gpt-4o-mini", 128_000],
    ["ft:gpt-4o-mini:acme::abc", 128_000],
    ["llama3.2:3b", 8_192],
    ["meta-llama/Llama-3.3-70B-Instruct", 8_192],
    ["qwen3", 8_192],
    ["gpt-oss:20b", 8_192],
    ["never-heard-of", 8_192],
    ["", 8_192],
  ])("%j is %i", (model, tokens) => {
    expect(contextWindowOf(model, table)).toBe(tokens);
  });

  it("is the person's setting", () => {
    expect(contextWindowOf("llama3.2", table, 131_072)).toBe(131_072);
  });

  it("is that of the longest prefix, in any order of the table", () => {
    const contextTokens = { "a-b-c": 3, a: 1, "a-b": 2 };
    expect(contextWindowOf("a-b-x", { unknownModelTokens: 9, contextTokens })).toBe(2);
    expect(contextWindowOf("b", { unknownModelTokens: 9, contextTokens })).toBe(9);
  });
});
