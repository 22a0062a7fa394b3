import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ArgsSchema } from "#core/command.ts";
import { createArgumentChecker, createBoundedPattern, type ReplyCatalogue } from "#reply/check-call.ts";
import { findStringEnd, parseShallowJson, pythonToJson } from "#reply/json.ts";
import { describeUnknownCommand } from "#reply/problems.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { createLiveThoughts, findThoughts, NO_THOUGHTS } from "#reply/thoughts.ts";
import { seedCatalogue } from "../helpers/replies.ts";
import { growthOverEightfold } from "../helpers/waits.ts";

const read = createReplyReader(seedCatalogue);
const readerOf = (schemas: ReplyCatalogue["schemas"]) => createReplyReader({ ...seedCatalogue, schemas });
const google = (input: string): object => ({ kind: "command", call: { name: "google", args: { input } } });
const write = (file: string, text: string): object => ({
  kind: "command",
  call: { name: "write_to_file", args: { file, text } },
});
const problemsOf = (reading: ParsedReply): string =>
  reading.kind === "problem" ? reading.problems.join(" ") : `command ${JSON.stringify(reading.call)}`;

/** The beginning of a reply up to the text that is written. */
const W = '{"command":{"name":"write_to_file","args":{"file":"a","text":';

describe("a reply that can be read", () => {
  it("returns thoughts and command unchanged, marked as not repaired", () => {
    const thoughts = { text: "a", reasoning: "b", plan: "- c", criticism: "d", speak: "e" };
    const command = { name: "write_to_file", args: { file: "a.txt", text: "x" } };
    const expected = { kind: "command", call: command, thoughts, repaired: false };
    expect(read(JSON.stringify({ thoughts, command }), "stop")).toEqual(expected);
    expect(read(`Sure:\n\`\`\`json\n${JSON.stringify({ command, thoughts })}\n\`\`\`\nDone.`, "stop")).toEqual(
      expected,
    );
  });

  it.each<[title: string, thoughts: string, expected: object]>([
    ["a list as lines", '{"plan":["one",2,{"b":"c"}]}', { plan: "one\n2\nb: c" }],
    ["a plain string as the text", '"just so"', { text: "just so", plan: "" }],
    ["missing fields as empty", "{}", { text: "", reasoning: "", plan: "", criticism: "", speak: "" }],
    ["null as empty", '{"text":null,"speak":true}', { text: "", speak: "true" }],
    ["keys in capitals", '{"Text":"a"}', { text: "a" }],
    ["text that no store refuses", '{"text":"a\\u0000\\ud800b"}', { text: "a��b" }],
  ])("takes thoughts in any shape: %s", (_title, thoughts, expected) => {
    const reading = read(`{"thoughts":${thoughts},"command":{"name":"do_nothing"}}`, "stop");
    expect(reading.thoughts).toMatchObject(expected);
  });

  it("reads thoughts from a separate object or beside a wrong command, and accepts a reply without them", () => {
    expect(read('{"thoughts":{"text":"a"},"command":{"name":"nope"}}', "stop").thoughts?.text).toBe("a");
    const command = '{"command":{"name":"do_nothing","args":{}}}';
    expect(read(`{"thoughts":{"text":"first"}}\n${command}`, "stop").thoughts?.text).toBe("first");
    expect(read(command, "stop").thoughts?.text).toBe("");
  });

  it.each<[title: string, text: string, expected: object]>([
    ["Python's dictionary", `${W.replaceAll('"', "'")}"it's"}}}`, write("a", "it's")],
    ["Python's long string", `${W}"""x = "1"\ny"""}}}`, write("a", 'x = "1"\ny')],
    ["a trailing comma", `${W}"b",},},}`, write("a", "b")],
    [
      "comments",
      '{"command":/* "name":"x" */{"name":"write_to_file", // it\'s\n"args":{"file":"a",\n"text":"b"}}}',
      write("a", "b"),
    ],
    ["a regular expression", `${W}"\\d+\\.\\w"}}}`, write("a", "\\d+\\.\\w")],
    ["brackets missing at the end, arguments closed", `${W}"b"}`, write("a", "b")],
    [
      "brackets missing behind a command in the thoughts",
      `{"thoughts":{"text":"t",${W.slice(1)}"b"}}`,
      write("a", "b"),
    ],
    ["damage in the thoughts only", `{"thoughts":{"text":"a "odd"},${W.slice(1)}"b"}}}`, write("a", "b")],
  ])("runs a command that changes things where only the spelling was mended: %s", (_title, text, expected) => {
    expect(read(text, "stop")).toMatchObject({ ...expected, repaired: true });
  });

  it("keeps every backslash of a Windows path, unless one may begin an escape", () => {
    expect(read(`${W}"C:\\Users\\me"}}}`, "stop")).toMatchObject(write("a", "C:\\Users\\me"));
    for (const path of ["C:\\Users\\me\\new", "\\\\server\\share"])
      expect(problemsOf(read(`${W}"${path}"}}}`, "stop"))).toMatch(/could not be repaired/);
  });

  it("finds the reply after a brace in prose", () => {
    for (const prose of ["I mean { and: ", 'It is { "so, '])
      for (const call of ['"command":{"name":"google","args":{"input":"x"}}', '"name":"google","args":{"input":"x"}'])
        expect(read(`${prose}{${call}}`, "stop")).toMatchObject(google("x"));
  });
});

