import { describe, expect, it } from "@jest/globals";
import { createReplyReader } from "#reply/read.ts";
import { mutants, tally } from "../helpers/mutants.ts";
import { createNaiveReader } from "../helpers/naive-reader.ts";
import { seedCatalogue } from "../helpers/seed-catalogue.ts";

const read = createReplyReader(seedCatalogue);
const naive = createNaiveReader(seedCatalogue);
const COUNT = 2_000;

describe("structural damage (2,000 seeded mutants of good replies)", () => {
  const { sideEffect, readOnly } = tally(mutants(2024, COUNT), seedCatalogue.hasSideEffect, (mutant) => {
    const reading = read(mutant.text, mutant.finishReason);
    return reading.kind === "command" ? reading.call : null;
  });

  it("causes a wrong command with side effects in at most 4 of 1,000, nearly all with a changed number", () => {
    expect(sideEffect.wrong / sideEffect.mutants).toBeLessThan(0.004);
  });

  it("causes a wrong read-only command in at most 4 of 1,000", () => {
    expect(readOnly.wrong / readOnly.mutants).toBeLessThan(0.004);
  });

  it("leaves at least four of ten replies readable", () => {
    expect((sideEffect.right + readOnly.right) / COUNT).toBeGreaterThan(0.44);
  });

  it("misleads a reader that repairs the whole reply far more often (control)", () => {
    const control = tally(mutants(2024, COUNT), seedCatalogue.hasSideEffect, ({ text }) => naive(text));
    expect(control.sideEffect.wrong).toBeGreaterThan(3 * sideEffect.wrong);
  });
});
