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

/** Replies that are asked for again although a person could read them, by the habit of the model. */
const ASKED_AGAIN: Readonly<Record<string, string>> = {
  "unescaped quotes in a text":
    "str-quote1 str-quote3 str-quote4 str-quote5 str-quote6 str-quote8 str-quote9 str-quote10 " +
    "str-q-write0 str-q-write1 str-q-write2 str-q-write4 str-q-write5 str-q-write6 str-q-write7 " +
    "str-q-write8 str-q-write9 str-q-write10 str-q-write12 str-q-write13 str-q-write17 str-q-write24 " +
    "more-b98 more-b142",
  "other delimiters of strings: typographic, backticks, none, half of them":
    "syn-unquoted-keys syn-unquoted-vals syn-halfquote-key syn-smart syn-smart-single syn-backtick-arg " +
    "syn-fullwidth syn-halfquote-start syn-halfquote-name syn-smart-write syn-smart-german syn-smart-low " +
    "syn-fullwidth-brace-inner more-b136 more-b137",
  "literals of Python and JavaScript beyond the plain ones":
    "syn-single-apos syn-py-bytes syn-concat syn-py-apos-arg syn-py-apos-arg-end syn-py-fstring " +
    "syn-py-rstring syn-py-ustring syn-js-unquoted-all syn-js-const syn-js-template syn-js-template-var " +
    "syn-js-new syn-concat-nl more-b138",
  "quotes, braces or the whole reply escaped or doubled":
    "syn-doubledouble syn-escapedall syn-doublebrace-all syn-doubled-quotes-inner syn-stringified4 " +
    "syn-stringified-prose syn-escaped-nl syn-escaped-nl-quotes syn-escaped-single more-b129",
  "other or missing signs":
    "syn-trailcomma-double syn-missingcomma-1line syn-missingcolon syn-semicolons syn-equals syn-arrow " +
    "syn-wrongclose placeholder-ellipsis-more syn-missing-comma-nl syn-semi-end syn-equals-bare " +
    "syn-arrow-single syn-missclose-prose",
  "a reply that was cut off behind its command":
    "trunc-cf-0158 trunc-cf-0169 trunc-cf-0193 trunc-cf-0217 trunc-cf-0265 trunc-cf-0289 trunc-cf-0337 " +
    "trunc-cf-0409",
  "HTML entities":
    "tag-htmlent tag-html-entities-write tag-html-entities-34 tag-html-entities-hex tag-html-entities-amp",
  "a comment of Python": "syn-comment-hash-write",
  "a path whose backslashes may be escapes": "str-esc-path-U",
};
const MAX_ASKED_AGAIN = 100;

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

  it("asks again for replies of a few habits only", () => {
    const asked = readings.filter(([one, reading]) => one.expect !== "reject" && reading.kind === "problem");
    const known = Object.values(ASKED_AGAIN).flatMap((ids) => ids.split(" "));
    expect(asked.map(([{ id }]) => id).toSorted()).toEqual(known.toSorted());
    expect(asked.length).toBeLessThanOrEqual(MAX_ASKED_AGAIN);
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