describe("a reply that must not be run", () => {
  const reply = (name: string, args: string): string => `{"command":{"name":"${name}","args":${args}}}`;
  const GOOGLE = reply("google", '{"input":"x"}');

  it.each<[title: string, text: string, problem: RegExp, finishReason?: string]>([
    ["two commands", `${GOOGLE} ${reply("do_nothing", "{}")}`, /more than one command/],
    ["two in one object", `${GOOGLE.slice(0, -1)},"tool_calls":[{"name":"do_nothing","args":{}}]}`, /more than one/],
    ["keys that differ in case", '{"command":{"name":"google","Name":"do_nothing","args":{}}}', /more than one/],
    ["two kinds of arguments", '{"name":"google","args":{"input":"x"},"arguments":{"input":"y"}}', /more than one/],
    ["a command and a second one cut off", `${GOOGLE}\n${W.slice(0, -4)}`, /cut off/, "length"],
    ["a command and one behind cut thoughts", `${W}"b"}},"thoughts":{"text":"t","action":{"name":"x`, /cut|broken/],
    ["a key given twice", reply("read_file", '{"file":"a","file":"b"}'), /"file" is given twice/],
    ["an argument under two names", reply("read_file", '{"file":"a","path":"b"}'), /given twice, under two names/],
    ["a cut in the thoughts", '{"thoughts":{"text":"t","plan":"p","criticis', /^The reply was cut off/, "length"],
    ["a cut in prose", "First I weigh what there is, and then", /^The reply was cut off/, "length"],
    [
      "a cut in the arguments of a tool call",
      '{"tool_calls":[{"function":{"name":"write_to_file","arguments":"{\\"file\\": \\"a"}}]}',
      /^The reply was cut off/,
      "length",
    ],
    [
      "a call that is the content of a call in XML",
      `<function=write_to_file>\n<parameter=text>\n${reply("do_nothing", "{}")}\n</parameter>\n</function>`,
      /no command/,
    ],
    ["a cut in the arguments", '{"command":{"name":"read_file","args":{"file":"a', /cut off/, "length"],
    ["a cut after the arguments of a side effect, brackets open", `${W}"b"`, /cut off/],
    ["a cut after the arguments of a read", '{"command":{"name":"read_file","args":{"file":"a"', /cut off/],
    ["a cut in a list", '{"command":{"name":"improve_code","args":{"code":"a","suggestions":["b"', /cut off/],
    ["a cut in a number", '{"command":{"name":"delete_agent","args":{"key":1', /cut off/],
    ["a cut in the name", '{"command":{"args":{"file":"a"},"name":"read', /cut off/],
    ["arguments that close only in the thoughts", `{"thoughts":{"name":"x","args":{}},${W.slice(1)}"b"`, /cut off/],
    [
      "a side effect whose own JSON was guessed",
      '{"command":{"name":write_to_file,"args":{"file":"a","text":b}}}',
      /what write_to_file was to do could only be guessed/,
    ],
    [
      "quotes in pairs",
      reply("write_to_file", '{"file":"a","text":"say "hi", then "go""}'),
      /could not be repaired|has no argument/,
    ],
    ["a repeated quote", reply("write_to_file", '{"file":"a.txt"","text":"b"}'), /cut off/],
    ["quotes and brackets in a text", reply("google", '{"input":"x"}}}"}'), /could not be repaired/],
    ["single quotes and brackets in a text", `${W}''}}}'}}}`.replaceAll('"', "'"), /could not be repaired/],
    ["an apostrophe that a guess changes", "{'name':'read_file','args':{'file':'it's'}}", /could only be guessed/],
    ["a quoted value in quotes", reply("read_file", '{"file":""a""}'), /could only be guessed/],
    ["marks of quotation that no JSON has", reply("read_file", '{"file":«a»}'), /could only be guessed/],
    ["a bracket in a typographic text", "{“name”:“read_file”,“args”:{“file”:“a, } ] b”}}", /could/],
    ["the result of a tool", `[TOOL_RESULTS][${GOOGLE}][/TOOL_RESULTS]`, /no command/],
    ["the output of a tool", `<｜tool▁outputs▁begin｜>${GOOGLE}<｜tool▁outputs▁end｜>`, /no command/],
    ["dots for further arguments", reply("read_file", '{"file":"a", ...}'), /Three dots/],
    ["dots for a value", reply("google", '{"input":...}'), /Three dots/],
    ["dots in a string", reply("google", '{"input":"..."}'), /placeholder/],
    ["a placeholder", reply("google", '{"input":"<search>"}'), /still the placeholder "<search>"/],
    ["the template", '{"command":{"name":"command name","args":{"arg name":"value"}}}', /copied with its placeholders/],
    ["no name", '{"command":{"name":" ","args":{}}}', /no name/],
    ["prose", "What shall I do?", /no JSON object/],
    ["thoughts only", '{"thoughts":{"text":"a"}}', /no command/],
    ["reasoning without end", '<think>so {"command":{"name":"do_nothing"}}', /reasoning block/],
    ["nothing", "\u200b \n", /was empty/],
  ])("is refused in words: %s", (_title, text, problem, finishReason = "stop") => {
    const reading = read(text, finishReason);
    expect(problemsOf(reading)).toMatch(problem);
    expect(reading.kind).toBe("problem");
  });

  it.each([
    ["a JavaScript object", "{command: {name: 'NAME', args: {file: `a`}}}"],
    ["typographic delimiters", "{“command”: {“name”: “NAME”, “args”: {“file”: “a”}}}"],
    ["a name without quotes", '{"command":{"name":NAME,"args":{"file":"a"}}}'],
  ])("is guessed for a command that reads and reaches nothing outside, and for no other: %s", (_title, text) => {
    expect(read(text.replace("NAME", "read_file"), "stop")).toMatchObject({
      call: { name: "read_file", args: { file: "a" } },
      repaired: true,
    });
    for (const other of ["delete_file", "read_audio_from_file"])
      expect(problemsOf(read(text.replace("NAME", other), "stop"))).toMatch(/could only be guessed/);
    // The control: the rule is what refuses it.
    const harmless: ReplyCatalogue = { ...seedCatalogue, isHarmless: () => true };
    expect(createReplyReader(harmless)(text.replace("NAME", "delete_file"), "stop").kind).toBe("command");
  });
});

