import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { loadRegistry } from "#commands/registry.ts";
import { checkCommand } from "#commands/validate.ts";

const shipped = join(import.meta.dirname, "../../commands");
const facts = "{ readOnly: false, destructive: true, idempotent: true, openWorld: false }";
const source = (name: string, more = ""): string =>
  `export default { name: "${name}", label: "L", summary: "s", args: { type: "object", properties: {} },
   annotations: ${facts}, run: async () => ({ status: "ok", text: "mine" }), ${more} };`;

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "goald-registry-"));
});
afterEach(() => rm(home, { recursive: true }));
const put = (file: string, text: string): Promise<void> => writeFile(join(home, file), text);

describe("the registry", () => {
  it("loads the shipped commands in AutoGPT's order, the last two last", async () => {
    const registry = await loadRegistry([shipped]);
    expect(registry.names).toEqual([
      "write_to_file",
      "read_file",
      "append_to_file",
      "edit_file",
      "move_file",
      "delete_file",
      "search_files",
      "ask_user",
      "think",
      "do_nothing",
      "task_complete",
    ]);
    expect(registry.all.map((command) => command.name)).toEqual(registry.names);
  });

  it("declares effect and annotations of each shipped command", async () => {
    const { all } = await loadRegistry([shipped]);
    const declared = all.map(({ name, effect, annotations: a }) => [name, effect, a.readOnly, a.restorable === true]);
    expect(declared).toEqual([
      ["write_to_file", "idempotent", false, true],
      ["read_file", "pure", true, false],
      ["append_to_file", "reconcilable", false, false],
      ["edit_file", "reconcilable", false, true],
      ["move_file", "idempotent", false, true],
      ["delete_file", "idempotent", false, true],
      ["search_files", "pure", true, false],
      ["ask_user", "pure", true, false],
      ["think", "pure", true, false],
      ["do_nothing", "pure", true, false],
      ["task_complete", "pure", true, false],
    ]);
    expect(all.filter((command) => command.annotations.openWorld)).toEqual([]);
  });

  it("lets a person add commands and override shipped ones by file name", async () => {
    await put("read_file.js", source("read_file"));
    await put("zebra.ts", source("zebra", "effect: 'idempotent' as const, timeoutMs: 5"));
    await put("aardvark.mjs", source("aardvark"));
    await put("google.js", source("google"));
    await put("_shared.js", "throw new Error('not a command')");
    await put("notes.txt", "no command");
    const registry = await loadRegistry([shipped, home, join(home, "missing")]);
    expect(registry.names.slice(0, 3)).toEqual(["google", "write_to_file", "read_file"]);
    expect(registry.names.slice(-4)).toEqual(["aardvark", "zebra", "do_nothing", "task_complete"]);
    expect(registry.get("read_file")?.label).toBe("L");
    expect(registry.get("zebra")).toMatchObject({ effect: "idempotent", timeoutMs: 5 });
  });

  it("assumes the worst for missing facts, and a time limit of a minute", async () => {
    await put("mine.js", source("mine").replace(facts, "{}"));
    const mine = (await loadRegistry([home])).get("mine");
    expect(mine).toMatchObject({
      effect: "at-most-once",
      timeoutMs: 60_000,
      annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    });
  });

  it("cannot be changed afterwards", async () => {
    const registry = await loadRegistry([shipped]);
    const command = registry.get("write_to_file");
    for (const thing of [
      registry,
      registry.all,
      registry.names,
      command,
      command?.annotations,
      command?.args.properties,
    ])
      expect(Object.isFrozen(thing)).toBe(true);
    expect(registry.get("toString")).toBeUndefined();
  });

  it.each<[string, string, string, string]>([
    ["broken.js", "export default {\n  name: 1,\n", "could not be loaded", "plain object"],
    ["broken.ts", "export default {\n  run( {\n};", "could not be loaded", "plain object"],
    ["enumeration.ts", "const a = 1;\nenum B { c }\nexport default {};", "could not be loaded", "plain object"],
    ["throws.js", "throw new Error('at import')", "at import", "plain object"],
    ["imports.ts", "import '#core/command.ts'; export default {};", "could not be loaded", "import type"],
    [
      "wrong.js",
      "export default {\n  name: 'wrong',\n  effct: 1,\n  args: { type: 'object', properties: {\n    file: { type: 'int' },\n  } },\n  run() {},\n};",
      'line 3: there is no field "effct"',
      "Fix the file",
    ],
    [
      "worse.js",
      "export default {\n  name: 'worse',\n  summary: 's',\n  args: { type: 'object', properties: {\n    file: { type: 'int' },\n  } },\n  run() {},\n};",
      "line 5: expected args.properties.file.type",
      "Fix the file",
    ],
    ["nothing.js", "export const command = 1;", "got undefined", "Fix the file"],
    ["Bad-Name.js", source("Bad-Name"), "small letters", "Fix the file"],
    ["other.js", source("another"), 'expected name: "other", the file name; got "another"', "Fix the file"],
  ])("reports the problem of %s", async (file, text, message, hint) => {
    await put(file, text);
    await expect(loadRegistry([shipped, home])).rejects.toMatchObject({
      code: "GOALD_COMMAND_INVALID",
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  it("refuses two files for one name, and folders without commands", async () => {
    await expect(loadRegistry([home])).rejects.toMatchObject({ message: expect.stringContaining("No commands found") });
    await put("mine.js", source("mine"));
    await put("mine.ts", source("mine"));
    await expect(loadRegistry([home])).rejects.toMatchObject({ message: expect.stringContaining("Two files") });
    await expect(loadRegistry([join(home, "mine.js")])).rejects.toMatchObject({ code: "GOALD_COMMAND_INVALID" });
  });

  it("loads commands from an installed package, and skips tests", async () => {
    await mkdir(join(home, "node_modules", "goald-weather"), { recursive: true });
    await put("node_modules/goald-weather/index.mjs", source("weather"));
    await put("weather.js", 'export { default } from "./node_modules/goald-weather/index.mjs";');
    await put("weather.test.ts", "throw new Error('a test');");
    expect((await loadRegistry([home])).names).toEqual(["weather"]);
  });

  it("hides commands that are not set up from models, and names the missing steps", async () => {
    await put("mine.js", source("mine", "needs: ['search', 'posts']"));
    const states = { search: { ready: true }, posts: { ready: false, toDo: "Set TW_ACCESS_TOKEN." } } as const;
    await put("other.js", source("other", "needs: ['search']"));
    const { names, get, unavailable, fileOf } = await loadRegistry([home], states);
    expect([names, get("mine")]).toEqual([["other"], undefined]);
    expect(unavailable).toMatchObject([{ command: { name: "mine" }, toDo: ["Set TW_ACCESS_TOKEN."] }]);
    expect(fileOf("mine")).toBe(join(home, "mine.js"));
    expect((await loadRegistry([home], {}).catch(String)) as unknown).toMatchObject({ names: [] });
  });
});

describe("a command's definition", () => {
  const sound = {
    name: "mine",
    label: "Mine",
    summary: "does it",
    args: {
      type: "object",
      properties: { file: { type: "string", description: "d", pattern: "^a", enum: ["a", "b"] } },
      required: ["file"],
    },
    annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
    run: async () => undefined,
  };
  const withArgument = (schema: unknown): object => ({ args: { type: "object", properties: { x: schema } } });
  const d = "d";
  const nest = (inner: object): object => ({ type: "object", properties: { y: inner } });
  const deep = (levels: number): object => (levels === 0 ? {} : { type: "array", items: deep(levels - 1) });
  const circular = (): object => {
    const args: Record<string, unknown> = { type: "object", properties: {} };
    return Object.assign(args, { default: args });
  };

  it.each<[string, object]>([
    ["complete", {}],
    ["a closed schema", { args: { ...sound.args, additionalProperties: false } }],
    ["an integer in bounds", withArgument({ type: "integer", description: d, minimum: 1, maximum: 9 })],
    [
      "a list of texts",
      withArgument({ type: "array", description: d, items: { type: "string", minLength: 1 }, minItems: 1 }),
    ],
    ["a flag", withArgument({ type: "boolean", description: d })],
    ["an open schema", { args: { ...sound.args, additionalProperties: true } }],
    ["an argument of any type", withArgument({ description: d })],
    [
      "a list of objects",
      withArgument({
        type: "array",
        description: d,
        items: { type: "object", properties: { goal: { type: "string" } }, required: ["goal"] },
      }),
    ],
    ["a list of anything", withArgument({ type: "array", description: d })],
    ["a list of numbers", withArgument({ type: "array", description: d, items: { type: "number" } })],
    ["the argument names of other tools", { args: { type: "object", properties: { "repo-name": {}, Query: {} } } }],
    ["arguments without properties", { args: { type: "object" } }],
    [
      "a schema with a dialect and a title",
      { args: { ...sound.args, $schema: "http://json-schema.org/draft-07/schema#" } },
    ],
    [
      "nested objects, choices, alternatives and local references",
      {
        args: {
          type: "object",
          properties: {
            point: { $ref: "#/$defs/point" },
            tree: { $ref: "#/$defs/tree" },
            either: { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }] },
            labels: { type: "object", patternProperties: { "^x-": { type: "string" } }, additionalProperties: false },
            pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
          },
          required: ["point"],
          $defs: {
            point: { type: "object", properties: { x: { type: "number" }, y: { type: "number" } }, required: ["x"] },
            tree: { type: "object", properties: { inner: { $ref: "#/$defs/tree" } } },
          },
        },
      },
    ],
    ["probe and prepare", { effect: "reconcilable", probe: () => 1, prepare: () => 1 }],
  ])("is accepted: %s", (_title, change) => {
    expect(checkCommand("mine", "mine.ts", { ...sound, ...change })).toMatchObject({ name: "mine" });
  });

  it("has defaults for missing fields, and the worst for the policy", () => {
    const bare = { name: "post_note", summary: "Posts a note.", run: async () => "posted" };
    expect(checkCommand("post_note", "post_note.ts", bare)).toMatchObject({
      label: "Post note",
      args: { type: "object", properties: {} },
      annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
      effect: "at-most-once",
      timeoutMs: 60_000,
    });
    expect(checkCommand("mine", "mine.ts", { ...sound, ...withArgument({ type: "string" }) })).toMatchObject({
      args: { properties: { x: { type: "string" } } },
    });
  });

  it.each<[string, object, string]>([
    ["an empty label", { label: "" }, "expected label"],
    ["a label of two lines", { label: "a\nb" }, "expected label"],
    ["no summary", { summary: undefined }, "expected summary"],
    ["a summary that is too long", { summary: "x".repeat(301) }, "expected summary"],
    ["no run", { run: undefined }, "expected run: a function; got undefined"],
    ["a probe that is not a function", { probe: true }, "expected probe: a function; got true"],
    ["an unknown field", { timeout: 5 }, 'no field "timeout"'],
    ["arguments that are not an object", { args: { type: "array", properties: {} } }, "expected args"],
    ["an unknown keyword", { args: { ...sound.args, onOf: [] } }, 'unknown keyword "onOf"'],
    ["an unknown keyword deep inside", withArgument(nest({ minLenght: 1 })), 'unknown keyword "minLenght"'],
    ["an empty list of alternatives", { args: { ...sound.args, oneOf: [] } }, "args.oneOf"],
    [
      "a wrong value deep inside",
      withArgument(nest({ type: "string", minLength: -1 })),
      "args.properties.x.properties.y.minLength",
    ],
    [
      "a wrong type in a list of objects",
      withArgument({ type: "array", items: { type: "object", properties: { goal: { type: "text" } } } }),
      "args.properties.x.items.properties.goal.type",
    ],
    ["a list of properties", { args: { type: "object", properties: [] } }, "expected args"],
    [
      "a reference to another document",
      withArgument({ $ref: "https://example.com/x.json" }),
      "x.$ref: a schema in args",
    ],
    ["a reference to nothing", withArgument({ $ref: "#/$defs/none" }), "x.$ref"],
    ["more than 16 schemas inside each other", withArgument(deep(17)), "at most 16 schemas"],
    ["a schema of more than 64 KB", withArgument({ description: "x".repeat(66_000) }), "at most 65536 bytes"],
    ["a schema that holds itself", { args: circular() }, "plain JSON"],
    ["a function in a schema", withArgument({ default: () => 1 }), "plain JSON"],
    ["an unknown required argument", { args: { ...sound.args, required: ["fil"] } }, "args.required"],
    ["required as a text", { args: { ...sound.args, required: "file" } }, "args.required"],
    ["an argument's odd name", { args: { type: "object", properties: { "a b": {} } } }, "argument names"],
    ["an argument without a schema", withArgument(null), "args.properties.x: a schema"],
    [
      "an argument of an inherited type",
      withArgument({ type: "constructor", description: d }),
      "args.properties.x.type",
    ],
    [
      "an argument with an empty description",
      withArgument({ type: "string", description: " " }),
      "args.properties.x.description",
    ],
    ["an invalid pattern", withArgument({ type: "string", description: d, pattern: "(" }), "x.pattern"],
    ["an empty enum", withArgument({ type: "string", description: d, enum: [] }), "x.enum"],
    [
      "a bound that is not a number",
      withArgument({ type: "number", description: d, minimum: Number.NaN }),
      "x.minimum",
    ],
    ["annotations that are not an object", { annotations: "safe" }, "expected annotations"],
    [
      "an annotation that is not a boolean",
      { annotations: { readOnly: "yes" } },
      "annotations.readOnly: true or false",
    ],
    ["an unknown annotation", { annotations: { safe: true } }, 'no annotation "safe"'],
    ["a pure effect that changes something", { effect: "pure" }, "annotations.readOnly: true"],
    ["an unknown effect", { effect: "maybe" }, "expected effect"],
    ["reconcilable without probe", { effect: "reconcilable", prepare: () => 1 }, "needs prepare"],
    ["reconcilable without prepare", { effect: "reconcilable", probe: () => 1 }, "needs prepare"],
    ["no time", { timeoutMs: 0 }, "timeoutMs"],
    ["endless time", { timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs"],
    ["closesTurn on another command", { closesTurn: true }, "only for task_complete"],
  ])("is refused: %s", (_title, change, message) => {
    expect(() => checkCommand("mine", "/home/mine.ts", { ...sound, ...change })).toThrow(
      expect.objectContaining({ code: "GOALD_COMMAND_INVALID", message: expect.stringContaining(message) }),
    );
  });

  it("is refused with the file and all problems at once", () => {
    expect(() => checkCommand("mine", "/home/mine.ts", { name: "mine", args: 1, annotations: 2 })).toThrow(
      /^\/home\/mine\.ts is not a valid command: .*summary.*run.*args.*annotations/,
    );
    expect(() => checkCommand("mine", "/home/mine.ts", "text")).toThrow(/got "text"/);
  });

  it("must close the turn for task_complete, also in a home", () => {
    const own = { ...sound, name: "task_complete" };
    expect(() => checkCommand("task_complete", "task_complete.ts", own)).toThrow(/closesTurn: true/);
    expect(checkCommand("task_complete", "task_complete.ts", { ...own, closesTurn: true }).closesTurn).toBe(true);
  });
});
