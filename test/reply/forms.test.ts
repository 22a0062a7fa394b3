import { describe, expect, it } from "@jest/globals";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import type { ActionForm } from "#core/state.ts";
import { checkResult, readReturn } from "#reply/check-value.ts";
import { readWrittenAction } from "#reply/find-call.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { createPlanReader, readAction } from "#reply/read-forms.ts";
import { findUses, isInText, splitAction } from "#reply/split-action.ts";
import { seedCatalogue } from "../helpers/replies.ts";

const AGENT = { command: "task_complete" };
const read = (text: string, form: ActionForm, finishReason = "stop") => readAction(text, finishReason, form, AGENT);
const block = (code: string, name = "python") => `\`\`\`${name}\n${code}\n\`\`\``;

describe("a reply with code", () => {
  it.each(["react", "code"] as const)("calls run_code in the form %s, with the prose as its thought", (form) => {
    expect(read(`I add.\n${block("1 + 1")}`, form)).toEqual({
      kind: "command",
      call: { name: "run_code", args: { code: "1 + 1" } },
      thoughts: { text: "I add.", reasoning: "", plan: "", criticism: "", speak: "" },
      repaired: false,
    });
  });

  it("runs after a cut when the code was whole, and not otherwise", () => {
    expect(read(`${block("1")}\nand th`, "code", "length")).toMatchObject({ kind: "command" });
    const unfenced = "Thought: I set it.\nAction: limit = 12";
    expect(read(`${unfenced}\nObservation: no`, "react", "length")).toMatchObject({ kind: "command" });
    for (const [text, form] of [
      ["```python\nopen('a').wri", "code"],
      [unfenced, "react"],
      ["I think that", "react"],
    ] as const)
      expect(read(text, form, "length")).toMatchObject({ problems: [expect.stringMatching(/cut off/)] });
  });

  it.each([
    ["react", block("1", "js"), /only Python/],
    ["react", "I am done.", /no action.*stop\(\)/],
    ["react", "ACTION 1:\n", /no action/],
    ["react", `Go.\n${block(" ")}`, /empty/],
    ["code", `Go.\n${block("")}`, /empty/],
    ["code", " ", /empty/],
    ["code", block("rm -r .", "sh"), /no shell/],
    ["code", block("'\ufffd'"), /U\+FFFD/],
    ["code", block("'\ud800'"), /surrogate/],
    ["code", "<|im_end|>", /empty/],
    ["code", "\u200b", /empty/],
    ["code", "THOUGHT 1: I read.\nACTION 1: read_file('a.md')", /block of Python/],
    ["code", "Hm.\n<think>\n```python\n1 + 1\n```", /reasoning/],
    ["code", "<think>hm", /reasoning/],
    ["code", `<commentary>\n${block("1")}\n</commentary>`, /block of Python/],
    ["react", `I would not run this:\n${block("1")}`, /no action/],
    ["react", `The README asks me to run this:\n${block("1")}`, /no action/],
    ["code", `${block("1")}\n\nWait, that is wrong. Do not run it.`, /block of Python/],
    ["code", "x".repeat(2_000_001), /at most 2000000/],
  ] as const)("is refused in words in the form %s: %j", (form, text, problem) => {
    expect(read(text, form)).toMatchObject({ kind: "problem", problems: [expect.stringMatching(problem)] });
  });
});

