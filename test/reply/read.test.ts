import { describe, expect, it } from "@jest/globals";
import { createReplyReader, type ParsedReply, type ReplyCatalogue } from "#reply/read.ts";
import { seedCatalogue } from "../helpers/seed-catalogue.ts";

const read = createReplyReader(seedCatalogue);
const google = (input: string): object => ({ kind: "command", call: { name: "google", args: { input } } });
const write = (file: string, text: string): object => ({
  kind: "command",
  call: { name: "write_to_file", args: { file, text } },
});
const problemsOf = (reading: ParsedReply): string =>
  reading.kind === "problem" ? reading.problems.join(" ") : `command ${JSON.stringify(reading.call)}`;

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

  it("reads thoughts from a separate object, and accepts a reply without them", () => {
    const command = '{"command":{"name":"do_nothing","args":{}}}';
    expect(read(`{"thoughts":{"text":"first"}}\n${command}`, "stop").thoughts?.text).toBe("first");
    expect(read(command, "stop").thoughts?.text).toBe("");
  });

  it.each<[title: string, text: string, expected: object]>([
    [
      "Python's dictionary",
      "{'command': {'name': 'write_to_file', 'args': {'file': 'a', 'text': \"it's\"}}}",
      write("a", "it's"),
    ],
    [
      "Python's long string",
      '{"command":{"name":"write_to_file","args":{"file":"a","text":"""x = "1"\ny"""}}}',
      write("a", 'x = "1"\ny'),
    ],
    ["a trailing comma", '{"command":{"name":"write_to_file","args":{"file":"a","text":"b",},},}', write("a", "b")],
    [
      "comments",
      '{"command":/* "name":"x" */{"name":"write_to_file", // it\'s\n"args":{"file":"a",\n"text":"b"}}}',
      write("a", "b"),
    ],
    [
      "a regular expression",
      '{"command":{"name":"write_to_file","args":{"file":"a","text":"\\d+\\.\\w"}}}',
      write("a", "\\d+\\.\\w"),
    ],
    [
      "brackets missing at the end, arguments closed",
      '{"command":{"name":"write_to_file","args":{"file":"a","text":"b"}',
      write("a", "b"),
    ],
    [
      "damage in the thoughts only",
      '{"thoughts":{"text":"a "odd"},"command":{"name":"write_to_file","args":{"file":"a","text":"b"}}}',
      write("a", "b"),
    ],
  ])("runs a command that changes things where only the spelling was mended: %s", (_title, text, expected) => {
    expect(read(text, "stop")).toMatchObject({ ...expected, repaired: true });
  });

  it("keeps every backslash of a Windows path, unless one may begin an escape", () => {
    const text = (path: string): string =>
      `{"command":{"name":"write_to_file","args":{"file":"a","text":"C:${path}"}}}`;
    expect(read(text("\\Users\\me"), "stop")).toMatchObject(write("a", "C:\\Users\\me"));
    expect(problemsOf(read(text("\\Users\\me\\new"), "stop"))).toMatch(/could not be repaired/);
  });

  it("finds the reply after a brace in prose", () => {
    expect(read('I mean { and: {"command":{"name":"google","args":{"input":"x"}}}', "stop")).toMatchObject(google("x"));
    expect(read('It is { "so, {"command":{"name":"google","args":{"input":"x"}}}', "stop")).toMatchObject(google("x"));
  });
});

