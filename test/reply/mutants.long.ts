import { describe, expect, it } from "@jest/globals";
import { createReplyReader } from "#reply/read.ts";
import { createNaiveReader, mutants, seedCatalogue, type Tally, tally } from "../helpers/replies.ts";

const COUNT = 60_000;
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(2)} %`;
const line = (title: string, { mutants: all, right, wrong }: Tally): string =>
  `${title.padEnd(28)} right ${percent(right, all).padStart(8)}  wrong ${percent(wrong, all).padStart(7)}  of ${all}`;

describe("structural damage (60,000 seeded mutants of good replies)", () => {
  it.each([2024, 7, 99])(
    "causes a wrong command with side effects in at most 4 of 1,000 (seed %i)",
    (seed) => {
      const read = createReplyReader(seedCatalogue);
      const naive = createNaiveReader(seedCatalogue);
      const ours = tally(mutants(seed, COUNT), seedCatalogue.hasSideEffect, (mutant) => {
        const reading = read(mutant.text, mutant.finishReason);
        return reading.kind === "command" ? reading.call : null;
      });
      const control = tally(mutants(seed, COUNT), seedCatalogue.hasSideEffect, ({ text }) => naive(text));
      const report = [
        line("goald, changing things", ours.sideEffect),
        line("goald, read-only", ours.readOnly),
        line("whole repaired, changing", control.sideEffect),
        line("whole repaired, read-only", control.readOnly),
      ];
      process.stdout.write(`\nseed ${seed}\n${report.join("\n")}\n`);
      expect(ours.sideEffect.wrong / ours.sideEffect.mutants).toBeLessThanOrEqual(0.004);
      expect(control.sideEffect.wrong).toBeGreaterThan(3 * ours.sideEffect.wrong);
    },
    300_000,
  );
});
