import { describe, expect, it } from "@jest/globals";
import { createReplyReader } from "#reply/read.ts";
import { seedCatalogue } from "../helpers/seed-catalogue.ts";

const read = createReplyReader(seedCatalogue);
const MB = 1_000_000;
const good = '{"thoughts":{"text":"a"},"command":{"name":"google","args":{"input":"x y"}}}';
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
    for (const [finishReason, expected] of [
      ["stop", problem],
      ["length", orCut],
    ] as const) {
      const reading = read(text, finishReason);
      expect(reading.kind).toBe("problem");
      if (reading.kind === "problem") expect(reading.problems.join(" ")).toMatch(expected);
    }
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