describe("a reply that must not be run", () => {
  const reply = (name: string, args: string): string => `{"command":{"name":"${name}","args":${args}}}`;

  it.each<[title: string, text: string, finishReason: string, problem: RegExp]>([
    [
      "two commands",
      `${reply("google", '{"input":"x"}')} ${reply("do_nothing", "{}")}`,
      "stop",
      /more than one command/,
    ],
    [
      "two in one object",
      '{"command":{"name":"google","args":{"input":"x"}},"tool_calls":[{"name":"do_nothing","args":{}}]}',
      "stop",
      /more than one/,
    ],
    [
      "keys that differ in case",
      '{"command":{"name":"google","Name":"do_nothing","args":{}}}',
      "stop",
      /more than one/,
    ],
    [
      "args and arguments that differ",
      '{"name":"google","args":{"input":"x"},"arguments":{"input":"y"}}',
      "stop",
      /more than one/,
    ],
    [
      "a command and a second one cut off",
      `${reply("google", '{"input":"x"}')}\n{"command":{"name":"write_to_file","args":{"file":"a","te`,
      "length",
      /cut off/,
    ],
    ["a key given twice", reply("read_file", '{"file":"a","file":"b"}'), "stop", /"file" is given twice/],
    [
      "an argument under two names",
      reply("read_file", '{"file":"a","path":"b"}'),
      "stop",
      /given twice, under two names/,
    ],
    [
      "a cut in the thoughts",
      '{"thoughts":{"text":"t","reasoning":"r","plan":"p","criticis',
      "length",
      /^The reply was cut off/,
    ],
    ["a cut in prose", "First I weigh what there is, and then", "length", /^The reply was cut off/],
    ["a cut in the arguments", '{"command":{"name":"read_file","args":{"file":"a', "length", /cut off/],
    [
      "a cut after the arguments of a side effect, brackets open",
      '{"command":{"name":"write_to_file","args":{"file":"a","text":"b"',
      "stop",
      /cut off/,
    ],
    ["a cut in a number", '{"command":{"name":"delete_agent","args":{"key":1', "stop", /cut off/],
    ["a cut in the name", '{"command":{"args":{"file":"a"},"name":"read', "stop", /cut off/],
    [
      "arguments that close only in the thoughts",
      '{"thoughts":{"name":"x","args":{}},"command":{"name":"write_to_file","args":{"file":"a","text":"b"',
      "stop",
      /cut off/,
    ],
    [
      "a side effect whose own JSON was guessed",
      '{"command":{"name":write_to_file,"args":{"file":"a","text":b}}}',
      "stop",
      /what write_to_file was to do could only be guessed/,
    ],
    [
      "quotes in pairs",
      reply("write_to_file", '{"file":"a","text":"say "hi", then "go""}'),
      "stop",
      /could not be repaired|has no argument/,
    ],
    ["a repeated quote", reply("write_to_file", '{"file":"a.txt"","text":"b"}'), "stop", /cut off/],
    ["dots for a value", reply("google", '{"input":...}'), "stop", /Three dots/],
    ["dots in a string", reply("google", '{"input":"..."}'), "stop", /placeholder/],
    ["a placeholder", reply("google", '{"input":"<search>"}'), "stop", /still the placeholder "<search>"/],
    [
      "the template",
      '{"command":{"name":"command name","args":{"arg name":"value"}}}',
      "stop",
      /copied with its placeholders/,
    ],
    ["no name", '{"command":{"name":" ","args":{}}}', "stop", /no name/],
    ["prose", "What shall I do?", "stop", /no JSON object/],
    ["thoughts only", '{"thoughts":{"text":"a"}}', "stop", /no command/],
    ["reasoning without end", '<think>so {"command":{"name":"do_nothing"}}', "stop", /reasoning block/],
    ["nothing", "\u200b \n", "stop", /was empty/],
  ])("is refused in words: %s", (_title, text, finishReason, problem) => {
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

  it("keeps the thoughts of a reply whose command was wrong", () => {
    expect(read('{"thoughts":{"text":"a"},"command":{"name":"nope"}}', "stop").thoughts?.text).toBe("a");
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

  it.each<[title: string, name: string, args: object, problem: RegExp]>([
    [
      "a missing argument",
      "write_to_file",
      { file: "a" },
      /needs the argument "text"\. write_to_file takes: file, text\.$/,
    ],
    ["an unknown one", "read_file", { file: "a", mode: "r" }, /has no argument "mode"\. read_file takes: file\.$/],
    ["any for a command without", "list_agents", { all: 1 }, /list_agents takes no arguments\.$/],
    ["a wrong type", "delete_agent", { key: 1.5 }, /"key" of delete_agent must be integer\.$/],
    ["a value below the least", "delete_agent", { key: -1 }, /must be >= 0\.$/],
  ])("says what %s should be", (_title, name, args, expected) => {
    expect(problem(name, args)).toMatch(expected);
  });

  it("lists the values that an enumeration allows", () => {
    const schema = { type: "string", description: "m", enum: ["add", "replace"] } as const;
    const catalogue: ReplyCatalogue = {
      ...seedCatalogue,
      schemas: { edit: { type: "object", properties: { mode: schema }, required: ["mode"] } },
    };
    const reading = createReplyReader(catalogue)('{"command":{"name":"edit","args":{"mode":"x"}}}', "stop");
    expect(problemsOf(reading)).toMatch(/"mode" of edit must be one of: add,replace\.$/);
  });

  it("quotes only a short, clean part of the reply", () => {
    const long = problem(`x\u001b[31m"${"evil ".repeat(500)}`, {});
    expect(long.length).toBeLessThan(250);
    expect(long).not.toContain("\u001b");
    expect(problem("read_file", { [`${"k".repeat(5_000)}\n`]: 1 }).length).toBeLessThan(300);
  });
});

describe("names and arguments", () => {
  it.each<[title: string, command: object, expected: object]>([
    ["an alias", { name: "write_file", args: { filename: "a", contents: "b" } }, write("a", "b")],
    ["words in camel case", { name: "WriteToFile", args: { filePath: "a", Text: "b" } }, write("a", "b")],
    ["a number for a string", { name: "google", args: { input: 42 } }, google("42")],
    ["a list of one for a string", { name: "google", args: { input: ["x"] } }, google("x")],
    [
      "a JSON list in a string",
      { name: "write_tests", args: { code: "c", focus: '["a","b"]' } },
      { call: { args: { focus: ["a", "b"] } } },
    ],
    ["digits for an integer", { name: "delete_agent", args: { key: "7" } }, { call: { args: { key: 7 } } }],
    ["arguments in a JSON string", { name: "google", args: '{"input":"x"}' }, google("x")],
    ["the one argument itself", { name: "google", args: "x" }, google("x")],
  ])("are brought into form without loss: %s", (_title, command, expected) => {
    expect(read(JSON.stringify({ command }), "stop")).toMatchObject(expected);
  });

  it("prefers the exact name of a command to a rewritten one", () => {
    const schema = { type: "object", properties: {} } as const;
    const catalogue: ReplyCatalogue = { ...seedCatalogue, schemas: { "Server.Tool-1": schema, search: schema } };
    const reader = createReplyReader(catalogue);
    for (const name of ["Server.Tool-1", "search"])
      expect(reader(`{"command":{"name":"${name}","args":{}}}`, "stop")).toMatchObject({ call: { name } });
    expect(problemsOf(reader('{"command":{"name":"google","args":{}}}', "stop"))).toMatch(/no command "google"/);
  });

  it("accepts optional arguments of every type, and converts no boolean or fraction", () => {
    const properties = {
      deep: { type: "boolean", description: "d", hint: "<deep>" },
      share: { type: "number", description: "s" },
    } as const;
    const reader = createReplyReader({ ...seedCatalogue, schemas: { look: { type: "object", properties } } });
    const look = (args: object): ParsedReply => reader(JSON.stringify({ command: { name: "look", args } }), "stop");
    expect(look({ deep: true, share: 0.5 })).toMatchObject({ call: { args: { deep: true, share: 0.5 } } });
    expect(look({})).toMatchObject({ call: { args: {} } });
    expect(problemsOf(look({ deep: "true", share: "0.5" }))).toMatch(
      /"deep" of look must be boolean.*"share" of look must be number/,
    );
  });
});
