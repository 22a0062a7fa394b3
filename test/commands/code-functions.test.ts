import { rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { createCodeFunctions, describeFunction } from "#commands/code-functions.ts";
import { readPythonFunctions } from "#commands/python-modules.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import { initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { useFolder } from "../helpers/folder.ts";
import { stateWith } from "../prompt/fixtures.ts";

const command = (name: string, args: Partial<ArgsSchema> = {}, more: { readonly returns?: JsonSchema } = {}) => ({
  name,
  summary: "does it",
  args: { type: "object", properties: {}, ...args } as ArgsSchema,
  ...more,
});
const signatureOf = (one: ReturnType<typeof command>) => createCodeFunctions([one]).all[0]?.signature;

const NESTED = command("draw", {
  properties: {
    points: {
      type: "array",
      items: { type: "object", properties: { x: { type: "number" }, label: { type: "string" } }, required: ["x"] },
    },
    style: { enum: ["solid", "dashed", 2, null] },
    tags: { type: "object", additionalProperties: { type: "integer" } },
    title: { type: ["string", "null"] },
    size: { anyOf: [{ type: "integer" }, { $ref: "#/$defs/pair" }] },
    rest: {},
  },
  required: ["style", "points"],
  $defs: { pair: { type: "array", items: { type: "integer" } } },
});

describe("a command as a function", () => {
  it("has its required arguments first, and marks the optional ones", async () => {
    const { get } = await loadRegistry(["commands"], ALL_READY);
    const read = get("read_file") as RegisteredCommand;
    const optional = ["first_line", "last_line"].map((name) => ({ name, isRequired: false }));
    expect(createCodeFunctions([read]).all[0]).toEqual({
      name: "read_file",
      parameters: [{ name: "file", isRequired: true }, ...optional],
      signature: "read_file(file: str, first_line: int | None = None, last_line: int | None = None) -> str",
      doc: "Shows a text file; long ones come in parts. Arguments: file: relative path; first_line: first line to show, default 1; last_line: last line to show.",
    });
  });

  it("has types for lists, objects, choices, alternatives and references", () => {
    expect(signatureOf(NESTED)).toBe(
      'draw(points: list[dict], style: Literal["solid", "dashed", 2, None], tags: dict[str, int] | None = None, ' +
        "title: str | None = None, size: int | list[int] | None = None, rest: Any = None) -> str",
    );
  });

  it("returns what the command says, or text, and names the members of objects in its docstring", () => {
    const functionOf = (one: ReturnType<typeof command>) => createCodeFunctions([one]).all[0];
    expect(functionOf(NESTED)?.doc).toBe("Does it. Arguments: points: dicts with x, label (optional).");
    const celsius = { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] } as const;
    expect(functionOf(command("weather", {}, { returns: celsius }))).toMatchObject({
      signature: "weather() -> dict",
      doc: "Does it. Returns a dict with celsius.",
    });
    const lists = { type: "array", items: { type: "object", properties: { a: {}, b: {} } } } as const;
    expect(functionOf(command("list", {}, { returns: lists }))?.doc).toBe("Does it. Returns dicts with a, b.");
    expect(signatureOf(command("weather"))).toBe("weather() -> str");
  });

  it("keeps a type that refers to itself, or that has hundreds of choices, short", () => {
    const tree = command("grow", {
      properties: { tree: { $ref: "#/$defs/tree" }, word: { enum: Array.from({ length: 300 }, (_, at) => `w${at}`) } },
      required: ["tree", "word"],
      $defs: { tree: { type: "object", properties: { left: { $ref: "#/$defs/tree" } }, required: ["left"] } },
    });
    expect(signatureOf(tree)).toBe("grow(tree: dict, word: str) -> str");
  });

  it("is one printed line, even when its words are not", () => {
    const long = { ...command("speak"), summary: `says\n\tit ${"x".repeat(400)}` };
    const [shown] = createCodeFunctions([long]).all;
    expect(shown && describeFunction(shown)).toMatch(/^`speak\(\) -> str`: Says it x+…$/);
    expect(shown && describeFunction(shown)).not.toContain("\n");
  });
});

describe("names that Python has already", () => {
  const move = command("print", {
    properties: { from: { type: "string" }, "to-where": { type: "string" }, to_where: { type: "string" } },
    required: ["from"],
  });

  it("get an underscore, and the call has the command's own names", () => {
    const functions = createCodeFunctions([move]);
    expect(functions.all[0]?.signature).toBe(
      "print_(from_: str, to_where: str | None = None, to_where_: str | None = None) -> str",
    );
    expect(functions.callOf("print_", { from_: "a", to_where: "b", to_where_: "c" })).toEqual({
      name: "print",
      args: { from: "a", "to-where": "b", to_where: "c" },
    });
    expect(functions.callOf("print", {})).toBeUndefined();
  });

  it("are keywords and built-in functions, and never make two functions of one name", () => {
    const yields = command("yield", { properties: { from: { type: "string" } } });
    expect(signatureOf(yields)).toBe("yield_(from_: str | None = None) -> str");
    expect(signatureOf(command("open"))).toBe("open_() -> str");
    const names = createCodeFunctions([command("stop"), command("stop_")]).all.map(({ name }) => name);
    expect(names).toEqual(["stop_", "stop__"]);
  });
});

