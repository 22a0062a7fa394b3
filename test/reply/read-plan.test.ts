import { describe, expect, it } from "@jest/globals";
import { readWrittenAction } from "#reply/plan-action.ts";
import { createReplyReader, type ParsedReply } from "#reply/read.ts";
import { createPlanReader } from "#reply/read-plan.ts";
import { seedCatalogue } from "../helpers/seed-catalogue.ts";

const text = { type: "string" } as const;
const schemas = {
  ...seedCatalogue.schemas,
  think: { type: "object", properties: { thought: text }, required: ["thought"] },
  task_complete: { type: "object", properties: { reason: text }, required: ["reason"] },
  run_code: {
    type: "object",
    properties: { code: text },
    required: ["code"],
  },
} as const;
const catalogue = { ...seedCatalogue, schemas, aliases: { commands: {}, args: {} } };
const LISTED = ["write_to_file", "read_file", "think", "task_complete"];
const read = createPlanReader(catalogue, LISTED);
const readJson = createReplyReader(catalogue);

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
    ["null", reply("null", {}), { name: "do_nothing", args: {} }],
    ["no action at all", reply(null), { name: "do_nothing", args: {} }],
  ])("is read with %s", (_title, written, expected) => {
    expect(callOf(read(written, "stop"))).toMatchObject(expected);
  });

  it("has thoughts only when it is a thought", () => {
    expect(read(reply("think", { thought: "First the outline." }), "stop").thoughts?.text).toBe("First the outline.");
    expect(read(WRITE, "stop").thoughts?.text).toBe("");
  });

  it.each<[title: string, text: string, problem: RegExp]>([
    ["an unknown action", reply("fly", {}), /no action "fly".*write_to_file, read_file, think, task_complete/],
    ["no action", '{"args":{}}', /no action.*\{"action": …, "args": \{…\}\}/],
    ["no object", "I am done.", /one JSON object with the keys action and args/],
    ["two actions", `${WRITE} ${reply("finish")}`, /several actions/],
    [
      "an action and a command",
      reply("think", { thought: "a" }, { command: { name: "do_nothing" } }),
      /several actions/,
    ],
    ["a wrong argument", reply("write", { path: "a", text: "b", mode: "append" }), /no argument "mode"/],
    ["both content and contents", reply("write", { path: "a", content: "b", contents: "c" }), /no argument "contents"/],
    ["a missing argument", reply("think", {}), /needs the argument "thought"/],
    ["an action that was cut off", WRITE.slice(0, -12), /cut off/],
    ["an action whose quotes are broken", WRITE.replace("two", 'tw"o" and "x'), /broken|guess/],
  ])("is refused in words of this form: %s", (_title, written, problem) => {
    const parsed = read(written, problem.test("cut off") ? "length" : "stop");
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
      expect(read(short, "stop").kind).toBe("command");
      expect(readJson(short, "stop").kind).toBe("problem");
    }
  });
});

describe("a written action", () => {
  it("is shown by the names of the commands", () => {
    expect(readWrittenAction(`So: ${reply("write", { path: "a", contents: "b" })}`)).toEqual({
      name: "write_to_file",
      args: { file: "a", text: "b" },
    });
  });
  it.each(["no object", '{"thoughts": {}}', "{broken", '{"action": {"name": "x"}}'])(
    "is not found in %s",
    (written) => {
      expect(readWrittenAction(written)).toBeUndefined();
    },
  );
});
