import { describe, expect, it } from "@jest/globals";
import type { ArgsSchema, JsonSchema } from "#core/command.ts";
import type { ActionForm } from "#core/frame.ts";
import { checkResult } from "#reply/check-result.ts";
import { readAction } from "#reply/read-action.ts";
import { readReturn } from "#reply/read-return.ts";

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
    expect(read("```python\nopen('a').wri", "code", "length")).toMatchObject({
      kind: "problem",
      problems: [expect.stringMatching(/cut off/)],
    });
    expect(read("I think that", "react", "length")).toMatchObject({ problems: [expect.stringMatching(/cut off/)] });
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
    ["code", "<think>hm", /reasoning/],
    ["code", "x".repeat(2_000_001), /at most 2000000/],
  ] as const)("is refused in words in the form %s: %j", (form, text, problem) => {
    expect(read(text, form)).toMatchObject({ kind: "problem", problems: [expect.stringMatching(problem)] });
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
