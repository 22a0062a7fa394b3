import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { describeForPrompt, renderCommandTable } from "#commands/describe.ts";
import { ALL_READY, loadRegistry, type RegisteredCommand } from "#commands/registry.ts";
import { checkCommand } from "#commands/validate.ts";

let all: readonly RegisteredCommand[];
beforeAll(async () => {
  all = (await loadRegistry([join(import.meta.dirname, "../../commands")])).all;
});
const made = (change: object) =>
  checkCommand("mine", "mine.ts", {
    name: "mine",
    label: "Mine",
    summary: "does this | that",
    args: { type: "object", properties: {} },
    annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    run: async () => undefined,
    ...change,
  });

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
    const whole = (await loadRegistry([join(import.meta.dirname, "../../commands")], ALL_READY)).all;
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
    const point = {
      type: "object",
      properties: { x: { type: "number", description: "from the left" }, note: { type: "string" } },
      required: ["x"],
    };
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
    const wide = {
      type: "object",
      description: "wide",
      properties: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`m${at}`, member])),
    };
    expect(lineOf({ wide })).toContain('optional "wide": {<wide>} --');
  });
});

describe("the table of commands", () => {
  it("has a row for each command, with what it risks", () => {
    const rows = renderCommandTable(all).split("\n");
    expect(rows).toHaveLength(all.length + 2);
    expect(rows[2]).toMatch(/^\| `write_to_file` \| .* \| `file`, `text` \| safe to repeat \| restorable \| {2}\|$/);
    expect(rows[3]).toMatch(/\| `file`, `first_line\?`, `last_line\?` \| safe to repeat \| none \| {2}\|$/);
  });

  it.each([
    [{}, "asks first"],
    [{ annotations: { readOnly: true, openWorld: true } }, "reads outside"],
    [{ annotations: { readOnly: false, destructive: true, openWorld: false } }, "asks first"],
    [{ annotations: { readOnly: false, destructive: false, openWorld: false } }, "only adds"],
  ])("names the risk of %j", (change, risk) => {
    const row =
      renderCommandTable([made(change)])
        .split("\n")
        .at(-1) ?? "";
    expect(row).toContain(`| never repeated | ${risk} |`);
    expect(row).toContain("does this \\| that");
  });
});