describe("the problem that the model reads", () => {
  const problem = (name: string, args: object): string =>
    problemsOf(read(JSON.stringify({ command: { name, args } }), "stop"));

  it("names an unknown command and at most five similar ones", () => {
    expect(problem("wirte_to_file", {})).toMatch(
      /^There is no command "wirte_to_file"\. The nearest names are: write_to_file(, \w+){4}\.$/,
    );
  });

  it.each(["execute_shell", "run_bash_command", "terminal", "sh"])("says of %s that no command is a shell", (name) => {
    expect(problem(name, { command: "ls" })).toMatch(/\. No command reaches a shell\. The nearest names are: /);
    const words = "No command reaches a shell; run_code runs Python. The nearest names are: run_code.";
    expect(describeUnknownCommand(name, new Set(["run_code"]))).toContain(words);
  });

  it.each<[title: string, name: string, args: object, problem: RegExp]>([
    ["a missing argument", "write_to_file", { file: "a" }, /needs the argument "text"\. .* takes: file, text\.$/],
    ["an unknown one", "read_file", { file: "a", mode: "r" }, /has no argument "mode"\. read_file takes: file\.$/],
    ["any for a command without", "list_agents", { all: 1 }, /list_agents takes no arguments\.$/],
    ["a wrong type", "delete_agent", { key: 1.5 }, /"key" of delete_agent must be integer\.$/],
    ["a value below the least", "delete_agent", { key: -1 }, /must be >= 0\.$/],
  ])("says what %s should be", (_title, name, args, expected) => {
    expect(problem(name, args)).toMatch(expected);
  });

  it("lists the values that an enumeration allows", () => {
    const schema = { type: "string", description: "m", enum: ["add", "replace"] } as const;
    const reader = readerOf({ edit: { type: "object", properties: { mode: schema }, required: ["mode"] } });
    const reading = reader('{"command":{"name":"edit","args":{"mode":"x"}}}', "stop");
    expect(problemsOf(reading)).toMatch(/"mode" of edit must be one of: add,replace\.$/);
  });

  it("names each of up to 1,000 wrong values, five at most, and only the first of more", () => {
    const list = { type: "array", description: "l", items: { type: "integer" } } as const;
    const check = createArgumentChecker({ schemas: { add: { type: "object", properties: { list } } } });
    const problemsIn = (count: number) => check("add", { list: Array.from({ length: count }, () => "x") });
    expect([1, 1_000, 1_001, 95_000].map((count) => problemsIn(count).length)).toEqual([1, 5, 1, 1]);
  });

  it("quotes only a short, clean part of the reply", () => {
    const long = problem(`x\u001b[31m"${"evil ".repeat(500)}`, {});
    expect(long.length).toBeLessThan(250);
    expect(long).not.toContain("\u001b");
    expect(problem("read_file", { [`${"k".repeat(5_000)}\n`]: 1 }).length).toBeLessThan(300);
  });
});

