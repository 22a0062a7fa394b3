import { describe, expect, it } from "@jest/globals";
import type { Passage } from "#core/services.ts";
import { estimateTokens, rankPassages, selectPassages, splitIntoPassages } from "#services/page/passages.ts";

const markdown = (text: string) => splitIntoPassages({ text, contentType: "text/html" });
const filler = (about: string, sentences = 40): string =>
  Array.from({ length: sentences }, (_, index) => `Sentence ${index} says something about ${about}.`).join(" ");
const sections = (...topics: readonly string[]): string =>
  topics.map((topic) => `## All of ${topic}\n\n${filler(topic)}\n\n${filler(topic)}`).join("\n\n");

describe("splitIntoPassages", () => {
  it("returns passages of about 600 to 1,000 tokens with numbered ids and their headings", () => {
    const passages = markdown(`# Farming\n\n${sections("apples", "pears", "quinces")}`);
    expect(passages.map(({ id }) => id)).toEqual(passages.map((_, index) => `p${index + 1}`));
    for (const { text } of passages) expect(estimateTokens(text)).toBeLessThan(1_000);
    expect(estimateTokens(passages[0]?.text ?? "")).toBeGreaterThan(500);
    expect(passages.at(-1)?.headings).toEqual(["Farming"]);
    expect(passages.at(-1)?.text).toMatch(/^## All of quinces/);
  });

  it("keeps that length in a script with about one token per character", () => {
    const passages = markdown("港口的新墙比旧墙高四十厘米。渡轮将在四月恢复航行。".repeat(200));
    expect(passages.length).toBeGreaterThan(3);
    for (const { text } of passages) expect(estimateTokens(text)).toBeLessThan(1_000);
  });

  it("repeats the header rows of tables and the column names of comma-separated values", () => {
    const table = `| Name | Price |\n| --- | --- |\n${"| tea of the house | 12 |\n".repeat(400)}`;
    for (const { text } of markdown(table)) expect(text).toMatch(/^\| Name \| Price \|\n/);
    const values = `name,price\n${"tea of the house,12\n".repeat(400)}`;
    for (const { text } of splitIntoPassages({ text: values, contentType: "text/csv" }))
      expect(text).toMatch(/^name,price\n/);
  });

  it("returns no passages for blank text of any length", () => {
    expect(markdown("")).toEqual([]);
    expect(markdown(`${" \n".repeat(20_000)}`)).toEqual([]);
    expect(markdown(`\`\`\`${" ".repeat(50_000)}x`).map(({ text }) => text.trim())).toContain("x");
  });
});

describe("selectPassages and rankPassages", () => {
  const passages = markdown(sections("apples", "pears", "quinces", "medlars"));

  it("return all passages in order if they fit", () => {
    expect(selectPassages(passages, "medlars", 100_000)).toEqual(passages);
  });

  it("rank by stems and headings, within the token limit", () => {
    const chosen = selectPassages(passages, "How does one farm a medlar?", 2_000);
    expect(chosen[0]?.text).toMatch(/medlars/);
    expect(chosen.at(-1)).toBe(passages[0]);
    expect(chosen.reduce((sum, { text }) => sum + estimateTokens(text), 0)).toBeLessThanOrEqual(2_000);
    expect(rankPassages([{ id: "p1", headings: ["Planted roses"], text: "x" }], "planting a rose")).toHaveLength(1);
  });

  it("return the beginning of the page without a shared word, and a part of it if nothing fits", () => {
    expect(selectPassages(passages, "Zeppelins?", 1_200)[0]).toBe(passages[0]);
    const [part, ...others] = selectPassages(passages, "pears", 100) as [Passage];
    expect(others).toEqual([]);
    expect(estimateTokens(part.text)).toBeLessThanOrEqual(100);
    expect(selectPassages([], "pears", 100)).toEqual([]);
  });

  it("find one sentence among a hundred passages", () => {
    const needle = "The keeper of the lighthouse was called Ingeborg Falk.";
    const topics = Array.from({ length: 100 }, (_, index) => `item ${index}`);
    const text = topics.map((topic, index) => `${filler(topic)}${index === 61 ? ` ${needle}` : ""}`).join("\n\n");
    const [best] = selectPassages(
      markdown(text),
      "Which sentence says something about who kept the lighthouse?",
      3_000,
    );
    expect(best?.text).toContain(needle);
  });
});
