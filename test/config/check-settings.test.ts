import { describe, expect, it } from "@jest/globals";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import { findSchemaProblems, type SchemaProblem } from "#config/load-settings.ts";
import type { ValueSchema } from "#config/setting-row.ts";
import { readDefaults, SETTINGS, type Setting, valueAt } from "#config/settings.ts";

const byAjv = compileTable();
const DEFAULTS = readDefaults() as Readonly<Record<string, unknown>>;
/** Making these takes longer than using them. */
const ANY_TEXT = fc.string({ unit: "binary" });
const ANY_JSON = fc.jsonValue({ maxDepth: 1 });

describe("findSchemaProblems", () => {
  it(`agrees with ajv on each of ${SETTINGS.length} settings`, () => {
    for (const row of SETTINGS) {
      const seen = { right: 0, wrong: 0 };
      fc.assert(
        fc.property(valuesFor(row), (value) => {
          const settings = withValue(row.name, value);
          const problems = findSchemaProblems(settings);
          expect(`${row.name}: ${sorted(problems)}`).toBe(`${row.name}: ${sorted(problemsByAjv(settings))}`);
          seen[problems.length === 0 ? "right" : "wrong"]++;
        }),
        { numRuns: 120 },
      );
      // Without both kinds of values the test would prove nothing.
      if (Math.min(seen.right, seen.wrong) === 0) throw new Error(`${row.name} had values of one kind alone.`);
    }
  });

  it("agrees with ajv on settings with missing, surplus or no members", () => {
    const groups = [...new Set(SETTINGS.map(({ name }) => name.split(".")[0] as string))];
    const members = fc.constantFrom(...groups, "surplus", "toString");
    const change = fc.tuple(members, fc.oneof(fc.constant(undefined), fc.jsonValue({ maxDepth: 2 })));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const settings: unknown = { ...DEFAULTS, ...Object.fromEntries(changes) };
        expect(sorted(findSchemaProblems(settings))).toBe(sorted(problemsByAjv(settings)));
      }),
      { numRuns: 100 },
    );
    for (const none of [null, [], "text", 1, true, {}, undefined])
      expect(sorted(findSchemaProblems(none))).toBe(sorted(problemsByAjv(none)));
  });

  it("supports every keyword that the table uses", () => {
    const known = ["type", "nullable", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"];
    const used = SETTINGS.flatMap(({ schema }) => Object.keys(schema));
    expect(used.filter((keyword) => !known.includes(keyword))).toEqual([]);
  });
});

/** Generates values near the limits of a row, of its own type, and of every other type. */
function valuesFor({ schema, name }: Setting): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 1, minLength = 0, maxLength = 30, pattern } = schema;
  const near = [minimum, maximum].flatMap((limit) => [limit - 1, limit - 0.5, limit, limit + 0.5, limit + 1]);
  const choices = schema.enum ?? [];
  const texts = [
    fc
      .constantFrom(minLength - 1, minLength, maxLength, maxLength + 1)
      .map((length) => "x".repeat(Math.max(0, length))),
    // Each is one character of two code units. The strings below include half of one.
    fc.constantFrom(minLength, maxLength, maxLength + 1).map((length) => "😀".repeat(length)),
    ANY_TEXT,
    fc.constantFrom("\ud800", "\n", "a\n", "é", "\u0000", "http://h/v1", "https://u@h/", "sk-1"),
    ...(pattern ? [fc.stringMatching(new RegExp(pattern, "u"))] : []),
    ...(schema.enum ? [fc.constantFrom(...choices, ...choices.map((one) => one?.toUpperCase() ?? null))] : []),
  ];
  const whole = fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) });
  const odd = [-0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53];
  const others = [null, undefined, true, false, [], {}, ...odd, valueAt(DEFAULTS, name)];
  return fc.oneof(
    { arbitrary: fc.oneof(...texts), weight: 3 },
    { arbitrary: fc.oneof(fc.constantFrom(...near), whole, fc.double()), weight: 3 },
    { arbitrary: fc.constantFrom<unknown>(...others), weight: 2 },
    { arbitrary: ANY_JSON, weight: 1 },
    // By chance there would be too few booleans.
    ...(schema.type === "boolean" ? [{ arbitrary: fc.boolean(), weight: 2 }] : []),
  );
}

function withValue(name: string, value: unknown): object {
  const place = ([part = "", ...rest]: readonly string[], inner: unknown): object => ({
    ...(inner as object),
    [part]: rest.length === 0 ? value : place(rest, (inner as Readonly<Record<string, unknown>>)[part]),
  });
  return place(name.split("."), DEFAULTS);
}

interface ObjectSchema {
  readonly type: "object";
  readonly additionalProperties: false;
  readonly required: string[];
  readonly properties: Record<string, ObjectSchema | ValueSchema>;
}

/** Compiles the table to one JSON Schema. */
function compileTable(): ValidateFunction {
  const empty = (): ObjectSchema => ({ type: "object", additionalProperties: false, required: [], properties: {} });
  const root = empty();
  for (const { name, schema } of SETTINGS) {
    const parts = name.split(".");
    const last = parts.pop() as string;
    let inner = root;
    for (const part of parts) {
      if (!inner.required.includes(part)) inner.required.push(part);
      inner.properties[part] ??= empty();
      inner = inner.properties[part] as ObjectSchema;
    }
    inner.required.push(last);
    inner.properties[last] = schema;
  }
  return new Ajv({ allErrors: true }).compile(root);
}

function problemsByAjv(settings: unknown): readonly SchemaProblem[] {
  if (byAjv(settings)) return [];
  return (byAjv.errors ?? []).map(({ instancePath, message, params }) => ({
    name: instancePath.slice(1).replaceAll("/", "."),
    message: `${message}${"additionalProperty" in params ? ` (${params.additionalProperty})` : ""}`,
  }));
}

const sorted = (problems: readonly SchemaProblem[]): string =>
  problems
    .map(({ name, message }) => `${name}: ${message}`)
    .toSorted()
    .join("\n");
