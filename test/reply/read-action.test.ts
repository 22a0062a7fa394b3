import { describe, expect, it } from "@jest/globals";
import type { JsonSchema } from "#core/command.ts";
import type { ActionForm } from "#core/frame.ts";
import { readAction } from "#reply/read-action.ts";
import { readReturn } from "#reply/read-return.ts";

const AGENT = { command: "task_complete" };
const read = (text: string, form: ActionForm, finishReason = "stop") => readAction(text, finishReason, form, AGENT);
const block = (code: string, name = "python") => `\`\`\`${name}\n${code}\n\`\`\``;

describe("a reply with code", () => {
  it.each(["react", "code"] as const)("calls run_code in the form %s, with the prose as its thought", (form) => {
    expect(read(`I add.\n${block("1 + 1")}`, form)).toEqual({
      kind: "command",
      call: { name: "run_code", args: { language: "python", code: "1 + 1" } },
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
    ["react", block("1", "js"), /Only Python/],
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

describe("an answer as a type", () => {
  it.each([
    ["[1, 2]", { type: "array" }, [1, 2]],
    ['```json\n{"a": 1}\n```', { type: "object" }, { a: 1 }],
    ["+1.5", { type: "number" }, 1.5],
    [".5", { type: "number" }, 0.5],
    ["true", { type: "boolean" }, true],
    ["True", { type: "boolean" }, "True"],
    ["red", { enum: ["red", "green"] }, "red"],
    ['"quoted"', { type: "string" }, '"quoted"'],
    ["null", { type: ["string", "null"] }, null],
    ["14,284,000", { type: "integer" }, "14,284,000"],
    ["anything at all", {}, "anything at all"],
  ])("%j read as %j", (text, returns, value) => {
    expect(readReturn(text, returns as JsonSchema)).toEqual(value);
  });
});