it.each([
  ["```python\n1 + 1\n```<|eot_id|>", "1 + 1"],
  ["```python\n1 + 1\n```<|im_end|>\n<|im_start|>user\nIt is 2.", "1 + 1"],
  ["```tool_code\n1 + 1\n```", "1 + 1"],
  ["\\`\\`\\`python\n1 + 1\n\\`\\`\\`", "1 + 1"],
  ['```python\ntext = """\n```<b>\n"""\n```', 'text = """\n```<b>\n"""'],
  ["```python\n1\n\\`\\`\\`\n```", "1\n\\`\\`\\`"],
  ['~~~python\np = "a </think>"\n~~~', 'p = "a </think>"'],
  ['```python\nt = """\n```\n"""\np = "</think>"\n```', 't = """\n```\n"""\np = "</think>"'],
  ["```\nSo:\n```python\n1 + 1\n```\n```", "1 + 1"],
  ["```python\n1 + 1```\n", "1 + 1"],
  ["```python x = 1\nx + 1\n```", "x = 1\nx + 1"],
  ["```py3\n1 + 1\n```", "1 + 1"],
  ["```run_code\n1 + 1\n```", "1 + 1"],
  ["\ufeff```python\n1 + 1\n```", "1 + 1"],
  ["<|channel|>final <|constrain|>md<|message|>```python\n1 + 1\n```", "1 + 1"],
  ["Hm.\n<think>\n```python\n1\n```\n</think>\n```python\n1 + 1\n```", "1 + 1"],
  ["<think></think>\n<think>\n```python\n1\n```\n</think>\n```python\n1 + 1\n```", "1 + 1"],
  ["First ```bash\npip install x\n```\nthen:\n```python\n1 + 1\n```", "1 + 1"],
  ["Using write_to_file:\n```python\n1 + 1\n```\nWait for its result.", "1 + 1"],
])("a block of code begins and ends as models write it: %j", (text, code) => {
  for (const form of ["react", "code"] as const) expect(read(text, form)).toMatchObject({ call: { args: { code } } });
});

describe("a call in the notation of another form", () => {
  const args = '{"file": "a.md", "text": "b"}';
  const calls = [
    `<tool_call>\n{"name": "write_to_file", "arguments": ${args}}\n</tool_call>`,
    "<tool_call>\n<function=write_to_file>\n<parameter=file>\na.md\n</parameter>\n</function>\n</tool_call>",
    '<function_calls>\n<invoke name="write_to_file">\n</invoke>\n</function_calls>',
    "<write_to_file>\n<path>a.md</path>\n</write_to_file>",
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="write_to_file">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    `{"tool": "write_to_file", "input": ${args}}`,
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_to_file<｜tool▁sep｜>${args}<｜tool▁call▁end｜>`,
    `<|channel|>commentary to=functions.write_to_file <|constrain|>json<|message|>${args}<|call|>`,
    `[TOOL_CALLS]write_to_file[ARGS]${args}`,
    `I write it.\nAction: write_to_file\nAction Input: ${args}`,
    '[write_to_file(file="a.md", text="b")]',
    "<code>\n1 + 1\n</code>",
    "<python>\n1 + 1\n</python>",
    "I write it: ```python 1 + 1 ```",
    "x = read_file('a.md')",
    "x = 5\nprint(x)",
    "Let me write the file:",
    "The folder is empty. I'll write the file now.",
    "First, I will read the file…",
  ];

  it.each(calls)("is not taken for the answer in the form code, except at the second try: %j", (text) => {
    expect(read(text, "code")).toMatchObject({ problems: [expect.stringMatching(/block of Python.*RESULT:/)] });
    const second = readAction(text, "stop", "code", { ...AGENT, isSecondTry: true });
    expect(second).toMatchObject({ call: { name: "task_complete" } });
  });

  it.each([...calls, "```sql\nSELECT 1\n```"])("is not run as Python in the form react: %j", (text) => {
    expect(read(text, "react")).toMatchObject({ kind: "problem" });
    if (/^[<`]/.test(text)) expect(read(`ACTION 1:\n${text}`, "react")).toMatchObject({ kind: "problem" });
  });

  it.each([
    "All 12 prices are in notes.md: see `read_file`.",
    "I used write_to_file(...) for <b>three</b> files.",
    "The cheapest costs a < b | c > d.",
    "Everything is done.<|eot_id|>",
    "All prices are in notes.md. Let me know if you need more.",
    "I'll never find it: the page is gone. Its copy is in old.md.",
    '{"name": "Rome", "population": 2800000}',
  ])("is not seen in an answer (control): %j", (text) => {
    expect(read(text, "code")).toMatchObject({ call: { name: "task_complete", args: { reason: text } } });
  });

  it("is the answer below a line RESULT:", () => {
    expect(read(`RESULT:\n${calls[0]}`, "code")).toMatchObject({ call: { args: { reason: calls[0] } } });
  });
});

