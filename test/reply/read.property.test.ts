import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { CommandCall } from "#core/call.ts";
import { createReplyReader } from "#reply/read.ts";
import { createNaiveReader, mutants, seedCatalogue, tally } from "../helpers/replies.ts";
import { cases } from "../helpers/waits.ts";

const read = createReplyReader(seedCatalogue);

const content = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 80 }),
  fc.constantFrom('say "hi"', "C:\\Users\\new", "```json\n{}\n```", "<think>{</think>", "a, } ] { [ b", "// x\n# y /*"),
  fc.json().filter((text) => !/^<|^\.\.\.$/.test(text)),
);
const isNoPlaceholder = (text: string): boolean => !/^\s*(?:<[a-z_ ]+>|\.\.\.|…)\s*$/i.test(text);
const filled = content.filter((text) => /\S/.test(text) && isNoPlaceholder(text));
const call: fc.Arbitrary<CommandCall> = fc.oneof(
  fc.record({ name: fc.constant("google"), args: fc.record({ input: filled }) }),
  fc.record({
    name: fc.constantFrom("write_to_file", "append_to_file"),
    args: fc.record({ file: fc.constantFrom("a.txt", "b/c d.md"), text: content.filter(isNoPlaceholder) }),
  }),
  fc.record({ name: fc.constant("delete_agent"), args: fc.record({ key: fc.nat() }) }),
  fc.record({
    name: fc.constant("write_tests"),
    args: fc.record({ code: content.filter(isNoPlaceholder), focus: fc.array(filled, { minLength: 1, maxLength: 4 }) }),
  }),
  fc.record({ name: fc.constant("do_nothing"), args: fc.constant({}) }),
);
const thoughts = fc.record({ text: content, plan: content }, { requiredKeys: [] });
const prose = fc.constantFrom(
  "",
  "Sure, here it is:\n",
  "Next {step} of [two]: ",
  '<think>maybe {"a": no</think>\n',
  '# Reply\n> it\'s "this"\n',
);
const wrapper = fc.constantFrom<(json: string) => string>(
  (json) => json,
  (json) => `\`\`\`json\n${json}\n\`\`\``,
  (json) => `<json>${json}</json>`,
  (json) => `print(${json});`,
  (json) => `${json}\n\nDone {so far}.`,
);

describe("a valid reply", () => {
  it("is read back exactly, in prose and fences, in either order of its keys", () => {
    fc.assert(
      fc.property(
        call,
        thoughts,
        prose,
        wrapper,
        fc.boolean(),
        fc.constantFrom(0, 2),
        (meant, thought, before, wrap, isFirst, indent) => {
          const reply = isFirst ? { command: meant, thoughts: thought } : { thoughts: thought, command: meant };
          const reading = read(before + wrap(JSON.stringify(reply, null, indent)), "stop");
          expect(reading).toMatchObject({ kind: "command", repaired: false });
          expect(reading.kind === "command" && reading.call).toEqual(meant);
        },
      ),
      { seed: 11, numRuns: 1_000 },
    );
  });

  it("never runs an incomplete argument, wherever it is cut", () => {
    fc.assert(
      fc.property(call, fc.nat(), fc.constantFrom("length", "stop", "unknown", ""), (meant, cut, finishReason) => {
        const text = JSON.stringify({ thoughts: { text: "a" }, command: meant });
        const reading = read(text.slice(0, cut % text.length), finishReason);
        if (reading.kind === "command") expect(reading.call).toEqual(meant);
      }),
      { seed: 12, numRuns: 2_000 },
    );
  });

  it("is never misread and never throws for any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."{}[]\"':,\\ \nacommandthoughts<>/#`“”=+().1"), maxLength: 300 }),
        (text) => {
          expect(["command", "problem"]).toContain(read(text, "stop").kind);
        },
      ),
      { seed: 13, numRuns: 3_000 },
    );
  });
});

describe("structural damage of good replies", () => {
  const count = cases(20_000);
  const { sideEffect, readOnly } = tally(mutants(2024, count), seedCatalogue.hasSideEffect, (mutant) => {
    const reading = read(mutant.text, mutant.finishReason);
    return reading.kind === "command" ? reading.call : null;
  });

  it("causes a wrong command in at most 4 of 1,000, with side effects or without, and leaves four of ten readable", () => {
    expect(sideEffect.wrong / sideEffect.mutants).toBeLessThan(0.004);
    expect(readOnly.wrong / readOnly.mutants).toBeLessThan(0.004);
    expect((sideEffect.right + readOnly.right) / count).toBeGreaterThan(0.44);
  });

  it("misleads a reader that repairs the whole reply far more often (control)", () => {
    const naive = createNaiveReader(seedCatalogue);
    const control = tally(mutants(2024, count), seedCatalogue.hasSideEffect, ({ text }) => naive(text));
    expect(control.sideEffect.wrong).toBeGreaterThan(3 * sideEffect.wrong);
  });
});
