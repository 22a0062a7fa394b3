import { describe, expect, it } from "@jest/globals";
import type { ArgsSchema } from "#core/command.ts";
import { createReplyReader } from "#reply/read.ts";

const ARGS: ArgsSchema = {
  type: "object",
  properties: {
    route: {
      type: "array",
      description: "places in their order",
      items: { $ref: "#/$defs/place" },
      minItems: 1,
    },
    options: {
      type: "object",
      description: "how to travel",
      properties: {
        speed: { type: "integer", description: "in km/h", minimum: 1 },
        by: { enum: ["foot", "train"] },
        code: { type: "string", description: "of the ticket", pattern: "^(a+)+$" },
      },
      required: ["by"],
      additionalProperties: false,
    },
    labels: { type: "object", additionalProperties: { type: "string" } },
  },
  required: ["route"],
  $defs: {
    place: {
      type: "object",
      properties: { name: { type: "string", description: "name of a town" }, via: { $ref: "#/$defs/place" } },
      required: ["name"],
    },
  },
};
const reader = createReplyReader({
  schemas: { travel: ARGS },
  hasSideEffect: () => true,
  isHarmless: () => false,
  aliases: { commands: {}, args: { options: ["settings"] } },
});
const read = (args: unknown) => reader(JSON.stringify({ thoughts: {}, command: { name: "travel", args } }), "stop");
const problemsOf = (args: unknown): string => {
  const parsed = read(args);
  return parsed.kind === "problem" ? parsed.problems.join(" ") : "none";
};
const ROUTE = [{ name: "Ulm", via: { name: "Ems" } }];

describe("nested arguments", () => {
  it("are read as they are written", () => {
    const args = { route: ROUTE, options: { by: "train", speed: 80 }, labels: { a: "1" } };
    expect(read(args)).toMatchObject({ kind: "command", call: { name: "travel", args } });
  });

  it("may come as JSON in a string, with digits in a string, and with null for what is omitted", () => {
    const args = { route: JSON.stringify(ROUTE), settings: { by: "foot", speed: "80", code: null }, labels: null };
    expect(read(args)).toMatchObject({ call: { args: { route: ROUTE, options: { by: "foot", speed: 80 } } } });
    const parsed = read(args);
    expect(parsed.kind === "command" && parsed.call.args).not.toHaveProperty("labels");
    expect(parsed.kind === "command" && parsed.call.args.options).not.toHaveProperty("code");
  });

  it.each<[string, unknown, RegExp]>([
    ["a missing member", { route: [{}] }, /needs the argument "name" of "route\.0"/],
    ["a missing member of a referenced schema", { route: [{ name: "a", via: {} }] }, /"name" of "route\.0\.via"/],
    ["an unknown member", { route: ROUTE, options: { by: "foot", spede: 1 } }, /no argument "spede" of "options"/],
    ["another choice", { route: ROUTE, options: { by: "car" } }, /"options\.by" of travel must be one of/],
    ["a wrong type", { route: ROUTE, labels: { a: 1 } }, /"labels\.a" of travel must be string/],
    ["an unknown argument", { route: ROUTE, rout: [] }, /has no argument "rout"/],
    [
      "the words of the prompt",
      { route: [{ name: "<name of a town>" }] },
      /"route" of travel is still the placeholder/,
    ],
    [
      "a text that its pattern would search for hours",
      { route: ROUTE, options: { by: "foot", code: `${"a".repeat(60)}b` } },
      /"options\.code"/,
    ],
    ["a damaged letter", { route: [{ name: "U\ufffdm" }] }, /U\+FFFD/],
    [
      "a string with a key given twice",
      { route: ROUTE, labels: '{"a":"1","a":"2"}' },
      /"labels" of travel must be object/,
    ],
  ])("are refused with their place for %s", (_title, args, expected) => {
    expect(problemsOf(args)).toMatch(expected);
  });

  it("may be more than the schema names if it says so", () => {
    const open = createReplyReader({
      schemas: { note: { type: "object", properties: { text: { type: "string" } }, additionalProperties: true } },
      hasSideEffect: () => true,
      isHarmless: () => false,
      aliases: { commands: {}, args: {} },
    });
    const args = { text: "a", more: { deep: [1] } };
    expect(open(JSON.stringify({ command: { name: "note", args } }), "stop")).toMatchObject({ call: { args } });
  });
});
