import { describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { loadRegistry } from "#commands/registry.ts";
import { createReplyReader } from "#reply/read.ts";
import { buildReplySchema } from "#reply/reply-schema.ts";
import { RESPONSE_FORMAT } from "../helpers/openai-server.ts";
import { shippedWords } from "../prompt/fixtures.ts";

const EMPTY = { type: "object", properties: {} };
const THOUGHTS = { text: "a", reasoning: "b", plan: "c", criticism: "d", speak: "e" };

async function make() {
  const { all, get } = await loadRegistry(["commands"]);
  const schemas = Object.fromEntries(all.map((command) => [command.name, command.args]));
  const hasSideEffect = (name: string) => get(name)?.annotations.readOnly !== true;
  const aliases = { commands: {}, args: {} };
  const read = createReplyReader({ schemas, hasSideEffect, isHarmless: () => false, aliases });
  return { all, schema: buildReplySchema(all).schema as { properties: { command: { anyOf: object[] } } }, read };
}

/** Whether a strict server takes the schema. */
function isAccepted(schema: object): boolean {
  const response_format = { type: "json_schema", json_schema: { name: "reply", strict: true, schema } };
  return new Ajv({ strict: false }).validate(
    { type: "object", properties: { response_format: RESPONSE_FORMAT } },
    { response_format },
  );
}

describe("the schema of a reply", () => {
  it("is accepted by strict servers: all closed, all required, branches told apart by their first key", async () => {
    const { schema, all } = await make();
    expect(isAccepted(schema)).toBe(true);
    // Control: they refuse an open object.
    expect(isAccepted({ type: "object", properties: {}, required: [] })).toBe(false);
    const first = schema.properties.command.anyOf.map((branch) =>
      Object.entries((branch as { properties: object }).properties).at(0),
    );
    expect(first).toEqual(all.map(({ name }) => ["name", { type: "string", enum: [name] }]));
    expect(JSON.stringify(schema).length).toBeLessThan(6_000);
  });

  it("has the shape that the prompt's words show", async () => {
    const { schema } = await make();
    const { text } = shippedWords["formats/response-format"];
    const shown = JSON.parse(text.slice(text.indexOf("{\n"), text.lastIndexOf("\n}") + 2));
    const { properties } = schema as unknown as { properties: { thoughts: { required: string[] } } };
    expect(Object.keys(shown)).toEqual(Object.keys(properties));
    expect(Object.keys(shown.thoughts)).toEqual(properties.thoughts.required);
    for (const branch of schema.properties.command.anyOf)
      expect(Object.keys(shown.command)).toEqual((branch as { required: string[] }).required);
  });

  it("has names and types alone: the descriptions are in the prompt", async () => {
    const { schema, all } = await make();
    const text = JSON.stringify(schema);
    for (const { name, summary, args } of all) {
      for (const said of [name, ...Object.keys(args.properties)]) expect(text).toContain(JSON.stringify(said));
      for (const said of [summary, ...Object.values(args.properties).map(({ description }) => description)])
        expect(text).not.toContain(JSON.stringify(said));
    }
  });

  it("describes replies that the reader accepts, with optional arguments that are omitted as null", async () => {
    const { schema, read } = await make();
    const isValid = new Ajv().compile(schema);
    const args = { directory: "", text: null, limit: null };
    const reply = { thoughts: THOUGHTS, command: { name: "search_files", args } };
    expect(isValid(reply)).toBe(true);
    expect(isValid({ ...reply, command: { name: "search_files", args: {} } })).toBe(false);
    expect(isValid({ ...reply, command: { name: "read_file", args } })).toBe(false);
    expect(read(JSON.stringify(reply), "stop")).toMatchObject({
      kind: "command",
      call: { name: "search_files", args: { directory: "" } },
      thoughts: THOUGHTS,
      repaired: false,
    });
    const required = { thoughts: THOUGHTS, command: { read_file: { file: null } } };
    expect(read(JSON.stringify(required), "stop").kind).toBe("problem");
  });

  const nest = (levels: number): Record<string, unknown> =>
    levels === 0 ? { type: "string" } : { type: "object", properties: { a: nest(levels - 1) } };

  it("writes nested arguments in the subset, with what was optional as nullable", () => {
    const numbers = { x: { type: "number", minimum: 0 }, y: { type: "number" } } as const;
    const point = { type: "object", properties: numbers, required: ["x"] } as const;
    const points = { type: "array", items: { $ref: "#/$defs/point" } } as const;
    const properties = { points, mode: { const: "fast" }, deep: nest(6) };
    const args = { type: "object", properties, required: ["points"], $defs: { point } } as const;
    const { schema, isStrict } = buildReplySchema([{ name: "draw", summary: "draws.", args }]);
    expect(isStrict).toBe(true);
    expect(isAccepted(schema)).toBe(true);
    const isValid = new Ajv().compile(schema);
    const reply = (given: object) => ({ thoughts: THOUGHTS, command: { name: "draw", args: given } });
    expect(isValid(reply({ points: [{ x: 1, y: null }], mode: null, deep: null }))).toBe(true);
    expect(isValid(reply({ points: [{ y: 1 }], mode: "fast", deep: null }))).toBe(false);
  });

  it.each<[string, Record<string, unknown>]>([
    ["an object with any keys", { type: "object" }],
    ["an object with further keys", { ...EMPTY, additionalProperties: { type: "string" } }],
    ["keys by a pattern", { ...EMPTY, patternProperties: { "^x": {} }, additionalProperties: false }],
    ["a value of any type", { description: "anything" }],
    ["more levels than servers accept", nest(7)],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }], items: false }],
    ["a schema that contains itself", { $ref: "#/$defs/tree" }],
  ])("is not strict for %s, and still valid", (_title, property) => {
    const inner = { anyOf: [{ type: "string" }, { $ref: "#/$defs/tree" }] };
    const tree = { type: "object", properties: { inner } } as const;
    const args = { type: "object", properties: { value: property }, $defs: { tree } } as const;
    const { schema, isStrict } = buildReplySchema([{ name: "own", summary: "does.", args }]);
    expect(isStrict).toBe(false);
    const isValid = new Ajv2020({ strict: false }).compile(schema);
    expect(isValid({ thoughts: THOUGHTS, command: { name: "own", args: {} } })).toBe(true);
    expect(isValid({ thoughts: THOUGHTS, command: { name: "own", args: 1 } })).toBe(false);
  });
});