describe("a reply without code in the form code", () => {
  it("ends the work of the agent, with its text as the reason", () => {
    expect(read("All cities are in cities.md.\n", "code")).toMatchObject({
      call: { name: "task_complete", args: { reason: "All cities are in cities.md." } },
    });
  });

  it("is the result of a sub-task, read as its type", () => {
    const result = (text: string, returns: JsonSchema) => {
      const parsed = readAction(text, "stop", "code", { ...AGENT, returns });
      return parsed.kind === "command" ? parsed.call.args.result : parsed.problems;
    };
    expect(result("14284000", { type: "integer" })).toBe(14_284_000);
    expect(result("14284000", { type: "string" })).toBe("14284000");
    expect(result("about 14 million", { type: "integer" })).toBe("about 14 million");
  });
});

describe("an answer below a line RESULT:", () => {
  const returns: JsonSchema = { type: "string" };
  const value = (text: string, form: ActionForm) => {
    const parsed = readAction(text, "stop", form, { ...AGENT, returns });
    return parsed.kind === "command" ? (parsed.call.args.result ?? parsed.call) : parsed.problems;
  };

  it.each(["python", "bash", "", "text"])("is never run, fence of %j and all, in both forms", (name) => {
    const answer = `Run this:\n\n${block("ls()", name)}\nThen look.`;
    for (const form of ["code", "react"] as const) {
      expect(value(`I know it.\n\nRESULT:\n${answer}\n`, form)).toBe(answer);
      expect(value(`**RESULT:** ${answer}`, form)).toBe(answer);
    }
    expect(read(`RESULT:\n${answer}`, "code")).toMatchObject({
      call: { name: "task_complete", args: { reason: answer } },
    });
  });

  it("does not come before the code above it, and lines of code and prose do not begin it (control)", () => {
    const code = 'text = """\nRESULT:\nx\n"""';
    expect(value(`Go.\n${block("1 + 1")}\nRESULT: 2`, "code")).toMatchObject({ args: { code: "1 + 1" } });
    expect(value("Go.\nACTION 1:\nx = 1\nRESULT: 1", "react")).toMatchObject({ args: { code: "x = 1" } });
    expect(value(`Go.\n${block(code)}`, "code")).toMatchObject({ args: { code } });
    expect(value(`Result: none yet.\n${block("1")}`, "code")).toMatchObject({ args: { code: "1" } });
  });

  it("is refused when it is empty or cut off", () => {
    expect(read("RESULT:\n", "code")).toMatchObject({ problems: [expect.stringMatching(/empty.*RESULT:/)] });
    expect(read("RESULT: all that", "code", "length")).toMatchObject({ problems: [expect.stringMatching(/cut off/)] });
  });

  it("may come without that line where the reply before was refused for its block of a shell", () => {
    const text = `Start it so:\n${block("npm start", "bash")}`;
    expect(value(text, "code")).toEqual([expect.stringMatching(/no shell.*RESULT:/)]);
    const again = readAction(text, "stop", "code", { ...AGENT, returns, isSecondTry: true });
    expect(again).toMatchObject({ call: { args: { result: text } } });
  });
});

const LIST = { type: "array", items: { type: "string" } };