describe("names and arguments", () => {
  const focus = (...list: readonly string[]) => ({ call: { args: { focus: list } } });
  it.each<[title: string, command: object, expected: object]>([
    ["an alias", { name: "write_file", args: { filename: "a", contents: "b" } }, write("a", "b")],
    ["words in camel case", { name: "WriteToFile", args: { filePath: "a", Text: "b" } }, write("a", "b")],
    ["a number for a string", { name: "google", args: { input: 42 } }, google("42")],
    ["a list of one for a string", { name: "google", args: { input: ["x"] } }, google("x")],
    ["a JSON list in a string", { name: "write_tests", args: { code: "c", focus: '["a"]' } }, focus("a")],
    ["digits for an integer", { name: "delete_agent", args: { key: "7" } }, { call: { args: { key: 7 } } }],
    ["arguments in a JSON string", { name: "google", args: '{"input":"x"}' }, google("x")],
    ["the one argument itself", { name: "google", args: "x" }, google("x")],
  ])("are brought into form without loss: %s", (_title, command, expected) => {
    expect(read(JSON.stringify({ command }), "stop")).toMatchObject(expected);
  });

  it("prefers the exact name of a command to a rewritten one", () => {
    const schema = { type: "object", properties: {} } as const;
    const reader = readerOf({ "Server.Tool-1": schema, search: schema });
    for (const name of ["Server.Tool-1", "search"])
      expect(reader(`{"command":{"name":"${name}","args":{}}}`, "stop")).toMatchObject({ call: { name } });
    expect(problemsOf(reader('{"command":{"name":"google","args":{}}}', "stop"))).toMatch(/no command "google"/);
  });

  it("takes a text for the arguments when one argument is required", () => {
    const properties = {
      line: { type: "integer", description: "l" },
      file: { type: "string", description: "f" },
    } as const;
    const reader = readerOf({ read_file: { type: "object", properties, required: ["file"] } });
    expect(reader('{"command":{"name":"read_file","args":"a.md"}}', "stop")).toMatchObject({
      call: { name: "read_file", args: { file: "a.md" } },
    });
  });

  it("accepts optional arguments of every type, and reads numbers and booleans in quotes", () => {
    const properties = {
      deep: { type: "boolean", description: "d", hint: "<deep>" },
      share: { type: "number", description: "s" },
    } as const;
    const reader = readerOf({ look: { type: "object", properties } });
    const look = (args: object): ParsedReply => reader(JSON.stringify({ command: { name: "look", args } }), "stop");
    expect(look({ deep: "True", share: "0.5" })).toMatchObject({ call: { args: { deep: true, share: 0.5 } } });
    expect(look({})).toMatchObject({ call: { args: {} } });
    expect(problemsOf(reader('{"command":{"name":"look","args":"far"}}', "stop"))).toMatch(/must be a JSON object/);
    expect(problemsOf(look({ deep: "yes", share: "0,5" }))).toMatch(
      /"deep" of look must be boolean.*"share" of look must be number/,
    );
  });
});

