import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { seedCatalogue } from "../helpers/seed-catalogue.ts";

interface Repeated {
  readonly unit: string;
  readonly times: number;
}
interface Case {
  readonly id: string;
  readonly input?: string;
  readonly input_gen?: Repeated & { readonly prefix: string; readonly suffix: string };
  readonly finish_reason?: string;
  readonly expect: "reject" | { readonly command: { readonly name: string; readonly args: Record<string, unknown> } };
}

/** Quotes that look like structure (`"if a == "x":"`) or like a repeated delimiter (`"""`) are rejected. */
const KNOWN_FALSE_REJECTS = ["str-quote8", "str-quote9", "str-quote10"];

const FILES = ["replies", "more_replies"];
const cases: readonly Case[] = FILES.flatMap((file) =>
  JSON.parse(readFileSync(new URL(`../data/${file}.json`, import.meta.url), "utf8")),
);
const read = createReplyReader(seedCatalogue);
const repeat = ({ unit, times }: Repeated): string => unit.repeat(times);

function textOf({ input, input_gen: generated }: Case): string {
  if (input !== undefined) return input;
  return generated ? generated.prefix + repeat(generated) + generated.suffix : "";
}

function expectedCall({ expect: expected }: Case): object | null {
  if (expected === "reject") return null;
  const { text_gen: generated, ...args } = expected.command.args;
  return { name: expected.command.name, args: generated ? { ...args, text: repeat(generated as Repeated) } : args };
}

const readings: readonly (readonly [Case, ParsedReply])[] = cases.map((one) => [
  one,
  read(textOf(one), one.finish_reason ?? "stop"),
]);
const right = readings.filter(([one, reading]) => (expectedCall(one) === null) === (reading.kind === "problem"));

describe(`the corpus of odd replies (${right.length} of ${cases.length} read as expected)`, () => {
  it("never returns a command that was not meant", () => {
    for (const [one, reading] of readings)
      if (reading.kind === "command")
        expect({ id: one.id, call: reading.call }).toEqual({ id: one.id, call: expectedCall(one) });
  });

  it("rejects only replies with ambiguous quotes", () => {
    const asked = readings.filter(([one, reading]) => one.expect !== "reject" && reading.kind === "problem");
    expect(asked.map(([{ id }]) => id)).toEqual(KNOWN_FALSE_REJECTS);
  });

  it("reads at least 98 of 100 as expected", () => {
    expect(right.length / cases.length).toBeGreaterThanOrEqual(0.98);
  });

  it("reports problems in one to five short sentences", () => {
    for (const [{ id }, reading] of readings) {
      if (reading.kind !== "problem") continue;
      expect({ id, count: reading.problems.length >= 1 && reading.problems.length <= 5 }).toEqual({ id, count: true });
      for (const problem of reading.problems) {
        expect(problem).toMatch(/^[A-Z][^\n]+\.$/);
        expect(problem.length).toBeLessThan(400);
      }
    }
  });
});