describe("an answer as a type", () => {
  it.each([
    ["[1, 2]", { type: "array" }, [1, 2]],
    ['```json\n{"a": 1}\n```', { type: "object" }, { a: 1 }],
    ["+1.5", { type: "number" }, 1.5],
    [".5", { type: "number" }, 0.5],
    ["true", { type: "boolean" }, true],
    ["True", { type: "boolean" }, true],
    ["None", { anyOf: [{ type: "string" }, { type: "null" }] }, null],
    ["red", { enum: ["red", "green"] }, "red"],
    ['"quoted"', { type: "string" }, '"quoted"'],
    ["null", { type: ["string", "null"] }, null],
    ["14,284,000", { type: "integer" }, 14_284_000],
    ["14_284_000", { type: "integer" }, 14_284_000],
    ["14 284 000", { type: "integer" }, 14_284_000],
    ["-1,284.50", { type: "number" }, -1284.5],
    ["**14,284,000**", { type: "integer" }, 14_284_000],
    ["`true`", { type: "boolean" }, true],
    ["The population is: 14,284,000.", { type: "integer" }, 14_284_000],
    ["['a', 'b']", LIST, ["a", "b"]],
    [`('a', "it's")`, LIST, ["a", "it's"]],
    ["- Tokyo\n- Delhi, India\n", LIST, ["Tokyo", "Delhi, India"]],
    ["The largest are:\n\n1. Tokyo\n2. Delhi", LIST, ["Tokyo", "Delhi"]],
    ["* 1,200\n* 3", { type: "array", items: { type: "integer" } }, [1200, 3]],
    ["- 12\n- 3", LIST, ["12", "3"]],
    ['Here it is:\n\n```json\n["a"]\n```\nThat is all.', LIST, ["a"]],
    ["~~~\n['a']\n~~~", LIST, ["a"]],
    ['The list [of 2] is ["a", "b"].', LIST, ["a", "b"]],
    ["The city is {'name': 'Tokyo', 'isOpen': True}", { type: "object" }, { name: "Tokyo", isOpen: true }],
    ["14,284,000", { type: "string" }, "14,284,000"],
    ["- Tokyo\n- Delhi", { type: "string" }, "- Tokyo\n- Delhi"],
    ["42", { type: ["integer", "string"] }, 42],
    ["14,284,000 or so", { anyOf: [{ type: "integer" }, { type: "string" }] }, "14,284,000 or so"],
    ["anything at all", {}, "anything at all"],
  ])("%j read as %j", (text, returns, value) => {
    expect(readReturn(text, returns as JsonSchema)).toEqual(value);
  });

  it.each([
    ["about 14 million", { type: "integer" }],
    ["1,2", { type: "integer" }],
    ["It is 12:30", { type: "integer" }],
    ["In 2020 there were 14, and 5", { type: "integer" }],
    ["Yes, True enough", { type: "boolean" }],
    ["1.5", { type: "integer" }],
    ["- Tokyo\nand Delhi", LIST],
  ])("%j is not guessed as %j", (text, returns) => {
    expect(checkResult(returns as ArgsSchema, readReturn(text, returns as JsonSchema))).not.toEqual([]);
  });

  it.each([
    [{ type: "integer" }, "14284000"],
    [{ type: "boolean" }, "true"],
    [LIST, '["a text"]'],
    [{ type: "object", additionalProperties: { type: "number" } }, '{"name":2.5}'],
    [
      { $ref: "#/$defs/City", $defs: { City: { type: "object", properties: { at: { enum: ["sea", "hill"] } } } } },
      '{"at":"sea"}',
    ],
    [
      { type: "array", prefixItems: [{ type: "string" }, { type: "null" }], items: false, minItems: 2 },
      '["a text",null]',
    ],
  ])("that is wrong for %j is answered with an example", (returns, example) => {
    expect(checkResult(returns as JsonSchema, 0.5)).toContainEqual(
      `Give only the value as the result, such as ${example}.`,
    );
  });

  it("that is wrong is answered without an example where none is known to be valid (control)", () => {
    expect(checkResult({ type: "string", pattern: "^[A-Z]{8}$" }, 1).join(" ")).not.toMatch(/such as/);
  });
});

const text = { type: "string" } as const;
const schemas = {
  ...seedCatalogue.schemas,
  think: { type: "object", properties: { thought: text }, required: ["thought"] },
  task_complete: { type: "object", properties: { reason: text }, required: ["reason"] },
  run_code: { type: "object", properties: { code: text }, required: ["code"] },
} as const;
const catalogue = { ...seedCatalogue, schemas };
const LISTED = ["write_to_file", "read_file", "think", "task_complete"];
const readPlan = createPlanReader(catalogue, LISTED);
const readJson = createReplyReader({ ...catalogue, aliases: { commands: {}, args: {} } });

const reply = (action: unknown, args?: object, more: object = {}): string => JSON.stringify({ action, args, ...more });
const callOf = (parsed: ParsedReply) => (parsed.kind === "command" ? parsed.call : parsed.problems.join(" "));
const WRITTEN = { name: "write_to_file", args: { file: "a.txt", text: "one {two} three" } };
const WRITE = reply("write_to_file", WRITTEN.args);