const ARGS: ArgsSchema = {
  type: "object",
  properties: {
    route: { type: "array", description: "places in their order", items: { $ref: "#/$defs/place" }, minItems: 1 },
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
const aliases = { commands: {}, args: { options: ["settings"] } };
const readTravel = createReplyReader({ ...seedCatalogue, schemas: { travel: ARGS }, aliases });
const readArgs = (args: unknown) => readTravel(JSON.stringify({ command: { name: "travel", args } }), "stop");
const ROUTE = [{ name: "Ulm", via: { name: "Ems" } }];
/** The pattern of `code` would be searched for in it for hours. */
const ENDLESS = `${"a".repeat(60)}b`;

describe("nested arguments", () => {
  const callOf = (args: unknown) => {
    const parsed = readArgs(args);
    return parsed.kind === "command" ? parsed.call : parsed.problems;
  };

  it("are read as they are written, or as JSON in a string, with digits in a string, and null for what is omitted", () => {
    const args = { route: ROUTE, options: { by: "train", speed: 80 }, labels: { a: "1" } };
    expect(callOf(args)).toEqual({ name: "travel", args });
    const odd = { route: JSON.stringify(ROUTE), settings: { by: "foot", speed: "80", code: null }, labels: null };
    const read = { route: ROUTE, options: { by: "foot", speed: 80 } };
    expect(callOf(odd)).toEqual({ name: "travel", args: read });
  });

  it.each<[string, unknown, RegExp]>([
    ["a missing member", { route: [{}] }, /needs the argument "name" of "route\.0"/],
    ["a missing member of a referenced schema", { route: [{ name: "a", via: {} }] }, /"name" of "route\.0\.via"/],
    ["an unknown member", { route: ROUTE, options: { by: "foot", spede: 1 } }, /no argument "spede" of "options"/],
    ["another choice", { route: ROUTE, options: { by: "car" } }, /"options\.by" of travel must be one of/],
    ["a wrong type", { route: ROUTE, labels: { a: 1 } }, /"labels\.a" of travel must be string/],
    ["an unknown argument", { route: ROUTE, rout: [] }, /has no argument "rout"/],
    ["the words of the prompt", { route: [{ name: "<name of a town>" }] }, /"route" of travel is still the placehold/],
    ["a text for hours of search", { route: ROUTE, options: { by: "foot", code: ENDLESS } }, /"options\.code"/],
    ["a damaged letter", { route: [{ name: "U\ufffdm" }] }, /U\+FFFD/],
    ["a string with a key given twice", { route: ROUTE, labels: '{"a":"1","a":"2"}' }, /"labels" of .* must be object/],
  ])("are refused with their place for %s", (_title, args, expected) => {
    expect(problemsOf(readArgs(args))).toMatch(expected);
  });

  it("may be more than the schema names if it says so", () => {
    const note = { type: "object", properties: { text: { type: "string" } }, additionalProperties: true } as const;
    const open = readerOf({ note });
    const args = { text: "a", more: { deep: [1] } };
    expect(open(JSON.stringify({ command: { name: "note", args } }), "stop")).toMatchObject({ call: { args } });
  });
});

it("the end of a JSON string is where JSON.parse finds it, for any content, or at the end of the text", () => {
  for (const text of ['"a', String.raw`"a\"`, '"']) expect(findStringEnd(text, 0)).toBe(text.length);
  for (const value of ["", '"', "\\", '\\"', '\\\\"\\', `"${"\\".repeat(99)}`, "\u0000{}[]:,'"]) {
    const text = `x${JSON.stringify(value)},"next"`;
    expect(JSON.parse(text.slice(1, findStringEnd(text, 1) + 1))).toBe(value);
  }
});

const readPython = (text: string) => parseShallowJson(pythonToJson(text) ?? "");

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
    expect(readPython(text)).toEqual(value);
  });

  it.each([
    ...["(1)", "{1, 2}", "[1,,2]", "[,]", "[1 2]", "[1, 2", "(1, 2]", "1, 2"],
    ...["007", "1_0", "1e400", "nan", "[NaN]", ""],
    ...["'it's'", "'a' 'b'", "b'a'", "r'a'", "f'{a}'", "'a\nb'", "[1] and more", "f(1)"],
    ...[String.raw`'\x41'`, String.raw`'\N{DASH}'`, String.raw`'C:\new'`, String.raw`["C:\new", None]`],
  ])("%j is refused", (text) => {
    expect(readPython(text)).toBeUndefined();
  });

  it("keeps both of two equal keys, so that a reader can see them", () => {
    expect(pythonToJson("{'a': 1, 'a': 2}")).toBe('{ "a" : 1 , "a" : 2 }');
  });
});

