import { describe, expect, it } from "@jest/globals";
import { estimateMessage, estimateTokens, shrinkText } from "#prompt/tokens.ts";
import { SAMPLES } from "./samples.ts";

describe("estimateTokens", () => {
  it.each(SAMPLES)("is at most 10 % low and 33 % high for $name", ({ text, tokens }) => {
    const estimated = estimateTokens(text);
    expect(estimated).toBeGreaterThanOrEqual(Math.floor(tokens * 0.9));
    expect(estimated).toBeLessThanOrEqual(Math.ceil(tokens * 1.35));
  });

  it.each([
    ["antidisestablishmentarianism", 6],
    ["2 + 2 = 4", 7],
    ["お誕生日おめでとう", 9],
  ])("is near the published count of %j", (text, tokens) => {
    expect(Math.abs(estimateTokens(text) - tokens)).toBeLessThanOrEqual(3);
  });

  it.each([
    ["four characters a token, for Chinese", "Chinese", 4],
    ["four characters a token, for base64", "base64", 4],
    ["four characters a token, for numbers", "numbers", 4],
  ])("is needed: %s would be far too low", (_rule, name, charsPerToken) => {
    const sample = SAMPLES.find((each) => each.name === name);
    expect((sample?.text.length ?? 0) / charsPerToken).toBeLessThan((sample?.tokens ?? 0) * 0.6);
  });

  it("is 0 for an empty text and at least 1 for any other", () => {
    expect(estimateTokens("")).toBe(0);
    for (const text of [" ", "\t", "a", "é", "漢", "\u0001", "\ue000"]) expect(estimateTokens(text)).toBeGreaterThan(0);
    expect(estimateMessage("")).toBe(4);
  });

  it("charges each character more than 0 and at most 3 in every script", () => {
    const scripts = "ł ̸ λ я Ա ש ع क ก ქ አ ế — → 。 カ 㐀 漢 한 😀 \ue000 Ａ";
    for (const char of scripts.split(" ")) {
      const tokens = estimateTokens(char.repeat(100));
      expect(tokens).toBeGreaterThan(30);
      expect(tokens).toBeLessThanOrEqual(3 * char.length * 100);
    }
  });
});

describe("shrinkText", () => {
  const cut = (text: string) => (limit: number) => ({
    text: text.slice(0, limit),
    tokens: estimateTokens(text.slice(0, limit)),
  });

  it("comes close to the limit from below", () => {
    const text = "one word after the other ".repeat(400);
    const { tokens } = shrinkText(text.length, estimateTokens(text), 300, cut(text));
    expect(tokens).toBeLessThanOrEqual(300);
    expect(tokens).toBeGreaterThan(250);
  });

  it("handles a text whose beginning is dense", () => {
    const text = "漢".repeat(1_000) + " ".repeat(100_000);
    const { tokens } = shrinkText(text.length, estimateTokens(text), 100, cut(text));
    expect(tokens).toBeLessThanOrEqual(100);
    expect(tokens).toBeGreaterThan(0);
  });

  it.each([0, -5, Number.NaN, Number.NEGATIVE_INFINITY])("renders an empty text for a limit of %p", (maxTokens) => {
    let tries = 0;
    const result = shrinkText(100, 100, maxTokens, (limit) => {
      tries++;
      return { limit, tokens: 50 };
    });
    expect(result.limit).toBe(0);
    expect(tries).toBeLessThan(10);
  });
});