describe("an action of the form plan", () => {
  it.each<[title: string, text: string, expected: object]>([
    ["its own name", WRITE, WRITTEN],
    ["prose around it", `I go on like this: ${WRITE}\nThat is all.`, WRITTEN],
    ["prose with braces around it", `In {curly} words: ${WRITE} {so}.`, WRITTEN],
    ["a fence around it", `\`\`\`json\n${WRITE}\n\`\`\``, WRITTEN],
    ["a trailing comma", WRITE.replace(/\}$/, ",}"), WRITTEN],
    ["the message that the history shows", reply("write_to_file", WRITTEN.args, { message: "Writing" }), WRITTEN],
    ["the seed's names", reply("write", { path: "a.txt", content: "one {two} three" }), WRITTEN],
    ["contents for content", reply("write", { path: "a.txt", contents: "one {two} three" }), WRITTEN],
    ["contents beside the arguments", reply("write", { path: "a.txt" }, { contents: "one {two} three" }), WRITTEN],
    ["arguments beside the action", '{"action":"write","path":"a.txt","contents":"one {two} three"}', WRITTEN],
    ["read", reply("read", { path: "a.txt" }), { name: "read_file", args: { file: "a.txt" } }],
    ["run", reply("run", { code: "1" }), { name: "run_code", args: { code: "1" } }],
    ["finish without arguments", reply("finish"), { name: "task_complete", args: { reason: "" } }],
    ["finish as the history shows it", reply("finish", {}, { message: "Finished" }), { name: "task_complete" }],
    [
      "a thought beside the action",
      reply("think", undefined, { thought: "a" }),
      { name: "think", args: { thought: "a" } },
    ],
    ["a thought beside no arguments", reply("think", {}, { thought: "a" }), { name: "think", args: { thought: "a" } }],
    ["null", reply("null", {}), { name: "do_nothing", args: {} }],
    ["no action at all", reply(null), { name: "do_nothing", args: {} }],
  ])("is read with %s", (_title, written, expected) => {
    expect(callOf(readPlan(written, "stop"))).toMatchObject(expected);
  });

  it("has thoughts only when it is a thought", () => {
    const thought = "First the outline.";
    expect(readPlan(reply("think", { thought }), "stop").thoughts?.text).toBe(thought);
    expect(readPlan(WRITE, "stop").thoughts?.text).toBe("");
  });

  it.each<[title: string, text: string, problem: RegExp]>([
    ["an unknown action", reply("fly", {}), /no action "fly".*write_to_file, read_file, think, task_complete/],
    ["no action", '{"args":{}}', /no action.*\{"action": …, "args": \{…\}\}/],
    ["no object", "I am done.", /one JSON object with the keys action and args/],
    ["two actions", `${WRITE} ${reply("finish")}`, /several actions/],
    ["an action and a command", reply("think", {}, { command: { name: "do_nothing" } }), /several actions/],
    ["a wrong argument", reply("write", { path: "a", text: "b", mode: "append" }), /no argument "mode"/],
    ["both content and contents", reply("write", { path: "a", content: "b", contents: "c" }), /"text" .*given twice/],
    ["two actions in one", '{"action":"finish","Action":"read","args":{}}', /several actions/],
    ["a missing argument", reply("think", {}), /needs the argument "thought"/],
    ["an action that was cut off", WRITE.slice(0, -12), /cut off/],
    ["an action whose quotes are broken", WRITE.replace("two", 'tw"o" and "x'), /broken|guess/],
  ])("is refused in words of this form: %s", (_title, written, problem) => {
    const parsed = readPlan(written, problem.test("cut off") ? "length" : "stop");
    expect(parsed.kind).toBe("problem");
    expect(callOf(parsed)).toMatch(problem);
  });

  it("lists at most forty actions for an unknown one", () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `do_number_${at}`);
    const problem = String(callOf(createPlanReader(catalogue, many)(reply("fly"), "stop")));
    expect(problem).toContain("do_number_39");
    expect(problem).not.toContain("do_number_40");
  });

  it("means nothing in the form json under its short name (control)", () => {
    for (const short of [reply("write", { path: "a", content: "b" }), reply("finish"), reply(null)]) {
      expect(readPlan(short, "stop").kind).toBe("command");
      expect(readJson(short, "stop").kind).toBe("problem");
    }
  });
});

it("a written action is shown by the names of the commands, and found in nothing else", () => {
  const call = { name: "write_to_file", args: { file: "a", text: "b" } };
  expect(readWrittenAction(`So: ${reply("write", { path: "a", contents: "b" })}`)).toEqual(call);
  for (const other of ["no object", '{"thoughts": {}}', "{broken", '{"action": {"name": "x"}}'])
    expect(readWrittenAction(other)).toBeUndefined();
});

