import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ALL_READY, loadRegistry } from "#commands/registry.ts";
import { createCodeFunctions, describeFunction } from "#commands/stubs.ts";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import { initialState } from "#core/state.ts";
import { createCommandSets } from "#loop/command-set.ts";
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
    const read = get("read_file");
    if (!read) throw new Error("there is no read_file");
    const [python] = createCodeFunctions([read]).all;
    expect(python).toEqual({
      name: "read_file",
      parameters: [
        { name: "file", isRequired: true },
        { name: "first_line", isRequired: false },
        { name: "last_line", isRequired: false },
      ],
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

  it("names the members of an object in its docstring, since a Python type cannot", () => {
    const [python] = createCodeFunctions([NESTED]).all;
    expect(python?.doc).toBe("Does it. Arguments: points: dicts with x, label (optional).");
    const returns = { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] } as const;
    const weather = command("weather", {}, { returns });
    expect(createCodeFunctions([weather]).all[0]?.doc).toBe("Does it. Returns a dict with celsius.");
    const open = { type: "array", items: { type: "object", properties: { a: {}, b: {} } } } as const;
    const lists = command("list", {}, { returns: open });
    expect(createCodeFunctions([lists]).all[0]?.doc).toBe("Does it. Returns dicts with a, b.");
  });

  it("returns what the command says, or text", () => {
    const returns = { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] } as const;
    expect(signatureOf(command("weather", {}, { returns }))).toBe("weather() -> dict");
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

  it("are keywords and built-in functions", () => {
    const yields = command("yield", { properties: { from: { type: "string" } } });
    expect(signatureOf(yields)).toBe("yield_(from_: str | None = None) -> str");
    expect(signatureOf(command("open"))).toBe("open_() -> str");
  });

  it("never make two functions of one name", () => {
    const names = createCodeFunctions([command("stop"), command("stop_")]).all.map(({ name }) => name);
    expect(names).toEqual(["stop_", "stop__"]);
  });
});

describe("a call of such a function", () => {
  const args = {
    properties: { count: { type: "integer" }, title: { type: ["string", "null"] }, words: { type: "string" } },
    required: ["words"],
  } as const;
  const { callOf } = createCodeFunctions([command("write", args)]);

  it("leaves out an optional argument that is None, unless None is a value of it", () => {
    expect(callOf("write", { words: "a", count: null, title: null })?.args).toEqual({ words: "a", title: null });
  });

  it("keeps what the schema will refuse: a required None and an unknown argument", () => {
    expect(callOf("write", { words: null, other: null })?.args).toEqual({ words: null, other: null });
  });
});

describe("the functions of an agent", () => {
  const settings = initialState.settings;
  const namesFor = async (changes: Partial<typeof settings>, folders = ["commands"]) => {
    const { all } = await loadRegistry(folders, ALL_READY);
    const set = createCommandSets(all, { commands: {}, args: {} })(
      stateWith([], { settings: { ...settings, ...changes } }),
    );
    expect(set.callable.functions).toBe(set.callable.functions);
    return set.callable.functions.all.map(({ name }) => name);
  };

  it("are the commands that it may use, without the one that ends its work", async () => {
    const names = await namesFor({});
    expect(names).toEqual(expect.arrayContaining(["google", "read_file", "ask_user", "do_nothing"]));
    expect(names).not.toContain("task_complete");
  });

  it("follow its profile, and whether a person is there", async () => {
    expect(await namesFor({ commands: "web" })).toEqual([
      "google",
      "browse_website",
      "clone_repository",
      "download_file",
    ]);
    expect(await namesFor({ approve: "never" })).not.toContain("ask_user");
  });

  it("include the unlisted commands of its home", async () => {
    const home = await mkdtemp(join(tmpdir(), "goald-stubs-"));
    try {
      const source = (name: string, more: string): string =>
        `export default { name: "${name}", summary: "s", ${more} run: async () => "done" };`;
      await writeFile(join(home, "wave.js"), source("wave", "listed: false, returns: { type: 'integer' },"));
      expect(await namesFor({}, ["commands", home])).toContain("wave");
      await writeFile(join(home, "shout.js"), source("shout", "listed: 'no', returns: { type: 'many' },"));
      await expect(loadRegistry([home])).rejects.toThrow(/listed: true or false; got "no"/);
      await expect(loadRegistry([home])).rejects.toThrow(/expected returns.*got "many"/);
      const broken = "returns: { type: 'object', properties: { a: { anyOf: 3, required: 'x' } } },";
      await rm(join(home, "shout.js"));
      await writeFile(join(home, "sigh.js"), source("sigh", broken));
      await expect(loadRegistry([home])).rejects.toThrow(/returns\.properties\.a\.(?:anyOf|required).*; got/);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});
