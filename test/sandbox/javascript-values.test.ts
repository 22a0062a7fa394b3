import { describe, expect, it } from "@jest/globals";
import { decodeValue, encodeValue, jsonOf, schemaOf, showValue } from "#sandbox/javascript-values.ts";

describe("values of JavaScript", () => {
  const values: readonly unknown[] = [
    ...[null, true, "text", 0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, undefined, 12n],
    [1, [2, undefined]],
    { a: { b: [1] }, "": 1, $: "own" },
    new Map<unknown, unknown>([
      ["a", new Set([1n])],
      [{ key: 1 }, null],
    ]),
    new Date(0),
    /a\/b/gi,
    JSON.parse('{"__proto__":{"polluted":1}}'),
  ];
  it.each(values.map((value) => [value]))("are kept and read again: %p", (value) => {
    expect(decodeValue(JSON.parse(JSON.stringify(encodeValue(value))))).toEqual(value);
  });

  it("keep an invalid date", () => {
    expect(String(decodeValue(JSON.parse(JSON.stringify(encodeValue(new Date(Number.NaN))))))).toBe("Invalid Date");
  });

  class Point {}
  const circle: unknown[] = [];
  circle.push(circle);
  it.each([
    [() => 1, "a function inside"],
    [{ a: [() => 1] }, "a function inside"],
    [Symbol("x"), "a symbol"],
    [circle, "contains itself"],
    [new Point(), "of the type Point"],
    [(function* () {})(), "of the type Generator"],
    [new Uint8Array(2), "of the type Uint8Array"],
    [
      {
        get computed() {
          return 1;
        },
      },
      "a computed property",
    ],
  ])("are refused with a reason: %p", (value, reason) => {
    expect(() => encodeValue(value)).toThrow(expect.objectContaining({ unkept: expect.stringContaining(reason) }));
  });

  it.each([
    ["text", "text"],
    [{ a: "x", b: [1, null] }, '{"a":"x","b":[1,null]}'],
    [new Map([["a", 1]]), 'Map {"a" => 1}'],
    [new Set([1n]), "Set {1n}"],
    [[undefined, Number.NaN], "[undefined,NaN]"],
    [new TypeError("no"), "TypeError: no"],
    [circle, "[[…]]"],
    [new Point(), "Point {}"],
  ])("are shown to the model: %p", (value, text) => {
    expect(showValue(value, 1_000)).toBe(text);
  });

  it("are shown up to a limit", () => {
    expect(
      showValue(
        Array.from({ length: 100_000 }, () => "abc"),
        1_000,
      ).length,
    ).toBeLessThan(2_000);
  });

  it("have JSON where JSON can say them", () => {
    expect(jsonOf({ a: [1] }, 100)).toBe('{"a":[1]}');
    expect([new Map(), () => 1, undefined, Number.NaN, 1n, circle].map((value) => jsonOf(value, 100))).toEqual(
      Array(6).fill(undefined),
    );
    expect(jsonOf("x".repeat(200), 100)).toBeUndefined();
  });
});

describe("the type that agent.run returns", () => {
  it.each([
    [undefined, { type: "string" }],
    [String, { type: "string" }],
    ["text", { type: "string" }],
    ["number", { type: "number" }],
    [0, { type: "number" }],
    [true, { type: "boolean" }],
    [[""], { type: "array", items: { type: "string" } }],
    [[], { type: "array" }],
    [
      { type: "integer", minimum: 1 },
      { type: "integer", minimum: 1 },
    ],
    [{ enum: ["a"] }, { enum: ["a"] }],
    [
      { name: "", ages: [Number] },
      {
        type: "object",
        properties: { name: { type: "string" }, ages: { type: "array", items: { type: "number" } } },
        required: ["name", "ages"],
      },
    ],
  ])("is a schema of %p", (given, schema) => {
    expect(schemaOf(given)).toEqual(schema);
  });
});