const PLAIN = "Based on it, go.\nACTION 2:\n```python\nx = 1\n```";
const react = (text: string) => splitAction(text, "react");
const code = (text: string) => splitAction(text, "code");

describe("a reply in the dialog format", () => {
  it("is a thought and one action", () => {
    expect(react('I need a method.\n\nACTION 1:\n```python\nmethod_search("weather")\n```\n')).toMatchObject({
      thought: "I need a method.",
      code: 'method_search("weather")',
      isClosed: true,
      others: 0,
    });
  });

  it.each([
    ["with its own heading", "THOUGHT 2:\nBased on it, go.\nACTION 2:\n```python\nx = 1\n```"],
    ["in other letters", "Thought 2: Based on it, go.\nAction 2:\n```python\nx = 1\n```"],
    ["with Markdown around the headings", "**THOUGHT 2:** Based on it, go.\n### ACTION 2:\n```py\nx = 1\n```"],
    ["without a number", "Based on it, go.\nACTION:\n```\nx = 1\n```"],
    ["without a fence", "Based on it, go.\nACTION 2:\nx = 1"],
    ["with code beside the heading", "Based on it, go.\nACTION 2: x = 1"],
    ["with code in backticks", "Based on it, go.\nACTION 2: `x = 1`"],
    ["without a heading", "Based on it, go.\n```python\nx = 1\n```"],
    ["with a missing end of the fence", "Based on it, go.\nACTION 2:\n```python\nx = 1"],
    ["with an indented fence", "Based on it, go.\nACTION 2:\n  ```python\n  x = 1\n  ```"],
    ["with line ends of Windows", "Based on it, go.\r\nACTION 2:\r\n```python\r\nx = 1\r\n```"],
    ["after reasoning", `<think>ACTION 1:\n\`\`\`python\nbad()\n\`\`\`</think>\n${PLAIN}`],
    ["after reasoning that ends with a quote", `I say "x"</think>\n${PLAIN}`],
    ["after reasoning whose beginning is missing", `Well.\n</think>\n${PLAIN}`],
  ])("is read %s", (_how, text) => {
    expect(react(text)).toMatchObject({ thought: "Based on it, go.", code: "x = 1" });
  });

  it("gives its first action, and counts the others", () => {
    const text =
      "Go.\nACTION 1:\n```python\na()\n```\nOBSERVATION 1:\n12\nTHOUGHT 2:\nOn.\nACTION 2:\n```python\nb()\n```";
    expect(react(text)).toMatchObject({ thought: "Go.", code: "a()", others: 1 });
    expect(react("Go.\nACTION 1:\n```python\na()\n```\n```python\nb()\n```")).toMatchObject({ code: "a()", others: 1 });
  });

  it("does not take a heading inside the code for one, and has no code when it is only a thought", () => {
    const text = 'Go.\nACTION 1:\n```python\ntext = """\nACTION 2:\nx\n"""\n```';
    expect(react(text)).toMatchObject({ code: 'text = """\nACTION 2:\nx\n"""', others: 0 });
    expect(react("THOUGHT 3:\nI am done.")).toMatchObject({ thought: "I am done.", code: null });
  });
});