describe("a bounded pattern", () => {
  it.each([
    ["^[a-z]+$", "abc", true],
    ["^[a-z]+$", "abC", false],
    ["^(?:[a-z0-9-]+\\.)+[a-z]{2,}$", "a.b-c.example", true],
    ["^(?:[a-z0-9-]+\\.)+[a-z]{2,}$", "a..b", false],
    ["^(?!.*\\.\\.)[^/]+$", "a..b", false],
    ["\\S", " ".repeat(5_000), false],
    ["\\S", `${" ".repeat(5_000)}x`, true],
    // Texts that are searched for hours without a bound.
    ["(a+)+b", "a".repeat(60), false],
    ["^(a|a)*$", `${"a".repeat(60)}b`, false],
    ["(x+x+)+y", "x".repeat(60), false],
    ["a*a*a*a*a*b", "a".repeat(5_000), false],
  ])("%s tells whether it matches", (pattern, text, expected) => {
    expect(createBoundedPattern(pattern, "u").test(text)).toBe(expected);
  });

  it("throws for an invalid pattern, and differs from another by its text", () => {
    expect(() => createBoundedPattern("(", "u")).toThrow(SyntaxError);
    expect(String(createBoundedPattern("a", "u"))).not.toBe(String(createBoundedPattern("b", "u")));
  });
});

