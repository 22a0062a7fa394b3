import { describe, expect, it } from "@jest/globals";
import { parseShallowJson } from "#reply/json.ts";
import { pythonToJson } from "#reply/python-literal.ts";

const read = (text: string) => parseShallowJson(pythonToJson(text) ?? "");

describe("a Python literal", () => {
  it.each([
    ["None", null],
    ["[True, False, None, true, null]", [true, false, null, true, null]],
    [String.raw`{'a': 'it\'s', "b": "she said \"hi\"",}`, { a: "it's", b: 'she said "hi"' }],
    [String.raw`'say "hi"\n'`, 'say "hi"\n'],
    [`'''two\n"lines"'''`, 'two\n"lines"'],
    [String.raw`'\d+ and \u00e9'`, "\\d+ and é"],
    ["''", ""],
    ["()", []],
    ["(1,)", [1]],
    ["[1, (2, 3), [4,],]", [1, [2, 3], [4]]],
    ["[14_284_000, -1, +.5, 5., 1e3]", [14284000, -1, 0.5, 5, 1000]],
  ])("%s is read", (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it.each([
    ...[
      "(1)",
      "{1, 2}",
      "[1,,2]",
      "[,]",
      "[1 2]",
      "[1, 2",
      "(1, 2]",
      "1, 2",
      "007",
      "1_0",
      "1e400",
      "nan",
      "[NaN]",
      "",
    ],
    ...["'it's'", "'a' 'b'", "b'a'", "r'a'", "f'{a}'", "'a\nb'", "[1] and more", "f(1)"],
    ...[String.raw`'\x41'`, String.raw`'\N{DASH}'`, String.raw`'C:\new'`, String.raw`["C:\new", None]`],
  ])("%j is refused", (text) => {
    expect(read(text)).toBeUndefined();
  });

  it("keeps both of two equal keys, so that a reader can see them", () => {
    expect(pythonToJson("{'a': 1, 'a': 2}")).toBe('{ "a" : 1 , "a" : 2 }');
  });
});