it("a call of such a function leaves out an optional argument that is None, unless None is a value of it, and keeps what the schema refuses", () => {
  const args = {
    properties: { count: { type: "integer" }, title: { type: ["string", "null"] }, words: { type: "string" } },
    required: ["words"],
  } as const;
  const { callOf } = createCodeFunctions([command("write", args)]);
  expect(callOf("write", { words: "a", count: null, title: null })?.args).toEqual({ words: "a", title: null });
  expect(callOf("write", { words: null, other: null })?.args).toEqual({ words: null, other: null });
});

const home = useFolder();

describe("the functions of an agent", () => {
  const namesFor = async (changes: Partial<AgentSettings>, folders = ["commands"]) => {
    const { all } = await loadRegistry(folders, ALL_READY);
    const state = stateWith([], { settings: { ...initialState.settings, ...changes } });
    const set = createCommandSets(all, { commands: {}, args: {} })(state);
    expect(set.callable.functions).toBe(set.callable.functions);
    return set.callable.functions.all.map(({ name }) => name);
  };

  it("are the commands that it may use, by its profile and if a person is there, without the one that ends its work", async () => {
    const names = await namesFor({});
    expect(names).toEqual(expect.arrayContaining(["google", "read_file", "ask_user", "do_nothing"]));
    expect(names).not.toContain("task_complete");
    const web = ["google", "browse_website", "clone_repository", "download_file"];
    expect(await namesFor({ commands: "web" })).toEqual(web);
    expect(await namesFor({ approve: "never" })).not.toContain("ask_user");
  });

  it("include the unlisted commands of its home", async () => {
    const put = (name: string, more: string): Promise<void> => {
      const text = `export default { name: "${name}", summary: "s", ${more} run: async () => "done" };`;
      return writeFile(home(`${name}.js`), text);
    };
    await put("wave", "listed: false, returns: { type: 'integer' },");
    expect(await namesFor({}, ["commands", home()])).toContain("wave");
    await put("shout", "listed: 'no', returns: { type: 'many' },");
    await expect(loadRegistry([home()])).rejects.toThrow(/listed: true or false; got "no"/);
    await expect(loadRegistry([home()])).rejects.toThrow(/expected returns.*got "many"/);
    await rm(home("shout.js"));
    await put("sigh", "returns: { type: 'object', properties: { a: { anyOf: 3, required: 'x' } } },");
    await expect(loadRegistry([home()])).rejects.toThrow(/returns\.properties\.a\.(?:anyOf|required).*; got/);
  });
});

const SOURCE = `#!/usr/bin/env python3
"""A module.

def not_this(x):
    pass
"""
import math  # def nor_this(): "

TABLE = {
"def": 1,
}
note = 'it''s "quoted" \\' def no(): '

def double(x: int) -> int:
    """Doubles a number."""
    def inner(y): return y
    return 2 * x

@cache
def label(
    name: str = "a:b)",  # the name, (or not
    *parts: tuple[int, str], sep=':', **more,
) -> dict[str, list[int]]:
    # a comment first
    r'''Joins \\d
        parts.'''
    return {}

def bare(): return 1
def _private(): "hidden"
async def later(): "a coroutine"
class Box:
    def method(self): "not at the top"
if True:
    def conditional(): pass
def formatted():
    f"not a docstring {1}"
def generic[T](x: T) -> T:
    "Keeps \\"it\\"."
def last(x): return x[
`;

describe("the functions of a Python file", () => {
  it("are those of its top level, with signature and docstring", () => {
    expect(readPythonFunctions(SOURCE).functions).toEqual([
      { name: "double", signature: "double(x: int) -> int", doc: "Doubles a number.", line: 14 },
      {
        name: "label",
        signature: "label(name: str = \"a:b)\", *parts: tuple[int, str], sep=':', **more) -> dict[str, list[int]]",
        doc: "Joins \\d parts.",
        line: 20,
      },
      { name: "bare", signature: "bare()", doc: "", line: 29 },
      { name: "formatted", signature: "formatted()", doc: "", line: 36 },
      { name: "generic", signature: "generic[T](x: T) -> T", doc: 'Keeps "it".', line: 38 },
      { name: "last", signature: "last(x)", doc: "", line: 40 },
    ]);
  });

  it("are read from files with Windows line ends, and from files that Python itself would refuse", () => {
    expect(readPythonFunctions('def a():\r\n    """A\r\n    b."""\r\n').functions.map(({ doc }) => doc)).toEqual([
      "A b.",
    ]);
    for (const broken of ["def", "def a", "def a(", 'def a(x="', '"""', "def a():\n  '''never closed", "def a(]]):"])
      expect(readPythonFunctions(broken).functions.every(({ doc }) => doc === "")).toBe(true);
  });

  it("are found in linear time", () => {
    const many = "def f(x):\n    '''Doc.'''\n    return {'a': [1, 2]}\n".repeat(20_000);
    const startedAt = performance.now();
    expect(readPythonFunctions(many).functions).toHaveLength(20_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
