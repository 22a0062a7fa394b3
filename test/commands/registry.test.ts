import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { describeForPrompt, listCommands } from "#commands/describe.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand, type Registry } from "#commands/registry.ts";
import { checkCommand } from "#commands/validate.ts";
import { useFolder } from "../helpers/folder.ts";

const shipped = join(import.meta.dirname, "../../commands");
const facts = "{ readOnly: false, destructive: true, idempotent: true, openWorld: false }";
const source = (name: string, more = ""): string =>
  `export default { name: "${name}", label: "L", summary: "s", args: { type: "object", properties: {} },
   annotations: ${facts}, run: async () => ({ status: "ok", text: "mine" }), ${more} };`;

const home = useFolder();
const put = (file: string, text: string): Promise<void> => writeFile(home(file), text);

const namesIn = ({ all }: Pick<Registry, "all">): readonly string[] => all.map(({ name }) => name);

describe("the registry", () => {
  it("has the shipped commands in AutoGPT's order, the last two last, each with its effect and annotations", async () => {
    const registry = await loadRegistry([shipped]);
    const { all, get } = registry;
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
    expect(get("toString")).toBeUndefined();
    // It cannot be changed afterwards.
    const command = get("write_to_file");
    for (const part of [registry, all, command, command?.annotations, command?.args.properties])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it("lets a person add commands and override shipped ones by file name", async () => {
    await put("read_file.js", source("read_file"));
    await put("zebra.ts", source("zebra", "effect: 'idempotent' as const, timeoutMs: 5"));
    await put("aardvark.mjs", source("aardvark"));
    await put("google.js", source("google"));
    await put("_shared.js", "throw new Error('not a command')");
    await put("notes.txt", "no command");
    const registry = await loadRegistry([shipped, home(), home("missing")]);
    expect(namesIn(registry).slice(0, 3)).toEqual(["google", "write_to_file", "read_file"]);
    expect(namesIn(registry).slice(-4)).toEqual(["aardvark", "zebra", "do_nothing", "task_complete"]);
    expect(registry.get("read_file")?.label).toBe("L");
    expect(registry.get("zebra")).toMatchObject({ effect: "idempotent", timeoutMs: 5 });
  });

  const WRONG = (name: string, more: string): string =>
    `export default {\n  name: '${name}',\n  ${more}\n  args: { type: 'object', properties: {\n    file: { type: 'int' },\n  } },\n  run() {},\n};`;
  it.each<[string, string, string, string]>([
    ["broken.js", "export default {\n  name: 1,\n", "could not be loaded", "plain object"],
    ["broken.ts", "export default {\n  run( {\n};", "could not be loaded", "plain object"],
    ["enumeration.ts", "const a = 1;\nenum B { c }\nexport default {};", "could not be loaded", "plain object"],
    ["throws.js", "throw new Error('at import')", "at import", "plain object"],
    ["imports.ts", "import '#core/command.ts'; export default {};", "could not be loaded", "import type"],
    ["lacks.ts", "import 'left-pad';\nexport default {};", "left-pad", "node_modules of the home"],
    ["wrong.js", WRONG("wrong", "effct: 1,"), 'line 3: there is no field "effct"', "Fix the file"],
    ["worse.js", WRONG("worse", "summary: 's',"), "line 5: expected args.properties.file.type", "Fix the file"],
    ["nothing.js", "export const command = 1;", "got undefined", "Fix the file"],
    ["Bad-Name.js", source("Bad-Name"), "small letters", "Fix the file"],
    ["other.js", source("another"), 'expected name: "other", the file name; got "another"', "Fix the file"],
  ])("reports the problem of %s", async (file, text, message, hint) => {
    await put(file, text);
    await expect(loadRegistry([shipped, home()])).rejects.toMatchObject({
      code: "GOALD_COMMAND_INVALID",
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  it("names all invalid files at once", async () => {
    await put("broken.js", "export default {\n  name: 1,\n");
    await put("mine.js", source("mine"));
    await put("nothing.js", "export const command = 1;");
    await expect(loadRegistry([shipped, home()])).rejects.toMatchObject({
      message: expect.stringMatching(/broken\.js:\d could not be loaded.*\n.*nothing\.js is not a valid command/s),
      hint: expect.stringMatching(/plain object.*\nFix the file/s),
    });
  });

  it("refuses two files for one name, and folders without commands", async () => {
    await expect(loadRegistry([home()])).rejects.toMatchObject({
      message: expect.stringContaining("No commands found"),
    });
    await put("mine.js", source("mine"));
    await put("mine.ts", source("mine"));
    await expect(loadRegistry([home()])).rejects.toMatchObject({ message: expect.stringContaining("Two files") });
    await expect(loadRegistry([home("mine.js")])).rejects.toMatchObject({ code: "GOALD_COMMAND_INVALID" });
  });

  it("fills in the defaults of a shipped command without checking it", async () => {
    await put("mine.js", source("mine", "odd: 1"));
    const { all } = await loadRegistry([home()], {}, () => false);
    expect(all).toEqual([expect.objectContaining({ name: "mine", odd: 1, group: "own", timeoutMs: 60_000 })]);
  });

  it("loads commands from an installed package, and skips tests", async () => {
    await mkdir(home("node_modules", "goald-weather"), { recursive: true });
    await put("node_modules/goald-weather/index.mjs", source("weather"));
    await put("weather.js", 'export { default } from "./node_modules/goald-weather/index.mjs";');
    await put("weather.test.ts", "throw new Error('a test');");
    expect(namesIn(await loadRegistry([home()]))).toEqual(["weather"]);
  });

  it("hides commands that are not set up from models, and names the missing steps", async () => {
    await put("mine.js", source("mine", "needs: ['search', 'posts']"));
    const states = { search: { ready: true }, posts: { ready: false, toDo: "Set TW_ACCESS_TOKEN." } } as const;
    await put("other.js", source("other", "needs: ['search']"));
    const { all, get, unavailable, fileOf } = await loadRegistry([home()], states);
    expect([namesIn({ all }), get("mine")]).toEqual([["other"], undefined]);
    expect(unavailable).toMatchObject([{ command: { name: "mine" }, toDo: ["Set TW_ACCESS_TOKEN."] }]);
    expect(fileOf("mine")).toBe(home("mine.js"));
    expect((await loadRegistry([home()], {}).catch(String)) as unknown).toMatchObject({ all: [] });
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
  const described = (of: object): object => withArgument({ description: "d", ...of });
  const goals = (type: string) => ({ type: "array", items: { type: "object", properties: { goal: { type } } } });
  const nest = (inner: object): object => ({ type: "object", properties: { y: inner } });
  const deep = (levels: number): object => (levels === 0 ? {} : { type: "array", items: deep(levels - 1) });
  const circular = (): object => {
    const args: Record<string, unknown> = { type: "object", properties: {} };
    return Object.assign(args, { default: args });
  };

  it.each<[string, object]>([
    ["complete", {}],
    ["a closed schema", { args: { ...sound.args, additionalProperties: false } }],
    ["an integer in bounds", described({ type: "integer", minimum: 1, maximum: 9 })],
    ["a list of texts", described({ type: "array", items: { type: "string", minLength: 1 }, minItems: 1 })],
    ["a flag", described({ type: "boolean" })],
    ["an open schema", { args: { ...sound.args, additionalProperties: true } }],
    ["an argument of any type", described({})],
    ["a list of objects", described(goals("string"))],
    ["a list of anything", described({ type: "array" })],
    ["a list of numbers", described({ type: "array", items: { type: "number" } })],
    ["the argument names of other tools", { args: { type: "object", properties: { "repo-name": {}, Query: {} } } }],
    ["arguments without properties", { args: { type: "object" } }],
    ["a schema with a dialect", { args: { ...sound.args, $schema: "http://json-schema.org/draft-07/schema#" } }],
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
      effect: "at-most-once",
      timeoutMs: 60_000,
      annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
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
    ["a wrong value deep inside", withArgument(nest({ type: "string", minLength: -1 })), "x.properties.y.minLength"],
    ["a wrong type in a list of objects", withArgument(goals("text")), "x.items.properties.goal.type"],
    ["a list of properties", { args: { type: "object", properties: [] } }, "expected args"],
    ["a reference to another document", withArgument({ $ref: "https://a.org/x" }), "x.$ref: a schema in args"],
    ["a reference to nothing", withArgument({ $ref: "#/$defs/none" }), "x.$ref"],
    ["more than 16 schemas inside each other", withArgument(deep(17)), "at most 16 schemas"],
    ["a schema of more than 64 KB", withArgument({ description: "x".repeat(66_000) }), "at most 65536 bytes"],
    ["a schema that holds itself", { args: circular() }, "plain JSON"],
    ["a function in a schema", withArgument({ default: () => 1 }), "plain JSON"],
    ["an unknown required argument", { args: { ...sound.args, required: ["fil"] } }, "args.required"],
    ["required as a text", { args: { ...sound.args, required: "file" } }, "args.required"],
    ["an argument's odd name", { args: { type: "object", properties: { "a b": {} } } }, "argument names"],
    ["an argument without a schema", withArgument(null), "args.properties.x: a schema"],
    ["an argument of an inherited type", described({ type: "constructor" }), "args.properties.x.type"],
    ["an empty description", described({ type: "string", description: " " }), "args.properties.x.description"],
    ["an invalid pattern", described({ type: "string", pattern: "(" }), "x.pattern"],
    ["an empty enum", described({ type: "string", enum: [] }), "x.enum"],
    ["a bound that is not a number", described({ type: "number", minimum: Number.NaN }), "x.minimum"],
    ["annotations that are not an object", { annotations: "safe" }, "expected annotations"],
    ["an annotation that is a text", { annotations: { readOnly: "yes" } }, "annotations.readOnly: true or false"],
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

let all: readonly RegisteredCommand[];
beforeAll(async () => {
  all = (await loadRegistry([shipped])).all;
});
const made = (change: object) =>
  checkCommand("mine", "mine.ts", { name: "mine", summary: "does this | that", run: async () => undefined, ...change });

describe("the command list of the prompt", () => {
  it("has one numbered line per command in AutoGPT's form, with what each argument means", () => {
    const lines = describeForPrompt(all).split("\n");
    expect(lines.map((line) => line.split(" -- ")[0])).toEqual([
      '1. Write to file: "write_to_file", args: "file": "<relative path, such as notes/plan.md>", "text": "<the whole new content>"',
      '2. Read file: "read_file", args: "file": "<relative path>", optional "first_line": <first line to show, default 1>, "last_line": <last line to show>',
      '3. Append to file: "append_to_file", args: "file": "<relative path>", "text": "<what to add, with its line breaks>"',
      '4. Edit file: "edit_file", args: "file": "<relative path>", "old": "<exact text of the file, enough of it to occur once>", "new": "<what replaces it>", optional "count": <how often old occurs, default 1>',
      '5. Move file: "move_file", args: "from": "<relative path>", "to": "<new relative path>"',
      '6. Delete file: "delete_file", args: "file": "<relative path>", optional "permanently": <true: nothing of it can be restored, default false>',
      '7. Search Files: "search_files", args: "directory": "<relative path of a folder, empty for all>", optional "text": "<lists the lines with this text>", "limit": <most results, default 100>',
      '8. Ask user: "ask_user", args: "question": "<the question, with all that is needed to answer it>"',
      '9. Think: "think", args: "thought": "<your thought>"',
      '10. Do Nothing: "do_nothing", args:',
      '11. Task Complete (Shutdown): "task_complete", args: "reason": "<what was reached, and in which files>"',
    ]);
  });

  it("has the whole summary of every command, and one of start_agent that says what a helper cannot see", async () => {
    const whole = (await loadRegistry([shipped], ALL_READY)).all;
    const lines = describeForPrompt(whole).split("\n");
    expect(lines.map((line) => line.split(" -- ")[1])).toEqual(whole.map(({ summary }) => summary));
    const start = lines.find((line) => line.includes('"start_agent"')) ?? "";
    expect(start).toMatch(/sees nothing of what you see and cannot read your files/);
    expect(describeForPrompt([made({ summary: "x".repeat(300) })])).toContain("x".repeat(300));
  });

  it("shows text in quotes, numbers without, lists in brackets, and the choices", () => {
    const properties = {
      a: { type: "string", description: "what" },
      b: { type: "string", description: "one of", enum: ["x", "y"] },
      c: { type: "integer", description: "how\nmany" },
      d: { type: "array", description: "each", items: { type: "string" } },
      e: { type: "string", description: "x".repeat(500) },
    };
    const line = describeForPrompt([made({ args: { type: "object", properties, required: ["c", "a", "b"] } })]);
    expect(line).toContain('args: "a": "<what>", "b": "<one of: x|y>", "c": <how many>, optional "d": ["<each>"], ');
    expect(line).toContain(`"e": "<${"x".repeat(199)}…>" --`);
  });
});

describe("nested arguments in the command list", () => {
  const lineOf = (properties: object, more: object = {}): string =>
    describeForPrompt([made({ args: { type: "object", properties, ...more } })]);

  it("are shown in the brackets that a model must write", () => {
    const x = { type: "number", description: "from the left" };
    const point = { type: "object", properties: { x, note: { type: "string" } }, required: ["x"] };
    const properties = {
      points: { type: "array", items: { $ref: "#/$defs/point" } },
      shape: { anyOf: [{ type: "string", description: "a name" }, { type: "null" }] },
      by: { enum: [1, 2], description: "times" },
      any: {},
    };
    expect(lineOf(properties, { required: ["points"], $defs: { point } })).toContain(
      'args: "points": [{"x": <from the left>, optional "note": "<note>"}], optional "shape": "<a name>", "by": <times: 1|2>, "any": <any>',
    );
  });

  it("end at a level when the schema contains itself or takes too much room", () => {
    const tree = { type: "object", properties: { inner: { $ref: "#/$defs/tree" }, name: { type: "string" } } };
    const nested = lineOf({ root: { $ref: "#/$defs/tree" } }, { $defs: { tree } });
    expect(nested).toContain('{optional "inner": {optional "inner": {<inner>}, "name": "<name>"}, "name": "<name>"}');
    const member = { type: "string", description: "d".repeat(100) };
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`m${at}`, member]));
    const wide = { type: "object", description: "wide", properties };
    expect(lineOf({ wide })).toContain('optional "wide": {<wide>} --');
  });
});

it.each([
  [{}, "asks first"],
  [{ annotations: { readOnly: true, openWorld: true } }, "reads outside"],
  [{ annotations: { readOnly: false, destructive: true, openWorld: false } }, "asks first"],
  [{ annotations: { readOnly: false, destructive: false, openWorld: false } }, "only adds"],
])("the list of commands for people names the risk of %j", (change, risk) => {
  const registry = { all: [made(change)], unavailable: [], get: () => undefined, fileOf: () => undefined };
  expect(listCommands(registry, shipped)).toMatchObject([{ name: "mine", effect: "at-most-once", risk }]);
});