describe("a reply in prose", () => {
  it("is a thought and the first block that can run", () => {
    expect(code("I count.\n\n```python\nlen([1])\n```\nThen I write.")).toMatchObject({
      thought: "I count.",
      code: "len([1])",
      shown: "I count.\n\n```python\nlen([1])\n```",
    });
  });

  it.each([
    ...["py", "Python3", ""].map((name) => [name, "1+1", ""] as const),
    ...["bash", "js", "typescript"].map((name) => [name, null, name] as const),
  ])("takes a block in %j as the Python %j, or names the language that cannot run: %j", (name, python, foreign) => {
    expect(code(block("1+1", name))).toMatchObject({ code: python, foreign });
  });

  it("prefers a block that names its language, and is an answer when its blocks are in other languages", () => {
    expect(code("The plan:\n```\nfirst, second\n```\n```python\n1\n```")).toMatchObject({ code: "1", others: 0 });
    expect(code('Here it is:\n```json\n{"a": 1}\n```')).toMatchObject({ code: null, foreign: "" });
  });

  it("ends at the fence when the text before it has ended (control)", () => {
    expect(code('```python\npage = """a"""\n```\n"""\n```')).toMatchObject({ code: 'page = """a"""' });
  });

  it.each([
    ["fences", `${"```python\n".repeat(20_000)}${'"""'.repeat(50_000)}`],
    ["blanks behind a heading", `thought${" ".repeat(500_000)}x`],
    ["blanks behind a fence", `\`\`\`${" ".repeat(500_000)}\``],
    ["a long name of a language", `\`\`\`${"x".repeat(500_000)}\``],
    ["headings", "action: \n".repeat(100_000)],
    ["marks of reasoning", "</think>```\n".repeat(50_000)],
  ])("is read in linear time: %s", (_what, text) => {
    const startedAt = performance.now();
    code(text);
    react(text);
    // Generous for a busy machine; quadratic reading of the longest rows takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

const uses = (code: string) => findUses(code, new Set(["foo", "get_weather"]));
const specific = (code: string) => uses(code).values;

describe("the calls in an action", () => {
  it("are those of known functions, in order", () => {
    expect(uses("x = foo(1)\nprint(get_weather(x, len([2])))\nfoo\nother(3)").calls).toEqual(["foo", "get_weather"]);
  });

  it("are none in comments, texts, definitions and methods of values (control)", () => {
    expect(uses('# foo(1)\nt = "foo(2)"\ndef foo(a):\n  pass\nx.foo(3)\n"""\nfoo(4)\n"""').calls).toEqual([]);
  });
});

it.each<[how: string, code: string, values: readonly string[]]>([
  ["as arguments", "get_weather(48.8566, longitude=-2.3522)", ["48.8566", "2.3522"]],
  ["over several lines", 'get_weather(  # here\n  48.8566,\n  unit="K-273",\n)', ["48.8566", "K-273"]],
  ["in lists and dictionaries", 'foo([1234], {"key": "value1"})', ["1234", "value1"]],
  ["as values of names", "lat, lon = 48.8566, 2.3522\nget_weather(lat, lon)", ["48.8566", "2.3522"]],
  ["once each", 'foo("abc1", "abc1")', ["abc1"]],
  ["as an address", 'foo(f"https://a.example/x")', ["https://a.example/x"]],
  ["small and round numbers", "foo(5, 0.5, [12, 100, 3000, 0.25, 365, 1_000_000])", []],
  ["parts of a computation", "x = y * 1.8543 + 32.75\nfoo(x / 1.2345, -y * 2.3456)", []],
  ["indices and keys", 'foo(data["temperature"], prices[1234], {"some_key": x})', []],
  ["arguments of other functions", "x = range(1234)\nd = date(2026, 11, 23)", []],
  ["words without a digit or a sign of an address", 'foo(1, unit="metric", place="Lisbon")', []],
  ["what the model words itself", 'foo(caption="Hello", text="Moin")', []],
  ["words with a blank", 'foo("Hello from Space!")', []],
  ["names of files", 'foo("weather.md")', []],
  ["texts that are put together", 'foo(f"{x}/a1", "a1" + name, b"raw1", "%s1" % x)', []],
  ["comparisons", "foo(1 if x == 1234 else 2)\ny = x >= 1234.5678", []],
  ["defaults of own functions", "def bar(a, b):\n  return a", []],
  ["texts without a call", 'city = "Lisbon"', []],
])("the values that an action writes out count only where they are specific: %s", (_how, code, values) => {
  expect(specific(code)).toEqual(values);
});

it.each([
  ["48.8566", "at 48.8566, 2.3522", true],
  ["48.8566", "at 48.85661", false],
  ["48.8566", "at 148.8566", false],
  ["0.35", "35% off", true],
  ["14284000", "14,284,000 people", true],
  ["14284000", "14,284,0001 people", false],
  ["1_234", "1234.00 in all", true],
  ["MSFT", "the msft shares", true],
  ["#general", "write to general", true],
  ["Lisbon", "Oslo", false],
])("a value is found in a text, or not: %s in %j: %s", (value, text, isThere) => {
  expect(isInText(value, text)).toBe(isThere);
});
