import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { seedCatalogue } from "../helpers/replies.ts";

const read = createReplyReader(seedCatalogue);
const MB = 1_000_000;
const good = '{"thoughts":{"text":"a"},"command":{"name":"google","args":{"input":"x y"}}}';
const OBJECTS = '{"a":1}\n'.repeat(49);
const args = (count: number, key: (index: number) => string): string =>
  `{"command":{"name":"google","args":{${Array.from({ length: count }, (_, index) => `"${key(index)}":1`).join(",")}}}}`;

describe("a hostile reply", () => {
  it.each<[title: string, text: string, problem: RegExp]>([
    ["2 MB of opening brackets", "[".repeat(2 * MB), /no JSON object/],
    ["2 MB of opening braces", "{".repeat(2 * MB), /nested too deeply/],
    ["nested objects", '{"a":'.repeat(400_000), /nested too deeply/],
    ["nested lists below a key", `{"thoughts":{"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}}`, /nested too deeply/],
    [
      "nesting hidden in a string of arguments",
      `{"name":"google","args":${JSON.stringify(`{"a":${"[".repeat(9_000)}`)}}`,
      /must be a JSON object/,
    ],
    ["2 MB of quotes", '"'.repeat(2 * MB), /no JSON object/],
    ["2 MB of quotes in an object", `{"a":${'"'.repeat(1.9 * MB)}`, /too large to repair/],
    ["2 MB of backslashes", "\\".repeat(2 * MB), /no JSON object/],
    ["2 MB of backslashes in a string", `{"a":"${"\\".repeat(1.9 * MB)}`, /too large to repair/],
    ["50,000 spaces after a fence", `\`\`\`json${" ".repeat(50_000)}`, /no JSON object/],
    ["many such fences", `\`\`\`json${" ".repeat(50_000)}`.repeat(30), /no JSON object/],
    ["280,000 reasoning tags", "<think>".repeat(280_000), /reasoning block/],
    ["240,000 closing reasoning tags", "</think>".repeat(240_000), /no JSON object/],
    ["apostrophes", `{${"',".repeat(90_000)}`, /too large to repair/],
    ["single quotes left open", `{'a':${"'x ".repeat(60_000)}}}`, /too large to repair/],
    ["typographic quotes left open", `{“a”:“${"x” ".repeat(50_000)}}}`, /too large to repair/],
    [
      "unescaped quotes before comment marks",
      `{"a":"${'"#'.repeat(2_950)}${"x".repeat(180_000)}`,
      /too large to repair/,
    ],
    ["command keys without end", `{"x${'"command":{'.repeat(15_000)}`, /too large to repair/],
    ["5,900 single quotes in 195 kB", `{'a':'${`x${" ".repeat(31)}'`.repeat(5_900)}}}`, /too large to repair/],
    ["5,900 double quotes in 195 kB", `{"a${`x${" ".repeat(31)}"`.repeat(5_900)}}}`, /too large to repair/],
    ["entities", `{&quot;${"&quot;".repeat(30_000)}`, /too large to repair/],
    ["50 broken objects of 40 kB", `{"a":${"x y ".repeat(9_900)}}\n`.repeat(49), /could not be repaired|no command/],
    ["200,000 tags of a command before 49 objects", "<google>".repeat(200_000) + OBJECTS, /no command/],
    ["8,000 tags without an end before 49 objects", `<${"a".repeat(240)}`.repeat(8_000) + OBJECTS, /no command/],
    ["480,000 closing tags before 200 tags", "</a>".repeat(480_000) + "<a>".repeat(200) + OBJECTS, /no command/],
    ["20 calls that do not end", "read_file( ".repeat(20) + "() ".repeat(600_000) + OBJECTS, /no command/],
    ["60,000 objects", '{"a":1}\n'.repeat(60_000) + good, /too many JSON objects/],
    ["50,000 unknown arguments", args(50_000, (index) => `k${index}`), /50000 arguments/],
    [
      "a list of 300,000 numbers",
      `{"command":{"name":"improve_code","args":{"code":"x","suggestions":[${"5,".repeat(300_000)}5]}}}`,
      /more than 100 items/,
    ],
    [
      "one number under 60,000 names",
      args(
        60_000,
        (index) => `${index.toString(2).padStart(16, "0").replaceAll("0", "'").replaceAll("1", "`")}query`,
      ).replaceAll(":1", ":5.50"),
      /must be string/,
    ],
    ["more than 2 MB", `${"lorem ipsum ".repeat(200_000)}${good}`, /at most 2000000/],
  ])("of %s is refused in words", (_title, text, problem) => {
    // A reply that reached its length limit lacks its end.
    const orCut = new RegExp(`${problem.source}|^The reply was cut off`);
    const problemsOf = (reading: ParsedReply) => (reading.kind === "problem" ? reading.problems.join(" ") : "none");
    expect(problemsOf(read(text, "stop"))).toMatch(problem);
    expect(problemsOf(read(text, "length"))).toMatch(orCut);
  });

  it.each<[title: string, text: string]>([
    ["5 MB of spaces in front", " ".repeat(5 * MB) + good],
    ["5 MB of newlines behind", good + "\n".repeat(5 * MB)],
    ["a fence and 50,000 spaces", `\`\`\`json${" ".repeat(50_000)}${good}`],
    ["5,900 unescaped quotes in the thoughts", good.replace('"a"', `"${'a" '.repeat(5_900)}"`)],
  ])("with %s is read all the same", (_title, text) => {
    expect(read(text, "stop")).toMatchObject({ kind: "command", call: { name: "google", args: { input: "x y" } } });
  });

  it("neither changes nor uses Object.prototype", () => {
    for (const key of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
      expect(read(`{"command":{"name":"${key}","args":{}}}`, "stop").kind).toBe("problem");
      expect(read(`{"command":{"name":"do_nothing","args":{"${key}":{"polluted":1}}}}`, "stop").kind).toBe("problem");
      expect(read(`{"${key}":{"command":{"name":"do_nothing","args":{}}},"thoughts":{}}`, "stop").kind).toBe("problem");
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

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
    "syn-missingcomma-1line syn-missingcolon syn-semicolons syn-equals syn-arrow " +
    "syn-wrongclose syn-missing-comma-nl syn-semi-end syn-equals-bare " +
    "syn-arrow-single",
  "HTML entities":
    "tag-htmlent tag-html-entities-write tag-html-entities-34 tag-html-entities-hex tag-html-entities-amp",
  "a path whose backslashes may be escapes": "str-esc-path-U",
};

const FILES = ["replies", "more_replies"];
const cases: readonly Case[] = FILES.flatMap((file) =>
  JSON.parse(readFileSync(new URL(`../data/${file}.json`, import.meta.url), "utf8")),
);
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
  });

  it("reports problems in one to five short sentences", () => {
    for (const [{ id }, reading] of readings) {
      if (reading.kind !== "problem") continue;
      expect({ id, count: reading.problems.length >= 1 && reading.problems.length <= 5 }).toEqual({ id, count: true });
      for (const problem of reading.problems) expect(problem).toMatch(/^[A-Z][^\n]{1,397}\.$/);
    }
  });
});
