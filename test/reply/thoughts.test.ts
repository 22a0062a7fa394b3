import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createLiveThoughts, findThoughts, NO_THOUGHTS } from "#reply/thoughts.ts";
import { growthOverEightfold } from "../helpers/waits.ts";

function see(pieces: readonly string[]): {
  readonly thoughts: Record<string, string>;
  readonly whole: readonly string[];
} {
  const thoughts: Record<string, string> = {};
  const whole: string[] = [];
  const live = createLiveThoughts((name, piece, isWhole) => {
    thoughts[name] = (thoughts[name] ?? "") + piece;
    if (isWhole) whole.push(name);
  });
  for (const piece of pieces) live.push(piece);
  return { thoughts, whole };
}
const byChar = (text: string): readonly string[] => Array.from({ length: text.length }, (_, at) => text[at] as string);
const THOUGHTS = {
  text: 'Żółć 🎾 "quoted" \\ C:\\x\n- line',
  reasoning: "",
  plan: "- a\n- b",
  criticism: "{}",
  speak: "Hi.",
};
const REPLY = JSON.stringify({
  thoughts: THOUGHTS,
  command: { name: "x", args: { text: '{"thoughts": {"text": "no"}}' } },
});

describe("thoughts of a reply that is arriving", () => {
  it.each<[string, string]>([
    ["as it is", REPLY],
    ["laid out over lines", JSON.stringify(JSON.parse(REPLY), null, 2)],
    ["in a fence, behind prose", `Sure, here's the "reply":\n\`\`\`json\n${REPLY}\n\`\`\``],
    [
      "with every character escaped",
      REPLY.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
    ],
  ])("are those of the whole reply, %s, piece by piece", (_title, reply) => {
    expect(see(byChar(reply)).thoughts).toEqual(THOUGHTS);
    expect(see([reply])).toEqual(see(byChar(reply)));
    expect(see([reply]).whole).toEqual(Object.keys(THOUGHTS));
  });

  it("equal those of the whole reply for any split into pieces", () => {
    const text = fc.string({ unit: "binary" });
    const thoughts = fc.record({ text, reasoning: text, plan: fc.oneof(text, fc.array(text)), speak: text });
    fc.assert(
      fc.property(thoughts, fc.array(fc.nat(400)), (given, cuts) => {
        const reply = JSON.stringify({ thoughts: given, command: {} });
        const places = [0, ...cuts.filter((cut) => cut < reply.length).sort((a, b) => a - b), reply.length];
        const pieces = places.slice(1).map((end, index) => reply.slice(places[index], end));
        const read = { ...NO_THOUGHTS, ...findThoughts(JSON.parse(reply)) };
        for (const [name, shown] of Object.entries(see(pieces).thoughts)) expect(shown).toBe(read[name as "text"]);
      }),
    );
  });

  it.each<[string, string]>([
    ["in a reasoning block that may yet turn out otherwise", `<think>{"thoughts": {"text": "draft"}}`],
    ["of another key", '{"command": {"thoughts": 1}, "args": {"text": "secret"}}'],
    ["in single quotes", "{'thoughts': {'text': 'x'}}"],
    ["without quotes", '{"thoughts": {text: "x"}}'],
    ["prose", 'I think {that} "thoughts" are free.'],
  ])("show nothing %s", (_title, reply) => {
    expect(see(byChar(reply)).thoughts).toEqual({});
  });

  it("end at the first uncertain character", () => {
    expect(see(['{"thoughts": {"text": "a\\qb", "speak": "never"}}']).thoughts.speak).toBeUndefined();
    expect(see(['{"thoughts": {"text": "He said "no" to it", "speak": "never"}}']).thoughts).toEqual({
      text: "He said ",
    });
    expect(see(byChar('{"thoughts": {"text": "a"}, "command": {"text": "b"}}')).thoughts).toEqual({ text: "a" });
  });

  it("take time in proportion to their length for any number of pieces", async () => {
    const growth = await growthOverEightfold(1_000_000, (length) => {
      const reply = JSON.stringify({ thoughts: { text: "word ".repeat(length / 5) } });
      expect(see(reply.match(/.{1,4}/g) ?? []).thoughts.text).toHaveLength(length);
    });
    expect(growth).toBeLessThan(30);
  });
});