function see(pieces: readonly string[]) {
  const thoughts: Record<string, string> = {};
  const whole: string[] = [];
  const live = createLiveThoughts((name, piece, isWhole) => {
    thoughts[name] = (thoughts[name] ?? "") + piece;
    if (isWhole) whole.push(name);
  });
  for (const piece of pieces) live.push(piece);
  return { thoughts, whole };
}
const byChar = (text: string): readonly string[] => text.split("");
const TEXT = 'Żółć 🎾 "quoted" \\ C:\\x\n- line';
const THOUGHTS = { text: TEXT, reasoning: "", plan: "- a\n- b", criticism: "{}", speak: "Hi." };
const REPLY = JSON.stringify({
  thoughts: THOUGHTS,
  command: { name: "x", args: { text: '{"thoughts": {"text": "no"}}' } },
});

describe("thoughts of a reply that is arriving", () => {
  it.each<[string, string]>([
    ["as it is", REPLY],
    ["laid out over lines", JSON.stringify(JSON.parse(REPLY), null, 2)],
    ["in a fence, behind prose", `Sure, here's the "reply":\n\`\`\`json\n${REPLY}\n\`\`\``],
    [
      "with every character escaped",
      REPLY.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
    ],
  ])("are those of the whole reply, %s, piece by piece", (_title, reply) => {
    expect(see(byChar(reply)).thoughts).toEqual(THOUGHTS);
    expect(see([reply])).toEqual(see(byChar(reply)));
    expect(see([reply]).whole).toEqual(Object.keys(THOUGHTS));
  });

  it("equal those of the whole reply for any split into pieces", () => {
    const text = fc.string({ unit: "binary" });
    const thoughts = fc.record({ text, reasoning: text, plan: fc.oneof(text, fc.array(text)), speak: text });
    fc.assert(
      fc.property(thoughts, fc.array(fc.nat(400)), (given, cuts) => {
        const reply = JSON.stringify({ thoughts: given, command: {} });
        const places = [0, ...cuts.filter((cut) => cut < reply.length).sort((a, b) => a - b), reply.length];
        const pieces = places.slice(1).map((end, index) => reply.slice(places[index], end));
        const read = { ...NO_THOUGHTS, ...findThoughts(JSON.parse(reply)) };
        for (const [name, shown] of Object.entries(see(pieces).thoughts)) expect(shown).toBe(read[name as "text"]);
      }),
    );
  });

  it.each<[string, string]>([
    ["in a reasoning block that may yet turn out otherwise", `<think>{"thoughts": {"text": "draft"}}`],
    ["of another key", '{"command": {"thoughts": 1}, "args": {"text": "secret"}}'],
    ["in single quotes", "{'thoughts': {'text': 'x'}}"],
    ["without quotes", '{"thoughts": {text: "x"}}'],
    ["prose", 'I think {that} "thoughts" are free.'],
  ])("show nothing %s", (_title, reply) => {
    expect(see(byChar(reply)).thoughts).toEqual({});
  });

  it("end at the first uncertain character", () => {
    expect(see(['{"thoughts": {"text": "a\\qb", "speak": "never"}}']).thoughts.speak).toBeUndefined();
    expect(see(['{"thoughts": {"text": "He said "no" to it", "speak": "never"}}']).thoughts).toEqual({
      text: "He said ",
    });
    expect(see(byChar('{"thoughts": {"text": "a"}, "command": {"text": "b"}}')).thoughts).toEqual({ text: "a" });
  });

  it("take time in proportion to their length for any number of pieces", async () => {
    const growth = await growthOverEightfold(1_000_000, (length) => {
      const reply = JSON.stringify({ thoughts: { text: "word ".repeat(length / 5) } });
      expect(see(reply.match(/.{1,4}/g) ?? []).thoughts.text).toHaveLength(length);
    });
    expect(growth).toBeLessThan(30);
  });
});
